"""Shows that the bench's parts of calls, arrays, handles and other systems run."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import smoke  # noqa: E402  (it lies beside this file)


def test_the_parts_run():
    smoke.runs(smoke.GROUPS["calls"])
