"""Private servers that do not come up in time, and what is left of servers that are ended before
they serve."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

LOOP = "while True:\n    pass\n"
CONNECT = "import sys, farcall; farcall.connect(files=sys.argv[1:])"


def processes_of(path):
    """Processes whose command line names the file."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if os.fsencode(path) in words:
                found.append(int(entry.name))
    return found


def eventually(holds, seconds=60.0):
    """Waits for it, as long as a busy machine may take."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


@pytest.fixture
def loop(tmp_path):
    path = tmp_path / "loop.py"
    path.write_text(LOOP)
    yield path
    for left in processes_of(path):
        os.kill(left, signal.SIGKILL)


def looks_into(path):
    """Whether a process runs what stands in the file."""
    return any(
        b"--describe" in pathlib.Path(f"/proc/{one}/cmdline").read_bytes()
        for one in processes_of(path)
    )


def test_a_private_server_that_does_not_come_up_in_time_is_given_up(farcall, loop):
    begin = time.monotonic()
    with pytest.raises(farcall.TimedOut) as late:
        farcall.connect(files=[loop], timeout=2)
    assert 1.5 < time.monotonic() - begin < 20
    assert all(
        words in str(late.value) for words in ("timeout: 2 s", str(loop), "raise timeout=")
    ), late.value
    assert eventually(lambda: not processes_of(loop), 10)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_looks_into_files_ends_with_its_client(loop, how):
    client = subprocess.Popen([sys.executable, "-c", CONNECT, str(loop)])
    try:
        assert eventually(lambda: looks_into(loop))
    finally:
        client.send_signal(how)
        client.wait(20)
    assert eventually(lambda: not processes_of(loop), 10), (
        "server and inspection end with the client"
    )


def test_a_signal_ends_a_server_that_looks_into_files(loop, tmp_path):
    command = [
        "farcall",
        "serve",
        "--listen",
        f"unix:{tmp_path}/s",
        "--python",
        sys.executable,
        str(loop),
    ]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert eventually(lambda: looks_into(loop))
    server.terminate()
    _, said = server.communicate(timeout=10)
    assert server.returncode == 1 and str(loop) in said and "it is no longer needed" in said
    assert eventually(lambda: not processes_of(loop), 10)
