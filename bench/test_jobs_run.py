"""Shows that the bench's parts of sweeps, published functions, jobs and crowds run."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import smoke  # noqa: E402  (it lies beside this file)


def test_the_parts_run():
    smoke.runs(smoke.GROUPS["jobs"])
