"""Sends a file and gets one back: what a routine reads and writes by name stays with its caller.
Usage: files.py"""

import pathlib
import tempfile

import numpy as np

import farcall


def differences(table: pathlib.Path) -> pathlib.Path:
    """The difference of each row of a CSV file from the one before."""
    # On the server: the path is that of a copy, private to this call, and so is the folder.
    rows = np.loadtxt(table, delimiter=",", ndmin=2)
    np.savetxt("differences.csv", np.diff(rows, axis=0), fmt="%g", delimiter=",")
    return pathlib.Path("differences.csv")


if __name__ == "__main__":
    # A server of this program's own; `farcall serve files.py` makes one that stays.
    with tempfile.TemporaryDirectory() as folder, farcall.connect(files=[__file__]) as server:
        table = pathlib.Path(folder, "table.csv")
        table.write_text("0,1\n1,3\n4,9\n")
        # From file to file; the result appears in one piece, when the call has succeeded.
        made = server.differences(table, result=pathlib.Path(folder, "made.csv")).result
        print(made.name, "has", made.read_text().split())
        # Bytes are a content, too; without a name for the result, it comes as bytes.
        print("from memory:", server.differences(b"5,5\n7,8\n").result)
