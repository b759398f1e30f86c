# Rows of what many calls, and functions that one has just written, cost a user of Python.
"""Calls of a routine that waits: nothing but Farcall's own work keeps a worker from the next one.
Efficiency is the time that all workers would take without any, over the time taken. It needs no
anchor: a clock tells it."""

import contextlib
import itertools
import os
import pathlib
import subprocess
import sys
import time
from unittest import mock

import farcall
from processes import ROOT
from rows.ssh import Sshd
from turns import figure, row

# The model of the sweep: seconds that one case takes.
SECONDS = 0.2
MODEL = """Module model;
Globals {
#include <time.h>
}
Define case(IN double seconds, OUT double done)
Idempotent
{
    struct timespec left = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) != 0)
        ;
    *done = seconds;
}
"""
MANIFEST = """[[plugin]]
name = "rpc-server"
slot = "rpc"
options = {{ executables_max = {workers} }}
"""


def sweep(bench):
    """Many cases on this host's workers, as the page on thousands of calls makes them; then on those
    of a host that ssh reaches."""
    workers = bench.sizes.sweep[1]
    model, manifest = bench.folder / "model.idl", bench.folder / "sweep.toml"
    model.write_text(MODEL)
    manifest.write_text(MANIFEST.format(workers=workers))
    program = bench.stage / "bin/farcall"
    arguments = ["--manifest", str(manifest)]
    with farcall.connect(files=[model], program=program, arguments=arguments) as server:
        swept(bench, server, "", ">= 0.90")
    with contextlib.ExitStack() as stack:
        if far := far_server(bench, stack, config=manifest):
            far.publish(model)
            swept(bench, far, " over ssh", ">= 0.80")


def swept(bench, server, where, want):
    """The row of one server."""
    calls, workers = bench.sizes.sweep
    values = [efficiency(server, calls, workers) for _ in range(rounds(bench))]
    what = f"{calls} calls of {SECONDS} s on {workers} workers{where}: efficiency"
    row(what, figure(values), None, want)


def far_server(bench, stack, **settings):
    """A server behind a real sshd, which ends with the stack; None where there is no sshd."""
    found = subprocess.run(
        [ROOT / "tools/sshd.sh"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
    if not found:
        print("over ssh: not measured, there is no sshd")
        return None
    sshd = stack.enter_context(Sshd(bench, pathlib.Path(found), "0,1"))
    stack.enter_context(mock.patch.dict(os.environ, sshd.environment()))
    return stack.enter_context(farcall.connect("ssh://far", **settings))


def rounds(bench):
    """Each takes half a minute."""
    return min(bench.sizes.rounds, 3)


def efficiency(server, calls, workers):
    """Of calls that an executor makes; the workers run already, as in a sweep that goes on."""
    with server.executor() as executor:
        list(executor.map(server.case, [0.01] * workers * 4))
        begin = time.monotonic()
        done = list(executor.map(server.case, [SECONDS] * calls, run_timeout=60))
        taken = time.monotonic() - begin
    assert len(done) == calls
    return calls * SECONDS / workers / taken


def publishing(bench):
    """A function that was just written: from `server.publish` to its first result."""
    program = bench.stage / "bin/farcall"
    arguments = ["--python", sys.executable]
    with farcall.connect(program=program, arguments=arguments) as server:
        told(bench, server, "local", "<= 1.0")
    with contextlib.ExitStack() as stack:
        if far := far_server(bench, stack):
            told(bench, far, "over ssh", "<= 3.0")


def told(bench, server, where, want):
    """The row of one server. The first function is not counted: the server looks for its Python."""
    values = [seconds_of(bench, server, number) for number in range(bench.sizes.rounds + 1)][1:]
    row(f"server.publish(f) to its first result, {where}: seconds", figure(values), None, want)


NUMBERS = itertools.count()


def seconds_of(bench, server, number):
    """Another function each time, in a module of its own name."""
    file = bench.folder / f"f{next(NUMBERS)}.py"
    file.write_text(f"def f(x: float) -> float:\n    return x + {number}\n")
    begin = time.monotonic()
    assert server.publish(file).f(1.0) == 1.0 + number
    return time.monotonic() - begin
