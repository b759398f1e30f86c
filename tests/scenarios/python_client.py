"""The scenarios with the Python client: `python_client.py LIST [NAME…]`, at the server that
$FARCALL_SERVER names."""

import concurrent.futures
import pathlib
import sys
import tempfile

import farcall
import numpy as np
import steps

WAIT_MAX = 60
FUNCTIONS = {"square": lambda x: x * x, "null": None}


def rotate(x):
    """The callback `rotate`: every element goes one place on."""
    x[...] = np.roll(x, 1)


FUNCTIONS["rotate"] = rotate


class Runner:
    """Runs one scenario."""

    def __init__(self, server, scenario, folder):
        self.server = server
        self.scenario = scenario
        self.folder = folder
        self.kept = {}

    def say(self, words):
        print(f"{self.scenario.name}: {words}", flush=True)

    def path(self, argument):
        """Where the file of an argument lies, which is made here, unless it is to be missing."""
        path = self.folder / argument.name
        path.unlink(missing_ok=True)
        if argument.value is not None:
            path.write_bytes(argument.value)
        return path

    def given(self, argument):
        """The Python value of an argument."""
        if argument.mode == "callback":
            return FUNCTIONS[argument.value]
        if argument.type == "filename":
            return self.path(argument)
        if argument.type == "string" or argument.value is None:
            return argument.value
        if argument.shape:
            return steps.laid_out(argument)
        return chr(argument.value) if argument.type == "char" else argument.value[()]

    def arguments(self, step):
        """What a routine is called with: by position, and by name with its options."""
        inputs = [argument for argument in step.arguments if argument.mode != "out"]
        positional = [self.given(argument) for argument in inputs if argument.name == "-"]
        named = {argument.name: self.given(argument) for argument in inputs if argument.name != "-"}
        out = {
            one.name: steps.laid_out(one) for one in step.arguments if one.is_result and one.layout
        }
        options = {"timeout": step.timeout or WAIT_MAX, **({"out": out} if out else {})}
        return positional, {**named, **options}

    def result(self, argument, results):
        """A result as the numbers that came, checked to be of the type."""
        value = results[argument.name]
        if argument.type == "filename":
            return value.read_bytes() if isinstance(value, pathlib.Path) else value
        if argument.type == "string" or value is None:
            return value
        if argument.type == "char":
            return np.frombuffer(
                value.encode("latin-1") if isinstance(value, str) else value, np.uint8
            )
        return (
            value if isinstance(value, np.ndarray) else np.array(value, steps.TYPES[argument.type])
        )

    def shown(self, step, outcome):
        """The lines of an outcome, which is a function that gives results or raises."""
        try:
            results = outcome()
        except farcall.Error as error:
            return [f"error {error.kind}"]
        except concurrent.futures.CancelledError:
            return ["error cancelled"]
        return [
            steps.shown(one, self.result(one, results)) for one in step.arguments if one.is_result
        ]

    def show(self, step, outcome):
        for line in self.shown(step, outcome):
            self.say(line)

    def started(self, step, routine):
        positional, named = self.arguments(step)
        return self.server[routine].submit(*positional, **named)

    def call(self, step, routine):
        positional, named = self.arguments(step)
        self.show(step, lambda: self.server[routine](*positional, **named))

    def repeat(self, step, count, routine):
        positional, named = self.arguments(step)
        self.alike(
            step,
            [
                self.shown(step, lambda: self.server[routine](*positional, **named))
                for _ in range(int(count))
            ],
        )

    def together(self, step, count, routine):
        """All are begun before one is waited for."""
        calls = [self.started(step, routine) for _ in range(int(count))]
        self.alike(step, [self.shown(step, call.result) for call in reversed(calls)])

    def alike(self, step, outcomes):
        """The last outcome, and how many are like it."""
        for line in outcomes[-1]:
            self.say(line)
        self.say(f"{outcomes.count(outcomes[-1])} alike")

    def start(self, step, name, routine):
        self.kept[name] = (step, self.started(step, routine))

    def probe(self, _, name):
        self.say(f"{name} {'done' if self.kept[name][1].done() else 'open'}")

    def cancel(self, _, name):
        self.kept[name][1].cancel()

    def wait(self, _, name):
        step, call = self.kept.pop(name)
        self.show(step, lambda: call.result(WAIT_MAX))

    def object(self, step, name, of):
        """Objects take no time limit here: their class has options of its own."""
        _, named = self.arguments(step)
        named.pop("timeout")
        self.show(step, lambda: self.kept.update({name: self.server[f"scenarios/{of}"](**named)}))

    def method(self, step, name, method):
        _, named = self.arguments(step)
        self.show(step, lambda: getattr(self.kept[name], method)(**named))

    def handles(self, step, name, count, routine):
        self.show(step, lambda: self.kept.update({name: self.server[routine].hold(int(count))}))

    def handle(self, step, name, index):
        _, named = self.arguments(step)
        self.show(step, lambda: self.kept[name][int(index)](**named))

    def end(self, step, name):
        self.show(step, self.kept.pop(name).close)

    def connect(self, step, address):
        self.show(step, lambda: farcall.connect(address).close())

    def run(self):
        for step in self.scenario.steps:
            getattr(self, step.words[0])(step, *step.words[1:])


def main(path, *names):
    with farcall.connect() as server, tempfile.TemporaryDirectory() as folder:
        for scenario in steps.read(pathlib.Path(path)):
            if "python" not in scenario.excused and (not names or scenario.name in names):
                Runner(server, scenario, pathlib.Path(folder)).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
