"""Libraries whose routines share data: what is said of them, and modules of one process."""

import subprocess

import pytest

SOURCE = """
#include <unistd.h>

static int last;
int shared_count = 4;
static const int table[3] = {1, 2, 3};

void set(int value) { last = value; }
int get(void) { usleep(20000); return last + table[0] - 1; }
int process(void) { usleep(20000); return getpid(); }
"""
INTERFACE = """Module one;
Library "./libone.so";
%s
Define set(IN int value) Calls "C" set(value);
Define get(OUT int value) Calls "C" value = get();
Define process(OUT int pid) Calls "C" pid = process();
"""
CLASS = """Module one;
Library "./libone.so";
DefClass One {
    DefMethod set(IN int value) Calls "C" set(value);
    DefMethod get(OUT int value) Calls "C" value = get();
}
"""


@pytest.fixture
def one(tmp_path):
    (tmp_path / "one.c").write_text(SOURCE)
    command = ["cc", "-shared", "-fPIC", "-o", "libone.so", "one.c"]
    subprocess.run(command, cwd=tmp_path, check=True)

    def write(text):
        (tmp_path / "one.idl").write_text(text)
        return tmp_path / "one.idl"

    return write


def test_a_module_of_one_process_answers_from_it(farcall, one):
    with farcall.connect(files=[one(INTERFACE % "executables_max = 1;")]) as server:
        calls = [server.process.submit() for _ in range(24)]
        assert len({int(call.result(30)) for call in calls}) == 1
        server.set(7)
        calls = [server.get.submit() for _ in range(24)]
        assert {int(call.result(30)) for call in calls} == {7}


@pytest.mark.parametrize(
    "text, is_told",
    [(INTERFACE % "", True), (INTERFACE % "executables_max = 1;", False), (CLASS, False)],
)
def test_a_library_that_keeps_data_is_told_once(farcall, one, text, is_told):
    from farcall._library import find

    program = find("FARCALL_PROGRAM", "bin", "farcall")
    command = [program, "serve", "--private", str(one(text))]
    pipe = subprocess.PIPE
    started = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert started.stdout.readline().startswith("unix:")
    # It ends with its standard input.
    _, said = started.communicate(timeout=60)
    notes = [line for line in said.splitlines() if "keeps data between calls" in line]
    assert len(notes) == is_told, said
    for note in notes:
        assert "libone.so keeps data between calls (last, shared_count)" in note
        assert "class" in note and "executables_max = 1;" in note


@pytest.mark.parametrize("wrong", ["executables_max = 0;", "executables_max 1;", "executables_max"])
def test_a_wrong_number_is_refused(farcall, one, wrong):
    with pytest.raises(farcall.Error, match="executables_max"):
        farcall.connect(files=[one(INTERFACE % wrong)])
