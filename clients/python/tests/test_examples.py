"""The examples run and say what they are to say."""

import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples/python"
# Arguments, and a part of the output.
WANTED = {
    "linpack.py": (["100"], "n = 100: "),
    "sweep.py": (["20"], "sums of the deviates: "),
    "publish.py": ([], "3 peaks, at t ="),
    "files.py": ([], "made.csv has ['1,2', '3,6']\nfrom memory: b'2,3\\n'"),
    "memory.py": ([], "right-hand side 1 gives [-0.09090909  0.36363636]"),
    "errors.py": ([], "no such routine: did you mean dgesv"),
}


# Those that have an interface file beside them.
WITH_ROUTINES = {
    "../progress/anneal.py": (["3"], "Results(energy=0.729"),
    "../callbacks/integrate.py": ([], "2.0\n0.333\n"),
    "../objects/rod.py": ([], "1.784 17.837"),
}


def test_every_example_is_tested():
    assert {file.name for file in EXAMPLES.glob("*.py")} == set(WANTED)
    assert all((EXAMPLES / name).exists() for name in WITH_ROUTINES)


@pytest.mark.parametrize("name", {**WANTED, **WITH_ROUTINES})
def test_example(name):
    arguments, wanted = {**WANTED, **WITH_ROUTINES}[name]
    environment = {key: value for key, value in os.environ.items() if key != "FARCALL_SERVER"}
    ended = subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
    )
    assert ended.returncode == 0, ended.stderr
    assert wanted in ended.stdout
