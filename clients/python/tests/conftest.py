"""What the Python client's tests share: one private server for all of them, with routines that tell
what they got."""

import os
import pathlib
import signal

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
LIBRARIES = [ROOT / "routines/lapack" / name for name in ("blas.idl", "lapack.idl", "eigen.idl")]
FILES = sorted(HERE.glob("routines/*.idl")) + LIBRARIES + [ROOT / "routines/ep/ep.idl"]


# What a shell starts in the background ignores Ctrl-C, and so would the programs of these tests.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def farcall():
    """The package; the server that a developer has running is none of the tests' business."""
    os.environ.pop("FARCALL_SERVER", None)
    import farcall

    return farcall


@pytest.fixture(scope="session")
def server(farcall):
    """Publishes the tests' own routines, LAPACK, BLAS and EP."""
    with farcall.connect(files=FILES, timeout=60) as server:
        yield server


@pytest.fixture
def private(farcall):
    """A server that a test may bring down."""
    with farcall.connect(files=[HERE / "routines/behaviour.idl"]) as server:
        yield server


@pytest.fixture(scope="session")
def token(tmp_path_factory):
    """What lets a client into the server of `tcp`."""
    return tmp_path_factory.mktemp("tcp") / "token"


@pytest.fixture(scope="session")
def tcp(farcall, token):
    """The same routines by TCP, where nothing is shared."""
    arguments = ["--listen", "tcp:127.0.0.1:0", "--token-file", str(token)]
    with farcall.connect(files=FILES, arguments=arguments, token_file=token, timeout=60) as server:
        yield server


@pytest.fixture
def narrow(farcall):
    """A server that takes two calls of a connection at a time."""
    with farcall.connect(
        files=[HERE / "routines/behaviour.idl"],
        arguments=["--manifest", str(HERE / "routines/narrow.toml")],
    ) as server:
        # Looked up while there is room for the question.
        assert server.square(2).y == 4 and server.pause(0.01).slept == 0.01
        yield server
