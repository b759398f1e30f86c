"""What the package promises beyond calls: it agrees with the C header, and is found, typed and
documented."""

import ast
import pathlib
import re
import runpy
import subprocess
import sys

CLIENT = pathlib.Path(__file__).resolve().parents[1]
MAKE = runpy.run_path(str(CLIENT / "make_cdef.py"))
HEADER = "".join(header.read_text() for header in MAKE["HEADERS"])


def test_the_declarations_are_those_of_the_header():
    made = MAKE["declarations"](HEADER)
    assert (CLIENT / "src/farcall/_cdef.h").read_text() == made, "run make_cdef.py"


def test_the_library_has_all_declarations(farcall):
    from farcall._library import lib

    declared = re.findall(r"\b(farcall_\w+)\(", (CLIENT / "src/farcall/_cdef.h").read_text())
    assert len(declared) > 40
    assert [name for name in declared if not hasattr(lib, name)] == []


def test_there_is_a_class_for_each_kind_of_error(farcall):
    from farcall._errors import KINDS, class_of
    from farcall._library import lib

    kinds = re.findall(
        r"^    FARCALL_(\w+) = ([1-9]\d*),? +/\*",
        HEADER.split("enum farcall_element")[0],
        flags=re.M,
    )
    assert [(number, class_of(number).kind) for number in range(1, len(KINDS) + 1)] == [
        (int(number), name.lower().replace("_", "-")) for name, number in kinds
    ]
    assert lib.FARCALL_DAMAGED == len(KINDS) and class_of(999) is farcall.Error
    for kind in KINDS:
        assert issubclass(kind, farcall.Error) and kind.__name__ in farcall.__all__


def test_structures_have_the_sizes_of_the_header(farcall):
    from farcall._library import ffi

    assert ffi.sizeof("farcall_argument") == 128 and ffi.sizeof("farcall_array_view") == 536


def test_the_package_is_typed_and_documented():
    source = CLIENT / "src/farcall"
    assert (source / "py.typed").exists()
    for file in source.glob("*.py"):
        tree = ast.parse(file.read_text())
        assert ast.get_docstring(tree), file
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                arguments = [
                    one for one in node.args.args + node.args.kwonlyargs if one.arg not in ("self",)
                ]
                assert node.returns is not None and all(one.annotation for one in arguments), (
                    file,
                    node.name,
                )


def test_the_command_runs():
    shown = subprocess.run(
        [sys.executable, "-m", "farcall", "--version"], capture_output=True, text=True, timeout=30
    )
    assert re.fullmatch(r"farcall \d+\.\d+\.\d+\n", shown.stdout), shown.stderr


def test_a_missing_library_is_explained():
    program = "import os; os.environ['FARCALL_LIBRARY'] = '/nosuch.so'; import farcall"
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30
    )
    assert (
        "ImportError: farcall: cannot load /nosuch.so" in shown.stderr
        and "FARCALL_LIBRARY" in shown.stderr
    )
