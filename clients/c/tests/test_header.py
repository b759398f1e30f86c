"""farcall.h with other languages, and what the compiler says of arguments that cannot be passed
(spec/c-abi.md, 6)."""

import os
import pathlib
import shlex
import subprocess

import pytest

INCLUDE = pathlib.Path(__file__).resolve().parents[1] / "include"
C = shlex.split(os.environ.get("CC", "cc"))
CXX = shlex.split(os.environ.get("CXX", "c++"))
BEGIN = '#include "farcall.h"\nint f(farcall_client *client, farcall_error **error) { return '


def compiled(compiler, standard, tmp_path, name, text):
    source = tmp_path / name
    source.write_text(text)
    command = [
        *compiler,
        standard,
        "-Wall",
        "-Wextra",
        "-pedantic-errors",
        f"-I{INCLUDE}",
        "-fsyntax-only",
        source,
    ]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("standard", ["11", "14", "17", "20"])
def test_every_cxx_takes_the_header(standard, tmp_path):
    # Before C++17 there are the functions alone; the call that looks like one needs more of the
    # language.
    call = (
        'farcall_call(client, error, "add", 1, 2.0)'
        if standard in ("17", "20")
        else "farcall_events(client)"
    )
    done = compiled(CXX, f"-std=c++{standard}", tmp_path, "use.cpp", f"{BEGIN}{call}; }}\n")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("argument", ["pair", "1.0L"])
def test_c_says_what_cannot_be_passed_by_value(argument, tmp_path):
    text = (
        f'struct two {{ int a, b; }} pair;\n'
        f'{BEGIN}farcall_call(client, error, "add", {argument}); }}\n'
    )
    done = compiled(C, "-std=c11", tmp_path, "use.c", text)
    assert done.returncode != 0 and "farcall_pass_the_address_of_this_argument" in done.stderr


@pytest.mark.parametrize("count", [0, 1, 64])
def test_c_counts_up_to_64_arguments(count, tmp_path):
    done = compiled(
        C,
        "-std=c11",
        tmp_path,
        "use.c",
        f'{BEGIN}farcall_call(client, error, "f"{", 1" * count}); }}\n',
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("count", [65, 66, 100, 128])
def test_c_says_that_there_are_too_many(count, tmp_path):
    done = compiled(
        C,
        "-std=c11",
        tmp_path,
        "use.c",
        f'{BEGIN}farcall_call(client, error, "f"{", 1" * count}); }}\n',
    )
    assert done.returncode != 0 and "farcall_call_takes_at_most_64_arguments" in done.stderr
