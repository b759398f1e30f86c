"""grpc.h with every standard of C and C++: nothing to warn of, symbols of ours, and names that stay
free."""

import os
import pathlib
import shlex
import shutil
import subprocess

import pytest

INCLUDE = pathlib.Path(__file__).resolve().parents[1] / "include"
C = shlex.split(os.environ.get("CC", "cc"))
CXX = shlex.split(os.environ.get("CXX", "c++"))
USE = """
#include "grpc.h"
struct mine { int grpc_call, grpc_wait; };
int use(grpc_function_handle_t *grpc_probe)
{
    struct mine mine = {1, 2};
    grpc_error_t (*call)(grpc_function_handle_t *, ...) = grpc_call;
    return grpc_call(grpc_probe, mine.grpc_call, 2.0) + grpc_wait(mine.grpc_wait) + call(grpc_probe);
}
"""


def symbols(compiler, name, tmp_path, *options):
    source = tmp_path / name
    source.write_text(USE)
    strict = ["-Wall", "-Wextra", "-Werror", "-pedantic-errors"]
    command = [*compiler, *options, *strict, f"-I{INCLUDE}", "-c", source, "-o", tmp_path / "use.o"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    listing = subprocess.run(
        ["nm", "-u", tmp_path / "use.o"], check=True, capture_output=True, text=True
    ).stdout
    return {line.split()[-1] for line in listing.splitlines()}


@pytest.mark.parametrize("optimised", ["-O0", "-O2"])
@pytest.mark.parametrize("standard", ["c89", "c99", "c11", "c17"])
def test_c_binds_to_our_symbols_and_counts(standard, optimised, tmp_path):
    found = symbols(C, "use.c", tmp_path, f"-std={standard}", optimised)
    assert {"farcall_grpc_call_counted", "farcall_grpc_wait"} <= found
    assert not {name for name in found if name.startswith("grpc_")}


@pytest.mark.parametrize("standard", ["c++98", "c++11", "c++17", "c++20"])
def test_cxx_does_too(standard, tmp_path):
    found = symbols(CXX, "use.cpp", tmp_path, f"-std={standard}")
    is_clang = (
        "__clang__"
        in subprocess.run(
            [*CXX, "-dM", "-E", "-x", "c++", "-"], input="", capture_output=True, text=True
        ).stdout
    )
    counts = not (is_clang and standard == "c++98")
    assert "farcall_grpc_wait" in found and ("farcall_grpc_call_counted" in found) == counts


def test_counting_can_be_switched_off(tmp_path):
    found = symbols(C, "use.c", tmp_path, "-DGRPC_NO_COUNT")
    assert "farcall_grpc_call" in found and "farcall_grpc_call_counted" not in found


CALLS = """
#include "grpc.h"
int use(grpc_function_handle_t *h, grpc_object_handle_t_np *o, grpc_sessionid_t *s, grpc_session_attr_t_np *a)
{
    return grpc_call(h, 1, 2.0) + grpc_call_async(h, s LAST) + grpc_call_with_attr_np(h, a, 1) +
           grpc_call_async_with_attr_np(h, s, a, 1) + grpc_invoke_np(o, "m", (1, 2)) + grpc_invoke_async_np(o, "m", s, 1) +
           grpc_invoke_with_attr_np(o, "m", a, 1) + grpc_invoke_async_with_attr_np(o, "m", s, a LAST) +
           grpc_call(h, %s);
}
""" % ", ".join(map(str, range(120)))


def clangs():
    """Clang, where there is one; and its way of counting with whatever compiler there is."""
    found = [[*compiler, "-DFARCALL_GRPC_COUNT_BY_MACRO"] for compiler in (C, CXX)]
    if shutil.which("clang"):
        found += [["clang"], ["clang++"]]
    return found


@pytest.mark.parametrize("compiler", clangs(), ids=lambda command: " ".join(command))
def test_clang_counts_all_eight(compiler, tmp_path):
    plus = "++" in compiler[0]
    source = tmp_path / ("use.cpp" if plus else "use.c")
    # Templates do not count what is not there.
    source.write_text(CALLS.replace(" LAST", ", 1" if plus else ""))
    for standard in ["c++11", "c++20"] if plus else ["c89", "c11"]:
        command = [
            *compiler,
            f"-std={standard}",
            "-O2",
            "-Wall",
            "-Wno-unused-value",
            "-Werror",
            "-pedantic-errors",
        ]
        command += [f"-I{INCLUDE}", "-c", "-o", tmp_path / "use.o", source]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        listing = subprocess.run(
            ["nm", "-u", tmp_path / "use.o"], check=True, capture_output=True, text=True
        ).stdout
        called = {line.split()[-1] for line in listing.splitlines() if "grpc" in line}
        assert len(called) == 8 and all(name.endswith("_counted") for name in called), called


@pytest.mark.parametrize("standard", ["c89", "gnu89", "c99", "gnu99", "c11", "gnu17"])
def test_macros_count_in_each_standard(standard, tmp_path):
    """Also no arguments at all, where a comma is to vanish."""
    source = tmp_path / "use.c"
    source.write_text("""
#include "grpc.h"
#define farcall_grpc_call_counted(count, ...) count
int none[grpc_call(&handle) == 0 ? 1 : -1], three[grpc_call(&handle, 1, "a, b", (1, 2)) == 3 ? 1 : -1];
""")
    command = [
        *C,
        f"-std={standard}",
        "-DFARCALL_GRPC_COUNT_BY_MACRO",
        f"-I{INCLUDE}",
        "-fsyntax-only",
        source,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("header", ["grpc.h", "grpc_executable.h", "netsolve_grpc.h", "ninf.h"])
def test_every_header_gives_no_warning(header, tmp_path):
    for compiler, ending, standards in (
        (C, "c", ["c89", "gnu89", "c99", "gnu17"]),
        (CXX, "cpp", ["c++98", "c++11", "c++20"]),
    ):
        source = tmp_path / f"use.{ending}"
        source.write_text(f"#include <{header}>\n#include <{header}>\n")
        for standard in standards:
            command = [
                *compiler,
                f"-std={standard}",
                "-Wall",
                "-Wextra",
                "-pedantic-errors",
                "-Werror",
                f"-I{INCLUDE}",
                "-fsyntax-only",
                source,
            ]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr


def test_libc_headers_come_unless_strict(tmp_path):
    source = tmp_path / "use.c"
    source.write_text('#include "grpc.h"\nint main(void) { exit(printf("%d", errno)); }\n')
    command = [*C, "-Werror=implicit-function-declaration", f"-I{INCLUDE}", "-fsyntax-only", source]
    assert subprocess.run(command).returncode == 0
    assert subprocess.run([*command, "-DGRPC_STRICT_HEADERS"], capture_output=True).returncode != 0
