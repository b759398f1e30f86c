"""Public Fortran libraries, which tools/corpus.sh fetches: every procedure is drafted or refused
with a line, and what is drafted gives what a direct call gives."""

import contextlib
import os
import pathlib
import pickle
import re
import subprocess
import sys

import farcall
import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
CORPUS = ROOT / "build/corpus"
# What others are linked with, and no library of its own.
COMMON = ("mach", "slatec-err")
LIBRARIES = (
    sorted(one.name for one in CORPUS.iterdir() if one.is_dir() and one.name not in COMMON)
    if (CORPUS / ".complete").exists()
    else []
)
# What variables begin with that nobody sets: a call whose outcome depends on it is nonsense.
STRANGE = ("-finit-integer=1000003", "-finit-real=nan", "-finit-logical=true")
# Routines that must have been called and compared.
COMPARED = 200
HEADING = re.compile(
    r"^ {6,}(?:RECURSIVE *)?(?:(?:DOUBLE *PRECISION|REAL(?: *\* *\d+)?|INTEGER|LOGICAL|COMPLEX) *)?"
    r"(?:SUBROUTINE|FUNCTION) +(\w+)",
    re.IGNORECASE,
)
# Sizes and all other whole numbers, numbers, and where arrays begin and end.
INPUTS = ((5, 1, 0.75, (0.5, 1.5)), (3, 2, 2.5, (1.0, 4.0)), (8, 0, 0.1, (0.0, 1.0)))

pytestmark = [
    pytest.mark.skipif(not LIBRARIES, reason="no public libraries: tools/corpus.sh fetches them"),
    pytest.mark.skipif(os.system("command -v gfortran >/dev/null") != 0, reason="no gfortran"),
]


