"""Every command ends in time at peers that do not answer and at sinks that take nothing.

Commands are read from the help. One that has no case in the table fails the test, which names it.
Cases run side by side; one that is late is tried again alone, since a busy machine may have held it
up.
"""

import fcntl
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import peers  # noqa: E402  (it stands beside this file, as the next)
from running import (  # noqa: E402
    FARCALL,
    HANGS,
    ID,
    IDL,
    LIMIT,
    ROOT,
    SINK_LIMIT,
    check_all,
    environment,
    timed,
)

FORTRAN = "      subroutine twice(x)\n      double precision x\n      x = 2 * x\n      end\n"
# By name: how each is called, once or more. {tmp} is a folder of its own. Those that talk to a
# server are tried at all peers, too.
COMMANDS = {
    "ls": ["ls", "ls --json"],
    "show": ["show ends/one", "show ends/one --json"],
    "call": [
        "call ends/one 1",
        "call ends/one 1 --json",
        "call ends/one 1 --timeout {limit}",
        "call ends/shout 2000",
    ],
    "submit": ["submit ends/one 1 --volatile"],
    "fetch": ["fetch {id}", "fetch {id} --timeout {limit}"],
    "kept": ["kept", "kept --json", "kept --forget {id}"],
    "data": ["data", "data --json", "data --delete {id}", "data --delete all"],
    "transactions": [
        "transactions",
        "transactions --json",
        "transactions {id}",
        "transactions {id} --results",
        "transactions --end {id}",
        "transactions --end all",
    ],
    "publish": ["publish {idl}"],
    "withdraw": ["withdraw nothing"],
    "reload": ["reload ends"],
    "drain": [
        "drain --timeout {limit} --server unix:{tmp}/none",
        "drain --timeout 0.1 --server unix:{tmp}/none",
    ],
    "top": ["top --once --interval 0.1", "top --once --json --interval 0.1", "top --interval 0.1"],
    "servers": ["servers", "servers --json"],
    "explain": ["explain ends/one", "explain ends/one --json"],
    "objects": ["objects", "objects --json"],
    "jobs": ["jobs", "jobs --json", "jobs --cancel 7"],
    "connect": ["connect host"],
    "launch": ["launch local"],
    "config show": ["config show", "config show --all", "config show host"],
    "doctor": ["doctor", "doctor --json"],
    "service": ["service"],
    "ca init": ["ca --folder {tmp}/ca init --server localhost"],
    "ca server": ["ca --folder {tmp}/none server localhost"],
    "ca user": ["ca --folder {tmp}/none user anna"],
    "ca renew": ["ca --folder {tmp}/none renew anna"],
    "ca revoke": ["ca --folder {tmp}/none revoke anna"],
    "ca list": ["ca --folder {tmp}/none list"],
    "check": ["check {idl}", "check {tmp}/none.idl"],
    "fmt": ["fmt --check {idl}", "fmt {tmp}/none.idl"],
    "scan": ["scan {tmp}/twice.f"],
    "sim": ["sim {tmp}/none.toml"],
    "run": [
        "run --virtual --platform {tmp}/none.toml none",
        "run --virtual --platform das4x15 --sites 2 --timeout {limit} sleep 600",
    ],
    "ng gen": ["ng gen {tmp}/none.idl"],
    "ng ninf-gen": ["ng ninf-gen {tmp}/none.idl"],
    # It becomes the compiler, which waits as it always does.
    "ng cc": [],
    "ng gen-nrf": ["ng gen-nrf {tmp}/none"],
    "ng gen-dif": ["ng gen-dif {tmp}/none"],
    "ng version": ["ng version"],
    "ng config": ["ng config --cflags"],
    "completions": ["completions bash"],
    "man": ["man {tmp}"],
    # Hidden: started by servers, clients and launchers.
    "host": ["host --check"],
    "pilot": ["pilot --help"],
    "bridge": ["bridge 127.0.0.1:1"],
    "relay": ["relay --mark m --name none --linger 0 --hopped"],
    # By a signal: see the tests of servers below.
    "serve": ["serve --print-manifest", "serve {tmp}/none.idl"],
}
# At a peer, where the table has something else.
AT_PEERS = {"drain": ["drain --timeout {limit}"], "top": ["top --once", "top"]}
# Those that go on where each answer comes in time, and are ended by a signal then.
GO_ON = ("top --interval 0.1", "top")
# With what is answered before a peer stops.
AFTER = {"call": 1, "submit": 1}


