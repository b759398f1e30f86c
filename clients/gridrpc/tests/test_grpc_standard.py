"""The program that goes through all functions of the standard, over and over: with a server of its
own, and as a program for Ninf-G with the stub executables of its configuration file.

`make soak` runs it 100 times in a row, for which `FARCALL_STANDARD_RUNS` is the number."""

import os
import pathlib
import subprocess

import pytest

TESTS = pathlib.Path(__file__).resolve().parent
ROOT = TESTS.parents[2]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
NG = STAGE / "ng"
RUNS = int(os.environ.get("FARCALL_STANDARD_RUNS", "2"))


def run(folder, *command, cwd=ROOT, seconds=300):
    environment = {
        **os.environ,
        "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(folder),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "NG_DIR": str(NG),
        "NG_LOG_LEVEL": "0",
        "PATH": f"{STAGE / 'bin'}:{NG / 'bin'}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": str(STAGE / "lib"),
    }
    environment.pop("FARCALL_SERVER", None)
    command = [str(word) for word in command]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=seconds
    )


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The program, the stub executables, and a configuration that names them."""
    folder = tmp_path_factory.mktemp("standard")
    for name in ("standard.idl", "test_grpc_standard.c", "grpc_check.h"):
        (folder / name).write_text((TESTS / name).read_text())
    for command in (
        ["ng_gen", "standard.idl"],
        ["make", "-s", "-f", "standard.mak"],
        ["ng_cc", "-O2", "-o", "standard", "test_grpc_standard.c"],
    ):
        done = run(folder, *command, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
    host = run(folder, "ng_gen_nrf", "--hostname").stdout.strip()
    (folder / "client.conf").write_text(
        "<SERVER>\nhostname localhost\n</SERVER>\n<INFORMATION_SOURCE>\ntype NRF\ntag nrf\n"
        f"source {folder}/grpcstandard.{host}.nrf\n</INFORMATION_SOURCE>\n"
    )
    return folder


@pytest.mark.parametrize("arguments", [[], ["client.conf", "localhost"]], ids=["own", "stubs"])
def test_all_functions_of_the_standard(tree, arguments):
    arguments = [tree / word if word.endswith(".conf") else word for word in arguments]
    for number in range(RUNS):
        done = run(tree, tree / "standard", *arguments)
        last = done.stdout.strip().rsplit("\n", 1)[-1]
        assert done.returncode == 0 and last.endswith(" 0 failed"), (
            f"run {number}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
