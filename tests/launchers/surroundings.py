"""What tests of launchers share: programs of their own, waiting, and the staged `farcall`."""

import os
import pathlib
import re
import time

import conformance

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
FARCALL = str(STAGE / "bin/farcall")
# Seconds that anything may take here: the machine may be busy.
SECONDS = 60
QUICK = ["--interval-min", "0.1", "--interval-max", "0.5", "--settle", "1"]


def write_program(path, text):
    """A script that may run: its path."""
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def has_group(group):
    """Whether a process of the group runs; those that nobody waits for do not."""
    for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of = file.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(of) == group and state != "Z":
            return True
    return False


def eventually(condition):
    """Waits; how long anything takes is nobody's promise here."""
    until = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


def sleeper(folder, *more):
    """A job that does not end by itself."""
    return [
        f"executable_path {write_program(pathlib.Path(folder) / 'sleeper', conformance.PROGRAM)}",
        "argument sleep",
        "argument 1000",
        f"environment COPIES={folder}",
        *more,
    ]


def status(launcher, job):
    """As JOB_STATUS has it: what a user is shown."""
    return launcher.ask(f"JOB_STATUS {job}").removeprefix("S ")


def wait_for(launcher, job, words):
    """Until a user would be shown this."""
    eventually(lambda: re.search(words, status(launcher, job)))
