"""Tests of the build scripts: what they install, what they count, and what an ELF file needs."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

import pytest

HERE = pathlib.Path(__file__).parent
PLAIN_TOOLS = ["bash", "cat", "env", "mktemp", "rm", "grep", "id", "awk", "tee"]


def write_program(path, text):
    # It may be a link to one of this machine's own programs, which must not be written to.
    path.unlink(missing_ok=True)
    path.write_text("#!/bin/bash\n" + text)
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path):
    """A folder for PATH: a machine with shell tools, Python and OpenBLAS, but no compiler of any
    kind."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in PLAIN_TOOLS:
        (folder / tool).symlink_to(shutil.which(tool))
    write_program(folder / "python3", "exit 0\n")
    write_program(
        folder / "ldconfig",
        "printf '\\tlibopenblas.so.0 (libc6) => x\\n\\tliblapack.so.3 (libc6) => x\\n'\n",
    )
    write_program(folder / "id", "echo 0\n")
    return folder


def install_packages(machine, *arguments):
    # The script adds /sbin for ldconfig; the machine's own comes first in PATH. It has no JDK but
    # those of a test.
    command = ["bash", HERE / "install-packages.sh", *arguments]
    environment = {"PATH": str(machine), "JVM_FOLDER": str(machine.parent / "jvm")}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def test_without_apt_it_says_what_to_install(machine):
    result = install_packages(machine)
    assert result.returncode == 1
    assert "apt-get install gcc libc6-dev g++ gfortran\n" in result.stderr


def test_libraries_that_only_tests_call_are_wanted_for_tests_alone(machine):
    result = install_packages(machine, "tests")
    wanted = (
        "curl etcd-server openssl openssh-client libwrap0 tcsh strace valgrind openmpi-bin "
        "libopenmpi-dev libscalapack-openmpi-dev libfftw3-dev libsuitesparse-dev"
    )
    assert f"gfortran {wanted}\n" in result.stderr


