#!/usr/bin/env python3
"""Runs the test programs of the Rust workspace side by side: cargo alone runs one after the other,
and most of them wait.

Usage: rust-tests.py [compile | run]      compile: makes the programs, and runs none; run: runs what
was made so

Each runs in its package's folder, as with cargo. How many tests of a program run at a time is
RUST_TEST_THREADS, and how many programs, FARCALL_TEST_PROGRAMS.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

CARGO = ["cargo", "test", "--release", "--workspace"]
# Tests wait for servers, time limits and compilers: more of them than there are processors keep
# these busy.
PROCESSORS = len(os.sched_getaffinity(0))
THREADS = os.environ.get("RUST_TEST_THREADS", str(3 * PROCESSORS))
PROGRAMS = int(os.environ.get("FARCALL_TEST_PROGRAMS", "3"))
# The programs that were made.
MADE = pathlib.Path(__file__).resolve().parent.parent / "build/tests/rust-programs.json"
# Begun first: what takes longest must not be left to the end.
LONGEST = ("end-to-end", "slurm", "faults", "leaks")


def compiled():
    """The test programs as (package, target, file, folder of the package), compiled; None where
    they do not compile."""
    command = [*CARGO, "--no-run", "--message-format=json-render-diagnostics"]
    cargo = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    programs = []
    for line in cargo.stdout:
        message = json.loads(line)
        if (
            message["reason"] == "compiler-artifact"
            and message["profile"]["test"]
            and message["executable"]
        ):
            folder = os.path.dirname(message["manifest_path"])
            target = message["target"]
            kind = target["kind"][0]
            programs.append(
                (
                    os.path.basename(folder),
                    target["name"] if kind == "test" else kind,
                    message["executable"],
                    folder,
                )
            )
    if cargo.wait() != 0:
        return None
    return sorted(
        programs,
        key=lambda one: (LONGEST.index(one[1]) if one[1] in LONGEST else len(LONGEST), one[:2]),
    )


def run(program):
    """What a program said, and its status."""
    package, target, file, folder = program
    # Times of single tests are no promise of stable Rust's: this variable has its test harness
    # print them all the same.
    variables = {**os.environ, "CARGO_MANIFEST_DIR": folder, "RUSTC_BOOTSTRAP": "1"}
    command = [file, "-Z", "unstable-options", "--report-time", f"--test-threads={THREADS}"]
    done = subprocess.run(
        command,
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return f"== {target} of {package}\n" + done.stdout.decode(errors="replace"), done.returncode


def run_documents():
    """The same of what documents show, which cargo alone can compile: the compiler looks for it in
    every package, one after the other."""
    done = subprocess.run(
        [*CARGO, "--doc", "--quiet"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return done.stdout.decode(errors="replace"), done.returncode


def main(order):
    # Cargo is asked once: whatever holds its lock later holds up no test.
    if order != "run" or not MADE.exists():
        MADE.unlink(missing_ok=True)
        programs = compiled()
        if programs is None:
            return 1
        MADE.parent.mkdir(parents=True, exist_ok=True)
        MADE.write_text(json.dumps(programs))
    if order == "compile":
        return 0
    programs = json.loads(MADE.read_text())
    status = 0
    threads = concurrent.futures.ThreadPoolExecutor
    with threads(1) as alone, threads(PROGRAMS) as pool:
        documents = alone.submit(run_documents)
        for said, code in pool.map(run, programs):
            print(said, flush=True)
            if code != 0:
                status = 1
                print(f"FAIL {said.splitlines()[0][3:]}: status {code}", flush=True)
        said, code = documents.result()
        print(said, flush=True)
    return code or status


if __name__ == "__main__":
    sys.exit(main("".join(sys.argv[1:])))
