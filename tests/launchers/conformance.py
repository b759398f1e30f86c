#!/usr/bin/env python3
"""Drives a launcher by the text protocol of spec/launcher.md, and says what it does otherwise than
that says.

Usage: conformance.py [--attribute 'NAME VALUE']... [--seconds N] LAUNCHER [ARGUMENT]...

`--attribute` is given with each job, such as a host or a queue. `--seconds` is the longest that
anything may take (120). The launcher's jobs must see the folder of temporary files of this host.
Ends with `N passed, N failed`.
"""

import argparse
import contextlib
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

# A copy of the program says that it is there, and ends as its first argument says.
PROGRAM = """#!/bin/sh
printf '%s\\n' "$$ ${FARCALL_SLOTS:-1} [$WORD] $PWD" "$@" >"$COPIES/new.$$"
mv "$COPIES/new.$$" "$COPIES/copy.$(hostname).$$"
case $1 in
sleep) exec sleep "$2" ;;
*) exit "$2" ;;
esac
"""
NOTICE = re.compile(
    r"(CREATE_NOTIFY) ([\w.-]{1,64}) (S|F) ?(.*)|(STATUS_NOTIFY) ([\w.-]{1,64}) "
    r"(PENDING|ACTIVE|DONE|FAILED) ?(.*)"
)
OVER = ("DONE", "FAILED")
# Whatever stands in a value means itself.
ODD = 'it\'s  "$HOME" `x` \\ ; * \t end '


class Broken(Exception):
    """What the launcher does otherwise."""


class Launcher:
    """A launcher that runs, and all that it says."""

    def __init__(self, command, attributes, seconds):
        self.attributes, self.seconds = attributes, seconds
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, start_new_session=True, **streams)
        self.replies, self.news = queue.Queue(), threading.Condition()
        self.created, self.statuses, self.wrong, self.remarks = {}, {}, [], []
        self.readers = [
            threading.Thread(target=read, args=(stream, take), daemon=True)
            for stream, take in (
                (self.process.stdout, self.replies.put),
                (self.process.stderr, self.notice),
            )
        ]
        for reader in self.readers:
            reader.start()

    def notice(self, line):
        """Takes a line of standard error; whatever a notice must not say is kept for the end."""
        parts = NOTICE.fullmatch(line)
        with self.news:
            if parts is None:
                self.remarks.append(line)
                if re.match(r"(CREATE|STATUS)_NOTIFY\b", line):
                    self.wrong.append(f"a notice that is none: {line}")
            elif parts[1]:
                if parts[2] in self.created:
                    self.wrong.append(f"two CREATE_NOTIFY of one request: {line}")
                self.created[parts[2]] = (parts[3], parts[4])
                if parts[3] == "S":
                    self.statuses[parts[4]] = []
            else:
                known = self.statuses.get(parts[6])
                if known is None:
                    self.wrong.append(f"a notice of a job before its CREATE_NOTIFY: {line}")
                elif known and known[-1] in OVER:
                    self.wrong.append(f"a notice of a job that is over: {line}")
                else:
                    known.append(parts[7])
            self.news.notify_all()

    def say(self, *lines, end="\r\n"):
        """Writes lines at once, as a driver does."""
        try:
            self.process.stdin.write("".join(line + end for line in lines).encode())
            self.process.stdin.flush()
        except OSError as error:
            raise Broken(
                f"it does not take {lines[0]}: {error}; its last words: {self.remarks[-3:]}"
            ) from error

    def reply(self):
        """The next line of standard output."""
        try:
            line = self.replies.get(timeout=self.seconds)
        except queue.Empty:
            raise Broken("it does not reply") from None
        if line is None:
            raise Broken(f"it ended instead of a reply; its last words: {self.remarks[-3:]}")
        return line

    def ask(self, *lines, end="\r\n"):
        """A request whose reply is one line: that line."""
        self.say(*lines, end=end)
        line = self.reply()
        if not re.match(r"(S|F)\b", line):
            raise Broken(f"to {lines[0]} it replies {line!r}, which is neither S nor F")
        return line

    def wait(self, what, condition):
        """Waits for something that notices tell."""
        until = time.monotonic() + self.seconds
        with self.news:
            while not condition():
                left = until - time.monotonic()
                if left <= 0:
                    raise Broken(
                        f"in {self.seconds} s there is no {what}; statuses: {self.statuses}; "
                        f"remarks: {self.remarks[-3:]}"
                    )
                self.news.wait(min(left, 0.2))

    def create(self, request, *lines, end="\r\n"):
        """The id of a job that is there."""
        lines = (f"JOB_CREATE {request}", *self.attributes, *lines, "JOB_CREATE_END")
        reply = self.ask(*lines, end=end)
        if reply != "S":
            raise Broken(f"a good JOB_CREATE is refused: {reply}")
        self.wait(f"CREATE_NOTIFY {request}", lambda: request in self.created)
        how, job = self.created[request]
        if how != "S":
            raise Broken(f"a good job cannot be created: {job}")
        return job

    def over(self, job):
        """How a job ended."""
        self.wait(
            f"end of job {job}", lambda: self.statuses[job] and self.statuses[job][-1] in OVER
        )
        return self.statuses[job][-1]

    def end(self):
        """Its exit status; it has ended, and both streams."""
        try:
            status = self.process.wait(timeout=max(self.seconds, 200))
        except subprocess.TimeoutExpired:
            raise Broken("it does not end") from None
        for reader in self.readers:
            reader.join(self.seconds)
        return status


