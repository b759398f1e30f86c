"""The launcher for hosts that ssh reaches: what is copied there, and that nothing is left behind."""

import os
import pathlib
import re
import shutil
import stat
import subprocess

import conformance
import pytest
from surroundings import FARCALL, ROOT, SECONDS, eventually, write_program


def far_job(tmp_path, *more):
    """A program that prints what it got, with a ticket."""
    program = write_program(
        tmp_path / "program",
        '#!/bin/sh\necho "$0 $*"; ls -l "$3"; cat "$3"; exec sleep ${TIME:-0}\n',
    )
    ticket = tmp_path / "ticket"
    ticket.write_text("secret")
    output = tmp_path / "output"
    lines = [
        "hostname far",
        f"executable_path {program}",
        "argument pilot",
        "argument --ticket",
        f"argument {ticket}",
    ]
    return output, [*lines, "staging true", f"stdout_file {output}", f"stderr_file {output}", *more]


def test_program_and_ticket_are_copied_where_nothing_is_shared(far, tmp_path):
    launcher = conformance.Launcher([FARCALL, "launch", "ssh"], [], SECONDS)
    output, job = far_job(tmp_path)
    assert launcher.over(launcher.create("a", *job)) == "DONE"
    (tmp_path / "ticket").write_text("another")
    assert launcher.over(launcher.create("b", *job)) == "DONE"
    launcher.process.stdin.close()
    assert launcher.end() == 0
    words = output.read_text()
    # The program's copy says what is in it, and was made once.
    (copy,) = (far / ".cache/farcall").iterdir()
    assert (
        words.count(f"{copy} pilot --ticket {far}/") == 2
        and stat.S_IMODE(copy.stat().st_mode) == 0o700
    )
    assert words.count("-rw------- ") == 2 and "secret" in words and "another" in words
    assert [one.name for one in far.iterdir()] == [".cache"], "the ticket's folder is left"


def test_a_host_whose_start_up_files_become_another_shell_and_whose_home_is_full(
    far, tmp_path, monkeypatch
):
    ssh = tmp_path / "ssh"
    write_program(
        ssh,
        ssh.read_text().replace(
            'exec sh -c "$command"',
            f"export HOME=/proc/none TMPDIR=/nowhere FARCALL_CACHE={far}/cache\nexec sh",
        ),
    )
    launcher = conformance.Launcher([FARCALL, "launch", "ssh"], [], SECONDS)
    output, job = far_job(tmp_path, "environment mark=mine", "environment program=mine")
    assert launcher.over(launcher.create("a", *job)) == "DONE"
    launcher.process.stdin.close()
    assert launcher.end() == 0
    assert "secret" in output.read_text() and f"{far}/cache/farcall-" in output.read_text()


def test_a_real_sshd_runs_jobs_and_leaves_nothing(real_far, tmp_path):
    """Both ends of a job: by itself, and by the end of its launcher."""
    launcher = conformance.Launcher([FARCALL, "launch", "ssh"], [], SECONDS)
    output, job = far_job(tmp_path)
    assert launcher.over(launcher.create("a", *job)) == "DONE"
    assert "secret" in output.read_text()
    output, job = far_job(tmp_path, "environment TIME=1000")
    launcher.create("b", *job)
    eventually(lambda: output.read_text().count("secret") == 2)
    launcher.process.kill()
    launcher.process.wait()
    # What is kept is the program alone.
    eventually(
        lambda: (
            [one.name.startswith("farcall-") and one.is_file() for one in real_far.iterdir()]
            == [True]
        )
    )


def test_a_far_job_ends_with_its_ssh(far, tmp_path):
    launcher = conformance.Launcher([FARCALL, "launch", "ssh"], [], SECONDS)
    output, job = far_job(tmp_path, "environment TIME=1000")
    launcher.create("a", *job)
    launcher.wait("output", lambda: output.exists() and "secret" in output.read_text())
    # As a network would end it: both ends see the end of their stream, and no more.
    launcher.process.kill()
    launcher.process.wait()
    eventually(lambda: [one.name for one in far.iterdir()] == [".cache"])


