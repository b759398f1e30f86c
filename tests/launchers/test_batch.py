"""The launchers for Grid Engine, PBS and LSF: batch systems that lie, and a real Grid Engine."""

import os
import pathlib
import signal
import subprocess

import conformance
import pytest
from surroundings import eventually, sleeper, status, wait_for, write_program

SYSTEMS = ["gridengine", "pbs", "lsf"]
# What shows the queue, what submits, what cancels, what remembers.
LOOK = {"gridengine": "qstat", "pbs": "qselect", "lsf": "bjobs"}
SUBMIT = {"gridengine": "qsub", "pbs": "qsub", "lsf": "bsub"}
CANCEL = {"gridengine": "qdel", "pbs": "qdel", "lsf": "bkill"}


@pytest.fixture(params=SYSTEMS)
def system(request):
    return request.param


def first(system):
    """The id of the first job."""
    return "1.fake" if system == "pbs" else "1"


def kill_left(folder):
    """What a test said to be over runs still."""
    for file in folder.glob("*.group"):
        with_group = int(file.read_text())
        try:
            os.killpg(with_group, signal.SIGKILL)
        except ProcessLookupError:
            pass


@pytest.mark.parametrize("fault", ["fail 8", "garbage 3", "hang 1", "lost 1"])
def test_what_a_batch_system_does_not_say_ends_no_job(fault, system, batch, driven, tmp_path):
    """Unknown is not dead: each fault lasts for several looks, and the job is as it was."""
    folder = batch(system)
    launcher = driven("--limit", "2", system=system)
    job = launcher.create("a", *sleeper(tmp_path))
    wait_for(launcher, job, "^ACTIVE")
    (folder / "faults").write_text(f"{LOOK[system]} {fault}\n")
    eventually(lambda: not (folder / "faults").read_text())
    assert status(launcher, job).startswith("ACTIVE")
    assert launcher.statuses[job][-1] == "ACTIVE"
    assert launcher.ask(f"JOB_DESTROY {job}") == "S" and launcher.over(job) == "FAILED"
    assert status(launcher, job) == "FAILED cancelled"


@pytest.mark.parametrize(
    "state, words",
    [
        ("over 0", "^DONE completed"),
        ("over 9", "^FAILED failed: exit status 9"),
        ("over 137", "^FAILED failed: signal 9"),
        ("timed-out", "^FAILED timed out: it reached its time limit of 30 min"),
    ],
)
def test_every_end_has_its_words(state, words, system, batch, driven, tmp_path):
    folder = batch(system)
    launcher = driven(system=system)
    job = launcher.create("a", *sleeper(tmp_path, "max_wall_time 30"))
    wait_for(launcher, job, "^ACTIVE")
    (folder / "1.state").write_text(state)
    wait_for(launcher, job, words)
    kill_left(folder)


def test_why_a_job_waits_is_told(system, batch, driven, tmp_path):
    folder = batch(system)
    (folder / "waits").write_text("only 3 slots are free")
    launcher = driven(system=system)
    job = launcher.create("a", *sleeper(tmp_path))
    wait_for(launcher, job, "^PENDING waiting: only 3 slots are free")
    (folder / "waits").unlink()
    wait_for(launcher, job, "^ACTIVE")
    launcher.ask(f"JOB_DESTROY {job}")
    assert launcher.over(job) == "FAILED"


def test_a_job_in_the_error_state_fails_with_the_reason(batch, driven, tmp_path):
    """Grid Engine keeps such a job until somebody looks after it."""
    folder = batch("gridengine")
    (folder / "waits").write_text("x")
    launcher = driven(system="gridengine")
    job = launcher.create("a", *sleeper(tmp_path))
    wait_for(launcher, job, "^PENDING waiting")
    (folder / "1.state").write_text("stuck can't open output file")
    assert launcher.over(job) == "FAILED"
    assert "in the error state (Eqw): can't open output file" in status(launcher, job)
    eventually(lambda: (folder / "1.state").read_text() == "cancelled")


@pytest.mark.parametrize("fault", ["late", "garbage", "hang"])
def test_a_submission_in_doubt_is_found(fault, system, batch, driven, tmp_path):
    """There is a job, and what submitted it did not say so."""
    folder = batch(system)
    (folder / "faults").write_text(f"{SUBMIT[system]} {fault}\n")
    launcher = driven("--limit", "3", system=system)
    job = launcher.create("a", *sleeper(tmp_path))
    wait_for(launcher, job, "^ACTIVE")
    assert job == first(system) and len(list(folder.glob("*.job"))) == 1


def test_a_refusal_says_why(system, batch, driven, tmp_path):
    folder = batch(system)
    (folder / "faults").write_text(f"{SUBMIT[system]} fail 1 there is no project physics\n")
    launcher = driven(system=system)
    with pytest.raises(conformance.Broken, match="there is no project physics"):
        launcher.create("a", *sleeper(tmp_path))


REFUSED = {
    "gridengine": "Unable to run job: error: no suitable queues",
    "pbs": "qsub: Job violates queue and/or server resource limits",
    "lsf": "Too many processors requested. Job not submitted.",
}
LIMITED = {
    "gridengine": "Unable to run job: Only 5 jobs are allowed per user (current job count: 5)",
    "pbs": "qsub: would exceed queue workq's per-user limit of jobs in 'Q' state",
    "lsf": "User's job limit reached. Job not submitted.",
}


