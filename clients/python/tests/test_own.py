"""Servers of the owner's own: what the owner's code sees there, and what of it is confined."""

import os
import subprocess

import pytest

LOOK = """
import os

def seen(name: str) -> str:
    return os.environ.get(name, "nothing")
"""
CONFINED = """
[[plugin]]
name = "spawner-local"
slot = "spawner"
host = "in-thread"
[plugin.options]
limits.confine = true
"""


@pytest.fixture
def look(tmp_path, monkeypatch):
    for name, value in [
        ("CUDA_VISIBLE_DEVICES", "3"),
        ("SLURM_JOB_ID", "17"),
        ("OWN_SETTING", "blue"),
        ("PMI_RANK", "5"),
        ("NOTIFY_SOCKET", "/nowhere"),
    ]:
        monkeypatch.setenv(name, value)
    (tmp_path / "look.py").write_text(LOOK)
    return tmp_path / "look.py"


def test_the_owners_code_has_the_owners_variables(farcall, look):
    with farcall.connect(files=[look], timeout=60) as server:
        seen = [server.seen(name) for name in ("CUDA_VISIBLE_DEVICES", "SLURM_JOB_ID")]
        assert [one.result for one in seen] == ["3", "17"]
        assert server.seen("OWN_SETTING").result == "blue"
        # What the server is to MPI or a service manager is not what its routines are.
        for name in ("PMI_RANK", "NOTIFY_SOCKET"):
            assert server.seen(name).result == "nothing"


def test_confined_code_has_none_of_them(farcall, look, tmp_path):
    (tmp_path / "farcall.toml").write_text(CONFINED)
    arguments = ["--manifest", str(tmp_path / "farcall.toml")]
    with farcall.connect(files=[look], arguments=arguments, timeout=60) as server:
        for name in ("CUDA_VISIBLE_DEVICES", "SLURM_JOB_ID", "OWN_SETTING"):
            assert server.seen(name).result == "nothing"


@pytest.mark.parametrize("confined, kind", [(False, "own: "), (True, "confined: ")])
def test_doctor_says_the_kind(farcall, look, tmp_path, confined, kind):
    from farcall._library import find

    (tmp_path / "farcall.toml").write_text(CONFINED)
    arguments = ["--manifest", str(tmp_path / "farcall.toml")] if confined else []
    program = find("FARCALL_PROGRAM", "bin", "farcall")
    socket = tmp_path / "own.sock"
    arguments += ["--listen", f"unix:{socket}"]
    with farcall.connect(files=[look], arguments=arguments, timeout=60):
        command = [program, "doctor", "--server", f"unix:{socket}"]
        said = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
    (line,) = [line for line in said.stdout.splitlines() if line.split()[1:2] == ["kind"]]
    assert kind in line
