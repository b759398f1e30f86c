"""Routines whose stack overflows: the error says so, and which limit to raise."""

import subprocess

import pytest

SOURCE = """
#include <string.h>

int deep(int n) { volatile char frame[4096]; frame[0] = n; return n == 0 ? 0 : deep(n - 1) + frame[0]; }
int large(void) { volatile char array[80000000]; memset((void *)array, 1, 10); return array[0]; }
int wrong(void) { return *(volatile int *)8; }
"""
LIBRARY = """Module stack;
Library "./libstack.so";
Define deep(IN int n, OUT int r) Calls "C" r = deep(n);
Define large(OUT int r) Calls "C" r = large();
Define wrong(OUT int r) Calls "C" r = wrong();
"""
INLINE = """Module stack;
Globals {%s}
Define deep(IN int n, OUT int r) { *r = deep(n); }
Define large(OUT int r) { *r = large(); }
Define wrong(OUT int r) { *r = wrong(); }
"""


@pytest.fixture(scope="module", params=["library", "inline"])
def stack(request, farcall, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stack")
    (folder / "stack.c").write_text(SOURCE)
    command = ["cc", "-O0", "-shared", "-fPIC", "-o", "libstack.so", "stack.c"]
    subprocess.run(command, cwd=folder, check=True)
    code = SOURCE.replace("#include <string.h>", "")
    text = LIBRARY if request.param == "library" else INLINE % code
    (folder / "stack.idl").write_text(text)
    with farcall.connect(files=[folder / "stack.idl"], timeout=60) as server:
        yield server


@pytest.mark.parametrize("name, given", [("deep", (10**7,)), ("large", ())])
def test_a_stack_that_overflows_says_so(farcall, stack, name, given):
    with pytest.raises(farcall.RoutineCrashed) as failed:
        stack[name](*given)
    said = str(failed.value)
    assert "the stack overflowed: it may have" in said and "KiB" in said
    assert "ulimit -s" in said and "OMP_STACKSIZE" in said


def test_another_crash_says_nothing_of_the_stack(farcall, stack):
    with pytest.raises(farcall.RoutineCrashed) as failed:
        stack.wrong()
    assert "stack" not in str(failed.value).replace("stack/", "")
    assert "valgrind" in str(failed.value)
