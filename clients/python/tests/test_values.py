"""Values that functions return, of the caller's and of libraries: numbers of callbacks, bool, texts,
structs."""

import shutil
import subprocess

import numpy as np
import pytest

LIBRARY = """
#include <complex.h>
#include <stdbool.h>
#include <stddef.h>

double use(double (*f)(double), double x) { return f(x) + 1; }
long sum(signed char (*a)(int), short (*b)(void), unsigned char (*c)(int), float (*d)(float))
{
    return a(-3) * 1000000L + b() * 1000L + c(200) + (long)d(2.5f);
}
double complex turn(double complex (*f)(double complex), double complex z) { return 2 * f(z); }
int until(int most, bool (*stop)(int))
{
    int i = 0;
    while (i < most && !stop(i)) i++;
    return i;
}
bool flip(bool b) { return !b; }
int count(int n, const bool *on) { int i, k = 0; for (i = 0; i < n; i++) k += on[i]; return k; }
void turned(int n, bool *on) { int i; for (i = 0; i < n; i++) on[i] = !on[i]; }
const char *name(int k) { return k == 1 ? "one" : k == 2 ? "f\\303\\274nf" : k == 3 ? "" : NULL; }
struct point { double x, y; int tag; };
struct point mirrored(struct point p) { struct point q = {p.y, p.x, -p.tag}; return q; }
double along(struct point (*f)(double), double t) { struct point p = f(t); return p.x + p.y; }
"""
INTERFACE = """
Module values;
Library "./libvalues.so";
Struct point { double x, y; int tag; }
Define use(IN double x, OUT double r, double f(IN double x)) Calls "C" r = use(f, x);
Define sum(OUT long r, int8 a(IN int k), short b(), uint8 c(IN int k), float d(IN float x))
Calls "C" r = sum(a, b, c, d);
Define turn(IN dcomplex z, OUT dcomplex r, dcomplex f(IN dcomplex z)) Calls "C" r = turn(f, z);
Define until(IN int most, OUT int n, bool stop(IN int i)) Calls "C" n = until(most, stop);
Define flip(IN bool b, OUT bool r) Calls "C" r = flip(b);
Define count(IN int n, IN bool on[n], OUT int k) Calls "C" k = count(n, on);
Define turned(IN int n, INOUT bool on[n]) Calls "C" turned(n, on);
Define inverse(IN _Bool b, OUT bool r) { *r = !b; }
Define name(IN int k, OUT string t) Calls "C" t = name(k);
Define mirrored(IN point p, OUT point q) Calls "C" q = mirrored(p);
Define along(IN double t, OUT double r, point f(IN double t)) Calls "C" r = along(f, t);
"""


@pytest.fixture(scope="module")
def values(farcall, tmp_path_factory):
    if shutil.which("cc") is None:
        pytest.skip("no cc")
    folder = tmp_path_factory.mktemp("values")
    (folder / "values.c").write_text(LIBRARY)
    (folder / "values.idl").write_text(INTERFACE)
    command = ["cc", "-shared", "-fPIC", "-o", "libvalues.so", "values.c"]
    subprocess.run(command, cwd=folder, check=True)
    with farcall.connect(files=[folder / "values.idl"]) as server:
        yield server


def test_a_callback_returns_a_number(values, server):
    assert values.use(3.0, lambda x: 2 * x).r == 7.0
    assert values.use(0.0, np.cos).r == 2.0
    assert server.calling.after(3.0, lambda x: 2 * x).y == 7.0


def test_numbers_of_every_width_are_returned_whole(values):
    r = values.sum(lambda k: k, lambda: -7, lambda k: k, lambda x: x * 2).r
    assert r == -3 * 1000000 - 7 * 1000 + 200 + 5
    assert values.turn(1 + 2j, lambda z: z * 1j).r == 2j * (1 + 2j)


def test_a_callback_returns_truth_and_structs(values):
    assert values.until(9, lambda i: i == 4).n == 4
    assert values.until(9, lambda i: np.bool_(i > 6)).n == 7
    assert values.along(2.0, lambda t: (t, 2 * t, 1)).r == 6.0


def test_what_a_callback_does_not_return_is_said(values, farcall):
    with pytest.raises(farcall.Error, match="it returned nothing as result"):
        values.use(1.0, lambda x: None)
    with pytest.raises(farcall.Error, match="a tuple|result"):
        values.use(1.0, lambda x: (x, x))

    def failing(x):
        raise ValueError("no such point")

    with pytest.raises(farcall.Error, match="no such point"):
        values.use(1.0, failing)


def test_bool_is_truth(values):
    for given in (True, 1, np.bool_(True), 7, 256):
        r = values.flip(given).r
        assert isinstance(r, np.bool_) and not r, given
        assert not values.inverse(given).r
    assert values.flip(False).r and values.inverse(0).r
    assert values.count([True, False, True]).k == 2
    assert values.count(np.array([3, 0, -1, 256])).k == 3
    on = values.turned([True, False, True]).on
    assert on.dtype == bool and on.tolist() == [False, True, False]