def leaves(known):
    """All commands, those that are hidden included, with their help."""
    found = {}
    source = (ROOT / "bins/farcall/src/commands.rs").read_text()
    hidden = re.findall(r"#\[command\(hide = true\)\]\s*(\w+)\(", source)

    def look(words):
        text = subprocess.run(
            [FARCALL, *words, "--help"], capture_output=True, text=True, env=known, check=True
        ).stdout
        below = re.search(r"^Commands:\n((?:  .*\n)+)", text, re.M)
        if below is None:
            found[" ".join(words)] = text
            return
        names = re.findall(r"^  (\S+)", below[1], re.M)
        for name in [one for one in names if one != "help"] + (
            [one.lower() for one in hidden] if not words else []
        ):
            look([*words, name])

    look([])
    return found


def written(text, folder, limit=LIMIT):
    """A command of the table with its blanks filled."""
    return [
        FARCALL,
        *(part.format(tmp=folder, idl=IDL, id=ID, limit=limit) for part in text.split()),
    ]


def test_every_command_has_a_case(folder):
    """A new command, or one with a time limit or a server, is tried by itself or named here."""
    found = leaves(environment(folder))
    assert len(found) > 30, found
    missing = sorted(set(found) - set(COMMANDS))
    assert not missing, f"no case in COMMANDS of {__file__} yet: {missing}"
    assert not set(COMMANDS) - set(found), (
        f"cases of commands that are no more: {set(COMMANDS) - set(found)}"
    )
    limited = [name for name, text in found.items() if "--timeout" in text]
    for name in limited:
        assert any("--timeout" in case for case in COMMANDS[name]), (
            f"no case of {name} has --timeout"
        )


def test_every_command_ends_at_every_peer(real, folder):
    """Within its time limit, whatever its server does not do."""
    known = environment(folder, FARCALL_TIMEOUT=str(LIMIT))
    entries = {}
    for name, text in leaves(known).items():
        if "--server <ADDRESS>" not in text:
            continue
        for case in AT_PEERS.get(name, COMMANDS[name]):
            for kind in peers.KINDS:
                for after in {None, AFTER.get(name)}:
                    entries[f"{case} @ {kind} after {after}"] = (case, kind, after)
    numbers = iter(range(100000))

    def attempt(entry):
        case, kind, after = entry
        path = folder / f"p{next(numbers)}"
        peer = peers.Peer(kind, real.path, path=path, begins=after is None, after=after)
        # Its own limit is the one that counts.
        own = {
            key: value
            for key, value in known.items()
            if key != "FARCALL_TIMEOUT" or "--timeout" not in case
        }
        seconds, ended = timed(
            written(case, folder), {**own, "FARCALL_SERVER": peer.address}, folder=folder
        )
        peer.close()
        return seconds, ended

    outcomes = check_all(entries, attempt)
    for name, (_, ended) in outcomes.items():
        assert not ended.startswith("0 ") or "after 1" in name or name.startswith("doctor"), (
            f"{name}: {ended}"
        )
    assert any("time" in ended for _, ended in outcomes.values())


@pytest.mark.parametrize(
    "words",
    [
        "exec sleep 60",
        "sleep 60; exit 1",
        "cat >/dev/null; sleep 60",
        "echo hello; while sleep 1; do echo; done",
    ],
)
def test_every_command_ends_at_an_ssh_that_says_nothing(folder, words):
    """Also where what `ssh` started goes on."""
    program = folder / "ssh"
    program.write_text(f"#!/bin/sh\n{words}\n")
    program.chmod(0o755)
    known = environment(
        folder, FARCALL_SSH=str(program), FARCALL_SERVER="ssh://host", FARCALL_TIMEOUT=str(LIMIT)
    )
    cases = ["ls", "call ends/one 1", "top --once", "drain", "doctor", "connect host"]
    cases += ["config show host"]

    def attempt(case):
        return timed(written(case, folder), known, folder=folder)

    for name, (_, ended) in check_all({case: case for case in cases}, attempt).items():
        assert name == "doctor" or "in time" in ended or "timed out" in ended, f"{name}: {ended}"


