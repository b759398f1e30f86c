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


def test_libraries_that_only_lie_beside_a_module_are_not_told(farcall, one, tmp_path):
    """The library of a class, beside modules of other libraries and of none."""
    from farcall._library import find

    one(CLASS)
    (tmp_path / "two.c").write_text("static int n; int two(void) { return ++n; }")
    (tmp_path / "three.c").write_text("int three(void) { return 3; }")
    for name in ("two", "three"):
        command = ["cc", "-shared", "-fPIC", "-o", f"lib{name}.so", f"{name}.c"]
        subprocess.run(command, cwd=tmp_path, check=True)
        text = f'Module {name}; Library "./lib{name}.so"; Define {name}(OUT int result) '
        (tmp_path / f"{name}.idl").write_text(f'{text}Calls "C" result = {name}();')
    again = (tmp_path / "two.idl").read_text().replace("Module two;", "Module again;")
    (tmp_path / "again.idl").write_text(again)
    program = find("FARCALL_PROGRAM", "bin", "farcall")
    files = [str(tmp_path / f"{name}.idl") for name in ("one", "two", "three", "again")]
    pipe = subprocess.PIPE
    command = [program, "serve", "--private", *files]
    started = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert started.stdout.readline().startswith("unix:")
    _, said = started.communicate(timeout=60)
    notes = [line for line in said.splitlines() if "keeps data between calls" in line]
    assert len(notes) == 1 and "libtwo.so keeps data between calls (n)" in notes[0], said


@pytest.mark.parametrize("wrong", ["executables_max = 0;", "executables_max 1;", "executables_max"])
def test_a_wrong_number_is_refused(farcall, one, wrong):
    with pytest.raises(farcall.Error, match="executables_max"):
        farcall.connect(files=[one(INTERFACE % wrong)])
