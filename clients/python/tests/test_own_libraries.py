"""Glue over libraries of one's own, in folders with any name, on own and on confined servers."""

import subprocess

import pytest

LIBRARY = "int twice(int n) { return 2 * n; }\n"
GLUE = "int twice(int);\nint glued(int n) { return twice(n) + 1; }\n"
BODY = "Globals { int twice(int); }\nDefine f(IN int n, OUT int r) { *r = twice(n); }\n"
CLASS = """DefClass Kept {
    DefState { int kept; }
    DefMethod _initialize(IN int n) { kept = n; }
    DefMethod f(OUT int r) { *r = twice(kept); }
}
"""
TWICE = 'Define f(IN int n, OUT int r) Calls "C" r = twice(n);\n'
GLUED = 'Define f(IN int n, OUT int r) Calls "C" r = glued(n);\n'
CONFINED = '[[plugin]]\nname = "spawner-local"\nslot = "spawner"\n[plugin.options]\n'
CONFINED += "limits.confine = true\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own") / "a b" / "it's mine"
    (folder / "lib x").mkdir(parents=True)
    (folder / "x.c").write_text(LIBRARY)
    (folder / "glue.c").write_text(GLUE)
    (folder / "confined.toml").write_text(CONFINED)
    for name in ("libx.so", "lib x/liby.so", "lib x/libz.so.3"):
        command = ["cc", "-shared", "-fPIC", "-o", name, "x.c"]
        subprocess.run(command, cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("confined", [False, True])
@pytest.mark.parametrize(
    "library, code, wanted",
    [
        ("./libx.so", BODY, 10),
        ("./libx.so", BODY + CLASS, 10),
        ("glue.c ./libx.so", GLUED, 11),
        ("-L. -lx", BODY, 10),
        ("-L. -lx", TWICE, 10),
        ("glue.c '-Llib x' -ly", GLUED, 11),
        ("'-Llib x' -ly", TWICE, 10),
        ("'-Llib x' -lz", TWICE, 10),
        ("'./lib x/liby.so'", BODY, 10),
    ],
)
def test_glue_over_a_library_runs(farcall, folder, library, code, wanted, confined):
    from farcall._library import find

    file = folder / "own.idl"
    file.write_text(f'Module own;\nLibrary "{library}";\n{code}')
    program = find("FARCALL_PROGRAM", "bin", "farcall")
    command = [program, "check", "--link", str(file)]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    arguments = ["--manifest", str(folder / "confined.toml")] if confined else []
    with farcall.connect(files=[file], arguments=arguments, timeout=60) as server:
        assert server["own/f"](5).r == wanted
        if "DefClass" in code:
            with server.Kept(7) as kept:
                assert kept.f().r == 14
