"""What `farcall scan` drafts of C headers compiles, and can be called; needs the stage."""

import os
import pathlib
import subprocess

import farcall
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))

HEADER = """
#ifndef MOTION_H
#define MOTION_H
#include "kinds.h"
#define AXES 3
#define API __attribute__((visibility("default")))

typedef struct body_s body;
typedef real (*force_t)(real x, void *with);

/* Sum of squares. */
API double squares(const double *x, int n);
API void cross(const real a[AXES], const real b[AXES], real c[AXES]);
API real work(force_t force, void *with, real from, real to);
API _Bool moves(real speed);
API const char *unit(int kind);
API int body_create(body **made, real mass);
API real body_push(body *b, real force, const real *times, size_t n_times);
API real body_until(body *b, _Bool (*enough)(real speed, void *with), void *with);
API int body_free(body *b);
#endif
"""
KINDS = "#include <stddef.h>\ntypedef double real;\nreal not_drafted(real x);\n"
SOURCE = """
#include "motion.h"
#include <stdlib.h>
struct body_s { real mass, speed; };
double squares(const double *x, int n) { double s = 0; while (n--) s += x[n] * x[n]; return s; }
void cross(const real a[3], const real b[3], real c[3])
{
    for (int i = 0; i < 3; i++)
        c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}
real work(force_t force, void *with, real from, real to)
{ return (force(from, with) + force(to, with)) / 2 * (to - from); }
_Bool moves(real speed) { return speed != 0; }
const char *unit(int kind) { return kind == 0 ? "m" : kind == 1 ? "m/s" : NULL; }
int body_create(body **made, real mass)
{
    *made = calloc(1, sizeof **made);
    (*made)->mass = mass;
    return 0;
}
real body_push(body *b, real force, const real *times, size_t n_times)
{
    for (size_t i = 0; i < n_times; i++) b->speed += force / b->mass * times[i];
    return b->speed;
}
real body_until(body *b, _Bool (*enough)(real speed, void *with), void *with)
{
    while (!enough(b->speed, with)) b->speed += 1;
    return b->speed;
}
int body_free(body *b) { free(b); return 0; }
"""


def scan(folder, *arguments, **environment):
    command = [STAGE / "bin/farcall", "scan", *arguments]
    environment = {**os.environ, **environment}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )


@pytest.fixture(scope="module")
def motion(tmp_path_factory):
    folder = tmp_path_factory.mktemp("motion")
    (folder / "own").mkdir()
    (folder / "motion.h").write_text(HEADER)
    (folder / "own/kinds.h").write_text(KINDS)
    (folder / "motion.c").write_text(SOURCE)
    compiler = ["cc", "-shared", "-fPIC", "-Iown", "-o", "libmotion.so", "motion.c"]
    subprocess.run(compiler, cwd=folder, check=True)
    done = scan(folder, "motion.h", "--include", "own")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "motion.idl: module motion, 9 routines" in done.stdout
    with farcall.connect(files=[folder / "motion.idl"]) as server:
        yield server


def test_functions_of_a_header_are_called(motion):
    assert motion.squares([3.0, 4.0]).result == 25
    assert "Sum of squares." in motion.squares.__doc__
    assert motion.cross([1.0, 0, 0], [0.0, 1, 0], np.zeros(3)).c.tolist() == [0, 0, 1]
    assert motion.moves(2.0).result and not motion.moves(0.0).result
    assert [motion.unit(kind).result for kind in range(3)] == ["m", "m/s", None]
    assert not hasattr(motion, "not_drafted")


def test_a_function_with_something_for_it_is_called_back(motion):
    assert motion.work(1.0, 3.0, lambda x: x * x).result == 10


def test_a_handle_is_an_object(motion):
    with motion.body(2.0) as body:
        assert body.push(4.0, [1.0, 2.0]).result == 6
        assert body.push(4.0, [1.0]).result == 8
        assert body.until(lambda speed: speed > 10).result == 11


def test_what_cannot_be_decided_is_said_with_its_place(tmp_path):
    (tmp_path / "a.h").write_text("void total(int n, const double *areas, double *sum);\n")
    done = scan(tmp_path, "a.h")
    assert done.returncode == 2
    assert "a.h:1:48: error: total: parameter sum points to an unknown number" in done.stderr
    draft = (tmp_path / "a.idl").read_text()
    assert "IN double areas[n]" in draft and "INOUT double sum[?]" in draft
    assert "1 thing is left to decide" in done.stdout


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("a.c", "int f(void) { return 1; }\n", "it is a source of C or C++"),
        ("a.hpp", "class A {};\n", "it is a header of C++"),
        ("a.h", "#define ONE 1\n", "it declares no function"),
        ("a.h", '#include "nowhere.h"\nint f(void);\n', "the preprocessor failed"),
    ],
)
def test_what_is_no_header_is_refused(tmp_path, file, text, words):
    (tmp_path / file).write_text(text)
    done = scan(tmp_path, file)
    assert done.returncode == 2 and words in done.stderr, done.stderr


def test_headers_of_a_folder_are_one_module(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/a.h").write_text("typedef float real;\n")
    (tmp_path / "lib/b.h").write_text("double twice(real x);\n")
    done = scan(tmp_path, "lib")
    assert done.returncode == 0 and "lib.idl: module" in done.stdout, done.stderr
    assert "IN float x" in (tmp_path / "lib.idl").read_text()
    done = scan(tmp_path, "lib/b.h", "--build", "--force")
    assert done.returncode == 2 and "--build and --uses are for Fortran" in done.stderr