def test_every_command_ends_at_every_sink(real, folder):
    """Within its time limit, though nobody takes what it writes to standard output and error."""
    known = environment(folder, FARCALL_TIMEOUT=str(SINK_LIMIT), FARCALL_SERVER=f"unix:{real.path}")
    silent = folder / "ssh"
    silent.write_text("#!/bin/sh\nexec sleep 60\n")
    silent.chmod(0o755)
    known["FARCALL_SSH"] = str(silent)
    entries = {}
    numbers = iter(range(100000))
    for name in leaves(known):
        for case in COMMANDS[name]:
            for kind in peers.Sink.KINDS:
                entries[f"{case} > {kind}"] = (case, kind)
        # The same for all: of each command, one sink has to do.
        kind = peers.Sink.KINDS[next(numbers) % len(peers.Sink.KINDS)]
        entries[f"{name} --help > {kind}"] = (f"{name} --help", kind)
        if COMMANDS[name]:
            entries[f"{name} --no-such-option > {kind}"] = (f"{name} --no-such-option", kind)

    def attempt(entry):
        case, kind = entry
        own = folder / f"t{next(numbers)}"
        own.mkdir()
        (own / "twice.f").write_text(FORTRAN)
        sink = peers.Sink(kind, folder)
        command = written(case, own, SINK_LIMIT)
        if kind == "closed":
            command = ["bash", "-c", 'exec "$@" >&- 2>&-', "bash", *command]
        goes_on = case in GO_ON and kind == "closed"
        outputs = subprocess.DEVNULL if sink.descriptor is None else sink.descriptor
        outcome = timed(
            ["timeout", "1", *command] if goes_on else command, known, folder=own, outputs=outputs
        )
        sink.close()
        return outcome

    check_all(entries, attempt, SINK_LIMIT)


def test_an_authority_that_somebody_holds_is_waited_for_in_time(folder):
    """Another process that was stopped may have its lock."""
    known = environment(folder, FARCALL_TIMEOUT=str(SINK_LIMIT))
    assert timed(written("ca --folder {tmp}/ca init --server localhost", folder), known)[
        1
    ].startswith("0 ")
    with (folder / "ca/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cases = ["ca --folder {tmp}/ca user anna", "ca --folder {tmp}/ca revoke anna"]
        outcomes = check_all(
            {case: case for case in cases},
            lambda case: timed(written(case, folder), known),
            SINK_LIMIT,
        )
    assert all("another farcall ca" in ended for _, ended in outcomes.values()), outcomes


def test_output_that_nobody_reads_is_told(real, folder):
    """A command says why it has ended, and a slow reader gets everything."""
    known = environment(folder, FARCALL_SERVER=f"unix:{real.path}", FARCALL_OUTPUT_TIMEOUT="1")
    sink = peers.Sink("full", folder)
    ended = subprocess.run(
        [FARCALL, "ls"],
        env=known,
        stdout=sink.descriptor,
        stderr=subprocess.PIPE,
        text=True,
        timeout=HANGS,
    )
    sink.close()
    assert ended.returncode == 1 and "nobody reads standard output" in ended.stderr, ended
    # A reader that pauses, and more than a pipe holds.
    reader, writer = os.pipe()
    fcntl.fcntl(writer, peers.F_SETPIPE_SZ, peers.PIPE_BYTES)
    known["FARCALL_OUTPUT_TIMEOUT"] = str(HANGS)
    process = subprocess.Popen([FARCALL, "serve", "--print-manifest"], env=known, stdout=writer)
    os.close(writer)
    time.sleep(1)
    with open(reader, "rb") as output:
        text = output.read()
    assert (
        process.wait(HANGS) == 0 and len(text) > 3 * peers.PIPE_BYTES and b"spawner-local" in text
    )


def test_a_call_ends_by_a_signal_though_nobody_reads(real, folder):
    """Also where its routine has more to say than anybody takes."""
    known = environment(folder, FARCALL_SERVER=f"unix:{real.path}", FARCALL_OUTPUT_TIMEOUT="60")

    def attempt(entry):
        case, number = entry
        sink = peers.Sink("full", folder)
        process = subprocess.Popen(
            written(case, folder),
            env=known,
            stdin=subprocess.DEVNULL,
            stdout=sink.descriptor,
            stderr=sink.descriptor,
            start_new_session=True,
        )
        time.sleep(1)
        begin = time.monotonic()
        process.send_signal(number)
        try:
            process.wait(HANGS)
            seconds = time.monotonic() - begin
        except subprocess.TimeoutExpired:
            process.kill()
            seconds = None
        process.wait()
        sink.close()
        return seconds, str(process.returncode)

    cases = ["call ends/nap 30000", "call ends/shout 100000", "top", "ls"]
    check_all(
        {
            f"{case} {number}": (case, number)
            for case in cases
            for number in (signal.SIGINT, signal.SIGTERM)
        },
        attempt,
    )
