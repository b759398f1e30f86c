"""Everything in C and Python that takes a time limit ends in time at peers that do not answer.

What there is, is read from the headers and from the package. What has no case fails the test, which
names it.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import peers  # noqa: E402  (it stands beside this file, as the next)
from running import (  # noqa: E402
    COMES,
    GRACE,
    HANGS,
    HERE,
    LIMIT,
    ROOT,
    STAGE,
    TRIES,
    check_all,
    environment,
)

# Members that are times and no limits of anything that waits.
NO_LIMITS = {
    "farcall_call_options.run_timeout_seconds": "how long a routine may run: the server ends it",
    "farcall_call_options.keep_seconds": "how long an outcome is kept by the server",
    "farcall_call_options.lease_seconds": "how long data is kept by the server",
    "farcall_transaction_options.keep_seconds": "how long a transaction is kept by the server",
    "farcall_hold_options.lease_seconds": "how long an object is kept by the server",
    "farcall_connect_options.reconnect_seconds": (
        "how long calls wait for a lost connection: tests/tests/reconnect.rs"
    ),
}
# Attributes of GridRPC, with what they are made of here.
GRIDRPC = {
    "GRPC_TIMEOUT_NP": "no attribute, but what a call ends with",
    "GRPC_SESSION_ATTR_SESSION_TIMEOUT": "farcall_call_options.timeout_seconds",
    "GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_ARGUMENT": (
        "farcall_call_news: clients/gridrpc/src/transfers.rs looks at it in between"
    ),
    "GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_RESULT": "as above",
    "GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_CALLBACK_ARGUMENT": "as above",
    "GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_CALLBACK_RESULT": "as above",
    "GRPC_HANDLE_ATTR_JOBSTARTTIMEOUT": "farcall_hold_options.start_seconds",
    "GRPC_HANDLE_ATTR_JOBSTOPTIMEOUT": "farcall_hold_release",
}
# A heartbeat is for servers that give no sign of life: one that pings gives some.
NOT_AT = {("farcall_connect_options.heartbeat_seconds", "pings")}


def limited_in_headers():
    """Functions with a time limit among their parameters, and members of options that are one."""
    found = set()
    for header in sorted((ROOT / "clients").glob("*/include/*.h")):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        for function, parameters in re.findall(r"\b(\w+)\s*\(([^()]*)\)\s*;", text):
            if re.search(r"\b\w*(timeout|seconds)\w*\b", parameters):
                found.add(function)
        for body, name in re.findall(r"typedef struct \w+ \{([^{}]*)\} (\w+_options);", text):
            found |= {f"{name}.{member}" for member in re.findall(r"\b(\w*seconds\w*)\s*;", body)}
        found |= set(re.findall(r"\b(GRPC_\w*TIMEOUT\w*)\b", text))
    return found


@pytest.fixture(scope="module")
def program(real):
    """The program with all entries of C."""
    path = str(real.folder / "entries")
    flags = [
        "-O1",
        "-Wall",
        "-Wextra",
        f"-I{STAGE}/include",
        f"-L{STAGE}/lib",
        f"-Wl,-rpath,{STAGE}/lib",
    ]
    subprocess.run(["cc", *flags, "-o", path, str(HERE / "entries.c"), "-lfarcall"], check=True)
    return path


def test_every_c_function_with_a_time_limit_has_a_case(program):
    """By the headers."""
    found = limited_in_headers()
    assert len(found) > 15, found
    listed = subprocess.run(
        [program, "--list"], capture_output=True, text=True, check=True
    ).stdout.split()
    cases = {name.partition(":")[0] for name in listed}
    missing = sorted(found - cases - set(NO_LIMITS) - set(GRIDRPC))
    assert not missing, f"no entry in {HERE}/entries.c yet: {missing}"
    gone = sorted((cases | set(NO_LIMITS) | set(GRIDRPC)) - found)
    assert not gone, f"in no header any more: {gone}"


def test_every_c_function_ends_in_time(real, program, folder):
    """At every peer."""
    silent = folder / "silent"
    silent.write_text("#!/bin/sh\nexec sleep 60\n")
    silent.chmod(0o755)
    known = environment(folder, SILENT_PROGRAM=str(silent), LD_LIBRARY_PATH=str(STAGE / "lib"))
    listed = subprocess.run(
        [program, "--list"], capture_output=True, text=True, check=True
    ).stdout.split()
    entries = {
        f"{name} @ {kind}": (name, kind)
        for name in listed
        for kind in peers.KINDS
        if (name, kind) not in NOT_AT
    }

    def attempt(entry):
        name, kind = entry
        at_once = name == "farcall_connect_options.timeout_seconds"
        peer = peers.Peer(kind, real.port, begins=at_once)
        command = [program, name, peer.address, real.token, str(LIMIT)]
        process = subprocess.Popen(
            command,
            env=known,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            if process.stdout.readline() != "ready\n":
                return None, process.stderr.read()
            if not at_once:
                peer.turn()
            out, errors = process.communicate("\n", timeout=HANGS)
            seconds, _, ended = out.partition(" ")
            return float(seconds), ended + errors
        except subprocess.TimeoutExpired:
            return None, "it hangs"
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.communicate()
            peer.close()

    check_all(entries, attempt)


# ---- Python
# ------------------------------------------------------------------------------------------------------------


def test_everything_in_python_with_a_time_limit_ends_in_time(real, folder):
    """What has one is read from signatures and documentation."""
    known = environment(folder)
    settings = [
        sys.executable,
        str(HERE / "python_entries.py"),
        str(real.port),
        real.token,
        str(LIMIT),
    ]

    def run(*chosen):
        out = subprocess.run(
            [*settings, *chosen], env=known, capture_output=True, text=True, timeout=COMES * 3
        )
        lines = [json.loads(line) for line in out.stdout.splitlines()]
        assert lines, out.stderr
        assert lines[0]["missing"] == [], (
            f"no row in TABLE of python_entries.py yet: {lines[0]['missing']}"
        )
        return {line["case"]: (line["seconds"], line["ended"]) for line in lines[1:]}

    outcomes = run()
    assert len(outcomes) >= 4 * 15, outcomes

    def is_late(outcome):
        return outcome[0] is None or outcome[0] > LIMIT + GRACE

    late = {name for name, outcome in outcomes.items() if is_late(outcome)}
    for _ in range(TRIES - 1):
        late = {name for name in late if is_late(outcomes.update(run(name)) or outcomes[name])}
    assert not late, {name: outcomes[name] for name in late}
    failed = {
        name: ended
        for name, (_, ended) in outcomes.items()
        if ended == "success" and not name.startswith("connected@pings")
    }
    assert not failed, failed
