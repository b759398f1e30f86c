"""The model against what is known of it, and the forecasts of both languages against each other."""

import os
import pathlib
import subprocess
import sys
import tempfile

import farcall
import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", HERE.parents[1] / "build"))
OMEGA = 7.292e-5
DAY = 86400.0
TIME_MAX = 300
sys.path.insert(0, str(HERE.parents[1] / "tests/scenarios"))
from members import Members  # noqa: E402  (tests share it)


@pytest.fixture(scope="module")
def server():
    with farcall.connect(files=[HERE / "weather.idl"], timeout=60) as server:
        yield server


@pytest.fixture
def metaserver():
    """The address of a server that has no model, and that two have joined which do."""
    # A socket's path is short.
    with tempfile.TemporaryDirectory(prefix="weather") as folder:
        with Members(STAGE / "bin/farcall", folder, [HERE / "weather.idl"]) as members:
            yield members.address


def place(truncation, m, n):
    """Where the cosine's coefficient of a harmonic is; the sine's follows."""
    before = sum((truncation + 1 - k) * (2 if k else 1) for k in range(m))
    return before + (n - m) * (2 if m else 1)


def rossby_haurwitz(truncation, seconds, m=4, zonal=7.848e-6, wave=7.848e-6):
    """The wave that moves round the earth without changing its shape, and its speed in 1/s
    (Haurwitz 1940): psi is a^2 (-zonal mu + wave cos^m(latitude) mu cos(m (longitude - speed t))),
    an exact solution."""
    n = m + 1
    speed = (m * (m + 3) * zonal - 2 * OMEGA) / (n * (n + 1))
    mu, weight = np.polynomial.legendre.leggauss(64)
    norm = np.sqrt(np.sum(weight * ((1 - mu**2) ** (m / 2) * mu) ** 2))
    state = np.zeros((truncation + 1) ** 2)
    state[place(truncation, 0, 1)] = 2 * zonal * np.sqrt(2 / 3)
    at = place(truncation, m, n)
    state[at : at + 2] = (
        -wave
        * n
        * (n + 1)
        * norm
        * np.array([np.cos(m * speed * seconds), np.sin(m * speed * seconds)])
    )
    return state, speed


def error(state, exact):
    """Relative, in the root mean square."""
    return np.linalg.norm(state - exact) / np.linalg.norm(exact)


def rough(truncation):
    """A state with many scales, the same for every truncation from 12 on."""
    numbers = np.random.default_rng(2)
    state = rossby_haurwitz(truncation, 0)[0]
    for m in range(13):
        for n in range(max(m, 2), 13):
            at = place(truncation, m, n)
            state[at : at + (2 if m else 1)] += 6e-6 * numbers.normal(size=2)[: 2 if m else 1] / n
    return state


@pytest.mark.parametrize("truncation", [10, 20, 31])
def test_a_rossby_haurwitz_wave_moves_as_theory_says(server, truncation):
    start, speed = rossby_haurwitz(truncation, 0)
    states = {
        steps: server.forecast(
            start, truncation=truncation, count=20, steps=steps, e_folding=0
        ).states
        for steps in (4, 8)
    }
    exact = rossby_haurwitz(truncation, 5 * DAY)[0]
    coarse, fine = (error(states[steps][-1], exact) for steps in (4, 8))
    # Every truncation that has the wave has all of it: what is left is the time step's error, of
    # fourth order.
    assert fine < 1e-7 and 12 < coarse / fine < 20, (coarse, fine)
    at = place(truncation, 4, 5)
    turned = np.unwrap([np.arctan2(-state[at + 1], -state[at]) for state in states[8]])
    assert np.polyfit(np.arange(1, 21) * DAY / 4, turned / 4, 1)[0] == pytest.approx(
        speed, rel=1e-6
    )


def test_energy_and_enstrophy_are_conserved_by_all_that_moves(server):
    start = rough(20)
    end = server.forecast(start, truncation=20, count=40, steps=12, e_folding=0).states[-1]
    before, after = server.invariants(start), server.invariants(end)
    assert error(end, start) > 0.5, "much has moved"
    assert after.energy == pytest.approx(before.energy, rel=1e-6)
    assert after.enstrophy == pytest.approx(before.enstrophy, rel=1e-5)
    damped = server.invariants(server.forecast(start, truncation=20, count=40).states[-1])
    assert damped.energy < after.energy and damped.enstrophy < after.enstrophy


