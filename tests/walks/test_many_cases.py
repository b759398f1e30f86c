"""The engineer with thousands of cases: a model that crashes, loops and gives NaN, a program that is
interrupted, a server that is killed. In the end each case is there once, with the right number or
with its failure.

The program, the server and its settings are the page's. FARCALL_FULL_WALK=1 (`make soak`): 5,000
cases of 0.2 seconds, which takes five minutes."""

import collections
import json
import os
import signal
import subprocess

import pytest
from walking import PYTHON, Page, changed, eventually

PAGE = Page("how-to/many-calls.md")
FULL = os.environ.get("FARCALL_FULL_WALK") == "1"
LOADS = 1250 if FULL else 500
SECONDS = 0.2 if FULL else 0.01
# What a case takes at most: many times what it needs, and what a loop costs a worker.
CASE_SECONDS = 4.0 if FULL else 2.0
# The longest that a run may take.
TIME_MAX = 600 if FULL else 120

# The page's routine, as models of engineers are: it takes its time, and has its bad days.
BODY = """{
    struct timespec left = {0, SECONDS * 1e9};
    while (nanosleep(&left, &left) != 0)
        ;
    int number = (int)load;
    if (length == 4 && number % 100 == 7)
        abort();
    if (length == 3 && number % 100 == 11)
        *(volatile int *)8 = 1;
    if (length == 2 && number % 125 == 13)
        for (volatile int turns = 0;; turns++)
            ;
    *deflection = 0.02 * load * length * length * length;
    if (length == 1 && number % 50 == 17)
        *deflection = sqrt(-load);
    if (length == 1 && number == 19)
        *deflection = load / 0.0;
}
"""


def what_fails(load, length):
    """Words of the failure that the model has in store for a case; None for a good case."""
    bad = {
        (4, load % 100 == 7): "killed by signal 6 (SIGABRT)",
        (3, load % 100 == 11): "killed by signal 11 (SIGSEGV)",
        (2, load % 125 == 13): f"(run_timeout: {CASE_SECONDS:g} s",
        (1, load % 50 == 17): "nan",
        (1, load == 19): "inf",
    }
    return bad.get((length, True))


@pytest.fixture
def engineer(place):
    """The folder of one who has followed the page down to the program."""
    page = PAGE.file("beam.idl")
    head, _, _ = page.partition("{\n")
    globals_ = "Module beam;\n\nGlobals {\n#include <math.h>\n#include <time.h>\n}\n"
    body = BODY.replace("SECONDS", str(SECONDS))
    place.write("beam.idl", changed(head, ("Module beam;\n", globals_)) + body)
    place.write("farcall.toml", PAGE.file("farcall.toml"))
    program = changed(
        PAGE.file("bend_all.py"),
        ("range(1, 501)", f"range(1, {LOADS + 1})"),
        ("run_timeout=50", f"run_timeout={CASE_SECONDS}"),
    )
    place.write("bend_all.py", program)
    place.results = place.folder / "results.jsonl"
    return place


def lines(place):
    return place.results.read_text().count("\n") if place.results.exists() else 0


def begin(place):
    return place.begin(
        f"{PYTHON} bend_all.py", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=-1
    )


def ended(process, seconds=TIME_MAX):
    said, _ = process.communicate(timeout=seconds)
    return process.returncode, said


def busy(place):
    """How many calls the server has."""
    said = place.run("farcall top --once --json --server unix:beam.sock")
    return json.loads(said)["calls_open"]


def strict(line):
    """As programs in other languages read JSON."""

    def refuse(word):
        raise AssertionError(f"{word} is not JSON: {line}")

    return json.loads(line, parse_constant=refuse)


def check(place):
    """Each case once: with its number, or with the failure that is the model's."""
    found = [strict(line) for line in place.results.read_text().splitlines()]
    cases = collections.Counter(tuple(one["case"]) for one in found)
    assert len(found) == 4 * LOADS and set(cases.values()) == {1}, cases.most_common(3)
    for one in found:
        load, length = one["case"]
        if words := what_fails(load, length):
            assert words in one.get("failed", "no failure"), one
        else:
            wanted = 0.02 * load * length * length * length
            assert one.get("deflection") == wanted, one


def test_thousands_of_cases_with_crashes_loops_and_interruptions(engineer):
    serve = PAGE.command("farcall serve --manifest farcall.toml")
    server = engineer.serve(serve)
    # Ctrl-C in the middle: the program ends at once, and its calls with it.
    first = begin(engineer)
    eventually(lambda: lines(engineer) > LOADS or first.poll() is not None, TIME_MAX)
    first.send_signal(signal.SIGINT)
    status, said = ended(first, 20)
    assert status == -signal.SIGINT and "KeyboardInterrupt" in said, said
    assert LOADS < lines(engineer) < 4 * LOADS
    eventually(lambda: busy(engineer) == 0)
    # The server is killed: the program says so, and no case is written as failed for that.
    kept = lines(engineer)
    second = begin(engineer)
    eventually(lambda: lines(engineer) > kept + LOADS or second.poll() is not None, TIME_MAX)
    server.kill()
    status, said = ended(second, 60)
    assert status == 1 and "farcall.ConnectionLost" in said.splitlines()[-1], said
    server.wait()
    # What is left, and a case whose line a full disk cut off.
    torn = engineer.results.read_text().rstrip("\n")
    engineer.results.write_text(torn[:-9])
    engineer.serve(serve)
    status, said = ended(begin(engineer))
    assert status == 0 and "did not run" not in said, said
    check(engineer)
    before = engineer.results.read_bytes()
    assert ended(begin(engineer)) == (0, "") and engineer.results.read_bytes() == before
