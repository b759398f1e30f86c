#!/usr/bin/env python3
"""Counts the tests of suites by what they left (suites.sh), names the slowest, and ends with `N
passed, N failed`.

Usage: count-tests.py LOGS

A test is what can fail by itself: a function of Rust, Python or Java, a program in C or Fortran.
What such a program or a player of golden conversations compares is a check, and counted apart. A
suite that fails without a test that failed (it did not compile, say) counts as one that failed, and
so does one that ran no test at all: silence is no success.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree

SLOWEST = 20


class Suite:
    """What one suite did."""

    def __init__(self, name):
        self.name = name
        self.passed = self.failed = self.left_out = self.checks = 0
        self.times = []

    def add(self, name, seconds, outcome, checks=0):
        self.passed += outcome == "passed"
        self.failed += outcome == "failed"
        self.left_out += outcome == "left-out"
        self.checks += checks
        self.times.append((seconds, self.name, name))


def read_records(suite, path):
    """Lines of seconds, outcome, checks and name."""
    for line in path.read_text(errors="replace").splitlines():
        seconds, outcome, checks, name = line.split("\t", 3)
        suite.add(name, float(seconds), outcome, int(checks))


def read_report(suite, path):
    """JUnit's format, which pytest and Maven write, too."""
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        kinds = {child.tag for child in case}
        outcome = (
            "failed"
            if kinds & {"failure", "error"}
            else "skipped"
            if "skipped" in kinds
            else "passed"
        )
        suite.add(
            f"{case.get('classname', '')}.{case.get('name', '')}",
            float(case.get("time") or 0),
            outcome,
        )


def read_rust(suite, text):
    """What test programs of Rust print. The sums count, the lines of tests have the times: one that
    a message of another test has torn is no test less."""
    program = ""
    for line in text.splitlines():
        if match := re.match(r"== (\S+) of (\S+)", line):
            program = match[2] if match[1] == "lib" else f"{match[2]} {match[1]}"
        elif match := re.match(r"test result: \w+\. (\d+) passed; (\d+) failed;", line):
            suite.passed += int(match[1])
            suite.failed += int(match[2])
        elif match := re.match(r"test (\S+).* \.\.\. \w+ <([\d.]+)s>$", line):
            suite.times.append((float(match[2]), suite.name, f"{program} {match[1]}"))
        elif match := re.search(r"\b(\d+) checks: ", line):
            suite.checks += int(match[1])


def read(logs, name):
    """Everything that a suite left."""
    suite = Suite(name)
    log = (logs / f"{name}.log").read_text(errors="replace")
    status = (logs / f"{name}.status").read_text().strip()
    if (logs / f"{name}.records").exists():
        read_records(suite, logs / f"{name}.records")
    for report in [logs / f"{name}.xml", *sorted(logs.glob(f"{name}.reports/*.xml"))]:
        if report.exists():
            read_report(suite, report)
    if name == "rust":
        read_rust(suite, log)
    if status != "0" and suite.failed == 0:
        suite.failed = 1
        print(f"FAIL suite {name} ended with status {status}")
    elif suite.passed + suite.failed + suite.left_out == 0:
        suite.failed = 1
        print(f"FAIL suite {name} ran no test")
    return suite


def main(logs):
    suites = [read(logs, status.stem) for status in sorted(logs.glob("*.status"))]
    print(f"the {SLOWEST} slowest tests, in seconds:")
    for seconds, suite, name in sorted(
        (time for suite in suites for time in suite.times), reverse=True
    )[:SLOWEST]:
        print(f"  {seconds:7.1f}  {suite}: {name}")
    broken = [suite.name for suite in suites if suite.failed]
    if broken:
        print(f"failures in: {' '.join(broken)} (output in {logs})")
    print(
        f"{sum(suite.checks for suite in suites)} checks in programs of C and Fortran, vectors and "
        "golden conversations"
    )
    if left_out := sum(suite.left_out for suite in suites):
        print(
            f"{left_out} left out: what they look at is as it was when they passed "
            "(FARCALL_TEST_ALL=1 runs them)"
        )
    failed = sum(suite.failed for suite in suites)
    print(f"{sum(suite.passed for suite in suites)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
