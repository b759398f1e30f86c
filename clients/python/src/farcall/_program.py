"""The console script `farcall`: becomes the program that the wheel carries."""

from __future__ import annotations

import os
import sys

from ._library import find


def main() -> None:
    """Runs `farcall` with this process's arguments, in this process."""
    program = find("FARCALL_PROGRAM", "bin", "farcall")
    # A bare name would find this very script on the path again, for ever.
    if os.path.basename(program) == program:
        sys.exit(
            "farcall: this package carries no program; install the wheel, or name one in "
            "FARCALL_PROGRAM"
        )
    # Python files that it publishes run in this interpreter, unless another is beside them.
    os.environ.setdefault("FARCALL_PYTHON", sys.executable)
    try:
        os.execv(program, ["farcall", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"farcall: cannot run {program}: {error.strerror}")