def test_a_finer_model_is_nearer_to_the_truth(server):
    def after_two_days(truncation):
        state = server.forecast(
            rough(truncation), truncation=truncation, count=1, hours=48, steps=96, e_folding=0
        ).states[0]
        return server.streamfunction(state, truncation=truncation, rows=30, columns=60).psi

    truth = after_two_days(63)
    errors = [error(after_two_days(truncation), truth) for truncation in (15, 21, 31, 42)]
    assert errors[0] < 0.02 and all(
        fine < 0.8 * coarse for coarse, fine in zip(errors, errors[1:])
    ), errors


def test_longitudes_are_alike(server):
    """What is turned about the axis before is turned after."""
    start, angle = rough(15), 0.7

    def turned(state):
        out = state.copy()
        for m in range(1, 16):
            for n in range(m, 16):
                at = place(15, m, n)
                cosine, sine = state[at], state[at + 1]
                out[at : at + 2] = [
                    cosine * np.cos(m * angle) - sine * np.sin(m * angle),
                    cosine * np.sin(m * angle) + sine * np.cos(m * angle),
                ]
        return out

    forecast = lambda state: server.forecast(state, truncation=15, count=8).states[-1]  # noqa: E731
    assert error(forecast(turned(start)), turned(forecast(start))) < 1e-9


def test_mean_and_spread_are_those_of_numpy(server):
    members = np.stack([rough(12) * factor for factor in (0.9, 1.0, 1.3)])
    r = server.ensemble(members, rough(12), truncation=12, rows=10, columns=12)
    fields = np.stack(
        [server.streamfunction(state, truncation=12, rows=10, columns=12).psi for state in members]
    )
    assert np.allclose(r.mean_psi, fields.mean(0)) and np.allclose(r.spread_psi, fields.std(0))
    wind = lambda state: np.sqrt(2 * server.invariants(state, truncation=12).energy)  # noqa: E731
    assert r.error == pytest.approx(wind(members.mean(0) - rough(12)))
    assert r.spread == pytest.approx(
        np.sqrt(np.mean([wind(state - members.mean(0)) ** 2 for state in members]))
    )


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    program = tmp_path_factory.mktemp("forecast") / "forecast"
    link = [f"-I{STAGE}/include", f"-L{STAGE}/lib", f"-Wl,-rpath,{STAGE}/lib", "-lfarcall"]
    subprocess.run(
        [
            "cc",
            "-std=gnu11",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-o",
            program,
            HERE / "forecast.c",
            *link,
        ],
        check=True,
        timeout=TIME_MAX,
    )
    return program


def ran(*words, status=0):
    """What a program prints, or complains of."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIME_MAX)
    assert done.returncode == status, done.stderr
    return done.stdout or done.stderr


def test_c_and_python_print_the_same_and_draw_a_map(server, program, tmp_path):
    options = ["--members", "6", "--days", "3", "--server", server.address]
    in_c = ran(program, *options, "--maps", tmp_path / "c")
    in_python = ran(
        sys.executable, HERE / "forecast.py", *options, "--map", tmp_path / "python.png"
    )
    assert in_c == in_python and len(in_c.splitlines()) == 5
    ran(sys.executable, HERE / "map.py", tmp_path / "c", tmp_path / "c.png")
    for name in ("c.png", "python.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG") and (
            tmp_path / name
        ).stat().st_size > 20_000


def test_forecasts_at_a_metaserver_are_the_same(server, metaserver, program, tmp_path):
    options = ["--members", "6", "--days", "3", "--server"]
    wanted = ran(program, *options, server.address)
    assert ran(program, *options, metaserver, "--maps", tmp_path / "c") == wanted
    assert ran(sys.executable, HERE / "forecast.py", *options, metaserver) == wanted


def test_the_mean_is_better_than_one_forecast(server):
    lines = ran(
        sys.executable,
        HERE / "forecast.py",
        "--members",
        "20",
        "--days",
        "8",
        "--server",
        server.address,
    ).splitlines()
    single, mean, spread = np.array(
        [[float(word) for word in line.split()[1:]] for line in lines[2:]]
    ).T
    assert (
        (mean < single).all()
        and single[-1] > 2 * single[0]
        and (0.5 * mean < spread).all()
        and (spread < 2 * mean).all()
    )


def test_wrong_options_are_named(program):
    # Before anything is computed: there is no such server, either.
    words = ["--server", "unix:/nonexistent/socket", "--map"]
    assert "--map wants a file .png" in ran(
        sys.executable, HERE / "forecast.py", *words, "/nonexistent/map.png", status=2
    )
    assert "usage" in ran(sys.executable, HERE / "map.py", status=1)
    assert "--members" in ran(program, "--members", "0", status=2)
    assert "--members" in ran(sys.executable, HERE / "forecast.py", "--members", "0", status=2)
    for command in ([program], [sys.executable, HERE / "forecast.py"]):
        assert "there is no such socket" in ran(
            *command, "--server", "unix:/nonexistent/socket", status=1
        )