def read(stream, take):
    """A thread's part: a launcher that waits for its reader would hang both."""
    for line in stream:
        take(line.decode(errors="replace").rstrip("\r\n"))
    if take.__name__ == "put":
        take(None)


class Copies:
    """The copies of the program that have begun, as they say themselves."""

    def __init__(self, folder):
        self.folder = folder
        self.program = folder / "the program"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)
        self.count = 0

    def job(self, *arguments, count=1, more=()):
        """The attributes of a job that runs the program, with a folder of its own for what its
        copies say."""
        self.count += 1
        self.place = self.folder / f"copies.{self.count}"
        self.place.mkdir()
        words = [f"argument {word}" for word in arguments]
        fixed = [
            f"executable_path {self.program}",
            f"environment COPIES={self.place}",
            f"count {count}",
            "backend normal",
        ]
        return [
            *fixed,
            *words,
            "staging false",
            "redirect_enable false",
            "status_polling 1",
            "refresh_credential 0",
            *more,
        ]

    def begun(self):
        """What each says: process, slots, and the lines of its arguments."""
        found = []
        for file in self.place.glob("copy.*"):
            first, *arguments = file.read_text().split("\n")
            process, slots, rest = first.split(" ", 2)
            found.append((int(process), int(slots), rest, arguments))
        return found

    def slots(self):
        """How many calls could run now."""
        return sum(slots for _, slots, _, _ in self.begun())


def runs(process):
    """Whether a process is there; one that nobody waited for is none."""
    try:
        return ") Z " not in pathlib.Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def need(condition, otherwise):
    """What must hold, and what is wrong otherwise."""
    if not condition:
        raise Broken(otherwise)


# ---- What is checked
# -------------------------------------------------------------------------------------------------


def features_are_told(start, copies):
    """Section 6: the version comes first, since nothing else can be relied on before it."""
    with start() as launcher:
        launcher.say("QUERY_FEATURES")
        lines = [launcher.reply()]
        while lines[-1] != "REPLY_END" and len(lines) < 1000:
            lines.append(launcher.reply())
        need(
            lines[0] == "SM" and lines[1].startswith("protocol_version 2."),
            f"its features begin with {lines[:2]}",
        )


