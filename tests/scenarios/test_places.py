"""Programs in each language say where their calls ran, and bind calls to one server of those that a
metaserver knows."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from members import Members  # noqa: E402  (it lies beside this file)
from test_scenarios import PROGRAM, STAGE, TIME_MAX, built, jdk  # noqa: E402  (so does it)

IDL = "Module where;\nDefine double_it(IN int x, OUT int y) { *y = 2 * x; }\n"
LINK = [f"-I{STAGE}/include", f"-L{STAGE}/lib", f"-Wl,-rpath,{STAGE}/lib"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("places")
    (folder / "where.idl").write_text(IDL)
    with Members(PROGRAM, folder, [folder / "where.idl"]) as members:
        yield members


def ran(world, command, **more):
    """The lines that a program prints, by their first word."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("FARCALL_")}
    known.update(FARCALL_STAGE=str(STAGE), FARCALL_SERVER=world.address)
    done = subprocess.run(
        command, env=known, capture_output=True, text=True, timeout=TIME_MAX, **more
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.split(maxsplit=2) for line in done.stdout.splitlines()]


def check_placed_and_bound(world, lines, at):
    values = {line[0]: line[1:] for line in lines}
    assert values["placed"][0] == "42" and values["placed"][1] in world.members, lines
    assert values["bound"] == ["8", at] and values["submitted"] == ["10", at], lines
    assert all(member in values["unknown"][-1] for member in world.members), lines


def test_fortran_tells_where_calls_ran_and_binds_them(world, tmp_path):
    program = tmp_path / "places"
    options = ["-J", tmp_path, "-std=f2018", "-o", program]
    libraries = ["-lfarcall_fortran", "-lfarcall"]
    built(["gfortran", *options, HERE / "places/places.f90", *LINK, *libraries])
    for at in world.members:
        lines = ran(world, [program, at])
        check_placed_and_bound(world, lines, at)
        assert lines[-1][:2] == ["unknown", "T"] and lines[-1][2].startswith("F "), lines


def test_java_tells_where_calls_ran_and_binds_them(world, tmp_path):
    home, jar = jdk()
    source = HERE / "places/Places.java"
    built([f"{home}/bin/javac", "-Xlint:all", "-cp", jar, "-d", tmp_path, source])
    native = "--enable-native-access=ALL-UNNAMED"
    for at in world.members:
        command = [f"{home}/bin/java", native, "-cp", f"{jar}:{tmp_path}", "Places", at]
        lines = ran(world, command)
        check_placed_and_bound(world, lines, at)
        assert ["segments", "12", at] in lines and lines[-1][1] == "NOT_FOUND", lines


def test_gridrpc_tells_where_sessions_ran(world, tmp_path):
    program = tmp_path / "places"
    built(["cc", "-Wall", "-Wextra", "-o", program, HERE / "places/places.c", *LINK, "-lfarcall"])
    configuration = tmp_path / "client.conf"
    configuration.write_text(f"<SERVER>\n  hostname {world.address}\n</SERVER>\n")
    lines = ran(world, [program, configuration])
    assert lines[0] == ["before", "nowhere"]
    places = [line[1] for line in lines if line[0] in ("called", "session")]
    assert len(places) == 2 and set(places) <= set(world.members), lines
    assert ["cut", "0", "unix"] in lines and ["no", "place", "1"] in lines, lines
    assert ["no", "session", "1"] in lines, lines
    array = [line[1] for line in lines if line[0] == "array"]
    assert len(array) == 3 and len(set(array)) == 1 and array[0] in world.members, lines
