"""Launchers: those that ship, the one of the docs, and broken ones, by the text protocol; Slurm
that lies; nothing left behind.

Needs what `make build` stages. Each wait has an end; no test depends on how fast anything is.
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

import pytest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import conformance  # noqa: E402  (it stands beside this file)

STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
FARCALL = str(STAGE / "bin/farcall")
# Seconds that anything may take here: the machine may be busy.
SECONDS = 60
QUICK = ["--interval-min", "0.1", "--interval-max", "0.5", "--settle", "1"]


def write_program(path, text):
    """A script that may run: its path."""
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def example(tmp_path):
    """The launcher of the docs, as a reader would save it."""
    page = (ROOT / "docs/how-to/write-a-launcher.md").read_text()
    return write_program(
        tmp_path / "my-launcher",
        re.search(r"```python name=my-launcher\n(.*?)```", page, flags=re.S)[1],
    )


@pytest.fixture
def pbs(tmp_path, monkeypatch):
    """The launcher for PBS of the docs, beside commands that do as PBS's: its path."""
    folder = tmp_path / "pbs"
    (folder / "bin").mkdir(parents=True)
    for command in ("qsub", "qstat", "qdel"):
        (folder / "bin" / command).symlink_to(HERE / "fake_pbs.py")
    for name, value in {
        "PATH": f"{folder}/bin:{os.environ['PATH']}",
        "FAKE_PBS": folder,
        "PBS_LOOK_SECONDS": "0.2",
    }.items():
        monkeypatch.setenv(name, str(value))
    page = (ROOT / "docs/how-to/other-batch-systems.md").read_text()
    return write_program(
        folder / "pbs-launcher",
        re.search(r"```python name=pbs-launcher\n(.*?)```", page, flags=re.S)[1],
    )


@pytest.fixture
def far(tmp_path, monkeypatch):
    """A host behind an `ssh` that is a script: noisy, with a home of its own."""
    home = tmp_path / "home"
    home.mkdir()
    script = f"""#!/bin/sh
for command; do :; done
echo "welcome to far"
export HOME={home} TMPDIR={home}
unset XDG_CACHE_HOME FARCALL_CACHE
cd {home}
exec sh -c "$command"
"""
    monkeypatch.setenv("FARCALL_SSH", write_program(tmp_path / "ssh", script))
    return home


@pytest.fixture
def real_far(tmp_path, monkeypatch):
    """A host behind a real sshd on the loopback: the folder of the programs that are brought
    there."""
    sshd = subprocess.run(
        [ROOT / "tools/sshd.sh"], stdout=subprocess.PIPE, text=True, check=True, timeout=300
    ).stdout.strip()
    if not sshd:
        pytest.skip("there is no sshd to be had")
    for name in ("host", "key"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True
        )
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    cache = tmp_path / "home"
    cache.mkdir(mode=0o700)
    server = f"""Port {port}
ListenAddress 127.0.0.1
HostKey {tmp_path}/host
AuthorizedKeysFile {tmp_path}/key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
SetEnv FARCALL_CACHE={cache} TMPDIR={cache}
"""
    (tmp_path / "sshd.conf").write_text(server)
    client = f"-i {tmp_path}/key -o IdentitiesOnly=yes -o UserKnownHostsFile={tmp_path}/known -o StrictHostKeyChecking=accept-new"
    script = f'#!/bin/sh\nexec ssh -F /dev/null -o LogLevel=ERROR -o HostName=127.0.0.1 {client} -p {port} "$@"\n'
    monkeypatch.setenv("FARCALL_SSH", write_program(tmp_path / "ssh", script))
    # Where sshd keeps those apart who are not let in yet; root's alone needs it.
    if os.geteuid() == 0:
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)
    daemon = subprocess.Popen(
        [sshd, "-D", "-f", tmp_path / "sshd.conf", "-E", tmp_path / "sshd.log"]
    )
    eventually(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)
    yield cache
    daemon.kill()
    daemon.wait()


@pytest.fixture(scope="module")
def slurm_commands():
    """One Slurm for all tests: its folder, and what goes in front of PATH. Nothing where there is
    none to be had."""
    with tempfile.TemporaryDirectory(prefix="slurm") as folder:
        started = subprocess.run(
            [ROOT / "tools/slurm.sh", "start", folder],
            stdout=subprocess.PIPE,
            text=True,
            timeout=300,
        )
        assert started.returncode == 0
        yield started.stdout.strip() and (folder, started.stdout.strip())
        if started.stdout:
            subprocess.run([ROOT / "tools/slurm.sh", "stop", folder], check=True, timeout=120)


@pytest.fixture
def slurm(slurm_commands, monkeypatch):
    """A real Slurm of four nodes, which has no job before and after: its folder."""
    if not slurm_commands:
        pytest.skip("there is no Slurm to be had")
    folder, commands = slurm_commands
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    yield folder
    # A job whose nodes are just given back is completing.
    eventually(
        lambda: not subprocess.run(["squeue", "-h"], stdout=subprocess.PIPE, check=True).stdout
    )


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """The Slurm that lies: its folder."""
    folder = tmp_path / "fake"
    (folder / "bin").mkdir(parents=True)
    for command in ("sbatch", "squeue", "scancel", "scontrol", "sacct", "srun"):
        (folder / "bin" / command).symlink_to(HERE / "fake_slurm.py")
    monkeypatch.setenv("PATH", f"{folder}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_SLURM", str(folder))
    yield folder
    groups = [int(file.read_text()) for file in folder.glob("*.group")]
    eventually(lambda: not any(has_group(group) for group in groups))


