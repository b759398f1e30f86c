"""`run_timeout`: how long a routine may run once it began. What a call waits before does not
count."""

import concurrent.futures
import math
import pathlib
import pickle
import subprocess
import sys

import pytest

BEHAVIOUR = pathlib.Path(__file__).parent / "routines/behaviour.idl"
ONE_PROCESS = """
[[plugin]]
name = "rpc-server"
slot = "rpc"
options = { executables_max = 1 }
"""


@pytest.fixture
def single(farcall, tmp_path):
    """A server that runs one call at a time."""
    manifest = tmp_path / "farcall.toml"
    manifest.write_text(ONE_PROCESS)
    with farcall.connect(
        files=[BEHAVIOUR], arguments=["--manifest", str(manifest)]
    ) as server:
        yield server


def test_time_in_the_queue_does_not_count(single):
    calls = [single.pause.submit(0.3, run_timeout=1.0) for _ in range(6)]
    assert [call.result(timeout=20).slept for call in calls] == [0.3] * 6


def test_a_routine_that_runs_too_long_is_ended(farcall, single):
    first = single.pause.submit(0.5)
    late = single.pause.submit(30, run_timeout=0.5)
    with pytest.raises(farcall.TimedOut) as caught:
        late.result(timeout=20)
    said = str(caught.value)
    assert first.result().slept == 0.5
    assert "of it in the queue and" in said and "running" in said and "run_timeout: 0.5 s" in said
    assert caught.value.began and caught.value.advice.startswith("raise run_timeout=")
    assert pickle.loads(pickle.dumps(caught.value)).began


def test_the_whole_time_bounds_the_run_too(farcall, single):
    with pytest.raises(farcall.TimedOut, match="timed out.*raise timeout=") as caught:
        single.pause(30, timeout=0.5, run_timeout=20)
    assert "run_timeout" not in str(caught.value)


def test_a_call_that_never_began_says_so(farcall, single):
    blocker = single.pause.submit(30)
    with pytest.raises(farcall.TimedOut, match="timed out") as caught:
        single.pause(0.1, timeout=0.5)
    assert not caught.value.began
    blocker.cancel()


@pytest.mark.parametrize("given", [0, -1, float("nan"), "soon", True])
def test_what_is_no_time_is_refused(farcall, server, given):
    with pytest.raises(farcall.InvalidArgument, match="give seconds above 0, or None"):
        server.pause(0.1, run_timeout=given)


def test_all_of_a_map_have_the_same(farcall, single):
    with single.executor() as executor:
        slept = [one.slept for one in executor.map(single.pause, [0.1, 0.2], run_timeout=5)]
        assert slept == [0.1, 0.2]
        too_long = executor.map(single.pause, [0.1, 30], run_timeout=0.5)
        assert next(too_long).slept == 0.1
        with pytest.raises(farcall.TimedOut, match="run_timeout"):
            next(too_long)
        with pytest.raises(concurrent.futures.TimeoutError):
            list(executor.map(single.pause, [0.1, 5], timeout=0.5))


def test_handles_and_names_take_it(farcall, single):
    with single.pause.hold(1) as handles:
        with pytest.raises(farcall.TimedOut, match="run_timeout"):
            handles.map([30], run_timeout=0.3)
    with pytest.raises(farcall.TimedOut, match="run_timeout"):
        single.call("behaviour/pause", 30, run_timeout=0.3)


@pytest.mark.parametrize("wrong", [0, -1, math.nan, -math.inf, "5", True, [1.0]])
def test_a_wrong_time_is_named(farcall, single, wrong):
    for call in (single.pause, lambda *of, **more: single.pause.submit(*of, **more).result()):
        with pytest.raises(farcall.Error, match="call: a run_timeout of ") as refused:
            call(0.0, run_timeout=wrong)
        assert "give seconds above 0, or None" in str(refused.value)
    with pytest.raises(farcall.Error, match="keep a call: a keep of "):
        single.pause(0.0, keep=wrong)


def test_a_submitted_call_has_one_too(single):
    def command(*words):
        program = [sys.executable, "-m", "farcall", *words, "--server", single.address]
        return subprocess.run(program, capture_output=True, text=True, timeout=60)

    id = command("submit", "pause", "30", "--run-timeout", "0.3").stdout.strip()
    fetched = command("fetch", id, "--timeout", "30")
    assert fetched.returncode == 1 and "run_timeout: 0.3 s" in fetched.stderr, fetched.stderr
    for wrong in ("-1", "0", "nan", "soon"):
        refused = command("submit", "pause", "30", "--run-timeout", wrong)
        assert refused.returncode == 2 and "--run-timeout" in refused.stderr, refused.stderr
