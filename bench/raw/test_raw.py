"""Tests of the raw C anchor: what it says it measures is what happens."""

import ctypes
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent


def declare(library):
    """Gives the functions their types; ctypes would take every result for an int."""
    for name in ("raw_roundtrip", "raw_roundtrip_fresh", "raw_pingpong", "raw_pipeline"):
        getattr(library, name).restype = ctypes.c_double
    for name in ("raw_error", "raw_congestion"):
        getattr(library, name).restype = ctypes.c_char_p
    library.raw_roundtrip.argtypes = library.raw_roundtrip_fresh.argtypes = [ctypes.c_uint64]
    return library


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("raw")
    subprocess.run(["cc", "-O2", "-o", folder / "rawserver", HERE / "rawserver.c"], check=True)
    shared = [
        "cc",
        "-O2",
        "-shared",
        "-fPIC",
        "-o",
        folder / "librawclient.so",
        HERE / "rawclient.c",
    ]
    subprocess.run(shared, check=True)
    return folder


@pytest.fixture
def server(built):
    with subprocess.Popen(
        [built / "rawserver", "reno"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        words = child.stdout.readline().split()
        assert words[0] == "port" and words[2:] == ["congestion", "reno"]
        yield int(words[1])
        child.stdin.close()
        assert child.wait(10) == 0, "the server ends with its standard input"


@pytest.fixture
def client(built, server):
    library = declare(ctypes.CDLL(str(built / "librawclient.so")))
    assert library.raw_open(server, b"reno") == 0, library.raw_error()
    yield library
    library.raw_close()


def test_arrays_of_any_size_come_back(client):
    for size in (0, 1, 64, 4096, 1_000_003, 1 << 24):
        assert client.raw_roundtrip(size) > 0, client.raw_error()
        assert client.raw_roundtrip_fresh(size) > 0, client.raw_error()


def test_small_messages(client):
    times = (ctypes.c_double * 2000)()
    assert client.raw_pingpong_times(2000, times) == 0
    assert min(times) > 0
    assert 0 < client.raw_pingpong(2000) < 0.01
    assert client.raw_pipeline(2000, 64) > 1000
    assert client.raw_pipeline(10, 64) > 0, "fewer calls than may be under way"
    assert client.raw_pipeline(10, 100_000) < 0


def test_both_sides_have_the_same_congestion_control(client):
    assert client.raw_congestion() == b"reno"


def test_a_refused_connection_has_a_reason(client):
    assert client.raw_open(1, None) < 0
    assert b"cannot connect" in client.raw_error()


def test_an_array_beyond_the_limit_is_refused(client):
    assert client.raw_roundtrip(1 << 40) < 0
    assert b"too long" in client.raw_error()


def test_a_crowd_answers_and_is_gone(tmp_path):
    program = tmp_path / "rawcrowd"
    subprocess.run(["cc", "-O2", "-o", program, HERE / "rawcrowd.c"], check=True)
    done = subprocess.run(
        [program, "20"], stdout=subprocess.PIPE, text=True, check=True, timeout=20
    )
    assert 0 < float(done.stdout) < 10
    assert subprocess.run([program, "0"], stderr=subprocess.PIPE).returncode == 2