def test_a_job_that_is_too_large_is_told_its_half(system, batch, driven, tmp_path):
    folder = batch(system)
    (folder / "faults").write_text(f"{SUBMIT[system]} fail 1 {REFUSED[system]}\n")
    launcher = driven(system=system)
    with pytest.raises(conformance.Broken):
        launcher.create("a", *sleeper(tmp_path, "count 8", "count_min 1", "together true"))
    assert any(line.startswith("SIZE_NOTIFY request a 4 ") for line in launcher.remarks)


def test_a_submit_limit_passes(system, batch, driven, tmp_path):
    folder = batch(system)
    (folder / "faults").write_text(f"{SUBMIT[system]} fail 1 {LIMITED[system]}\n")
    launcher = driven(system=system)
    job = launcher.create("a", *sleeper(tmp_path, "count_min 1"))
    wait_for(launcher, job, "^ACTIVE")


def test_a_launcher_that_ends_leaves_nothing_that_is_in_doubt(system, batch, driven, tmp_path):
    """Everything fails at once, and still no job is left."""
    folder = batch(system)
    (folder / "faults").write_text(
        f"{SUBMIT[system]} hang 2\n{CANCEL[system]} fail 2\n{LOOK[system]} garbage 3\n"
    )
    launcher = driven("--limit", "2", system=system)
    for request in "ab":
        launcher.say(f"JOB_CREATE {request}", *sleeper(tmp_path), "JOB_CREATE_END")
    eventually(lambda: len(list(folder.glob("*.group"))) == 2)
    launcher.process.terminate()
    assert launcher.end() == 0
    assert {(folder / f"{job}.state").read_text() for job in (1, 2)} == {"cancelled"}


def test_what_waits_for_a_launcher_that_is_killed_is_cancelled(system, batch, driven, tmp_path):
    """What runs goes on without it."""
    folder = batch(system)
    launcher = driven(system=system)
    runs = launcher.create("a", *sleeper(tmp_path))
    wait_for(launcher, runs, "^ACTIVE")
    (folder / "waits").write_text("Resources")
    waits = launcher.create("b", *sleeper(tmp_path))
    wait_for(launcher, waits, "^PENDING waiting")
    launcher.process.kill()
    eventually(lambda: (folder / "2.state").read_text() == "cancelled")
    assert (folder / "1.state").read_text() == "runs"
    kill_left(folder)


def test_options_that_would_do_something_else_are_refused(system, batch, driven, tmp_path):
    batch(system)
    launcher = driven(system=system)
    option = {"gridengine": "-t 1-10", "pbs": "-J 1-10", "lsf": "-K"}[system]
    with pytest.raises(conformance.Broken, match="is not allowed"):
        launcher.create("a", *sleeper(tmp_path, f"option {option}"))


def test_resources_become_a_request(system, batch, driven, tmp_path):
    folder = batch(system)
    launcher = driven(system=system)
    more = ["count 4", "max_wall_time 90", "max_memory 4000", "queue_name short", "project physics"]
    job = launcher.create("a", *sleeper(tmp_path, *more))
    wait_for(launcher, job, "^ACTIVE")
    wanted = {
        "gridengine": [
            "'-pe', '*', '4'",
            "h_rt=5400",
            "h_vmem=1000M",
            "'-q', 'short'",
            "'-P', 'physics'",
        ],
        "pbs": [
            "select=4:ncpus=1:mpiprocs=1:mem=1000mb",
            "walltime=01:30:00",
            "'-q', 'short'",
            "'-A', 'physics'",
        ],
        "lsf": ["'-n', '4'", "'-W', '90'", "'-M', '4000MB'", "'-q', 'short'", "'-P', 'physics'"],
    }[system]
    log = (folder / "log").read_text()
    assert [words for words in wanted if words not in log] == []


def test_a_real_grid_engine_says_how_jobs_are(engine, driven, tmp_path):
    launcher = driven(system="gridengine")
    waits = launcher.create("a", *sleeper(tmp_path, "option -h"))
    wait_for(launcher, waits, "^PENDING waiting: it is held")
    runs = launcher.create("b", *sleeper(tmp_path, "count 2"))
    wait_for(launcher, runs, "^ACTIVE")
    fails = launcher.create("c", *sleeper(tmp_path), "argument more")
    launcher.ask(f"JOB_DESTROY {fails}")
    program = write_program(pathlib.Path(tmp_path) / "seven", "#!/bin/sh\nexit 7\n")
    ends = launcher.create("d", f"executable_path {program}")
    wait_for(launcher, ends, "^FAILED failed: exit status 7")
    for job in (waits, runs):
        launcher.ask(f"JOB_DESTROY {job}")
    assert {launcher.over(job) for job in (waits, runs, fails)} == {"FAILED"}
    assert status(launcher, runs) == "FAILED cancelled"


def test_a_job_that_a_real_grid_engine_cannot_hold_is_refused(engine, driven, tmp_path):
    launcher = driven(system="gridengine")
    with pytest.raises(conformance.Broken, match="no suitable queues"):
        launcher.create("a", *sleeper(tmp_path, "count 90000"))
    assert not subprocess.run(["qstat"], stdout=subprocess.PIPE, check=True).stdout