def test_a_function_returns_text(values):
    assert [values.name(k).t for k in (1, 2, 3, 4)] == ["one", "fünf", "", None]


def test_a_function_takes_and_returns_a_struct(values):
    q = values.mirrored((1.0, 2.0, 3)).q
    assert (q["x"], q["y"], q["tag"]) == (2.0, 1.0, -3)


FORTRAN = """
      DOUBLE PRECISION FUNCTION CENTER(F, A, B)
      DOUBLE PRECISION F, A, B
      EXTERNAL F
      CENTER = F((A + B) / 2) + 1
      END
      INTEGER FUNCTION FIRST(STOPS, N)
      LOGICAL STOPS
      INTEGER N
      EXTERNAL STOPS
      DO 10 FIRST = 1, N
      IF (STOPS(FIRST)) RETURN
   10 CONTINUE
      END
"""
FORTRAN_INTERFACE = """
Module fvalues;
Library "./libfvalues.so";
Define center(IN double a, IN double b, OUT double r, double f(IN double x))
Calls "Fortran" r = center(f, a, b);
Define first(IN int n, OUT int r, logical stops(IN int k)) Calls "Fortran" r = first(stops, n);
"""


def test_functions_of_fortran_routines(farcall, tmp_path):
    if shutil.which("gfortran") is None:
        pytest.skip("no gfortran")
    (tmp_path / "fvalues.f").write_text(FORTRAN)
    (tmp_path / "fvalues.idl").write_text(FORTRAN_INTERFACE)
    command = ["gfortran", "-shared", "-fPIC", "-o", "libfvalues.so", "fvalues.f"]
    subprocess.run(command, cwd=tmp_path, check=True)
    with farcall.connect(files=[tmp_path / "fvalues.idl"]) as server:
        assert server.center(2.0, 4.0, lambda x: 2 * x).r == 7.0
        assert server.first(9, lambda k: k * k > 20).r == 5


TEXTS = """
Module texts;
Globals {
#include <stdlib.h>
#include <string.h>
}
Define length(IN string t, OUT long n, OUT int last) { *n = strlen(t); *last = t[*n - 1]; }
Define make(IN long n, OUT string t)
{ char *p = malloc(n + 1); memset(p, 'y', n); p[n] = 0; *t = p; }
Define total(IN int n, IN string t[n], OUT long k)
{ int i; *k = 0; for (i = 0; i < n; i++) *k += t[i] ? strlen(t[i]) : 1000; }
Define copies(IN int n, IN long k, OUT string t[n], OUT string other)
{
    int i;
    for (i = 0; i < n - 1; i++) {
        t[i] = malloc(k + 1);
        memset(t[i], 'a' + i, k);
        t[i][k] = 0;
    }
    t[n - 1] = 0;
    *other = t[0];
}
Define loud(INOUT string t) { char *p; for (p = *t; *p; p++) *p = *p == 'x' ? 'X' : *p; }
Define both(INOUT string t[2]) { char *first = t[0]; t[0] = t[1]; t[1] = first; }
Define sized(IN string t, OUT char copy[length(t)]) { memcpy(copy, t, strlen(t)); }
"""


@pytest.fixture(scope="module", params=["unix", "tcp"])
def texts(request, farcall, tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    (folder / "texts.idl").write_text(TEXTS)
    options = {}
    if request.param == "tcp":
        token = folder / "token"
        options["arguments"] = ["--listen", "tcp:127.0.0.1:0", "--token-file", str(token)]
        options["token_file"] = token
    with farcall.connect(files=[folder / "texts.idl"], **options) as server:
        yield server


LENGTHS = (0, 1, 4096, 4097, 786432, 786433, (1 << 20) - 1, 1 << 20, 2 << 20, 20_000_001)


def test_texts_of_any_length_go_and_come(texts):
    for n in LENGTHS[1:]:
        r = texts.length("x" * (n - 1) + "z")
        assert (r.n, r.last) == (n, ord("z")), n
    for n in LENGTHS:
        assert texts.make(n).t == "y" * n, n
        assert texts.loud(["x" * n]).t == "X" * n, n


def test_many_texts_go_and_come(texts):
    assert texts.total(["x" * 300_000] * 5 + [None]).k == 1_501_000
    assert texts.total(["x"] * 300_000).k == 300_000
    r = texts.copies(4, 700_000)
    assert r.t == ["a" * 700_000, "b" * 700_000, "c" * 700_000, None]
    assert r.other == "a" * 700_000
    assert texts.both(["x" * (5 << 20), None]).t == [None, "x" * (5 << 20)]
    assert texts.both(["ä" * (3 << 20), "short"]).t == ["short", "ä" * (3 << 20)]


def test_what_no_text_may_be_is_said(texts, farcall):
    with pytest.raises(farcall.Error, match="contains a NUL"):
        texts.total(["a", "b\0c"])
    assert texts.sized("abc").copy == "abc"
    with pytest.raises(farcall.Error, match="control_bytes_max"):
        texts.sized("x" * (5 << 20))
