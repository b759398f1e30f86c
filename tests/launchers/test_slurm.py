"""The launcher for Slurm: a real one, and one that lies."""

import os
import signal
import subprocess

import conformance
import pytest
from surroundings import ROOT, eventually, sleeper, status, wait_for, write_program


@pytest.mark.parametrize(
    "fault",
    [
        "fail 8",
        "garbage 3",
        "invalid 3",
        "hang 1",
        "fail 2\nsqueue garbage 2\nsqueue lost 1\nsqueue invalid 2",
    ],
)
def test_what_slurm_does_not_say_ends_no_job(fault, fake, driven, tmp_path):
    """Unknown is not dead: each fault lasts for several looks, and the job is as it was."""
    launcher = driven("--limit", "2")
    job = launcher.create("a", *sleeper(tmp_path))
    wait_for(launcher, job, "^ACTIVE")
    (fake / "faults").write_text(f"squeue {fault}\n")
    eventually(lambda: not (fake / "faults").read_text())
    assert status(launcher, job).startswith("ACTIVE")
    assert launcher.statuses[job][-1] == "ACTIVE"
    assert launcher.ask(f"JOB_DESTROY {job}") == "S" and launcher.over(job) == "FAILED"


@pytest.mark.parametrize(
    "state, words",
    [
        ("PREEMPTED None", "preempted"),
        ("TIMEOUT TimeLimit", "timed out"),
        ("NODE_FAIL NodeDown", "a node failed: NodeDown"),
        ("CANCELLED None", "cancelled"),
        ("OUT_OF_MEMORY None", "out of memory"),
        ("FAILED NonZeroExitCode 9:0", "exit status 9"),
    ],
)
def test_every_end_has_its_words(state, words, fake, driven, tmp_path):
    """A user must see whether to ask for more time, more memory, or nothing."""
    launcher = driven()
    job = launcher.create("a", *sleeper(tmp_path))
    wait_for(launcher, job, "^ACTIVE")
    (fake / "1.state").write_text(state)
    assert launcher.over(job) == "FAILED" and words in status(launcher, job)
    os.killpg(int((fake / "1.group").read_text()), signal.SIGKILL)


def test_a_job_waits_runs_is_requeued_and_runs_again(fake, driven, tmp_path):
    (fake / "waits").write_text("Resources")
    launcher = driven()
    job = launcher.create("a", *sleeper(tmp_path))
    wait_for(launcher, job, "^PENDING waiting: Resources; place 1 of 1 in the queue")
    (fake / "waits").unlink()
    wait_for(launcher, job, "^ACTIVE")
    (fake / "1.state").write_text("PENDING BeginTime")
    wait_for(launcher, job, "^PENDING requeued: BeginTime")
    (fake / "1.state").write_text("SOMETHING_NEW None")
    (fake / "1.state").write_text("RUNNING None")
    wait_for(launcher, job, "^ACTIVE")
    launcher.ask(f"JOB_DESTROY {job}")
    assert launcher.over(job) == "FAILED" and status(launcher, job) == "FAILED cancelled"


def test_a_job_that_nobody_knows_has_vanished(fake, driven, tmp_path):
    launcher = driven()
    job = launcher.create("a", *sleeper(tmp_path))
    wait_for(launcher, job, "^ACTIVE")
    (fake / "faults").write_text("squeue forget 1000\nscontrol forget 1000\nsacct forget 1000\n")
    assert launcher.over(job) == "FAILED" and "disappeared" in status(launcher, job)
    (fake / "faults").unlink()


def test_a_job_that_left_the_queue_is_asked_for(fake, driven, tmp_path):
    """Sites forget jobs early; the accounting knows."""
    launcher = driven()
    job = launcher.create("a", *sleeper(tmp_path))
    wait_for(launcher, job, "^ACTIVE")
    (fake / "1.state").write_text("COMPLETED None")
    (fake / "faults").write_text("squeue lost 1000\nscontrol forget 1000\n")
    assert launcher.over(job) == "DONE"
    (fake / "faults").unlink()
    os.killpg(int((fake / "1.group").read_text()), signal.SIGKILL)


@pytest.mark.parametrize("fault", ["late", "garbage", "hang"])
def test_a_submission_in_doubt_is_found_or_ended(fault, fake, driven, tmp_path):
    """Slurm took the job, and its sbatch did not say so."""
    (fake / "faults").write_text(f"sbatch {fault}\n")
    launcher = driven("--limit", "3")
    job = launcher.create("a", *sleeper(tmp_path))
    wait_for(launcher, job, "^ACTIVE")
    assert job == "1" and len(list(fake.glob("*.job"))) == 1


def test_an_sbatch_that_refuses_says_why(fake, driven, tmp_path):
    (fake / "faults").write_text("sbatch fail\n")
    launcher = driven()
    with pytest.raises(conformance.Broken, match="Invalid account"):
        launcher.create("a", *sleeper(tmp_path))


def test_a_launcher_that_ends_leaves_nothing_that_is_in_doubt(fake, driven, tmp_path):
    """Everything fails at once, and still no job is left."""
    (fake / "faults").write_text("sbatch hang 2\nscancel fail 2\nsqueue garbage 3\n")
    launcher = driven("--limit", "2")
    launcher.say(
        "JOB_CREATE a",
        *sleeper(tmp_path),
        "JOB_CREATE_END",
        "JOB_CREATE b",
        *sleeper(tmp_path),
        "JOB_CREATE_END",
    )
    eventually(lambda: len(list(fake.glob("*.group"))) == 2)
    launcher.process.terminate()
    assert launcher.end() == 0
    assert {(fake / f"{job}.state").read_text() for job in (1, 2)} == {"CANCELLED None"}


