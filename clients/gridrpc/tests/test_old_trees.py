"""Whole trees as owners of four releases have them (`old/`): built by their own makefiles and scripts,
and run, without any edit."""

import os
import pathlib
import shutil
import socket
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
OLD = pathlib.Path(__file__).with_name("old")

# What is asked of make, and what each program says of itself.
TREES = {
    "ninf-1": (
        "check",
        "basic ranges empty files async callback cancel exec farm trans odd basic",
    ),
    "ninf-g-2": (
        "test",
        "types ranges zero nullarg files async cancel callback object stack",
    ),
    "ninf-g-4": (
        "test",
        "async callback cancel types files null range array async range cancel cancel cancel",
    ),
    "ninf-g-5": (
        "run",
        "ck_async ck_callback ck_cancel ck_data ck_files ck_null ck_ranges ck_zero ck_stacks heat",
    ),
}


def surroundings(folder):
    """What a user of that time had: no variable of Farcall, and a port of his own for the first
    Ninf's server."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FARCALL_", "NG_", "NINF_", "MAKE"))
    }
    return environment | {
        "PATH": f"{STAGE / 'bin'}:{os.environ['PATH']}",
        "XDG_RUNTIME_DIR": str(folder),
        "NINF_SERVER_PORT": port,
        "LC_ALL": "C",
    }


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """All of them at once: most of their time is a compiler's, or a routine's that sleeps."""
    found = {}
    for tree, (target, _) in TREES.items():
        folder = tmp_path_factory.mktemp(tree) / "src"
        shutil.copytree(OLD / tree, folder)
        run_time = folder.parent / "run"
        run_time.mkdir(mode=0o700)
        log = (folder.parent / "log").open("w+", encoding="utf-8")
        prefix = STAGE / "ng"
        variable = "NINF_DIR" if tree.startswith("ninf-1") else "NG_DIR"
        make = subprocess.Popen(
            ["make", target, f"{variable}={prefix}"],
            cwd=folder,
            env=surroundings(run_time),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        found[tree] = (make, log)
    yield found
    for make, log in found.values():
        if make.poll() is None:
            os.killpg(make.pid, 9)
            make.wait()
        log.close()


@pytest.mark.parametrize("tree", TREES)
def test_an_old_tree_builds_and_passes_without_an_edit(tree, running):
    make, log = running[tree]
    status = make.wait(300)
    log.seek(0)
    said = log.read()
    passed = [line.split()[0].rstrip(":") for line in said.splitlines() if line.endswith(" OK")]
    assert status == 0 and passed == TREES[tree][1].split(), said[-6000:]
