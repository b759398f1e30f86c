#!/usr/bin/env python3
"""Makes routines/tables/farcall_tables/codata.csv, the table `constants`, from SciPy's copy of the
CODATA recommended values, which NIST publishes for everybody's use. `--check`: compares instead.

Needs SciPy 1.15 or newer, whose values are those of 2022.
"""

import csv
import io
import pathlib
import sys

from made_files import write_or_compare
from scipy.constants import find, physical_constants

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE = ROOT / "routines/tables/farcall_tables/codata.csv"


def main() -> int:
    """What the command line asks for."""
    lines = io.StringIO()
    table = csv.writer(lines, lineterminator="\n")
    table.writerow(["name", "value", "uncertainty", "unit"])
    # Without those that newer recommendations have no more.
    for name in sorted(find()):
        value, unit, uncertainty = physical_constants[name]
        table.writerow([name, repr(float(value)), repr(float(uncertainty)), unit])
    texts = {FILE.name: lines.getvalue()}
    return write_or_compare(FILE.parent, texts, "tools/make-constants.py")


if __name__ == "__main__":
    sys.exit(main())