def test_what_waits_for_a_launcher_that_is_killed_is_cancelled(fake, driven, tmp_path):
    """What runs goes on without it; a controller that is away for a while is asked again."""
    launcher = driven()
    runs = launcher.create("a", *sleeper(tmp_path))
    wait_for(launcher, runs, "^ACTIVE")
    (fake / "waits").write_text("Resources")
    waits = launcher.create("b", *sleeper(tmp_path))
    wait_for(launcher, waits, "^PENDING waiting")
    (fake / "faults").write_text("scancel fail 2\n")
    launcher.process.kill()
    eventually(
        lambda: (
            (fake / f"{waits}.state").exists()
            and (fake / f"{waits}.state").read_text() == "CANCELLED None"
        )
    )
    assert (fake / f"{runs}.state").read_text() == "RUNNING None"
    os.killpg(int((fake / f"{runs}.group").read_text()), signal.SIGKILL)


def test_without_slurm_a_job_is_refused(driven, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "/nonexistent")
    launcher = driven()
    with pytest.raises(conformance.Broken, match="sbatch cannot be started"):
        launcher.create("a", *sleeper(tmp_path))
    monkeypatch.undo()


def test_streams_of_nodes_meet_commands_here(slurm, driven, tmp_path):
    """The fallback for nodes that cannot reach the login node: bytes both ways, on each node, with
    its slots."""
    blob = tmp_path / "blob"
    blob.write_bytes(os.urandom(3 << 20))
    bridge = write_program(
        tmp_path / "bridge",
        f"#!/bin/sh\nread -r slots; cat {blob}; exec 1>&-; cat >{tmp_path}/back.$$.$slots\n",
    )
    pilot = write_program(
        tmp_path / "pilot",
        '#!/bin/sh\n[ "$2" = --stdio ] || exit 9\necho "$FARCALL_SLOTS"; exec cat\n',
    )
    launcher = driven()
    job = launcher.create(
        "a",
        f"executable_path {pilot}",
        "argument pilot",
        f"bridge {bridge} 'two words'",
        "count 100",
        "host_count 3",
    )
    assert launcher.over(job) == "DONE"
    back = list(tmp_path.glob("back.*"))
    assert len(back) == 3 and sum(int(file.suffix[1:]) for file in back) == 100
    assert all(file.read_bytes() == blob.read_bytes() for file in back)


def test_a_node_that_dies_takes_its_own_slots_alone(slurm, driven, tmp_path):
    """Of a job on two nodes, the half that lives goes on."""
    launcher = driven()
    job = launcher.create("a", *sleeper(tmp_path, "count 100", "host_count 2"))
    copies = lambda: [file.read_text().split() for file in tmp_path.glob("copy.*")]
    eventually(lambda: sum(int(slots) for _, slots, *_ in copies()) == 100)
    nodes = subprocess.run(
        ["squeue", "-h", "-o", "%N"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    last = subprocess.run(
        ["scontrol", "show", "hostnames", nodes.strip()], stdout=subprocess.PIPE, text=True
    ).stdout.split()[-1]
    subprocess.run([ROOT / "tools/slurm.sh", "kill", slurm, last], check=True, timeout=60)
    eventually(lambda: [conformance.runs(process) for process, *_ in copies()].count(True) == 1)
    wait_for(launcher, job, "^ACTIVE")
    subprocess.run([ROOT / "tools/slurm.sh", "revive", slurm, last], check=True, timeout=120)
    assert launcher.ask(f"JOB_DESTROY {job}") == "S" and launcher.over(job) == "FAILED"
    eventually(lambda: not any(conformance.runs(process) for process, *_ in copies()))


def test_a_job_that_somebody_cancels_is_told(slurm, driven, tmp_path):
    launcher = driven()
    job = launcher.create("a", *sleeper(tmp_path))
    wait_for(launcher, job, "^ACTIVE")
    subprocess.run(["scancel", job], check=True)
    assert launcher.over(job) == "FAILED" and status(launcher, job).startswith("FAILED cancelled")


def test_a_job_larger_than_its_partition_is_not_submitted(fake, driven, tmp_path):
    """Its driver hears a size that leaves room for others, and asks again."""
    line = "PartitionName=main Default=YES MaxTime=1-00:00:00 TotalCPUs=16 TotalNodes=4"
    (fake / "partition").write_text(line)
    launcher = driven()
    with pytest.raises(conformance.Broken, match="16 processors at most, and 24 are wanted"):
        launcher.create("a", "count 24", "count_min 1", *sleeper(tmp_path))
    told = "SIZE_NOTIFY request a 2 partition main gives a job 16 processors"
    assert [line for line in launcher.remarks if line.startswith(told)]
    assert not list(fake.glob("*.job"))
    launcher.create("b", "count 2", "count_min 1", *sleeper(tmp_path))
    assert len(list(fake.glob("*.job"))) == 1


def test_a_job_that_waits_for_ever_is_told_its_half(fake, driven, tmp_path):
    """Nobody told of its partition; and a driver that does not listen is not told."""
    (fake / "partition").write_text("PartitionName=main Default=NO TotalCPUs=16 TotalNodes=4")
    launcher = driven()
    job = launcher.create("a", "count 24", "count_min 1", *sleeper(tmp_path))
    eventually(lambda: f"SIZE_NOTIFY job {job} 12 PartitionConfig" in launcher.remarks)
    assert launcher.ask(f"JOB_DESTROY {job}") == "S" and launcher.over(job) == "FAILED"
    other = launcher.create("b", "count 24", *sleeper(tmp_path))
    looks = (fake / "log").read_text().count("squeue")
    eventually(lambda: (fake / "log").read_text().count("squeue") > looks + 2)
    assert not [said for said in launcher.remarks if f"job {other} " in said]