def has_group(group):
    """Whether a process of the group runs; those that nobody waits for do not."""
    for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of = file.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(of) == group and state != "Z":
            return True
    return False


def eventually(condition):
    """Waits; how long anything takes is nobody's promise here."""
    until = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


# ---- All launchers
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("launcher", ["local", "ssh", "slurm", "fake", "example", "pbs"])
def test_launchers_do_as_the_protocol_says(launcher, check, request):
    """The same checks for all: that is what a protocol is for."""
    if launcher in ("example", "pbs"):
        return conformance.run(check, [request.getfixturevalue(launcher)], seconds=SECONDS)
    fixture = {"ssh": "far", "slurm": "slurm", "fake": "fake"}.get(launcher)
    if fixture:
        request.getfixturevalue(fixture)
    command = [
        FARCALL,
        "launch",
        {"fake": "slurm"}.get(launcher, launcher),
        *(QUICK if fixture in ("slurm", "fake") else []),
    ]
    conformance.run(check, command, ["hostname far"] if launcher == "ssh" else [], SECONDS)


BROKEN = {
    "prints garbage": ("features_are_told", r"features begin with", 'rest: "SM', 'rest: "garbage'),
    "replies nonsense": (
        "failures_are_told",
        r"neither S nor F",
        '"JOB_CREATE_END"))) or "S"',
        '"JOB_CREATE_END"))) or "maybe"',
    ),
    "stalls": (
        "features_are_told",
        r"does not reply",
        "name and say(1",
        "threading.Event().wait(9) or say(1",
    ),
    "dies": (
        "features_are_told",
        r"ended instead of a reply",
        "name and say(1",
        "os._exit(3) or say(1",
    ),
    "takes anything": (
        "mistakes_are_refused_and_the_next_request_is_heard",
        r"count 0 is not refused",
        "not 1 <= count",
        "not 0 <= count",
    ),
    "quotes nothing": (
        "a_job_runs_with_what_it_was_given",
        r"arguments differ",
        '*named("argument")]',
        '*" ".join(named("argument")).split()]',
    ),
    "forgets slots": (
        "many_slots_are_one_job",
        r"of 200 slots there are 1",
        "FARCALL_SLOTS=",
        "OTHER=",
    ),
    "says it twice": (
        "failures_are_told",
        r"a notice of a job that is over",
        '{status(copy.wait())}"',
        '{status(copy.wait())}\\r\\nSTATUS_NOTIFY {job} DONE"',
    ),
    "knows no failure": (
        "failures_are_told",
        r"status 7 is not FAILED",
        'FAILED exit status {code}"',
        'DONE exit status {code}"',
    ),
    "leaves jobs": (
        "it_ends_with_its_input",
        r"does not end|processes of its jobs",
        "ends.callback(destroy, copy)",
        "ends.callback(os._exit, 0)",
    ),
    "keeps jobs": (
        "a_job_is_destroyed",
        r"there is no end of job",
        "destroy(jobs[job]) or",
        "jobs[job] and",
    ),
}


def test_the_launcher_of_the_docs_fits_on_a_page(example):
    """Its page and the specification say how long it is."""
    lines = pathlib.Path(example).read_text().splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 120


@pytest.mark.parametrize("broken", BROKEN)
def test_the_conformance_test_finds_what_is_broken(broken, example):
    """A test that cannot fail is worthless: each fault is put into the launcher of the docs."""
    check, words, old, new = BROKEN[broken]
    source = pathlib.Path(example).read_text()
    assert old in source
    write_program(pathlib.Path(example), source.replace(old, new))
    with pytest.raises(conformance.Broken, match=words):
        conformance.run(getattr(conformance, check), [example], seconds=3)


# ---- ssh
# -------------------------------------------------------------------------------------------------------------


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
        code = f"Module {module}; Define twice_{module}(IN double x, OUT double y[1]) {{ y[0] = 2 * x; }}\n"
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


# ---- Slurm
# -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def driven():
    """Starts launchers for Slurm, and sees that they end well."""
    launchers = []

    def start(*options):
        launchers.append(
            conformance.Launcher([FARCALL, "launch", "slurm", *QUICK, *options], [], SECONDS)
        )
        return launchers[-1]

    yield start
    for launcher in launchers:
        if launcher.process.poll() is None:
            launcher.process.stdin.close()
        assert launcher.end() in (0, -signal.SIGKILL), launcher.remarks
        assert not launcher.wrong


def sleeper(folder, *more):
    """A job that does not end by itself."""
    return [
        f"executable_path {write_program(pathlib.Path(folder) / 'sleeper', conformance.PROGRAM)}",
        "argument sleep",
        "argument 1000",
        f"environment COPIES={folder}",
        *more,
    ]


def status(launcher, job):
    """As JOB_STATUS has it: what a user is shown."""
    return launcher.ask(f"JOB_STATUS {job}").removeprefix("S ")


def wait_for(launcher, job, words):
    """Until a user would be shown this."""
    eventually(lambda: re.search(words, status(launcher, job)))


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
