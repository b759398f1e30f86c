"""Launchers: those that ship, the one of the docs, and broken ones, by the text protocol.

Needs what `make build` stages. Each wait has an end; no test depends on how fast anything is.
"""

import pathlib

import conformance
import pytest
from surroundings import FARCALL, QUICK, SECONDS, write_program


@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "launcher",
    ["local", "ssh", "slurm", "fake", "example", "gridengine", "pbs", "lsf", "engine"],
)
def test_launchers_do_as_the_protocol_says(launcher, check, request):
    """The same checks for all: that is what a protocol is for."""
    if launcher == "example":
        return conformance.run(check, [request.getfixturevalue(launcher)], seconds=SECONDS)
    fixture = {"ssh": "far", "slurm": "slurm", "fake": "fake", "engine": "engine"}.get(launcher)
    if fixture:
        request.getfixturevalue(fixture)
    if launcher in ("gridengine", "pbs", "lsf"):
        request.getfixturevalue("batch")(launcher)
    command = [
        FARCALL,
        "launch",
        {"fake": "slurm", "engine": "gridengine"}.get(launcher, launcher),
        *(QUICK if launcher not in ("local", "ssh") else []),
    ]
    conformance.run(check, command, ["hostname far"] if launcher == "ssh" else [], SECONDS)


BROKEN = {
    "prints garbage": ("features_are_told", r"features begin with", 'rest: "SM', 'rest: "garbage'),
    "replies nonsense": (
        "failures_are_told",
        r"neither S nor F",
        '"JOB_CREATE_END"))) or "S"',
        '"JOB_CREATE_END"))) or "maybe"',
    ),
    "stalls": (
        "features_are_told",
        r"does not reply",
        "name and say(1",
        "threading.Event().wait(9) or say(1",
    ),
    "dies": (
        "features_are_told",
        r"ended instead of a reply",
        "name and say(1",
        "os._exit(3) or say(1",
    ),
    "takes anything": (
        "mistakes_are_refused_and_the_next_request_is_heard",
        r"count 0 is not refused",
        "not 1 <= count",
        "not 0 <= count",
    ),
    "quotes nothing": (
        "a_job_runs_with_what_it_was_given",
        r"arguments differ",
        '*named("argument")]',
        '*" ".join(named("argument")).split()]',
    ),
    "forgets slots": (
        "many_slots_are_one_job",
        r"of 200 slots there are 1",
        "FARCALL_SLOTS=",
        "OTHER=",
    ),
    "says it twice": (
        "failures_are_told",
        r"a notice of a job that is over",
        '{status(copy.wait())}"',
        '{status(copy.wait())}\\r\\nSTATUS_NOTIFY {job} DONE"',
    ),
    "knows no failure": (
        "failures_are_told",
        r"status 7 is not FAILED",
        'FAILED exit status {code}"',
        'DONE exit status {code}"',
    ),
    "leaves jobs": (
        "it_ends_with_its_input",
        r"does not end|processes of its jobs",
        "ends.callback(destroy, copy)",
        "ends.callback(os._exit, 0)",
    ),
    "keeps jobs": (
        "a_job_is_destroyed",
        r"there is no end of job",
        "destroy(jobs[job]) or",
        "jobs[job] and",
    ),
}


def test_the_launcher_of_the_docs_fits_on_a_page(example):
    """Its page and the specification say how long it is."""
    lines = pathlib.Path(example).read_text().splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 120


@pytest.mark.parametrize("broken", BROKEN)
def test_the_conformance_test_finds_what_is_broken(broken, example):
    """A test that cannot fail is worthless: each fault is put into the launcher of the docs."""
    check, words, old, new = BROKEN[broken]
    source = pathlib.Path(example).read_text()
    assert old in source
    write_program(pathlib.Path(example), source.replace(old, new))
    with pytest.raises(conformance.Broken, match=words):
        conformance.run(getattr(conformance, check), [example], seconds=3)
