"""A configuration whose launcher has a counterpart: its host is reached by ssh, here by one that
runs commands on this host."""

import os
import pathlib
import shlex
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
CC = shlex.split(os.environ.get("CC", "cc"))
PROGRAM = r"""
#include <grpc.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    grpc_function_handle_t handle;
    double a[] = {4, 1, 1, 3}, b[] = {6, 7};
    int pivots[2], info, status = grpc_initialize(argv[1]);
    if (!status)
        status = grpc_function_handle_default(&handle, "lapack/dgesv");
    if (!status)
        status = grpc_call(&handle, 2, 1, a, 2, pivots, b, 2, &info);
    printf("%d %g %g\n", status, b[0], b[1]);
    grpc_finalize();
    return argc != 2;
}
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "program.c").write_text(PROGRAM)
    link = [f"-L{STAGE}/lib", f"-Wl,-rpath,{STAGE}/lib", "-lfarcall"]
    subprocess.run(
        [*CC, "program.c", f"-I{STAGE}/include", *link, "-o", "program"], cwd=tmp_path, check=True
    )
    for name in ("home", "run"):
        (tmp_path / name).mkdir(mode=0o700)

    def run(configuration, far):
        (tmp_path / "client.conf").write_text(configuration)
        ssh = tmp_path / "ssh"
        ssh.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/said\nfor command; do :; done\n{far}\n')
        ssh.chmod(0o700)
        environment = {
            **os.environ,
            "FARCALL_SSH": str(ssh),
            "FARCALL_SSH_SHARE": "0",
            "FARCALL_LINGER": "0",
        }
        lean = STAGE / "libexec/farcall-lean"
        environment["FARCALL_REMOTE_PROGRAM"] = str(
            lean if lean.exists() else STAGE / "bin/farcall"
        )
        command = [tmp_path / "program", tmp_path / "client.conf"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        return done.stdout, done.stderr, (tmp_path / "said").read_text()

    return run


def test_ssh_starts_a_server_there(run, tmp_path):
    far = f'HOME={tmp_path}/home XDG_RUNTIME_DIR={tmp_path}/run exec sh -c "$command"'
    server = (
        '<SERVER>\nhostname far.example\ninvoke_server SSH\ninvoke_server_option "ssh_user me"\n'
        '</SERVER>\n'
    )
    out, errors, said = run(server, far)
    assert out == "0 1 2\n", errors
    assert " -- me@far.example exec /bin/sh" in said
    # It has an effect, so no warning says that it has none.
    assert "no effect" not in errors


def test_slurm_is_asked_for_behind_ssh(run):
    server = "<SERVER>\nhostname far.example\ninvoke_server Slurm\n</SERVER>\n"
    out, errors, said = run(server, "echo no such host >&2; exit 255")
    assert out.startswith("4 "), "GRPC_SERVER_NOT_FOUND"
    assert "ssh://far.example/slurm" in errors and "no such host" in errors
    assert " -- far.example " in said


def test_other_launchers_are_told_what_to_write(run):
    server = (
        "<SERVER>\nhostname unix:/nowhere\ninvoke_server GT2c\n</SERVER>\n<SERVER>\nhostname far\n"
        "invoke_server SSH\n</SERVER>\n"
    )
    _, errors, _ = run(server, "exit 255")
    assert errors.count("the type GT2c has no effect") == 1
    assert "write invoke_server SSH for a host that ssh reaches, or Slurm" in errors