@pytest.fixture(scope="module")
def scanned(tmp_path_factory):
    """What is drafted of a library, and what is said."""
    drafts = {}

    def scan(library):
        if library not in drafts:
            folder = tmp_path_factory.mktemp(library)
            done = subprocess.run(
                [STAGE / "bin/farcall", "scan", CORPUS / library, "-o", f"{library}.idl"],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert done.returncode in (0, 2), done.stderr
            drafts[library] = folder / f"{library}.idl", done.stderr
        return drafts[library]

    return scan


def procedures(library):
    """The name of each procedure, and where it begins."""
    for source in sorted((CORPUS / library).glob("**/*.f")):
        text = source.read_text(encoding="latin-1")
        text = re.sub(r"\n {5}[^ 0\n]", " ", text)
        for line, statement in enumerate(text.splitlines(), 1):
            found = HEADING.match(statement)
            if found:
                yield found[1].lower(), source, line


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_procedure_is_drafted_or_refused_with_a_line(scanned, library):
    interface, said = scanned(library)
    text = interface.read_text(encoding="utf-8")
    drafted = set(re.findall(r"^ *(?:Define|DefClass|Def\w+) (\w+)", text, re.MULTILINE))
    refused = set(re.findall(r":\d+: error: (\w+):", said))
    lost = [
        f"{source.name}:{line}: {name}"
        for name, source, line in procedures(library)
        if name not in drafted | refused
    ]
    assert not lost


class Drafted:
    """A routine of a draft: its procedure, and in which order that takes the parameters."""

    CALL = re.compile(r'^Calls "Fortran" (?:(\w+) = )?(\w+)\(([^)]*)\);', re.MULTILINE)

    def __init__(self, name, result, symbol, arguments):
        self.name, self.result, self.symbol = name, result, symbol + "_"
        self.arguments = re.findall(r"\w+", arguments)

    @classmethod
    def all_of(cls, text):
        for definition in re.split(r"^Define ", text, flags=re.MULTILINE)[1:]:
            call = cls.CALL.search(definition)
            if call:
                yield cls(re.match(r"\w+", definition)[0], *call.groups())


TYPES = {
    "int": "int32", "float": "float32", "double": "float64",
    "scomplex": "complex64", "dcomplex": "complex128",
}  # fmt: skip


def is_single(parameter):
    """Whether it is one number; those that come back are arrays of one."""
    return all(dimension["size"] == "1" for dimension in parameter.get("dimensions", ()))


class Case:
    """Values for all parameters of a routine."""

    def __init__(self, parameters, sizes, whole, real, ends):
        names = {
            name
            for one in parameters
            for dimension in one.get("dimensions", ())
            for name in re.findall(r"[A-Za-z_]\w*", dimension["size"])
        }
        self.values = {}
        numbers = {}
        for one in parameters:
            if is_single(one):
                is_whole = one["type"] == "int"
                number = (sizes if one["name"] in names else whole) if is_whole else real
                numbers[one["name"]] = number
                self.values[one["name"]] = np.array(number, TYPES[one["type"]])
        for one in parameters:
            if not is_single(one):
                shape = [
                    eval(dimension["size"].replace("/", "//"), {}, numbers)
                    for dimension in one["dimensions"]
                ]
                if min(shape) < 0:
                    raise ValueError(f"{one['name']} would have {min(shape)} elements")
                content = np.linspace(*ends, int(np.prod(shape))) + 0.5 * (one["type"] == "int")
                # Of a LOGICAL, what is not 0 is true, and comes as 1.
                content = np.minimum(content, 1) if one.get("logical") else content
                order = "F" if one.get("order") == "column" else "C"
                self.values[one["name"]] = np.asarray(
                    content.astype(TYPES[one["type"]]).reshape(shape, order=order), order=order
                )
        for one in parameters:
            if one["mode"] == "out":
                self.values[one["name"]] = np.zeros_like(self.values[one["name"]])


def common_sources():
    """What these libraries expect to be linked with: constants of the machine, and messages."""
    return [
        str(source) for folder in COMMON for source in sorted((CORPUS / folder).glob("*.f"))
    ]


def compile_library(library, shared, *options):
    """A shared library of the sources. A procedure that no library here has ends the process that
    calls it."""
    folder = shared.parent
    missing = folder / "missing.c"
    missing.write_text("")
    sources = [str(source) for source in sorted((CORPUS / library).glob("**/*.f"))]
    command = ["gfortran", "-O1", "-shared", "-fPIC", "-w", "-std=legacy", "-z", "muldefs"]
    command += [*options, "-o", str(shared), *sources, *common_sources(), str(missing)]
    command += ["-llapack", "-lblas"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    names = undefined(shared)
    if names:
        bodies = "".join(f"void {name}(void) {{ _exit(3); }}\n" for name in names)
        missing.write_text(f"#include <unistd.h>\n{bodies}")
        subprocess.run(command, check=True, capture_output=True, timeout=300)
    return shared


def undefined(shared):
    """Procedures that neither a library nor those that it is linked with has."""
    done = subprocess.run(["ldd", "-r", shared], check=True, capture_output=True, text=True)
    return re.findall(r"undefined symbol: (\w+)", done.stdout + done.stderr)


def direct_outcomes(libraries, calls):
    done = subprocess.run(
        [sys.executable, HERE / "direct.py"],
        input=pickle.dumps([(list(map(str, libraries)), *call) for call in calls]),
        stdout=subprocess.PIPE,
        cwd=libraries[0].parent,
        check=True,
        timeout=1200,
    )
    return pickle.loads(done.stdout)


def module_of(text):
    return re.search(r"^Module (\w+);", text, re.MULTILINE)[1]


def cases_of(text, said, server):
    """Routines that take numbers alone and keep none, with values for each."""
    for routine in Drafted.all_of(text):
        name = f"{module_of(text)}/{routine.name}"
        if f" {routine.name} keeps state" in said or f", {routine.name}" in said:
            continue
        parameters = server[name].interface["parameters"]
        if all(one["shape"] in ("scalar", "array") and one["type"] in TYPES for one in parameters):
            for inputs in INPUTS:
                with contextlib.suppress(ValueError):
                    yield routine, name, parameters, Case(parameters, *inputs)


def direct_call(routine, case):
    """What `direct.py` takes."""
    values = [case.values[name] for name in routine.arguments]
    kind = case.values[routine.result].dtype.name if routine.result else None
    return routine.symbol, [value.tobytes(order="A") for value in values], kind


def differences(routine, parameters, case, outcome, results):
    """Parameters that the two calls leave different."""
    arguments, result = outcome
    direct = dict(zip(routine.arguments, arguments))
    if routine.result:
        direct[routine.result] = result
    for one in parameters:
        if one["mode"] in ("out", "inout"):
            given = case.values[one["name"]]
            ours = np.asarray(getattr(results, one["name"]), given.dtype, order="A")
            if ours.tobytes(order="A") != direct[one["name"]]:
                yield one["name"], np.frombuffer(direct[one["name"]], given.dtype), ours


@pytest.fixture(scope="module")
def compared():
    """Routines that were called both ways, of all libraries."""
    return set()


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_drafted_gives_what_a_direct_call_gives(scanned, compared, library):
    interface, said = scanned(library)
    text = interface.read_text(encoding="utf-8")
    if not list(Drafted.all_of(text)):
        pytest.skip("nothing is drafted whole")
    libraries = [
        compile_library(library, interface.parent / f"lib{library}.so"),
        compile_library(library, interface.parent / "libstrange.so", *STRANGE),
    ]
    with farcall.connect(files=[interface], timeout=60) as server:
        cases = list(cases_of(text, said, server))
        outcomes = direct_outcomes(libraries, [direct_call(one, case) for one, _, _, case in cases])
        for (routine, name, parameters, case), outcome in zip(cases, outcomes):
            if outcome is None:
                continue
            inputs = [one["name"] for one in parameters if one["mode"] != "out"]
            given = {one: case.values[one] for one in inputs}
            results = server[name](timeout=20, **given)
            found = list(differences(routine, parameters, case, outcome, results))
            assert not found, (name, case.values, found)
            compared.add(name)


def test_many_were_compared(compared):
    assert len(compared) >= COMPARED
