"""Builds and runs programs that were written to Ninf-G's manuals. Needs what `make build` stages,
and a C compiler."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "scenarios"))
from members import Members  # noqa: E402  (tests share it)

STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", HERE.parents[1] / "build"))
TREES = {
    "basic": ["sync", "async", "errors"],
    "data": ["types", "ranges", "limits"],
    "texts": ["strings"],
    "files": ["copying"],
    "callbacks": ["calling_back"],
    "cancel": ["cancelling"],
    "cascade": ["cascading"],
    "objects": ["counting"],
    "stacks": ["stacking", "attributes"],
    "lifecycle": ["again", "threads", "forks", "killed"],
    "classic": ["program"],
}
# Those that want processes of their own on this host: they look for them, or for files beside them
# that a server which confines its routines does not show.
OWN = {"cancelling", "cascading", "killed", "attributes"}
CONFIGURATION = "<CLIENT>\n  loglevel 2\n</CLIENT>\n<SERVER>\n  hostname {}\n</SERVER>\n"


def environment(**more):
    """Of a user who has a prefix for Ninf-G, and no server."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FARCALL_", "NG_", "NINF_"))
    }
    kept["PATH"] = os.pathsep.join(
        one for one in kept["PATH"].split(os.pathsep) if not one.startswith(str(STAGE / "bin"))
    )
    return {**kept, "NG_DIR": str(STAGE / "ng"), **more}


@pytest.fixture(scope="module", params=sorted(TREES))
def tree(request, tmp_path_factory):
    """A copy of a tree, built."""
    folder = tmp_path_factory.mktemp(request.param)
    shutil.copytree(HERE / "checking", folder / "checking")
    shutil.copytree(HERE / request.param, folder / request.param)
    make = subprocess.run(
        ["make", "all"],
        cwd=folder / request.param,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert make.returncode == 0, make.stdout + make.stderr
    return folder / request.param


def check(folder, program, *arguments, **more):
    done = subprocess.run(
        [f"./{program}", *arguments],
        cwd=folder,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=120,
    )
    said = f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    counted = re.search(r"^(\d+) passed, 0 failed$", done.stdout, flags=re.M)
    assert counted and int(counted[1]) > 5 and done.returncode == 0, said


def test_its_programs_pass(tree):
    # Whoever runs a client has the server's executables beside it, or a server that was told of
    # them.
    if tree.name != "classic":
        for program in TREES[tree.name]:
            check(tree, program, "client.conf", socket.gethostname())
        return
    [listed] = tree.glob("*.nrf")
    address = f"unix:{tree}/socket"
    with subprocess.Popen(
        [STAGE / "bin/farcall", "serve", "--listen", address, listed],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
    ) as server:
        try:
            assert server.stdout.readline().strip() == address.encode()
            check(tree, "program", FARCALL_SERVER=address)
        finally:
            server.kill()


def test_its_programs_pass_at_a_metaserver(tree, tmp_path):
    programs = [one for one in TREES[tree.name] if one not in OWN]
    if not programs:
        pytest.skip("they want processes of their own on this host")
    listed = tree.glob("*.nrf")
    with Members(STAGE / "bin/farcall", tmp_path, listed, env=environment()) as metaserver:
        address = metaserver.address
        (tree / "meta.conf").write_text(CONFIGURATION.format(address))
        for program in programs:
            if tree.name == "classic":
                check(tree, program, FARCALL_SERVER=address)
            else:
                check(tree, program, "meta.conf", address)
    (tree / "meta.conf").unlink()


def test_it_leaves_nothing_behind(tree):
    done = subprocess.run(
        ["make", "clean"], cwd=tree, env=environment(), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    left = {one.name for one in tree.iterdir()} - {one.name for one in (HERE / tree.name).iterdir()}
    assert not [
        name for name in left if name.startswith("_stub") or name.endswith((".mak", ".nrf", ".inf"))
    ], left
