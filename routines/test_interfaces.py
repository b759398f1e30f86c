"""Tests of the published interface files: they compile, and the library has what they call."""

import json
import pathlib
import re
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
FILES = sorted(HERE.glob("*/*.idl"))
LIBRARY_FILES = sorted(HERE.glob("lapack/*.idl"))


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def identify(path):
    return path.name


@pytest.mark.parametrize("file", FILES, ids=identify)
def test_the_file_compiles(file):
    result = subprocess.run(["farcall", "check", file], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("file", LIBRARY_FILES, ids=identify)
def test_the_library_has_every_routine(file):
    result = subprocess.run(
        ["farcall", "check", "--link", file], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stdout + result.stderr
    listed = [line for line in result.stdout.splitlines() if line.startswith("  ")]
    assert len(listed) > 40


def test_each_routine_calls_what_it_is_named_after():
    """A name copied from the routine above would link as well."""
    for file in LIBRARY_FILES:
        text = without_comments(file.read_text())
        names = re.findall(r"^Define (\S+)\(", text, flags=re.M)
        called = re.findall(r'^Calls "Fortran"\s+(?:\w+\s*=\s*)?(\S+)\(', text, flags=re.M)
        assert names == called and names, file


@pytest.mark.parametrize("file", FILES, ids=identify)
def test_every_routine_is_documented_and_has_a_complexity(file):
    routines = without_comments(file.read_text()).split("\nDefine ")[1:]
    for routine in routines:
        parameters, _, rest = routine.partition("\n)\n")
        name = parameters.split("(")[0]
        assert rest.startswith('"'), f"{name} has no description"
        assert "\nComplexity " in rest and "\nIdempotent\n" in rest, name
        declared = re.split(r"\n    (?=(?:IN|OUT|INOUT|WORK) )", parameters)[1:]
        bare = [one for one in declared if not re.search(r'(?<!among) "[^"]+",?\s*$', one)]
        assert declared and not bare, f"{name}: without a description: {bare}"


def test_the_official_sums_of_ep_are_those_of_the_native_test():
    """verify.json is for remote tests, test_ep.c for the native one; they must not drift apart."""
    classes = json.loads((HERE / "ep/verify.json").read_text())["classes"]
    native = (HERE / "ep/test_ep.c").read_text()
    found = re.findall(r'test_class\("(\w)", (\d+), (\S+), (\S+)\);', native)
    assert {letter for letter, *_ in found} == {"S", "W"}
    for letter, m, sx, sy in found:
        official = classes[letter]
        assert (int(m), float(sx), float(sy)) == (official["m"], official["sx"], official["sy"])
