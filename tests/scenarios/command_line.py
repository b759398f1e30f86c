"""The scenarios with the farcall command: `command_line.py LIST [NAME…]`, at the server that
$FARCALL_SERVER names."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import steps

WAIT_MAX = 60
# The program itself: the `farcall` of a Python environment begins with an interpreter, each time.
PROGRAM = os.environ.get("FARCALL_PROGRAM", "farcall")
# Enough to be at the server; whether it is there does not change what a call that is interrupted
# comes to.
BEGUN_S = 0.2


def number(argument):
    """A scalar as it is written on a command line."""
    value = argument.value
    if argument.type == "char":
        return chr(value)
    if value.dtype.kind == "c":
        return f"{value.real.item()!r}{value.imag.item():+.17g}j"
    return repr(value.item())


class Runner:
    """Runs one scenario; each call is a process of its own."""

    def __init__(self, scenario, folder):
        self.scenario = scenario
        self.folder = folder
        self.files = 0
        self.kept = {}

    def say(self, words):
        """A line of the scenario; it leaves at once, so that one that hangs is seen."""
        print(f"{self.scenario.name}: {words}", flush=True)

    def fresh(self, ending):
        """A path that no other call uses."""
        self.files += 1
        return self.folder / f"{self.scenario.name}-{self.files}{ending}"

    def written(self, argument):
        """An argument as it is written behind its name."""
        if argument.type == "string":
            assert argument.shape or argument.value is not None, "a null string cannot be written"
            return json.dumps(argument.value) if argument.shape else argument.value
        if not argument.shape:
            return number(argument)
        path = self.fresh(".npy")
        values = steps.laid_out(argument)
        np.save(path, values.view("S1") if argument.type == "char" else values)
        return f"@{path}"

    def command(self, step, routine):
        """The command of a call, and where its files are to be."""
        words, files = (
            [PROGRAM, "call", "--quiet", "--json", "--timeout", str(step.timeout or WAIT_MAX)],
            {},
        )
        arguments = []
        for one in step.arguments:
            if one.type == "filename":
                files[one.name] = self.fresh("")
                if one.value is not None:
                    files[one.name].write_bytes(one.value)
                if one.mode == "out":
                    words += ["--out", f"{one.name}={files[one.name]}"]
                else:
                    arguments.append(f"{one.name}={files[one.name]}")
                continue
            if one.mode != "out":
                written = self.written(one)
                arguments.append(written if one.name == "-" else f"{one.name}={written}")
            if one.is_result and one.shape and one.type not in ("string", "char"):
                files[one.name] = self.fresh(".npy")
                words += ["--out", f"{one.name}={files[one.name]}"]
        return [*words, "--", routine, *arguments], files

    def begin(self, step, routine):
        """Starts the command of a call; standard input is empty, as it is for a script."""
        words, files = self.command(step, routine)
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ), files

    def result(self, argument, value, files):
        """What the command wrote or printed, as numbers, text or bytes."""
        if argument.type == "filename":
            return files[argument.name].read_bytes()
        if argument.name in files:
            return np.load(files[argument.name])
        if argument.type == "string" or value is None:
            return value
        if argument.type == "char":
            return np.frombuffer(value.encode("latin-1"), np.uint8)
        kind = np.dtype(steps.TYPES[argument.type])
        if kind.kind == "c":
            return np.array(complex(*map(float, value)), kind)
        return np.array(float(value) if kind.kind == "f" else value, kind)

    def outcome(self, step, begun):
        """The lines of a call that was begun."""
        process, files = begun
        with process:
            said, complaint = process.communicate(timeout=2 * WAIT_MAX)
        if process.returncode == -signal.SIGINT:
            return ["error cancelled"]
        if process.returncode:
            return [f"error {json.loads(complaint.decode().splitlines()[-1])['error']}"]
        results = json.loads(said)
        return [
            steps.shown(one, self.result(one, results[one.name], files))
            for one in step.arguments
            if one.is_result
        ]

    def show(self, lines):
        for line in lines:
            self.say(line)

    def call(self, step, routine):
        self.show(self.outcome(step, self.begin(step, routine)))

    def alike(self, outcomes):
        """The last outcome, and how many are like it."""
        self.show(outcomes[-1])
        self.say(f"{outcomes.count(outcomes[-1])} alike")

    def repeat(self, step, count, routine):
        self.alike([self.outcome(step, self.begin(step, routine)) for _ in range(int(count))])

    def together(self, step, count, routine):
        """As many processes at once; the last is waited for first."""
        begun = [self.begin(step, routine) for _ in range(int(count))]
        self.alike([self.outcome(step, one) for one in reversed(begun)])

    def start(self, step, name, routine):
        self.kept[name] = (step, self.begin(step, routine))

    def wait(self, _, name):
        self.show(self.outcome(*self.kept.pop(name)))

    def probe(self, _, name):
        """A call is over when its process is."""
        self.say(f"{name} {'done' if self.kept[name][1][0].poll() is not None else 'open'}")

    def cancel(self, _, name):
        """Ctrl-C."""
        time.sleep(BEGUN_S)
        self.kept[name][1][0].send_signal(signal.SIGINT)

    def connect(self, _, address):
        done = subprocess.run(
            [PROGRAM, "call", "--json", "--server", address, "add"],
            capture_output=True,
            text=True,
            timeout=WAIT_MAX,
        )
        self.show(
            [f"error {json.loads(done.stderr.splitlines()[-1])['error']}"]
            if done.returncode
            else []
        )

    def run(self):
        for step in self.scenario.steps:
            getattr(self, step.words[0])(step, *step.words[1:])


def main(path, *names):
    # What a shell starts in the background ignores Ctrl-C, and so would its commands.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    assert os.environ["FARCALL_SERVER"]
    with tempfile.TemporaryDirectory() as folder:
        for scenario in steps.read(pathlib.Path(path)):
            if "cli" not in scenario.excused and (not names or scenario.name in names):
                Runner(scenario, pathlib.Path(folder)).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
