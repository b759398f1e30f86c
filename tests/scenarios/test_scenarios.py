"""All clients run one list of scenarios, and print the same (README.md). Needs what `make build`
stages, and compilers of C and Fortran."""

import difflib
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import steps  # noqa: E402  (it lies beside this file)
from members import Members  # noqa: E402  (so does it)

STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", HERE.parents[1] / "build"))
PROGRAM = STAGE / "bin/farcall"
LIST = HERE / "scenarios.txt"
TIME_MAX = 300


def built(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_MAX)
    assert done.returncode == 0, done.stdout + done.stderr


def c_client(folder):
    program = folder / "client"
    link = [f"-I{STAGE}/include", f"-L{STAGE}/lib", f"-Wl,-rpath,{STAGE}/lib", "-lfarcall", "-lm"]
    built(
        [
            "cc",
            "-std=gnu11",
            "-O2",
            "-Wall",
            "-Wextra",
            "-o",
            program,
            HERE / "c/client.c",
            HERE / "c/values.c",
            *link,
        ]
    )
    return [program]


def fortran_client(folder):
    program = folder / "client"
    link = [
        f"-I{STAGE}/include",
        f"-L{STAGE}/lib",
        f"-Wl,-rpath,{STAGE}/lib",
        "-lfarcall_fortran",
        "-lfarcall",
    ]
    # The preprocessor makes long lines of what is alike for all types.
    options = ["-cpp", "-ffree-line-length-none", "-O2", "-J", folder, "-o", program]
    built(["gfortran", *options, HERE / "fortran/values.F90", HERE / "fortran/client.F90", *link])
    return [program]


def jdk():
    """Where a JDK is, and farcall.jar."""
    home = subprocess.run(
        [HERE.parents[1] / "tools/find-jdk.sh"], capture_output=True, text=True
    ).stdout.strip()
    jar = STAGE / "share/java/farcall.jar"
    if not home or not jar.exists():
        pytest.skip("no Java that is new enough, or no farcall.jar (make build)")
    return home, jar


def java_client(folder):
    home, jar = jdk()
    built(
        [
            f"{home}/bin/javac",
            "-Xlint:all",
            "-Werror",
            "-cp",
            jar,
            "-d",
            folder,
            *(HERE / "java").glob("*.java"),
        ]
    )
    return [
        f"{home}/bin/java",
        "--enable-native-access=ALL-UNNAMED",
        "-Xmx1g",
        "-cp",
        f"{jar}:{folder}",
        "Scenarios",
    ]


# How a client's runner is built in a folder, and the command that it is then; the list follows as
# its argument.
CLIENTS = {
    "c": c_client,
    "fortran": fortran_client,
    "python": lambda _: [sys.executable, HERE / "python_client.py"],
    "java": java_client,
    "cli": lambda _: [sys.executable, HERE / "command_line.py"],
}


@pytest.fixture(scope="module")
def kept():
    """The environment of a user who has no server."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FARCALL_")}
    return {**kept, "FARCALL_STAGE": str(STAGE), "FARCALL_PROGRAM": str(PROGRAM)}


@pytest.fixture(scope="module")
def server(kept, tmp_path_factory):
    """One that has the routines of the scenarios."""
    address = f"unix:{tmp_path_factory.mktemp('server')}/socket"
    with subprocess.Popen(
        [PROGRAM, "serve", "--listen", address, HERE / "scenarios.idl"],
        env=kept,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            assert process.stdout.readline().strip() == address.encode()
            yield address
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def metaserver(kept, tmp_path_factory):
    """One that has none of them, and that two servers have joined which do."""
    folder = tmp_path_factory.mktemp("meta")
    with Members(PROGRAM, folder, [HERE / "scenarios.idl"], env=kept) as members:
        yield members.address


@pytest.fixture(params=["server", "metaserver"])
def environment(request, kept):
    """Of a runner: programs know no difference between the two."""
    return {**kept, "FARCALL_SERVER": request.getfixturevalue(request.param)}


@pytest.fixture(scope="module", params=CLIENTS)
def runner(request, tmp_path_factory):
    """A client's name and command, built once."""
    return request.param, CLIENTS[request.param](tmp_path_factory.mktemp("runner"))


def test_a_client_prints_what_all_do(runner, environment, tmp_path):
    client, command = runner
    done = subprocess.run(
        [*command, LIST],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIME_MAX,
    )
    expected = [
        f"{one.name}: {line}"
        for one in steps.read(LIST)
        if client not in one.excused
        for line in one.expected
    ]
    difference = "\n".join(
        difflib.unified_diff(
            expected, done.stdout.splitlines(), "the list", client, lineterm="", n=0
        )
    )
    assert not difference and done.returncode == 0, f"{difference}\n{done.stderr[-2000:]}"


def test_the_list_is_whole():
    scenarios = list(steps.read(LIST))
    names = [one.name for one in scenarios]
    assert len(names) > 80 and len(set(names)) == len(names)
    assert all(one.steps and one.expected for one in scenarios)
    assert all(len(reason.split()) > 3 for one in scenarios for reason in one.excused.values())
