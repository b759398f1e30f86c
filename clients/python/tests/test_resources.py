"""What calls ask to be given: cores, memory, GPUs, time. On a server's own host they are limits on
the routine; what is more than there is, or no such value, is refused."""

import datetime
import os

import numpy as np
import pytest

MODULE = '''
import os
import time


def threads() -> int:
    return int(os.environ["OMP_NUM_THREADS"])


def gpus() -> str:
    return os.environ.get("CUDA_VISIBLE_DEVICES", "none")


def process(seconds: float = 0.0) -> int:
    time.sleep(seconds)
    return os.getpid()


def allocate(megabytes: int) -> int:
    return len(bytearray(megabytes << 20)) >> 20

'''
MANIFEST = """
[[plugin]]
name = "spawner-local"
slot = "spawner"

[plugin.options]
gpus = ["4", "7"]
limits.memory_bytes_max = 4294967296
limits.call_seconds_max = 60

[[plugin]]
name = "rpc-server"
slot = "rpc"
options.stop_grace_ms = 10000
"""


@pytest.fixture(scope="module")
def given(farcall, tmp_path_factory):
    """A server with two GPUs, or so it believes."""
    folder = tmp_path_factory.mktemp("given")
    (folder / "given.py").write_text(MODULE)
    (folder / "farcall.toml").write_text(MANIFEST)
    with farcall.connect(
        files=[folder / "given.py"], arguments=["--manifest", str(folder / "farcall.toml")]
    ) as server:
        yield server


def test_cores_are_threads(given):
    assert int(given.threads(cores=2)) == 2
    assert int(given.threads(cores="1")) == 1
    assert int(given.threads(cores=np.int64(2))) == 2


def test_memory_is_a_limit(farcall, given):
    assert int(given.allocate(100, memory="2 GB")) == 100
    with pytest.raises(farcall.Error):
        given.allocate(1500, memory="500 MB")
    assert int(given.allocate(1500)) == 1500


def test_each_has_gpus_of_its_own_and_gives_them_back(given):
    assert given.gpus().result == "none"
    assert given.gpus(gpus=2).result == "4,7"
    # The process with both ends for one that wants one.
    assert given.gpus(gpus=1).result in ("4", "7")
    first = given.process.submit(3.0, gpus=1)
    second = given.process.submit(3.0, gpus=1)
    third = given.process.submit(0.0, gpus=1)
    assert int(first.result(20)) != int(second.result(20))
    assert int(third.result(20)) in (int(first.result()), int(second.result()))


def test_equal_requests_share_a_process_and_others_do_not(given):
    plain = int(given.process())
    asked = int(given.process(cores=2, memory="1 GB"))
    assert plain != asked and asked == int(given.process(memory="1024 MB", cores=2))
    # Wall time on the server's own host needs no other process.
    assert asked == int(given.process(memory="1 GB", cores=2, wall_time=30))


def test_wall_time_bounds_the_run(farcall, given):
    with pytest.raises(farcall.TimedOut, match="wall_time") as caught:
        given.process(20.0, wall_time=0.5)
    assert caught.value.advice.startswith("raise wall_time=")
    with pytest.raises(farcall.TimedOut, match="run_timeout"):
        given.process(20.0, wall_time="1 min", run_timeout=0.5)
    assert int(given.process(0.1, wall_time=datetime.timedelta(minutes=1))) > 0


def test_options_hold_for_all_calls_and_a_call_says_otherwise(farcall, given):
    threads = given.threads.options(cores=2, wall_time="1 min")
    assert int(threads()) == 2 and int(threads(cores=1)) == 1
    assert int(threads.submit().result(20)) == 2
    assert int(threads.options(cores=1)()) == 1
    assert given.threads._defaults == {}
    with pytest.raises(farcall.WrongType, match='there is no option "cpus"'):
        given.threads.options(cpus=2)


def test_handles_have_theirs(farcall, given):
    with given.gpus.hold(2, gpus=1) as handles:
        seen = [handles[index]().result for index in range(2)]
        assert sorted(seen) == ["4", "7"]
        with pytest.raises(farcall.Error, match="a call on an object cannot ask for resources"):
            handles[0](gpus=1)
        with pytest.raises(farcall.LimitExceeded, match="1 GPU was requested, and 0 of 2 are free"):
            given.gpus.hold(1, gpus=1)
        # Calls wait until there is one.
        waits = given.gpus.submit(gpus=1)
    assert waits.result(30).result in ("4", "7")


@pytest.mark.parametrize(
    "asked, words",
    [
        ({"cores": 0}, 'cores is "0", which is not a number of cores'),
        ({"cores": 1.5}, 'cores is "1.5", which is not a number of cores'),
        ({"cores": True}, 'cores is "True"'),
        ({"cores": -1}, 'cores is "-1"'),
        ({"memory": "2 GX"}, 'memory is "2 GX", which is not an amount of memory'),
        ({"memory": 2_000_000_000}, "write a number and a unit"),
        ({"memory": "1 GB, gpus=9"}, "which is not an amount of memory"),
        ({"gpus": "one"}, 'gpus is "one", which is not a number of GPUs'),
        ({"wall_time": float("nan")}, 'wall_time is "nan s", which is not a time'),
        ({"wall_time": 0}, "which is not a time"),
        ({"wall_time": "30"}, "which is not a time"),
    ],
)
def test_wrong_values_are_refused_at_the_caller(farcall, given, asked, words):
    with pytest.raises(farcall.Error) as caught:
        given.threads(**asked)
    assert words in str(caught.value) and caught.value.advice.startswith("write ")


@pytest.mark.parametrize(
    "asked, words",
    [
        ({"cores": 60000}, "60000 cores were requested, and the processors of this host are"),
        ({"gpus": 3}, "3 GPUs were requested, and the GPUs of this server are 2"),
        ({"memory": "5 GB"}, "5 GiB of memory were requested, and limits.memory_bytes_max is"),
        ({"memory": "1 MB"}, "no executable starts with less than 16 MiB"),
        ({"wall_time": "2 min"}, "120 s were requested as wall_time, and limits.call_seconds_max"),
    ],
)
def test_more_than_there_is_is_refused_with_the_figure(farcall, given, asked, words):
    with pytest.raises(farcall.LimitExceeded) as caught:
        given.threads(**asked, timeout=30)
    assert words in str(caught.value) and caught.value.advice


def test_a_server_without_gpus_says_how_it_has_some(farcall, server):
    with pytest.raises(farcall.LimitExceeded, match="this server has none") as caught:
        server.square(2, gpus=1, timeout=30)
    assert "set gpus in the options of spawner-local" in caught.value.advice
    assert os.environ.get("CUDA_VISIBLE_DEVICES") is None
