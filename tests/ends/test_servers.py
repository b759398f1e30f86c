"""A server ends by SIGTERM whatever its outputs, files and clients do, and goes on when its working
folder is removed."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import peers  # noqa: E402  (it stands beside this file, as the next)
from running import COMES, FARCALL, IDL, Server, environment  # noqa: E402

MANIFEST = (
    '[[plugin]]\nname = "rpc-server"\nslot = "rpc"\n[plugin.options]\ndrain_ms = {drain}\n{more}\n'
)
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
        "for call in [server['ends/one'].submit(1) for _ in range(int(sys.argv[2]))]: assert "
        "call.result(50).m == 2\n"
    )
    subprocess.run(
        [sys.executable, "-c", script, f"unix:{server.path}", str(count)],
        env=server.environment,
        check=True,
        timeout=COMES,
    )


@pytest.mark.parametrize("kind", [*peers.Sink.KINDS, "disk"])
def test_a_server_ends_by_sigterm_whatever_its_outputs_do(folder, kind):
    """And serves before, though it has more to say than anybody takes."""
    sink = peers.Sink(kind, folder)
    outputs = open("/dev/full", "wb") if kind == "disk" else sink.descriptor  # noqa: SIM115
    server = Server(
        folder,
        "--log-level",
        "debug",
        "--manifest",
        manifest(folder),
        outputs=outputs or subprocess.DEVNULL,
    )
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
            assert "regular file" in (folder / "err").read_text(), (
                name,
                (folder / "err").read_text(),
            )
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
    (folder / "slow.py").write_text(
        "import time\nopen('begun', 'w').close()\ntime.sleep(600)\nimport farcall\n"
    )
    for signals in (1, 2):
        server = Server(folder, files=[str(folder / "slow.py")])
        try:
            time.sleep(1)
            for _ in range(signals):
                server.process.send_signal(signal.SIGTERM)
            assert server.ends_within(SERVER_GRACE + COMES / 4) is not None, "it goes on"
        finally:
            server.end()


def test_a_server_ends_while_a_compiler_hangs(folder):
    """Where nothing else ends the wait, the last resort does. Nothing of the compiler is left."""
    for name in ("cc", "gcc"):
        program = folder / name
        program.write_text(f"#!/bin/sh\necho $$ >>{folder}/compilers\nexec sleep 600\n")
        program.chmod(0o755)
    server = Server(folder, PATH=f"{folder}:{os.environ['PATH']}")
    try:
        time.sleep(1)
        server.process.send_signal(signal.SIGTERM)
        assert server.ends_within(SERVER_GRACE + COMES / 4) is not None, "it goes on"
        begun = folder / "compilers"
        compilers = begun.read_text().split() if begun.exists() else []
        end = time.monotonic() + COMES
        while any(os.path.exists(f"/proc/{one}") for one in compilers) and time.monotonic() < end:
            time.sleep(0.05)
        assert not any(os.path.exists(f"/proc/{one}") for one in compilers), "its compiler goes on"
    finally:
        server.end()


def test_a_server_ends_with_clients_that_do_not_go_on(folder):
    """One within a frame, one that does not read its results, one of the metrics, and one whose
    call is cut short."""
    server = Server(folder, "--metrics", "127.0.0.1:0", "--manifest", manifest(folder))
    held = []
    try:
        server.await_start()
        end = time.monotonic() + 20
        while "http://" not in (folder / "err").read_text() and time.monotonic() < end:
            time.sleep(0.02)
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
            [FARCALL, "call", "ends/nap", "60000", "--server", f"unix:{server.path}"],
            env=server.environment,
            stderr=subprocess.PIPE,
            text=True,
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
            [FARCALL, "call", "ends/nap", "60000", "--server", f"unix:{server.path}"],
            env=server.environment,
            stderr=subprocess.DEVNULL,
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
        "    for (int c; (c = fgetc(in)) != EOF;)\n        fputc(c, out);\n    fclose(in);\n"
        "    fclose(out);\n}\n"
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
            [sys.executable, "-c", script, f"unix:{server.path}"],
            cwd=folder,
            env=server.environment,
            capture_output=True,
            text=True,
            timeout=COMES,
        )
        assert ended.returncode == 0, ended.stderr
        server.process.send_signal(signal.SIGTERM)
        assert server.ends_within(COMES) is not None
        assert not list(folder.glob("farcall-module-*"))
    finally:
        server.end()
