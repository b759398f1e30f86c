"""The programs of the wide-area study, run in virtual time by `farcall run`."""

import json
import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE / "data"
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", HERE.parents[1] / "build"))
# The paper's counts are those of four sites of sixteen (tables 4 and 5).
PAPER = "4x16"
SHAPES = ("1", "7", "3+10+22", "4x4")


def run(*arguments, program=(), platform="das4x15", sites="1", tiers="auto", timeout="120"):
    command = [STAGE / "bin/farcall", "run", "--virtual", "--platform", platform]
    command += ["--sites", sites, "--tiers", tiers, "--timeout", timeout]
    command += [*arguments, *program]
    return subprocess.run(command, capture_output=True, text=True, timeout=150)


def answer(folder, *program, **options):
    """What a run has found, and its report."""
    file = folder / "report.json"
    ended = run("--report", str(file), program=program, **options)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(file.read_text())
    assert ended.stdout == f"answer: {report['answer']}\n"
    return report["answer"], report


@pytest.mark.parametrize("tiers", ["off", "on"])
@pytest.mark.parametrize("sites", SHAPES)
def test_shortest_paths_have_one_answer(tmp_path, sites, tiers):
    found, _ = answer(tmp_path, "asp", "60", "3", sites=sites, tiers=tiers)
    alone = run(platform="modern", program=("asp", "60", "3"))
    assert alone.stdout == f"answer: {found}\n"


@pytest.mark.parametrize("sites", SHAPES)
def test_relaxation_is_exact_without_tiers(tmp_path, sites):
    found, report = answer(tmp_path, "sor", "120", "90", sites=sites, tiers="off")
    one, _ = answer(tmp_path, "sor", "120", "90")
    assert found == one
    assert report["sites"] == 1 + sites.count("+") + (3 if "x" in sites else 0)


def test_rows_between_sites_are_those_of_the_paper(tmp_path):
    """624 rows in 52 iterations, and 216 in 54 when two of three exchanges are left out."""
    rows = {}
    for tiers, iterations in (("off", 52), ("on", 54)):
        found, report = answer(tmp_path, "sor", sites=PAPER, tiers=tiers)
        assert found.startswith(f"{iterations} iterations")
        halos = [thing for name, thing in report["things"].items() if name.startswith("rows")]
        rows[tiers] = sum(thing["between"]["messages"] for thing in halos)
    assert rows == {"off": 624, "on": 216}


@pytest.mark.parametrize("tiers", ["off", "on"])
@pytest.mark.parametrize(
    ("program", "found"),
    [
        (("tsp", f"{DATA}/gr17.tsp"), "length 2085"),
        (("tsp", f"{DATA}/burma14.tsp"), "length 3323"),
        (("tsp", "10", "4"), None),
    ],
)
def test_shortest_tours_have_one_length(tmp_path, program, found, tiers):
    lengths = {answer(tmp_path, *program, sites=sites, tiers=tiers)[0] for sites in SHAPES}
    assert len(lengths) == 1 and found in (None, *lengths)


def test_a_run_is_the_same_each_time(tmp_path):
    reports = [answer(tmp_path, "sor", "60", "60", sites="2x3", tiers="on")[1] for _ in range(2)]
    assert reports[0] == reports[1]
    assert reports[0]["seconds"] > 0 and len(reports[0]["trace"]) == 16


@pytest.mark.parametrize(
    ("options", "program", "words"),
    [
        ({"platform": "das4x51"}, ("sor",), ("there is no such platform", "das4x15, internet")),
        ({}, ("no-such-program",), ("the program does not start", "no-such-program")),
        ({}, ("sor", "2", "2"), ("a grid of 2 rows", "member: 0")),
        ({}, ("asp", "x.txt"), ("x.txt",)),
        ({}, ("/bin/true",), ("ended before it left the run", "member: 0")),
        ({}, ("/bin/sh", "-c", "echo last >&2; kill -SEGV $$"), ("signal 11", "last")),
        ({"sites": "0x4"}, ("sor",), ("0x4",)),
        ({"timeout": "0.3"}, ("/bin/sleep", "30"), ("not ended in time",)),
    ],
)
def test_what_is_wrong_is_said(options, program, words):
    ended = run(program=program, **{"sites": "2", **options})
    assert ended.returncode != 0
    for word in words:
        assert word in ended.stderr, ended.stderr
    # Each member says its own last words; what ended the run is said once.
    assert ended.stderr.count("farcall: ") == 1 and "other end" not in ended.stderr, ended.stderr
