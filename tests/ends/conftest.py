"""A folder, and a server that answers, for the tests of ends."""

import pathlib
import re
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from running import Server  # noqa: E402  (it stands beside this file)


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
    server = Server(
        path, "--listen", "tcp:127.0.0.1:0", "--token-file", str(path / "token")
    ).await_start()
    server.folder = path
    server.port = int(re.search(r"farcall://127\.0\.0\.1:(\d+)", (path / "out").read_text())[1])
    server.token = str(path / "token")
    yield server
    server.end()
    shutil.rmtree(path, ignore_errors=True)