def test_a_far_job_that_has_hardly_begun_ends_too(far, tmp_path, monkeypatch):
    """Its process leads no group yet: the host is slow between the two."""
    (tmp_path / "slow").mkdir()
    program = write_program(
        tmp_path / "program", f"#!/bin/sh\necho $$ >{tmp_path}/begun\nexec sleep 1000\n"
    )
    slow = f'#!/bin/sh\necho $$ >{tmp_path}/hardly\nsleep 1\nexec {shutil.which("setsid")} "$@"\n'
    write_program(tmp_path / "slow/setsid", slow)
    monkeypatch.setenv("PATH", f"{tmp_path}/slow:{os.environ['PATH']}")
    launcher = conformance.Launcher([FARCALL, "launch", "ssh"], [], SECONDS)
    launcher.create("a", "hostname far", f"executable_path {program}")
    eventually(lambda: (tmp_path / "hardly").exists() and (tmp_path / "hardly").read_text())
    launcher.process.stdin.close()
    assert launcher.end() == 0
    process = int((tmp_path / "hardly").read_text())
    eventually(lambda: not conformance.runs(process))
    assert not (tmp_path / "begun").exists()


@pytest.mark.parametrize(
    "script, words",
    [
        ("echo 'Permission denied (publickey).' >&2; exit 255", "Permission denied"),
        ("exec yes", "did not connect|not answer"),
        ("exit 0", "did not connect"),
    ],
)
def test_an_ssh_that_fails_makes_no_job(script, words, tmp_path, monkeypatch):
    monkeypatch.setenv("FARCALL_SSH", write_program(tmp_path / "ssh", f"#!/bin/sh\n{script}\n"))
    launcher = conformance.Launcher([FARCALL, "launch", "ssh"], [], SECONDS)
    with pytest.raises(conformance.Broken, match=words):
        launcher.create("a", *far_job(tmp_path)[1])
    launcher.process.stdin.close()
    assert launcher.end() == 0


def test_modules_run_on_the_hosts_that_the_page_gives_them(far, tmp_path, monkeypatch):
    """The configuration of docs/how-to/hosts-without-a-batch-system.md, as a reader would save
    it."""
    page = (ROOT / "docs/how-to/hosts-without-a-batch-system.md").read_text()
    manifest = tmp_path / "workstations.toml"
    manifest.write_text(re.search(r"```toml name=workstations.toml\n(.*?)```", page, flags=re.S)[1])
    for module in ("heat", "train"):
        code = (
            f"Module {module}; Define twice_{module}(IN double x, OUT double y[1]) {{ y[0] = 2 * "
            f"x; }}\n"
        )
        (tmp_path / f"{module}.idl").write_text(code)
    monkeypatch.setenv("PATH", f"{pathlib.Path(FARCALL).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("FARCALL_JOBS", str(tmp_path / "jobs"))
    address = f"unix:{tmp_path}/s"
    command = [
        FARCALL,
        "serve",
        "--manifest",
        manifest,
        "--listen",
        address,
        tmp_path / "heat.idl",
        tmp_path / "train.idl",
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout.readline().strip() == address
        for module in ("heat", "train"):
            words = [FARCALL, "call", f"{module}/twice_{module}", "21", "--server", address]
            assert (
                "42"
                in subprocess.run(
                    words, capture_output=True, text=True, check=True, timeout=SECONDS
                ).stdout
            )
        words = [FARCALL, "jobs", "--server", address]
        jobs = subprocess.run(
            words, capture_output=True, text=True, check=True, timeout=SECONDS
        ).stdout
        assert "ada" in jobs and "gpubox" in jobs
    finally:
        server.terminate()
        server.wait(SECONDS)
        server.stdout.close()
