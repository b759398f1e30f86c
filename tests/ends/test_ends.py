"""Every end comes: what takes a time limit, and every command, ends in time at peers that do not answer and at sinks that take
nothing; and a server ends by SIGTERM.

What there is to be tried is read from the C headers, from the Python package and from the commands' help. What has no case in the
tables here fails the test, which names it. Entries run side by side; one that is late is tried again alone, since a busy machine
may have held it up.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import peers  # noqa: E402  (it stands beside this file)

STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
FARCALL = str(STAGE / "bin/farcall")
IDL = str(HERE / "ends.idl")
# The time limit that everything is given, and what it may take beyond that.
LIMIT, GRACE = 2.0, 1.0
SINK_LIMIT = 1.0
# Tries for what is late, each alone.
TRIES = 3
# More than so many are no accident.
LATE_MAX = 8
# Entries at a time.
SIDE_BY_SIDE = 48
# Seconds after which something hangs, or a server must have come up.
HANGS, COMES = 10, 60
ID = "00112233445566778899aabbccddeeff"

# ---- The server, and where things lie ----------------------------------------------------------------------------------


def environment(folder, **more):
    """A user of its own: no server, no configuration."""
    known = {key: value for key, value in os.environ.items() if not key.startswith(("FARCALL_", "XDG_", "SSH_"))}
    for name in ("home", "run", "state", "cache", "config"):
        (folder / name).mkdir(mode=0o700, exist_ok=True)
    known.update(HOME=str(folder / "home"), FARCALL_STAGE=str(STAGE), TERM="xterm")
    known.update({f"XDG_{name.upper()}_HOME": str(folder / name) for name in ("state", "cache", "config")})
    known.update(XDG_RUNTIME_DIR=str(folder / "run"), TMPDIR=str(folder))
    known["LD_LIBRARY_PATH"] = str(STAGE / "lib")
    known.update(more)
    return known


class Server:
    """A server of this test's own."""

    def __init__(self, folder, *arguments, outputs=None, files=(IDL,), **more):
        self.path = str(folder / "s.sock")
        self.environment = environment(folder, **more)
        out = outputs or (folder / "out").open("wb")
        errors = outputs or (folder / "err").open("wb")
        command = [FARCALL, "serve", "--listen", f"unix:{self.path}", *arguments, *files]
        self.process = subprocess.Popen(
            command, cwd=folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, start_new_session=True
        )

    def await_start(self):
        """Waits until it serves."""
        end = time.monotonic() + COMES
        while time.monotonic() < end and self.process.poll() is None:
            if subprocess.run([FARCALL, "ls", "--server", f"unix:{self.path}"], capture_output=True, env=self.environment).returncode == 0:
                return self
            time.sleep(0.05)
        raise AssertionError(f"no server: {self.process.poll()}")

    def end(self):
        """Ends it, whatever it does."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is None:
                self.process.send_signal(number)
                try:
                    self.process.wait(10)
                except subprocess.TimeoutExpired:
                    pass
        self.process.wait(10)

    def ends_within(self, seconds):
        """Seconds until it has ended by itself; None if it does not."""
        begin = time.monotonic()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return time.monotonic() - begin


@pytest.fixture
def folder():
    """Short: sockets have short paths."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="ends", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def real():
    """A server that answers, by a Unix socket and by TCP, and what programs know it by."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="ends", dir="/tmp"))
    server = Server(path, "--listen", "tcp:127.0.0.1:0", "--token-file", str(path / "token")).await_start()
    server.folder = path
    server.port = int(re.search(r"farcall://127\.0\.0\.1:(\d+)", (path / "out").read_text())[1])
    server.token = str(path / "token")
    yield server
    server.end()
    shutil.rmtree(path, ignore_errors=True)


# ---- What is late is tried again ---------------------------------------------------------------------------------------


def check_all(entries, attempt, limit=LIMIT):
    """Tries all entries, named by the keys of a dictionary, side by side. `attempt` gives seconds and how each ended."""
    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        outcomes = dict(zip(entries, threads.map(attempt, entries.values())))
    late = {name: outcome for name, outcome in outcomes.items() if outcome[0] is None or outcome[0] > limit + GRACE}
    for _ in range(TRIES - 1 if len(late) <= LATE_MAX else 0):
        for name in list(late):
            late[name] = attempt(entries[name])
            if late[name][0] is not None and late[name][0] <= limit + GRACE:
                outcomes[name] = late.pop(name)
    words = "\n".join(f"  {name}: {seconds and round(seconds, 2)} s: {ended}" for name, (seconds, ended) in sorted(late.items()))
    assert not late, f"later than {limit + GRACE} s:\n{words}"
    return outcomes


def timed(command, known, stdin=subprocess.DEVNULL, folder=None, outputs=None):
    """Seconds that a command takes, and how it ended; None for one that hangs. All that it started ends with it."""
    out = outputs if outputs is not None else subprocess.PIPE
    begin = time.monotonic()
    process = subprocess.Popen(command, env=known, cwd=folder, stdin=stdin, stdout=out, stderr=out, start_new_session=True)
    try:
        if outputs is None:
            said = b"".join(process.communicate(timeout=HANGS))
        else:
            said = process.wait(HANGS) and b""
        seconds = time.monotonic() - begin
    except subprocess.TimeoutExpired:
        seconds, said = None, b"it hangs"
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    return seconds, f"{process.returncode} {(said or b'').decode(errors='replace')[-1200:]}"


# ---- The table of commands ---------------------------------------------------------------------------------------------

FORTRAN = "      subroutine twice(x)\n      double precision x\n      x = 2 * x\n      end\n"
# By name: how each is called, once or more. {tmp} is a folder of its own. Those that talk to a server are tried at all peers, too.
COMMANDS = {
    "ls": ["ls", "ls --json"],
    "show": ["show ends/one", "show ends/one --json"],
    "call": ["call ends/one 1", "call ends/one 1 --json", "call ends/one 1 --timeout {limit}", "call ends/shout 2000"],
    "submit": ["submit ends/one 1 --volatile"],
    "fetch": ["fetch {id}", "fetch {id} --timeout {limit}"],
    "kept": ["kept", "kept --json", "kept --forget {id}"],
    "publish": ["publish {idl}"],
    "withdraw": ["withdraw nothing"],
    "reload": ["reload ends"],
    "drain": ["drain --timeout {limit} --server unix:{tmp}/none", "drain --timeout 0.1 --server unix:{tmp}/none"],
    "top": ["top --once --interval 0.1", "top --once --json --interval 0.1", "top --interval 0.1"],
    "objects": ["objects", "objects --json"],
    "jobs": ["jobs", "jobs --json", "jobs --cancel 7"],
    "connect": ["connect host"],
    "launch": ["launch local"],
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
    "ng gen": ["ng gen {tmp}/none.idl"],
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
        text = subprocess.run([FARCALL, *words, "--help"], capture_output=True, text=True, env=known, check=True).stdout
        below = re.search(r"^Commands:\n((?:  .*\n)+)", text, re.M)
        if below is None:
            found[" ".join(words)] = text
            return
        names = re.findall(r"^  (\S+)", below[1], re.M)
        for name in [one for one in names if one != "help"] + ([one.lower() for one in hidden] if not words else []):
            look([*words, name])

    look([])
    return found


def written(text, folder, limit=LIMIT):
    """A command of the table with its blanks filled."""
    return [FARCALL, *(part.format(tmp=folder, idl=IDL, id=ID, limit=limit) for part in text.split())]


def test_every_command_has_a_case(folder):
    """A new command, or one with a time limit or a server, is tried by itself or named here."""
    found = leaves(environment(folder))
    assert len(found) > 30, found
    missing = sorted(set(found) - set(COMMANDS))
    assert not missing, f"no case in COMMANDS of {__file__} yet: {missing}"
    assert not set(COMMANDS) - set(found), f"cases of commands that are no more: {set(COMMANDS) - set(found)}"
    limited = [name for name, text in found.items() if "--timeout" in text]
    for name in limited:
        assert any("--timeout" in case for case in COMMANDS[name]), f"no case of {name} has --timeout"


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
        own = {key: value for key, value in known.items() if key != "FARCALL_TIMEOUT" or "--timeout" not in case}
        seconds, ended = timed(written(case, folder), {**own, "FARCALL_SERVER": peer.address}, folder=folder)
        peer.close()
        return seconds, ended

    outcomes = check_all(entries, attempt)
    for name, (_, ended) in outcomes.items():
        assert not ended.startswith("0 ") or "after 1" in name or name.startswith("doctor"), f"{name}: {ended}"
    assert any("time" in ended for _, ended in outcomes.values())


@pytest.mark.parametrize("words", ["exec sleep 60", "sleep 60; exit 1", "cat >/dev/null; sleep 60", "echo hello; while sleep 1; do echo; done"])
def test_every_command_ends_at_an_ssh_that_says_nothing(folder, words):
    """Also where what `ssh` started goes on."""
    program = folder / "ssh"
    program.write_text(f"#!/bin/sh\n{words}\n")
    program.chmod(0o755)
    known = environment(folder, FARCALL_SSH=str(program), FARCALL_SERVER="ssh://host", FARCALL_TIMEOUT=str(LIMIT))
    cases = ["ls", "call ends/one 1", "top --once", "drain", "doctor", "connect host"]

    def attempt(case):
        return timed(written(case, folder), known, folder=folder)

    for name, (_, ended) in check_all({case: case for case in cases}, attempt).items():
        assert name == "doctor" or "in time" in ended or "time is over" in ended, f"{name}: {ended}"


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
        outcome = timed(["timeout", "1", *command] if goes_on else command, known, folder=own, outputs=outputs)
        sink.close()
        return outcome

    check_all(entries, attempt, SINK_LIMIT)


def test_output_that_nobody_reads_is_told(real, folder):
    """A command says why it has ended, and a slow reader gets everything."""
    known = environment(folder, FARCALL_SERVER=f"unix:{real.path}", FARCALL_OUTPUT_TIMEOUT="1")
    sink = peers.Sink("full", folder)
    ended = subprocess.run([FARCALL, "ls"], env=known, stdout=sink.descriptor, stderr=subprocess.PIPE, text=True, timeout=HANGS)
    sink.close()
    assert ended.returncode == 1 and "nobody reads standard output" in ended.stderr, ended
    # A reader that pauses, and longer than a pipe is.
    process = subprocess.Popen([FARCALL, "serve", "--print-manifest"], env={**known, "FARCALL_OUTPUT_TIMEOUT": "20"}, stdout=subprocess.PIPE)
    peers.fcntl.fcntl(process.stdout, peers.F_SETPIPE_SZ, peers.PIPE_BYTES)
    time.sleep(1)
    text = process.stdout.read()
    assert process.wait(HANGS) == 0 and len(text) > 3 * peers.PIPE_BYTES and b"spawner-local" in text


def test_a_call_ends_by_a_signal_though_nobody_reads(real, folder):
    """Also where its routine has more to say than anybody takes."""
    known = environment(folder, FARCALL_SERVER=f"unix:{real.path}", FARCALL_OUTPUT_TIMEOUT="60")

    def attempt(entry):
        case, number = entry
        sink = peers.Sink("full", folder)
        process = subprocess.Popen(
            written(case, folder), env=known, stdin=subprocess.DEVNULL, stdout=sink.descriptor, stderr=sink.descriptor, start_new_session=True
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
    check_all({f"{case} {number}": (case, number) for case in cases for number in (signal.SIGINT, signal.SIGTERM)}, attempt)


# ---- The C interface ---------------------------------------------------------------------------------------------------

# Members that are times and no limits of anything that waits.
NO_LIMITS = {
    "farcall_call_options.keep_seconds": "how long an outcome is kept by the server",
    "farcall_hold_options.lease_seconds": "how long an object is kept by the server",
    "farcall_connect_options.reconnect_seconds": "how long calls wait for a lost connection: tests/tests/reconnect.rs",
}
# Attributes of GridRPC, with what they are made of here.
GRIDRPC = {
    "GRPC_TIMEOUT_NP": "no attribute, but what a call ends with",
    "GRPC_SESSION_ATTR_SESSION_TIMEOUT": "farcall_call_options.timeout_seconds",
    "GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_ARGUMENT": "farcall_call_news: clients/gridrpc/src/transfers.rs looks at it in between",
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
    flags = ["-O1", "-Wall", "-Wextra", f"-I{STAGE}/include", f"-L{STAGE}/lib", f"-Wl,-rpath,{STAGE}/lib"]
    subprocess.run(["cc", *flags, "-o", path, str(HERE / "entries.c"), "-lfarcall"], check=True)
    return path


def test_every_c_function_with_a_time_limit_has_a_case(program):
    """By the headers."""
    found = limited_in_headers()
    assert len(found) > 15, found
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
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
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    entries = {f"{name} @ {kind}": (name, kind) for name in listed for kind in peers.KINDS if (name, kind) not in NOT_AT}

    def attempt(entry):
        name, kind = entry
        at_once = name == "farcall_connect_options.timeout_seconds"
        peer = peers.Peer(kind, real.port, begins=at_once)
        command = [program, name, peer.address, real.token, str(LIMIT)]
        process = subprocess.Popen(
            command, env=known, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
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


# ---- Python ------------------------------------------------------------------------------------------------------------


def test_everything_in_python_with_a_time_limit_ends_in_time(real, folder):
    """What has one is read from signatures and documentation."""
    known = environment(folder)
    settings = [sys.executable, str(HERE / "python_entries.py"), str(real.port), real.token, str(LIMIT)]

    def run(*chosen):
        out = subprocess.run([*settings, *chosen], env=known, capture_output=True, text=True, timeout=COMES * 3)
        lines = [json.loads(line) for line in out.stdout.splitlines()]
        assert lines, out.stderr
        assert lines[0]["missing"] == [], f"no row in TABLE of python_entries.py yet: {lines[0]['missing']}"
        return {line["case"]: (line["seconds"], line["ended"]) for line in lines[1:]}

    outcomes = run()
    assert len(outcomes) >= 4 * 15, outcomes

    def is_late(outcome):
        return outcome[0] is None or outcome[0] > LIMIT + GRACE

    late = {name for name, outcome in outcomes.items() if is_late(outcome)}
    for _ in range(TRIES - 1):
        late = {name for name in late if is_late(outcomes.update(run(name)) or outcomes[name])}
    assert not late, {name: outcomes[name] for name in late}
    failed = {name: ended for name, (_, ended) in outcomes.items() if ended == "success" and not name.startswith("connected@pings")}
    assert not failed, failed


# ---- Servers -----------------------------------------------------------------------------------------------------------

MANIFEST = '[[plugin]]\nname = "rpc-server"\nslot = "rpc"\n[plugin.options]\ndrain_ms = {drain}\n{more}\n'
# Beside the time that calls have.
SERVER_GRACE = 5


def manifest(folder, drain=500, more=""):
    """A manifest with little patience."""
    path = folder / "farcall.toml"
    path.write_text(MANIFEST.format(drain=drain, more=more))
    return str(path)


def many_calls(server, count):
    """So many calls, each of which is worth a line at the level debug."""
    script = (
        "import farcall, sys\n"
        "server = farcall.connect(sys.argv[1], timeout=50)\n"
        "for call in [server['ends/one'].submit(1) for _ in range(int(sys.argv[2]))]: assert call.result(50).m == 2\n"
    )
    subprocess.run([sys.executable, "-c", script, f"unix:{server.path}", str(count)], env=server.environment, check=True, timeout=COMES)


@pytest.mark.parametrize("kind", [*peers.Sink.KINDS, "disk"])
def test_a_server_ends_by_sigterm_whatever_its_outputs_do(folder, kind):
    """And serves before, though it has more to say than anybody takes."""
    sink = peers.Sink(kind, folder)
    outputs = open("/dev/full", "wb") if kind == "disk" else sink.descriptor  # noqa: SIM115
    server = Server(folder, "--log-level", "debug", "--manifest", manifest(folder), outputs=outputs or subprocess.DEVNULL)
    try:
        many_calls(server.await_start(), 500)
        server.process.send_signal(signal.SIGTERM)
        assert server.ends_within(SERVER_GRACE + COMES / 4) is not None, "it goes on"
    finally:
        server.end()
        sink.close()


def test_messages_that_nobody_read_are_counted(folder):
    """When somebody reads again."""
    reader, writer = os.pipe()
    peers.fcntl.fcntl(writer, peers.F_SETPIPE_SZ, peers.PIPE_BYTES)
    server = Server(folder, "--log-level", "debug", "--manifest", manifest(folder), outputs=writer)
    try:
        many_calls(server.await_start(), 3000)
        os.close(writer)
        server.process.send_signal(signal.SIGTERM)
        said = b""
        while more := os.read(reader, 65536):
            said += more
        assert server.ends_within(COMES) is not None
        assert re.search(rb"(dropped|left out) count=\d+", said), said[-2000:]
    finally:
        server.end()
        os.close(reader)


def test_a_server_refuses_or_serves_where_a_file_of_its_is_a_fifo(folder):
    """It does not stand still, and says which."""
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    ways = {
        "audit": ["--manifest", manifest(folder, more='audit_file = "fifo"')],
        "manifest": ["--manifest", str(fifo)],
        "token": ["--listen", "tcp:127.0.0.1:0", "--token-file", str(fifo)],
        "credentials": ["--listen", "tls://127.0.0.1:0", "--credentials", str(fifo)],
    }
    for name, arguments in ways.items():
        server = Server(folder, *arguments)
        try:
            assert server.ends_within(COMES) is not None, name
            assert "plain file" in (folder / "err").read_text(), (name, (folder / "err").read_text())
        finally:
            server.end()
    server = Server(folder, files=[str(fifo)])
    try:
        assert server.ends_within(COMES) is not None
    finally:
        server.end()


def test_an_audit_log_whose_reader_goes_away_holds_up_nobody(folder):
    """A FIFO that somebody reads takes lines, and is full some time."""
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    peers.fcntl.fcntl(reader, peers.F_SETPIPE_SZ, peers.PIPE_BYTES)
    server = Server(folder, "--manifest", manifest(folder, more='audit_file = "fifo"'))
    try:
        many_calls(server.await_start(), 200)
        assert b"ends/one" in os.read(reader, 4096)
        os.close(reader)
        many_calls(server, 200)
        server.process.send_signal(signal.SIGTERM)
        assert server.ends_within(SERVER_GRACE + COMES / 4) is not None
    finally:
        server.end()


def test_a_server_ends_while_it_begins(folder):
    """A Python file that takes its time to load; and again with two signals."""
    (folder / "slow.py").write_text("import time\nopen('begun', 'w').close()\ntime.sleep(600)\nimport farcall\n")
    for signals in (1, 2):
        server = Server(folder, files=[str(folder / "slow.py")])
        try:
            time.sleep(1)
            for _ in range(signals):
                server.process.send_signal(signal.SIGTERM)
            assert server.ends_within(SERVER_GRACE + COMES / 4) is not None, "it goes on"
        finally:
            server.end()


def test_a_server_ends_with_clients_that_do_not_go_on(folder):
    """One within a frame, one that does not read its results, one of the metrics, and one whose call is cut short."""
    server = Server(folder, "--metrics", "127.0.0.1:0", "--manifest", manifest(folder))
    held = []
    try:
        server.await_start()
        port = int(re.search(r"http://127\.0\.0\.1:(\d+)", (folder / "err").read_text())[1])
        for _ in range(4):
            one = socket.socket(socket.AF_UNIX)
            one.connect(server.path)
            one.send(b"FARC")
            metrics = socket.create_connection(("127.0.0.1", port))
            metrics.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            metrics.send(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n" * 200)
            held += [one, metrics]
        call = subprocess.Popen(
            [FARCALL, "call", "ends/nap", "60000", "--server", f"unix:{server.path}"], env=server.environment, stderr=subprocess.PIPE, text=True
        )
        time.sleep(1)
        server.process.send_signal(signal.SIGTERM)
        assert server.ends_within(SERVER_GRACE + COMES / 4) is not None, "it goes on"
        assert call.wait(COMES) != 0 and call.stderr.read()
    finally:
        server.end()
        for one in held:
            one.close()


def test_a_second_signal_ends_a_server_whose_call_goes_on(folder):
    """Whatever its outputs do."""
    sink = peers.Sink("full", folder)
    server = Server(folder, "--manifest", manifest(folder, drain=600000), outputs=sink.descriptor)
    call = None
    try:
        server.await_start()
        call = subprocess.Popen(
            [FARCALL, "call", "ends/nap", "60000", "--server", f"unix:{server.path}"], env=server.environment, stderr=subprocess.DEVNULL
        )
        time.sleep(1)
        server.process.send_signal(signal.SIGTERM)
        assert server.ends_within(1) is None, "the call had time"
        server.process.send_signal(signal.SIGTERM)
        assert server.ends_within(SERVER_GRACE + COMES / 4) is not None, "it goes on"
        assert call.wait(COMES) != 0
    finally:
        server.end()
        if call:
            call.kill()
            call.wait()
        sink.close()


def test_a_working_folder_that_was_removed_is_made_again(folder):
    """For the next call: none fails, of files or not."""
    copy = folder / "copy.idl"
    copy.write_text(
        "Module copy;\nDefine copy(IN filename from, OUT filename to)\n{\n"
        '    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");\n'
        "    for (int c; (c = fgetc(in)) != EOF;)\n        fputc(c, out);\n    fclose(in);\n    fclose(out);\n}\n"
    )
    (folder / "hello.txt").write_text("hello\n")
    server = Server(folder, files=[str(copy), IDL])
    try:
        server.await_start()
        script = (
            "import farcall, glob, os, shutil, sys\n"
            "server = farcall.connect(sys.argv[1], timeout=50)\n"
            "for again in range(3):\n"
            "    for _ in range(3):\n"
            "        assert server.copy('hello.txt', timeout=50).to == b'hello\\n'\n"
            "        assert server.one(1, timeout=50).m == 2\n"
            "    folders = glob.glob('farcall-module-*')\n"
            "    assert folders\n"
            "    [shutil.rmtree(folder) for folder in folders]\n"
        )
        ended = subprocess.run(
            [sys.executable, "-c", script, f"unix:{server.path}"], cwd=folder, env=server.environment, capture_output=True, text=True, timeout=COMES
        )
        assert ended.returncode == 0, ended.stderr
        server.process.send_signal(signal.SIGTERM)
        assert server.ends_within(COMES) is not None
        assert not list(folder.glob("farcall-module-*"))
    finally:
        server.end()
