"""The part of the demonstration that runs transactions: right results, a figure, and no process that is
left."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
PROGRAM = """
import pathlib, sys
root, stage, output = map(pathlib.Path, sys.argv[1:])
sys.path.insert(0, str(root / "demo"))
from transactions import transactions
print(transactions(root, stage, output))
"""


def test_transactions_over_three_servers_survive_one_each(tmp_path):
    # Servers that stay would have this in their environment.
    mark = f"DEMO_OF_TEST={tmp_path}"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, ROOT, STAGE, tmp_path],
        capture_output=True,
        text=True,
        timeout=300,
        env=dict([*os.environ.items(), mark.split("=", 1)]),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("VERIFIED") == 2, done.stdout
    assert "server 2 is killed" in done.stdout and "server 3 is killed" in done.stdout
    assert done.stdout.count("ran again") == 2 and "server 4 |" in done.stdout
    assert "<svg" in (tmp_path / "transactions.svg").read_text()
    left = [one for one in pathlib.Path("/proc").glob("[0-9]*/environ") if has(one, mark)]
    assert not left


def has(environment, mark):
    try:
        return mark.encode() in environment.read_bytes().split(b"\0")
    except OSError:
        return False
