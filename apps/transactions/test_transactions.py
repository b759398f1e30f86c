"""EP and the tile Cholesky factorisation as transactions: on one server, over three, and with a server
that is killed in the middle."""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
TIME_MAX = 120
sys.path[:0] = [str(HERE), str(ROOT / "tests/scenarios")]
import cholesky  # noqa: E402  (the programs lie here)
import ep  # noqa: E402
import runs  # noqa: E402
from members import Members  # noqa: E402  (tests share it)

import farcall  # noqa: E402

FILES = [HERE / "tiles.idl", "ep"]


@pytest.fixture
def three(tmp_path):
    """Three servers behind a metaserver that publishes nothing of the programs."""
    with Members(STAGE / "bin/farcall", tmp_path, FILES, 3) as members:
        yield members


@pytest.fixture(scope="module")
def alone():
    with farcall.connect(files=FILES, timeout=TIME_MAX) as server:
        yield server


def test_the_tile_routines_are_what_they_say(alone):
    random = np.random.default_rng(7)
    a, b, c = (random.random((50, 50)) for _ in range(3))
    positive = a @ a.T + 50 * np.eye(50)
    factor = alone.tiles.potrf(positive)
    np.testing.assert_allclose(factor.a, np.linalg.cholesky(positive))
    assert factor.info == 0 and alone.tiles.potrf(-positive).info == 1
    np.testing.assert_allclose(alone.tiles.trsm(factor.a, b).a @ factor.a.T, b)
    np.testing.assert_allclose(alone.tiles.gemm(a, b, c).c, c - a @ b.T)
    np.testing.assert_allclose(np.tril(alone.tiles.syrk(a, c).c), np.tril(c - a @ a.T))


def test_the_known_sums_are_those_of_the_routine():
    known_to_it = json.loads((ROOT / "routines/ep/verify.json").read_text())["classes"]
    for letter, known in known_to_it.items():
        assert ep.CLASSES[letter] == (known["m"], (known["sx"], known["sy"])), letter


def program(name, *arguments, address=None):
    environment = {key: value for key, value in os.environ.items() if key != "FARCALL_SERVER"}
    if address:
        environment["FARCALL_SERVER"] = address
    command = [sys.executable, HERE / name] if name.endswith(".py") else [name]
    done = subprocess.run(
        [*command, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=TIME_MAX,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_programs_run_over_three_servers(three, tmp_path):
    figure = tmp_path / "cholesky.svg"
    words = ("--n", 1536, "--tile", 128, "--figure", figure)
    said = program("cholesky.py", *words, address=three.address)
    # Many values are on their way at a time.
    assert re.search(r"364 calls in [\d.]+ s; .* = \d\.\de-1\d$", said, re.M), said
    assert "server 3 |" in said and "<svg" in figure.read_text()
    said = program("ep.py", "--class", "S", "--blocks", 24, address=three.address)
    assert "24 calls in" in said and "E ep/ep" in said
    assert program("ep.py", "--class", "S", "--server", three.members[0])
    wrong = subprocess.run(
        [sys.executable, HERE / "cholesky.py", "--n", "100", "--tile", "33"],
        capture_output=True,
        text=True,
    )
    assert wrong.returncode == 2 and "divides" in wrong.stderr


@pytest.fixture(scope="module")
def in_c(tmp_path_factory):
    """The program in C."""
    path = tmp_path_factory.mktemp("c") / "cholesky"
    warnings = ["-Wall", "-Wextra", "-Werror"]
    link = [f"-I{STAGE}/include", f"-L{STAGE}/lib", f"-Wl,-rpath,{STAGE}/lib", "-lfarcall", "-lm"]
    compiler = ["cc", "-std=gnu11", "-O2", *warnings, "-o", path, HERE / "cholesky.c", *link]
    subprocess.run(compiler, check=True, timeout=TIME_MAX)
    return str(path)


def test_the_program_in_c_finds_tiles_by_their_addresses(alone, three, in_c):
    for address in (alone.address, three.address):
        said = program(in_c, 384, 64, address=address)
        assert re.match(r"n = 384, tiles of 64: .* = \d\.\de-1[5-9]$", said), said


def killed(three, write_down, gather):
    """A transaction, one of whose servers is killed when a third of its calls have returned: where they
    ran, and what it gave."""
    with farcall.connect(three.address) as server:
        with server.transaction() as t:
            made = write_down(t)
        runs.follow(server, t, 1 / 3)
        before = t.timeline()
        three.processes[2].kill()
        t.wait(timeout=TIME_MAX)
        return runs.Told(t.timeline(), before, three.members[1]), gather(made)


def test_ep_survives_a_server(three):
    m, wanted = ep.CLASSES["W"]
    told, sums = killed(three, lambda t: ep.write_down(t, m, 48), ep.total)
    assert ep.difference(sums, wanted) < 1e-8
    assert told.calls == 48 and told.lost > 0 and told.again >= told.lost


@pytest.mark.parametrize("n, tile", [(1536, 128), (1536, 256)])
def test_a_factorisation_survives_a_server(three, n, tile):
    a = cholesky.problem(n)
    told, lower = killed(
        three,
        lambda t: cholesky.write_down(t, a, tile),
        lambda made: cholesky.gather(*made, n),
    )
    assert cholesky.residual(a, lower) < 1e-13
    assert told.lost > 0 and told.again > 0
    shown = runs.text(told)
    assert "X" in shown and "lost with its server" in shown, shown


def test_a_matrix_that_is_not_positive_definite_is_reported(alone):
    with alone.transaction() as t:
        made = cholesky.write_down(t, -cholesky.problem(64), 32)
    with pytest.raises(SystemExit, match="not positive definite"):
        cholesky.gather(*made, 64)
