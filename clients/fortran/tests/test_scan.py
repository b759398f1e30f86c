"""What `farcall scan` drafts of Fortran as people write it compiles, and can be called; needs the
stage."""

import os
import pathlib
import subprocess

import farcall
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
MODERN = ROOT / "protocol/fortran/tests/golden/modern.f90"


def scan(folder, *arguments, **environment):
    command = [STAGE / "bin/farcall", "scan", *arguments]
    environment = {**os.environ, **environment}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


@pytest.fixture(scope="module")
def modern(tmp_path_factory):
    folder = tmp_path_factory.mktemp("modern")
    done = scan(folder, MODERN, "--build")
    # Some is left to be decided there, and said; what was drafted is compiled all the same.
    assert done.returncode == 2 and (folder / "libmodern.so").exists(), done.stdout + done.stderr
    with farcall.connect(files=[folder / "modern.idl"]) as server:
        yield server


def test_functions_are_called_back(modern):
    assert modern.integrate(0.0, 1.0, 1000, lambda x: x * x).total == pytest.approx(1 / 3, rel=1e-5)
    assert modern.own(lambda: 7).y == 7


def test_functions_of_arrays_and_of_values_are_called_back(modern):
    seen = []
    x = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    done = modern.slide(
        x,
        lambda x, scale, rows, columns: scale * x.sum(),
        lambda step, n, flat: seen.append((step, n, flat.shape)),
        lambda step: step == 3,
    )
    assert seen == [(step, 6, (6,)) for step in (1, 2, 3)]
    assert done.lowest == 3 * x.sum() / 8
    assert np.allclose(done.x, x / 8)


def test_an_error_of_a_function_is_the_callers(modern):
    with pytest.raises(farcall.Error) as told:
        modern.integrate(0.0, 1.0, 10, lambda x: 1 / 0)
    assert isinstance(told.value.__cause__, ZeroDivisionError)
    assert modern.integrate(0.0, 2.0, 10, lambda x: 1.0).total == pytest.approx(2)


def test_procedures_of_submodules_and_of_c_and_texts_and_kept_words(modern):
    assert list(modern.shift(np.zeros(3)).x) == [3, 3, 3]
    assert list(modern.by_value(np.zeros(2)).x) == [2, 2]
    assert modern.label(42).text.strip() == "42"
    assert list(modern.words(1, 2, np.ones(2)).half) == [1.5, 1.5]


def test_constants_rest_on_others_of_the_same_statement(modern):
    done = modern.powers(np.ones((3, 8), np.float32, order="F"))
    assert np.all(done.x == 2) and done.counts.dtype == np.int64 and list(done.counts) == [8, 8, 8]


def test_the_preprocessor_and_included_files(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own/sizes.inc").write_text("  integer, parameter :: most = 3\n")
    (tmp_path / "twice.F90").write_text(
        "module twice_it\n# ifdef SINGLE\n  integer, parameter :: wp = kind(1.0)\n# else\n"
        "  integer, parameter :: wp = kind(1d0)\n# endif\n  include 'sizes.inc'\ncontains\n"
        "  subroutine twice(x)\n"
        "    real(wp), intent(inout) :: x(most)\n    x = 2 * x\n  end subroutine\nend module\n"
    )
    unread = scan(tmp_path, "twice.F90", "--output", "unread.idl")
    assert unread.returncode == 2
    assert (
        "twice.F90:10: error: twice: argument x: the size of dimension 1 names most"
        in unread.stderr
    )
    assert (
        "'sizes.inc' in line 7 cannot be read: there is no such file next to the source"
        in unread.stderr
    )
    done = scan(tmp_path, "twice.F90", "--include", "own", "--build")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "INOUT double x[3]" in (tmp_path / "twice.idl").read_text()
    single = scan(tmp_path, "twice.F90", "-I", "own", "--force", "--build", FC="gfortran -DSINGLE")
    assert single.returncode == 0, single.stdout + single.stderr
    with farcall.connect(files=[tmp_path / "twice.idl"]) as server:
        assert list(server.twice(np.ones(3, np.float32)).x) == [2, 2, 2]
    none = scan(tmp_path, "twice.F90", "--force", FC="no-such-compiler")
    assert none.returncode != 0
    assert (
        "twice.F90" in none.stderr and "preprocessor lines" in none.stderr and "FC" in none.stderr
    )


@pytest.mark.parametrize(
    "name, text, status, words",
    [
        (
            "absent.f90",
            None,
            3,
            "there is no such file (file: absent.f90); check the path: it is relative to this "
            "directory",
        ),
        (
            ".",
            None,
            2,
            "the directory has no Fortran source (directory: .); pass files that end in",
        ),
        (
            "main.f90",
            "program main\nend program\n",
            2,
            "it has no public procedure (file: main.f90); pass a source with a",
        ),
        (
            "noise.f90",
            "hello world",
            2,
            "it has no public procedure (file: noise.f90); pass a source with a",
        ),
    ],
)
def test_what_is_no_source_is_told_with_what_to_do(tmp_path, name, text, status, words):
    if text is not None:
        (tmp_path / name).write_text(text)
    done = scan(tmp_path, name)
    assert (done.returncode, "scan a Fortran source: " in done.stderr, words in done.stderr) == (
        status,
        True,
        True,
    ), done.stderr
    assert not list(tmp_path.glob("*.idl"))


def test_functions_that_old_procedures_are_given_return_their_values(tmp_path):
    (tmp_path / "quad.f").write_text(
        """
      SUBROUTINE QUAD(F, A, B, R)
      DOUBLE PRECISION F, A, B, R, X
      EXTERNAL F
      X = (A + B) / 2
      R = (F(A) + 4 * F(X) + F(B)) * (B - A) / 6
      END
      INTEGER FUNCTION COUNTS(L, N)
      LOGICAL L
      INTEGER N, I
      COUNTS = 0
      DO 10 I = 1, N
   10 IF (L(I)) COUNTS = COUNTS + 1
      END
"""
    )
    done = scan(tmp_path, "quad.f", "--build")
    assert done.returncode == 0, done.stderr
    assert "double f(IN double a)" in (tmp_path / "quad.idl").read_text()
    with farcall.connect(files=[tmp_path / "quad.idl"]) as server:
        assert server.quad(0.0, 3.0, lambda x: x * x).r == pytest.approx(9)
        assert server.counts(9, lambda i: i % 2 == 0).result == 4