def a_job_runs_with_what_it_was_given(start, copies):
    """Section 2: values mean themselves, byte for byte; unknown attributes go by."""
    with start() as launcher:
        output = copies.folder / "output"
        more = [
            f"work_directory {copies.folder}",
            f"stdout_file {output}",
            f"environment WORD={ODD}",
            "a_new_attribute x",
        ]
        job = launcher.create("r-1.a", *copies.job("exit", "0", ODD, count=3, more=more))
        need(launcher.over(job) == "DONE", "a program that ends well is not DONE")
        need(copies.slots() == 3, f"3 slots are wanted, and there are {copies.begun()}")
        for _, _, rest, arguments in copies.begun():
            need(
                rest == f"[{ODD}] {os.path.realpath(copies.folder)}",
                f"variable or folder differ: {rest!r}",
            )
            need(arguments[:3] == ["exit", "0", ODD], f"arguments differ: {arguments}")
        need(
            launcher.ask(f"JOB_STATUS {job}").startswith("S DONE"),
            "JOB_STATUS does not say what the notice said",
        )
        need(launcher.ask(f"JOB_DESTROY {job}") == "S", "a job that is over cannot be destroyed")


def many_slots_are_one_job(start, copies):
    """Section 4: one request for all of them; who counts copies and who sets FARCALL_SLOTS come to
    the same."""
    with start() as launcher:
        job = launcher.create("many", *copies.job("exit", "0", count=200))
        need(
            launcher.over(job) == "DONE" and copies.slots() == 200,
            f"of 200 slots there are {copies.slots()}",
        )


def lines_may_end_without_cr(start, copies):
    """Section 2: both ends of lines are accepted."""
    with start() as launcher:
        job = launcher.create("lf", *copies.job("exit", "0"), end="\n")
        need(launcher.over(job) == "DONE", "lines that end with LF are not understood")


def failures_are_told(start, copies):
    """Section 5: a program that fails, and one that does not exist, are no success."""
    with start() as launcher:
        job = launcher.create("bad", *copies.job("exit", "7"))
        need(launcher.over(job) == "FAILED", "a program that ends with status 7 is not FAILED")
        lines = [
            *launcher.attributes,
            *copies.job("exit", "0"),
            f"executable_path {copies.folder}/none",
        ]
        if launcher.ask("JOB_CREATE none", *lines, "JOB_CREATE_END") == "S":
            launcher.wait("CREATE_NOTIFY", lambda: "none" in launcher.created)
            how, job = launcher.created["none"]
            need(
                how == "F" or launcher.over(job) == "FAILED",
                "a program that does not exist is not FAILED",
            )


def a_job_is_destroyed(start, copies):
    """Section 3: with all that it started, and FAILED is its last word."""
    with start() as launcher:
        job = launcher.create("long", *copies.job("sleep", "1000", count=2))
        launcher.wait("copies of the program", lambda: copies.slots() == 2)
        need(
            launcher.ask(f"JOB_STATUS {job}")[:3] in ("S P", "S A"),
            "a job that runs is neither PENDING nor ACTIVE",
        )
        need(launcher.ask(f"JOB_DESTROY {job}") == "S", "JOB_DESTROY is refused")
        need(launcher.over(job) == "FAILED", "a job that was destroyed is not FAILED")
        launcher.wait(
            "end of the processes", lambda: not any(runs(process) for process, *_ in copies.begun())
        )


def mistakes_are_refused_and_the_next_request_is_heard(start, copies):
    """Section 3: one reply to each, and driver and launcher stay in step."""
    with start() as launcher:
        good = copies.job("exit", "0")
        for lines in (["SING"], ["JOB_STATUS nobody"], ["JOB_DESTROY nobody"]):
            need(launcher.ask(*lines)[0] == "F", f"{lines[0]} is not refused")
        for bad in ("count 0", "count many", "count 1000000", "executable_path relative"):
            lines = [*launcher.attributes, *good, bad]
            need(
                launcher.ask("JOB_CREATE wrong", *lines, "JOB_CREATE_END")[0] == "F",
                f"{bad} is not refused",
            )
        need(not launcher.created, "a job was created that was refused")
        need(launcher.over(launcher.create("good", *good)) == "DONE", "after mistakes no job runs")


