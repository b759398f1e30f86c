"""What calls ask for, from the caller to a batch system and back: each is a fake that notes what it
is asked for, and runs the job."""

import subprocess

import pytest

MODULE = """
import os


def seen() -> str:
    return os.environ["OMP_NUM_THREADS"] + " " + os.environ.get("CUDA_VISIBLE_DEVICES", "none")


def process() -> int:
    return os.getpid()
"""
GIVEN = {"cores": 2, "memory": "1 GB", "gpus": 1, "wall_time": "30 min"}


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Starts a server whose executables a launcher starts."""
    farcall = pytest.importorskip("farcall")
    monkeypatch.setenv("FARCALL_JOBS", str(tmp_path / "jobs"))
    (tmp_path / "given.py").write_text(MODULE)
    servers = []

    def start(launcher, more=""):
        manifest = tmp_path / "farcall.toml"
        manifest.write_text(
            '[[plugin]]\nname = "spawner-jobs"\nslot = "jobs"\n[plugin.options]\n'
            f'default = "{launcher}"\nlaunchers.{launcher} = {{ dial = "unix"{more} }}\n'
        )
        arguments = ["--manifest", str(manifest)]
        servers.append(farcall.connect(files=[tmp_path / "given.py"], arguments=arguments))
        return servers[-1]

    yield start
    for one in servers:
        one.close()


def submitted(folder, command):
    """The options of each submission, as the fake noted them."""
    lines = (folder / "log").read_text().splitlines()
    return [line for line in lines if line.startswith(f"{command} ")]


def test_the_memory_of_a_setting_is_that_of_each_executable(fake, server):
    one = server("slurm", ", memory_mb = 700")
    one.given.seen(timeout=60)
    (asked,) = submitted(fake, "sbatch")
    assert "'--mem-per-cpu=700M'" in asked and "'--mem=" not in asked, asked


def test_slurm_is_asked_and_the_call_is_given_it(fake, server, monkeypatch):
    """Two tasks on one node see both GPUs: each call has one of them."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    one = server("slurm")
    assert one.given.seen(**GIVEN, timeout=60).result in ("2 3", "2 5")
    (asked,) = submitted(fake, "sbatch")
    for option in (
        "--ntasks=1",
        "--cpus-per-task=2",
        "--mem-per-cpu=512M",
        "--gpus-per-task=1",
        "--nodes=1",
        "--time=35",
    ):
        assert f"'{option}'" in asked, asked
    # An equal call runs in the same process, and another one in a job of its own.
    assert one.given.process(**GIVEN).result == one.given.process(**GIVEN).result
    assert len(submitted(fake, "sbatch")) == 1
    # The owner's own code sees what its job does.
    assert one.given.seen(cores=1, timeout=60).result == "1 3,5"
    assert len(submitted(fake, "sbatch")) == 2


def test_the_administrator_asks_where_the_caller_does_not(fake, server):
    one = server("slurm", ", cores = 3")
    assert one.given.seen(timeout=60).result.startswith("3 ")
    assert "'--cpus-per-task=3'" in submitted(fake, "sbatch")[0]


def test_more_than_the_administrator_lets_calls_have_is_refused(fake, server):
    farcall = pytest.importorskip("farcall")
    one = server("slurm", ", resources_max = { cores = 4, minutes = 60 }")
    with pytest.raises(farcall.LimitExceeded, match="5 cores were requested") as caught:
        one.given.seen(cores=5, timeout=60)
    assert "resources_max.cores is 4" in str(caught.value)
    with pytest.raises(farcall.LimitExceeded, match="61 min were requested"):
        one.given.seen(wall_time="61 min", timeout=60)
    assert not (fake / "log").exists() or not submitted(fake, "sbatch")


def test_what_no_partition_has_fails_at_once(fake, server):
    farcall = pytest.importorskip("farcall")
    line = "PartitionName=main Default=YES MaxTime=01:00:00 TotalCPUs=8 TotalNodes=2 "
    (fake / "partition").write_text(line + "TRES=cpu=8,gres/gpu=2")
    one = server("slurm")
    for asked, words in [
        ({"cores": 9}, "partition main never has 9 cores for one call"),
        ({"gpus": 3}, "partition main never has 3 GPUs for one call"),
        ({"wall_time": "2 h"}, "120 min were requested as wall_time, and a job has 60 at most"),
    ]:
        with pytest.raises(farcall.Error) as caught:
            one.given.seen(**asked, timeout=60)
        assert words in str(caught.value)
    assert not submitted(fake, "sbatch")


@pytest.mark.parametrize(
    "system, command, asked",
    [
        ("gridengine", "qsub", ["-pe", "2", "h_vmem=512M", "h_rt=2100", "gpu=1"]),
        ("pbs", "qsub", ["select=1:ncpus=2:mpiprocs=1:mem=1024mb:ngpus=1", "walltime=00:35:00"]),
        (
            "lsf",
            "bsub",
            ["span[hosts=1]", "rusage[mem=1024MB]", "num=1", "1024MB", "-W", "35"],
        ),
    ],
)
def test_other_batch_systems_are_asked_too(system, command, asked, batch, server):
    folder = batch(system)
    assert server(system).given.seen(**GIVEN, timeout=60).result == "2 none"
    (line,) = submitted(folder, command)
    assert all(f"'{word}'" in line for word in asked), line


def asked_of(*words):
    """What a real batch system says of its jobs."""
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout


def test_a_real_slurm_gives_it(slurm, server):
    farcall = pytest.importorskip("farcall")
    one = server("slurm", ", idle_seconds = 30")
    seen = one.given.seen(cores=4, memory="2 GB", wall_time="2 min", timeout=120)
    assert seen.result.startswith("4 ")
    assert asked_of("squeue", "-h", "-o", "%C %l").split() == ["4", "7:00"]
    # No node has so many; Slurm says so, and nobody waits.
    with pytest.raises(farcall.Error, match="node configuration is not available"):
        one.given.seen(cores=65, timeout=120)


def test_a_real_grid_engine_gives_it(engine, server):
    one = server("gridengine", ", idle_seconds = 30")
    assert one.given.seen(cores=3, wall_time="2 min", timeout=120).result.startswith("3 ")
    hard = asked_of("qstat", "-r")
    assert "h_rt=420" in hard and "Granted PE:       " in hard and " 3" in hard
