"""What a configuration file says of servers and calls holds for programs in Java as for those in
C: launcher, heartbeat, compression, retries, time limits, output and logs."""

import contextlib
import http.server
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
JAR = STAGE / "share/java/farcall.jar"
HERE = pathlib.Path(__file__).parent

MANIFEST = "".join(
    f'[[plugin]]\nname = "{name}"\nslot = "{slot}"\n[plugin.options]\nstop_grace_ms = 9000\n'
    for name, slot in (("rpc-server", "rpc"), ("spawner-local", "spawner"))
)


def jdk():
    found = subprocess.run([ROOT / "tools/find-jdk.sh"], capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else ""


JDK = jdk()
pytestmark = pytest.mark.skipif(
    not (JDK and JAR.exists()), reason="there is no JDK 22 or newer, or no farcall.jar"
)


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    command = [f"{JDK}/bin/javac", "-cp", JAR, "-d", folder, HERE / "Asker.java"]
    subprocess.run(command, check=True)
    return folder


class Program:
    """The program with a configuration of its own."""

    def __init__(self, folder, classes):
        self.folder = folder
        self.classes = classes
        self.variables = {}
        self.errors = ""
        (folder / "run").mkdir(mode=0o700)

    def __call__(self, configuration, *words, **variables):
        """What it prints, word by word; a line is what it is, its outcome and seconds."""
        file = self.folder / "client.conf"
        file.write_text(configuration)
        environment = {
            **os.environ,
            "XDG_RUNTIME_DIR": str(self.folder / "run"),
            "FARCALL_LIBRARY": str(STAGE / "lib/libfarcall.so.0"),
            "FARCALL_PROGRAM": str(STAGE / "bin/farcall"),
            **self.variables,
            **variables,
        }
        for name in ("FARCALL_SERVER", "FARCALL_RECONNECT", "NG_CONFIG_FILE"):
            environment.pop(name, None)
        path = f"{JAR}:{self.classes}"
        command = [f"{JDK}/bin/java", "--enable-native-access=ALL-UNNAMED", "-cp", path, "Asker"]
        done = subprocess.run(
            [*command, str(file), *words],
            env=environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=150,
        )
        self.errors = done.stderr
        assert done.returncode == 0, done.stdout + done.stderr
        return [line.rsplit(" ", 1) for line in done.stdout.splitlines()]


@pytest.fixture
def program(tmp_path, classes):
    return Program(tmp_path, classes)


def first_line(process):
    """What a process prints first; it has a minute."""
    ready, _, _ = select.select([process.stdout], [], [], 60)
    return process.stdout.readline() if ready else ""


class Pages(http.server.SimpleHTTPRequestHandler):
    """A folder over HTTP; nothing is printed of requests."""

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(program, *files, more=""):
    """A server over TCP, which lets objects take their time to end: its process and its port."""
    token = program.folder / "token"
    manifest = program.folder / "farcall.toml"
    manifest.write_text(MANIFEST + more)
    command = [STAGE / "bin/farcall", "serve", *(HERE / file for file in files)]
    command += ["--listen", "tcp:127.0.0.1:0", "--token-file", token, "--manifest", manifest]
    with open(program.folder / "log", "w", encoding="utf-8") as log:
        server = subprocess.Popen(
            command,
            env={**os.environ, "XDG_RUNTIME_DIR": str(program.folder / "run"), "no_proxy": "*"},
            cwd=program.folder,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        line = first_line(server).strip()
        assert line, (program.folder / "log").read_text()
        program.variables["FARCALL_TOKEN_FILE"] = str(token)
        yield server, int(line.rsplit(":", 1)[1])
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(server.pid, signal.SIGCONT)
        server.terminate()
        server.wait(30)
        server.stdout.close()


class Proxy:
    """Between a program and a server: counts the bytes of both ways, and holds those of one way
    back from a number on."""

    def __init__(self, target, holds=None):
        self.target = target
        self.holds = holds or {}
        self.passed = {"to": 0, "from": 0}
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.ends = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.target))
                self.ends += [near, far]
                for way, source, sink in (("to", near, far), ("from", far, near)):
                    threading.Thread(
                        target=self.pump, args=(way, source, sink), daemon=True
                    ).start()

    def pump(self, way, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(16384):
                self.passed[way] += len(data)
                if self.passed[way] > self.holds.get(way, 1 << 60):
                    return
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def close(self):
        self.listener.close()
        for end in self.ends:
            # A thread that waits for it keeps it open otherwise.
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@contextlib.contextmanager
def proxied(port, **holds):
    proxy = Proxy(port, holds)
    try:
        yield proxy
    finally:
        proxy.close()


def section(port, more="", function=None):
    text = f"<SERVER>\nhostname farcall://127.0.0.1:{port}\n{more}</SERVER>\n"
    if function:
        name, lines = function
        text += f"<FUNCTION_INFO>\nhostname farcall://127.0.0.1:{port}\nfuncname {name}\npath /x\n"
        text += f"{lines}</FUNCTION_INFO>\n"
    return text


def test_ssh_is_the_configured_one(program):
    """Its command, options, shell, user and port."""
    folder = program.folder
    gate = folder / "gate"
    gate.write_text(
        f'#!/bin/sh\necho "$@" >>{folder}/said\nfor command; do :; done\n'
        f'HOME={folder}/run XDG_RUNTIME_DIR={folder}/run exec sh -c "$command"\n'
    )
    gate.chmod(0o700)
    lean = STAGE / "libexec/farcall-lean"
    remote = str(lean if lean.exists() else STAGE / "bin/farcall")
    options = "".join(
        f'invoke_server_option "{option}"\n'
        for option in (
            f"ssh_command {gate}",
            "ssh_option -q",
            "ssh_user me",
            "ssh_remoteSh /bin/bash",
        )
    )
    lines = program(
        f"<SERVER>\nhostname far.example\nport 2222\ninvoke_server SSH\n{options}</SERVER>\n",
        "solve",
        FARCALL_SSH_SHARE="0",
        FARCALL_LINGER="0",
        FARCALL_REMOTE_PROGRAM=remote,
    )
    assert lines[0][0] == "solve [1.0,2.0]", program.errors
    said = (folder / "said").read_text()
    assert "-q" in said and "2222" in said and "me@far.example" in said and "/bin/bash" in said
    assert "no effect" not in program.errors


def stop_when_it_runs_a_call(program, server, port):
    """Stops a server as soon as it has a call that runs; gives up after a minute."""
    top = [STAGE / "bin/farcall", "top", "--once", "--json", "--interval", "0.1"]
    top += ["--server", f"farcall://127.0.0.1:{port}"]
    for _ in range(120):
        shown = subprocess.run(
            top, env={**os.environ, **program.variables}, capture_output=True, text=True
        )
        if '"stage":"running"' in shown.stdout.replace(" ", ""):
            return os.kill(server.pid, signal.SIGSTOP)
        time.sleep(0.5)


def test_a_silent_server_is_lost_after_its_heartbeats(program):
    with serving(program, "wire.idl") as (server, port):
        stop = threading.Thread(target=stop_when_it_runs_a_call, args=(program, server, port))
        stop.start()
        more = "heartbeat 1 sec\nheartbeat_timeoutCount 2\n"
        lines = program(section(port, more), "sleep", "60000")
        stop.join()
        assert lines[0][0] == "sleep 9 NgHeartbeatTimeoutException", program.errors
        assert int(lines[0][1]) < 30


@pytest.mark.parametrize(
    "more, least, most",
    [
        ("compress raw\n", 800_000, 900_000),
        ("compress zlib\ncompress_threshold 1K\n", 1, 100_000),
        ("compress zlib\ncompress_threshold 2M\n", 800_000, 900_000),
    ],
)
def test_arrays_are_compressed_as_the_section_says(program, more, least, most):
    with serving(program, "wire.idl") as (_, port), proxied(port) as proxy:
        lines = program(section(proxy.port, more), "send", "100000")
        assert lines[0][0] == "send 0.0", program.errors
        assert least < proxy.passed["to"] < most


def test_connecting_is_tried_again(program):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    more = "tcp_connect_retryCount {}\ntcp_connect_retryBaseInterval 1\n"
    more += "tcp_connect_retryIncreaseRatio 1.0\ntcp_connect_retryRandom false\n"
    lines = program(section(port, more.format(2)), "send", "1")
    assert lines[0][0].startswith("send 4 ") and int(lines[0][1]) >= 2, program.errors
    lines = program(section(port, more.format(0)), "send", "1")
    assert lines[0][0].startswith("send 4 ") and int(lines[0][1]) < 2, program.errors


def test_sessions_and_transfers_have_their_time(program):
    with serving(program, "wire.idl") as (_, port):
        function = ("wire/rest", "session_timeout 1\n")
        lines = program(section(port, function=function), "sleep", "60000")
        assert lines[0][0] == "sleep 19 NgExecRemoteMethodException"
        assert lines[1][0] == "again true", program.errors
        for what, attribute, words, holds in (
            ("send", "argument", ("wire/sum", "3000000"), {"to": 2_000_000}),
            ("receive", "result", ("wire/make", "3000000"), {"from": 2_000_000}),
            ("back", "callbackResult", ("wire/back", "1"), {"to": 2_000_000}),
        ):
            name, size = words
            with proxied(port, **holds) as proxy:
                function = (name, f"transferTimeout_{attribute} 1\n")
                text = section(proxy.port, "compress raw\n", function)
                lines = program(text, what, size)
                assert lines[0][0] == f"{what} 19 NgExecRemoteMethodException", program.errors
                assert int(lines[0][1]) < 25 and "within 1.0 s" in program.errors


def test_processes_have_time_to_start_and_to_end(program):
    with serving(program, "wire.idl", "late.idl") as (_, port):
        lines = program(section(port, "job_startTimeout 1\n"), "array", "late/nothing")
        assert lines[0][0].startswith("array 19 ") and int(lines[0][1]) < 4, program.errors
        # An end of 3 seconds: waited for, not waited for, and for too short a time.
        assert program(section(port), "object")[0] == ["dispose 7", "3"], program.errors
        (outcome, seconds), *_ = program(section(port, "job_stopTimeout 0\n"), "object")
        assert outcome == "dispose 7" and int(seconds) < 3
        (outcome, seconds), *_ = program(section(port, "job_stopTimeout 1\n"), "object")
        assert outcome == "dispose 19 NgFinalizeGrpcHandleException" and int(seconds) < 3
        # What a handle's properties say counts more.
        (outcome, seconds), *_ = program(section(port, "job_stopTimeout 1\n"), "object", "0")
        assert outcome == "dispose 7" and int(seconds) < 3


def test_output_is_printed_unless_it_is_not_wanted(program):
    with serving(program, "wire.idl") as (_, port):
        assert program(section(port), "print") == [["from the", "routine"]]
        assert program.errors == "from the routine, aside\n"
        assert program(section(port, "redirect_outerr false\n"), "print") == []
        assert program.errors == ""


def test_what_goes_to_a_server_is_logged(program):
    with serving(program, "wire.idl") as (_, port):
        more = "commLog_enable true\ncommLog_filePath comm-%h.log\n"
        text = "<CLIENT>\nhostname me.test\n</CLIENT>\n" + section(port, more)
        program(text, "sleep", "1")
        lines = (program.folder / "comm-me.test.log").read_text().splitlines()
        said = [line.split(" ", 1)[1] for line in lines]
        assert said[0].startswith("connected to ") and len(said) == 5, said
        assert said[1].startswith("call ") and said[1].endswith(" of wire/rest begins")
        assert said[2].endswith(" ends: well")


def test_what_has_no_effect_is_said_in_one_line(program):
    with serving(program, "wire.idl") as (_, port):
        text = section(port, "argument_transfer copy\ndebug true\n")
        text = "<CLIENT>\nfortran_compatible true\n</CLIENT>\n" + text
        program(text, "sleep", "1")
        assert program.errors.count("\n") == 1
        for name in ("fortran_compatible (", "argument_transfer (", "debug ("):
            assert name in program.errors


@pytest.mark.skipif(not shutil.which("mpicc"), reason="there is no MPI")
def test_mpi_starts_as_many_processes_as_the_section_says(program):
    with serving(program, "ranks.idl") as (_, port):
        more = "mpi_runNoOfCPUs 2\nmpi_runNoOfCPUs other=1\n"
        lines = program(section(port, more), "ranks")
        assert lines[0][0] == "ranks 2" and lines[1][0] == "array 2", program.errors
        # The properties of a handle count more.
        assert program(section(port, more), "ranks", "3")[0][0] == "ranks 3", program.errors


def test_an_array_may_be_an_address(program):
    """From where the server fetches it, as in C."""
    values = ["%%MatrixMarket matrix array real general", "3 1", "1.5", "2.5", "3.5"]
    (program.folder / "pages").mkdir()
    (program.folder / "pages/v.mtx").write_text("\n".join(values) + "\n")
    pages = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *a: Pages(*a, directory=str(program.folder / "pages"))
    )
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    here = f"http://127.0.0.1:{pages.server_address[1]}/"
    more = '[[plugin]]\nname = "fetcher"\nslot = "fetcher"\n[plugin.options]\n'
    more += f'allow = [{{ from = ["{here}"] }}]\n'
    with serving(program, "wire.idl", more=more) as (_, port):
        lines = program(section(port), "fetch", "3", f"{here}v.mtx")
        assert lines[0][0] == "fetch 7.5", program.errors
    pages.shutdown()
    pages.server_close()


def test_a_program_that_is_ended_ends_its_calls(program):
    """And tells nobody of their end, though a call is running."""
    with serving(program, "wire.idl") as (_, port):
        (program.folder / "client.conf").write_text(section(port))
        path = f"{JAR}:{program.classes}"
        command = [f"{JDK}/bin/java", "--enable-native-access=ALL-UNNAMED", "-cp", path, "Asker"]
        library = str(STAGE / "lib/libfarcall.so.0")
        environment = {**os.environ, **program.variables, "FARCALL_LIBRARY": library}
        with subprocess.Popen(
            [*command, str(program.folder / "client.conf"), "tick"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as caller:
            assert first_line(caller) == "tick\n"
            caller.send_signal(signal.SIGTERM)
            out, errors = caller.communicate(timeout=30)
        assert (out, errors) == ("", "") and caller.returncode != 0
        # The server ends with no call left.