def ends(how, copies, start):
    """Section 3: jobs that run, and one that is just being created, end before the launcher
    does."""
    with start() as launcher:
        jobs = [
            launcher.create(f"{how}{index}", *copies.job("sleep", "1000", count=2))
            for index in range(2)
        ]
        launcher.wait("copies of the program", lambda: copies.slots() == 2)
        launcher.say(
            f"JOB_CREATE late{how}",
            *launcher.attributes,
            *copies.job("sleep", "1000"),
            "JOB_CREATE_END",
        )
        if how == "EXIT":
            launcher.say("EXIT")
        elif how == "SIGTERM":
            need(launcher.reply() == "S", "a good JOB_CREATE is refused")
            launcher.process.send_signal(signal.SIGTERM)
        else:
            launcher.process.stdin.close()
        status = launcher.end()
        need(status == 0, f"its exit status is {status}; its last words: {launcher.remarks[-3:]}")
        replies = list(launcher.replies.queue)
        need(how != "EXIT" or replies[-2:] == ["S", None], f"EXIT is not replied to: {replies}")
        # What ends may take a moment to be gone.
        until = time.monotonic() + 10
        left = True
        while left and time.monotonic() < until:
            left = [
                process
                for file in copies.folder.glob("copies.*/copy.*")
                if runs(process := int(file.read_text().split()[0]))
            ]
            time.sleep(0.05)
        need(not left, f"when it has ended ({how}), processes of its jobs {jobs} are left")


def it_ends_with_its_input(start, copies):
    """The driver was killed: nobody says anything any more."""
    ends("EOF", copies, start)


def it_ends_with_a_signal(start, copies):
    """The machine is shut down, or somebody is tired of it."""
    ends("SIGTERM", copies, start)


def it_ends_when_it_is_asked_to(start, copies):
    """The reply to EXIT is the word that nothing is left."""
    ends("EXIT", copies, start)


CHECKS = [
    features_are_told,
    a_job_runs_with_what_it_was_given,
    many_slots_are_one_job,
    lines_may_end_without_cr,
    failures_are_told,
    a_job_is_destroyed,
    mistakes_are_refused_and_the_next_request_is_heard,
    it_ends_with_its_input,
    it_ends_with_a_signal,
    it_ends_when_it_is_asked_to,
]


def run(check, command, attributes=(), seconds=120.0):
    """Raises `Broken` where the launcher does otherwise."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="launcher"))

    @contextlib.contextmanager
    def start():
        launcher = Launcher(command, list(attributes), seconds)
        try:
            yield launcher
            if launcher.process.poll() is None:
                launcher.process.stdin.close()
            status = launcher.end()
            need(
                status == 0, f"its exit status is {status}; its last words: {launcher.remarks[-3:]}"
            )
            need(not launcher.wrong, "; ".join(launcher.wrong))
        finally:
            # One that is wrong may still end what it started.
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                launcher.process.stdin.close()
                launcher.process.wait(timeout=min(seconds, 20))
            with contextlib.suppress(ProcessLookupError):
                os.killpg(launcher.process.pid, signal.SIGKILL)
            launcher.process.wait()

    copies = Copies(folder)
    try:
        check(start, copies)
    finally:
        for file in folder.glob("copies.*/copy.*"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(file.read_text().split()[0]), signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(
        usage="conformance.py [--attribute 'NAME VALUE']... [--seconds N] LAUNCHER [ARGUMENT]..."
    )
    parser.add_argument("--attribute", action="append", default=[])
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error("which launcher?")
    failed = 0
    for check in CHECKS:
        try:
            run(check, arguments.command, arguments.attribute, arguments.seconds)
            print(f"good   {check.__name__}", flush=True)
        except (Broken, OSError) as error:
            failed += 1
            print(f"WRONG  {check.__name__}: {error}", flush=True)
    print(f"{len(CHECKS) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