def make_jdk(folder, version):
    (folder / "bin").mkdir(parents=True)
    write_program(folder / "bin/javac", "exit 0\n")
    (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')


def test_maven_is_wanted_where_a_jdk_is_new_enough(machine):
    make_jdk(machine.parent / "jvm/old", "17.0.15")
    assert "maven" not in install_packages(machine, "tests").stderr
    make_jdk(machine.parent / "jvm/new", "25.0.1")
    assert "libsuitesparse-dev maven\n" in install_packages(machine, "tests").stderr


@pytest.mark.parametrize(
    "versions, found",
    [
        ((), None),
        (("17.0.15", "21"), None),
        (("17.0.15", "22", "25.0.1"), "25.0.1"),
        (("22-ea",), "22-ea"),
    ],
)
def test_the_newest_jdk_is_found(tmp_path, versions, found):
    for version in versions:
        make_jdk(tmp_path / version, version)
    environment = dict(os.environ, JVM_FOLDER=str(tmp_path))
    environment.pop("JAVA_HOME", None)
    result = subprocess.run([HERE / "find-jdk.sh"], env=environment, capture_output=True, text=True)
    assert result.stdout.strip() == (str(tmp_path / found) if found else "")
    assert (result.returncode == 0) == bool(found)


def test_without_a_jdk_the_java_client_is_left_out_in_one_line(tmp_path):
    environment = dict(os.environ, JVM_FOLDER=str(tmp_path))
    environment.pop("JAVA_HOME", None)
    result = subprocess.run(
        [HERE / "java.sh", tmp_path, "test"], env=environment, capture_output=True, text=True
    )
    assert result.returncode == 2
    assert len(result.stdout.splitlines()) == 1 and "install one" in result.stdout


def test_the_jar_is_made_by_a_jdk_alone(tmp_path):
    home = subprocess.run([HERE / "find-jdk.sh"], capture_output=True, text=True).stdout.strip()
    if not home:
        pytest.skip("no JDK that is new enough")
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in "bash cat cp dirname find install mkdir realpath rm xargs".split():
        (tools / name).symlink_to(shutil.which(name))
    environment = dict(os.environ, PATH=str(tools), JAVA_HOME=home)
    for _ in "made, and there already".split(","):
        result = subprocess.run(
            [HERE / "java.sh", tmp_path], env=environment, capture_output=True, text=True
        )
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    names = zipfile.ZipFile(tmp_path / "share/java/farcall.jar").namelist()
    assert "org/apgrid/grpc/ng/NgGrpcHandleAttr.class" in names
    assert "org/farcall/Server.class" in names


def test_with_apt_it_updates_once_and_installs_what_is_missing(machine, tmp_path):
    write_program(machine / "apt-get", f'echo "$*" >>{tmp_path}/log\n')
    write_program(machine / "gfortran", "exit 0\n")
    assert install_packages(machine).returncode == 0
    update, install = (tmp_path / "log").read_text().splitlines()
    assert update.endswith("update -qq") and "DPkg::Lock::Timeout=600" in update
    assert install.endswith("--no-install-recommends gcc libc6-dev g++")


def test_a_complete_machine_is_left_alone(machine, tmp_path):
    write_program(machine / "apt-get", f'echo "$*" >>{tmp_path}/log\n')
    for tool in ("cc", "c++", "gfortran"):
        write_program(machine / tool, "exit 0\n")
    assert install_packages(machine).returncode == 0
    assert not (tmp_path / "log").exists()


def test_an_apt_that_fails_is_reported_with_the_packages(machine):
    write_program(machine / "apt-get", "exit 100\n")
    result = install_packages(machine)
    assert result.returncode == 1
    assert "apt-get update failed" in result.stderr and "gfortran" in result.stderr


def run_suites(tmp_path, *suites):
    """Runs suites given as (name, what the suite does), and counts them."""
    lines = [
        f"logs={tmp_path}",
        f". {HERE}/suites.sh",
        "begin_suites",
        *(f"suite {name} {command}" for name, command in suites),
    ]
    return subprocess.run(
        ["bash", "-c", "\n".join([*lines, "wait", "end_suites"])], capture_output=True, text=True
    )


def said(output, status=0):
    """A command that prints this, and ends so."""
    return f"bash -c 'echo \"{output}\"; exit {status}'"


JUNIT = """<testsuites><testsuite tests="4">
<testcase classname="a" name="quick" time="0.5"/><testcase classname="a" name="slow" time="61.25"/>
<testcase classname="a" name="elsewhere" time="0"><skipped/></testcase>
<testcase classname="a" name="wrong" time="2"><failure/></testcase></testsuite></testsuites>"""


def test_tests_of_all_suites_are_added_and_checks_counted_apart(tmp_path):
    (tmp_path / "junit").write_text(JUNIT)
    programs = "program first echo 40 passed, 0 failed && program second echo 2 passed, 0 failed"
    rust = (
        "== wire of tests\ntest a::b ... ok <7.500s>\n6 checks: conversations\n"
        "test result: ok. 5 passed; 0 failed; 1 ignored"
    )
    result = run_suites(
        tmp_path,
        ("rust", f"printf '{rust}\n' &"),
        ("c", f"eval '{programs}'"),
        ("python", f"eval 'cp {tmp_path}/junit $FARCALL_TEST_REPORT' &"),
        ("lint", "eval 'record left-out $EPOCHREALTIME 0 clippy'"),
    )
    lines = result.stdout.splitlines()
    assert lines[-1] == "9 passed, 1 failed" and result.returncode == 1
    assert lines[-2].startswith("1 left out: ") and lines[-3].startswith("48 checks ")
    assert f"failures in: python (output in {tmp_path})" in lines
    slowest = lines[lines.index("the 20 slowest tests, in seconds:") + 1 :]
    assert [line.split() for line in slowest[:3]] == [
        ["61.2", "python:", "a.slow"],
        ["7.5", "rust:", "tests", "wire", "a::b"],
        ["2.0", "python:", "a.wrong"],
    ]


@pytest.mark.parametrize(
    "command, last",
    [
        (said("test result: FAILED. 5 passed; 2 failed; 0 ignored", 101), "5 passed, 2 failed"),
        # It did not compile: no numbers, but no success either.
        (said("error: could not compile", 101), "0 passed, 1 failed"),
        # It ran nothing and was content with it.
        (said("nothing to do"), "0 passed, 1 failed"),
        # All tests passed, and then the process crashed.
        (said("test result: ok. 5 passed; 0 failed; 0 ignored", 139), "5 passed, 1 failed"),
        ("program x echo 3 passed, 0 failed", "1 passed, 0 failed"),
        ("program x echo 3 passed, 1 failed", "0 passed, 1 failed"),
        # A program that is content without a check has failed, and so has one that ends badly after
        # all of them.
        ("program x true", "0 passed, 1 failed"),
        ("program x " + said("3 passed, 0 failed", 1), "0 passed, 1 failed"),
    ],
)
def test_every_way_to_fail_is_counted(tmp_path, command, last):
    result = run_suites(tmp_path, ("rust", command))
    assert result.stdout.splitlines()[-1] == last
    assert result.returncode == (0 if last.endswith(" 0 failed") else 1)


def test_a_suite_that_does_not_come_to_its_end_has_failed(tmp_path):
    result = run_suites(
        tmp_path,
        ("rust", "eval 'echo test result: ok. 5 passed\\; 0 failed\\; >&2; kill -9 $BASHPID' &"),
    )
    assert result.stdout.splitlines()[-1] == "5 passed, 1 failed" and result.returncode == 1


def test_what_is_unchanged_is_known_by_its_contents(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text("text")
    script = f""". {HERE}/unchanged.sh
        now() {{ printf '%s\\0' "$@" | fingerprint words; }}
        is_unchanged x "$(now a b)" && echo "nothing passed yet"
        has_passed x "$(now a b)"
        is_unchanged x "$(now b a)" && echo same
        FARCALL_TEST_ALL=1 is_unchanged x "$(now a b)" && echo "was to run"
        touch a
        is_unchanged x "$(now a b)" && echo touched
        is_unchanged x "$(now a)" && echo "lost a file"
        echo more >>a
        is_unchanged x "$(now a b)" && echo changed
        true"""
    environment = {name: value for name, value in os.environ.items() if name != "FARCALL_TEST_ALL"}
    result = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (result.stdout, result.stderr) == ("same\ntouched\n", "")


def highest_glibc(path):
    return subprocess.run(
        [sys.executable, HERE / "highest-glibc.py", path], capture_output=True, text=True
    )


def test_the_highest_glibc_is_that_of_readelf():
    if not shutil.which("readelf"):
        pytest.skip("binutils are not installed")
    for file in (os.path.realpath(sys.executable), shutil.which("bash"), shutil.which("readelf")):
        shown = subprocess.run(
            ["readelf", "-V", file], capture_output=True, text=True, check=True
        ).stdout
        versions = [
            word[6:] for word in shown.split() if word.startswith("GLIBC_") and word[6].isdigit()
        ]
        expected = max(
            versions, key=lambda version: tuple(map(int, version.split("."))), default="none"
        )
        assert highest_glibc(file).stdout.strip() == expected, file


def test_a_damaged_file_is_refused_in_words(tmp_path):
    whole = pathlib.Path(shutil.which("bash")).read_bytes()
    # Cut within the header, cut before the section headers (which come last), and no ELF at all.
    for name, content in (
        ("header", whole[:40]),
        ("cut", whole[: len(whole) // 2]),
        ("text", b"hello"),
        ("empty", b""),
    ):
        (tmp_path / name).write_bytes(content)
        result = highest_glibc(tmp_path / name)
        assert result.returncode == 1, name
        assert result.stderr.startswith("highest-glibc: ") and "Traceback" not in result.stderr


@pytest.fixture
def slurm():
    """A Slurm of two nodes: its folder, and the variables with which its commands are found."""
    # Short, for the sockets in it.
    with tempfile.TemporaryDirectory(prefix="slurm") as folder:
        run = [HERE / "slurm.sh"]
        started = subprocess.run(
            [*run, "start", folder, "2"], stdout=subprocess.PIPE, text=True, timeout=300
        )
        assert started.returncode == 0
        if not started.stdout:
            pytest.skip("there is no Slurm to be had")
        yield folder, {**os.environ, "PATH": f"{started.stdout.strip()}:{os.environ['PATH']}"}
        subprocess.run([*run, "stop", folder], check=True, timeout=120)
        assert not processes_of(folder)


def processes_of(folder):
    """Processes that name the folder in their command or write into it."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            files = {os.readlink(file) for file in (process / "fd").iterdir()}
            command = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if folder in command or any(file.startswith(folder) for file in files):
            found.append(command)
    return found


def runs(process):
    """Whether a process is there, and not just waited for."""
    try:
        return ") Z " not in pathlib.Path("/proc", process, "stat").read_text()
    except OSError:
        return False


def test_a_slurm_runs_jobs_and_loses_a_node(slurm):
    folder, variables = slurm

    def run(*command):
        return subprocess.run(
            command, env=variables, stdout=subprocess.PIPE, text=True, check=True, timeout=120
        ).stdout

    step = "srun -N2 --ntasks-per-node=1 -n2 printenv SLURMD_NODENAME"
    run("sbatch", "--wait", "-n100", "-o", f"{folder}/printed", "--wrap", step)
    assert sorted(pathlib.Path(folder, "printed").read_text().split()) == ["n1", "n2"]
    run("sbatch", "-n1", "-w", "n2", "-o", f"{folder}/sleeps", "--wrap", "echo $$; exec sleep 1000")
    sleeps = pathlib.Path(folder, "sleeps")
    while not sleeps.is_file() or not sleeps.read_text():
        time.sleep(0.1)
    run(HERE / "slurm.sh", "kill", folder, "n2")
    ended = time.monotonic() + 30
    while runs(sleeps.read_text().strip()):
        assert time.monotonic() < ended
        time.sleep(0.1)
    run(HERE / "slurm.sh", "revive", folder, "n2")
    assert "n2" in run("sinfo", "-h", "-N", "-o", "%N %t")
