# Rows of `farcall scan`: a public library of several hundred Fortran files.
import subprocess
import time

from processes import ROOT
from turns import figure, row

CORPUS = ROOT / "build/corpus"


def scan(bench):
    """Seconds from start to end; tools/corpus.sh fetches the library."""
    if not (CORPUS / ".complete").exists():
        print("scan: not measured: run tools/corpus.sh, which fetches public Fortran libraries")
        return
    count = sum(1 for _ in CORPUS.glob("**/*.f"))
    command = [bench.stage / "bin/farcall", "scan", CORPUS, "--force"]
    command += ["-o", bench.folder / "corpus.idl"]

    def scanned():
        begin = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 2):
            raise SystemExit(f"bench: {done.stderr.splitlines()[0]}")
        return time.monotonic() - begin

    taken = figure([scanned() for _ in range(bench.sizes.rounds)])
    row(f"farcall scan of {count} Fortran files: seconds", taken, None, "<= 5")
