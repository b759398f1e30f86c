#!/usr/bin/env python3
"""A PBS of one host, as far as the launcher of docs/how-to/other-batch-systems.md uses it: `qsub`,
`qstat` and `qdel`.

Which of them it is, its name says; $FAKE_PBS is the folder of its jobs. Fails on anything that the
real ones do not take.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

FOLDER = pathlib.Path(os.environ["FAKE_PBS"])


def qsub():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for letter in "NqAoe":
        parser.add_argument(f"-{letter}")
    parser.add_argument("-l", action="append")
    given = parser.parse_args()
    assert (
        given.N
        and len(given.N) <= 230
        and any(re.fullmatch(r"select=1:ncpus=\d+", wish) for wish in given.l)
    ), given
    job = f"{len(list(FOLDER.glob('*.job')))}.fake"
    (FOLDER / f"{job}.job").write_text(sys.stdin.read())
    run = (
        f"sh {FOLDER}/{job}.job >>{given.o} 2>>{given.e}; echo $? >{FOLDER}/{job}.new; mv "
        f"{FOLDER}/{job}.new {FOLDER}/{job}.end"
    )
    process = subprocess.Popen(
        ["sh", "-c", run],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    (FOLDER / f"{job}.group").write_text(str(process.pid))
    print(job)


def qstat():
    assert sys.argv[1:5] == ["-x", "-f", "-F", "json"], sys.argv
    jobs = {}
    for job in sys.argv[5:]:
        end = FOLDER / f"{job}.end"
        if not (FOLDER / f"{job}.job").exists():
            sys.exit(f"qstat: Unknown Job Id {job}")
        jobs[job] = (
            {"job_state": "F", "Exit_status": int(end.read_text())}
            if end.exists()
            else {"job_state": "R", "comment": "Job run"}
        )
    print(json.dumps({"Jobs": jobs}))


def qdel():
    for job in sys.argv[1:]:
        if (FOLDER / f"{job}.end").exists():
            continue
        with contextlib.suppress(ProcessLookupError):
            os.killpg(int((FOLDER / f"{job}.group").read_text()), signal.SIGKILL)
        (FOLDER / f"{job}.end").write_text("265")


if __name__ == "__main__":
    {"qsub": qsub, "qstat": qstat, "qdel": qdel}[pathlib.Path(sys.argv[0]).name]()
