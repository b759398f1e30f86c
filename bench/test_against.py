"""Tests of the comparison of two builds: its arithmetic, and that it runs."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", HERE.parent / "build"))
sys.path.insert(0, str(HERE))

import against  # noqa: E402  (the bench's modules lie beside it)
import processes  # noqa: E402
import turns  # noqa: E402


def test_a_row_is_slower_where_its_whole_middle_half_is_and_noise_does_not_reach_it():
    null = turns.Figure(1.0, 0.98, 1.02)
    assert against.is_slower(turns.Figure(0.9, 0.88, 0.96), null)
    assert not against.is_slower(turns.Figure(0.9, 0.88, 0.975), null)
    assert not against.is_slower(turns.Figure(0.9, 0.88, 0.96), turns.Figure(1.0, 0.95, 1.05))


def test_a_speed_is_this_builds_over_the_others(tmp_path):
    """Half the time is twice the speed, and so is twice the rate."""
    bench = processes.Bench(tmp_path, tmp_path, tmp_path, processes.SMOKE, ("c",))
    benches = {name: bench.aside(name) for name in ("this", "again", "other")}
    for is_rate, others in ((False, 2.0), (True, 0.5)):
        values = {"this": 1.0, "again": 1.0, "other": others}
        contest = against.Contest("", lambda bench, _: lambda: values[bench.folder.name], is_rate)
        assert against.play(contest, benches) == (turns.Figure(2, 2, 2), turns.Figure(1, 1, 1))


@pytest.mark.skipif(os.cpu_count() < 2, reason="the bench needs two cores")
def test_a_build_is_compared_with_another():
    done = subprocess.run(
        [
            sys.executable,
            HERE / "run.py",
            "--smoke",
            "--client",
            "c",
            "--stage",
            STAGE,
            "--against",
            STAGE,
        ],
        text=True,
        timeout=900,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    # So few calls may give any figure: slower than itself it is by chance.
    assert done.returncode == 0 or "slower than" in done.stderr, done.stdout + done.stderr
    for row in (
        "small call, tcp, c, one core",
        "64 small calls under way, unix, c",
        "an array of function handles, python",
        "an array of object handles, grpc",
        "executables with OpenBLAS, first dgesv",
    ):
        assert row in done.stdout, done.stdout
    wrong = subprocess.run(
        [sys.executable, HERE / "run.py", "--stage", STAGE, "--against", STAGE / "nowhere"],
        text=True,
        capture_output=True,
    )
    assert wrong.returncode != 0 and "holds no build" in wrong.stderr, wrong.stderr
