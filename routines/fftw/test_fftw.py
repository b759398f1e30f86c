"""FFTW in both precisions against numpy.fft and the definitions of the cosine and sine
transforms."""

import shutil
import subprocess

import numpy as np
import pytest

SHAPES = {"": (12,), "2": (6, 10), "3": (4, 3, 8), "s": (5, 12), "2s": (3, 4, 6)}
AXES = {"": (0,), "2": (0, 1), "3": (0, 1, 2), "s": (1,), "2s": (1, 2)}


@pytest.fixture(scope="module")
def fftw(serve):
    return serve("fftw/fftw.idl").fftw


def odd(shape):
    """The same with an odd last extent, where half of a transform is rounded."""
    return (*shape[:-1], shape[-1] - 1)


@pytest.mark.parametrize("form", SHAPES)
@pytest.mark.parametrize("effort", "EM")
def test_complex(fftw, complex_kind, laid_out, form, effort):
    for shape in (SHAPES[form], odd(SHAPES[form]), (1,) * len(SHAPES[form])):
        x, axes = complex_kind.random(*shape), AXES[form]
        fft = fftw[complex_kind.letter + "fft" + form]
        given = laid_out(x) if x.ndim < 3 else np.asfortranarray(x)
        r = fft(given, effort=effort)
        assert r.info == 0 and r.y.dtype == complex_kind.dtype
        complex_kind.close(r.y, np.fft.fftn(x, axes=axes))
        points = np.prod([shape[axis] for axis in axes])
        complex_kind.close(fft(r.y, sign=1, scale=1 / points, effort=effort).y, x)


@pytest.mark.parametrize("form", SHAPES)
@pytest.mark.parametrize("effort", "EM")
def test_real(fftw, real_kind, form, effort):
    for shape in (SHAPES[form], odd(SHAPES[form]), (1,) * len(SHAPES[form])):
        x, axes = real_kind.random(*shape), AXES[form]
        r = fftw[real_kind.letter + "rfft" + form](x, effort=effort)
        assert r.info == 0
        half = np.fft.rfftn(x, axes=axes)
        real_kind.close(r.y, half)
        points = np.prod([shape[axis] for axis in axes])
        given = r.y.copy()
        back = fftw[real_kind.letter + "irfft" + form](
            shape[-1], given, scale=1 / points, effort=effort
        )
        assert back.info == 0
        real_kind.close(back.y, x)
        # Whatever FFTW does with its input, the caller's own stays.
        np.testing.assert_array_equal(given, r.y)


def cosine(n, kind):
    """The matrix of a cosine transform, as FFTW's manual defines it."""
    j, k = np.arange(n)[None, :], np.arange(n)[:, None]
    if kind == 1:
        matrix = 2 * np.cos(np.pi * j * k / max(1, n - 1))
        matrix[:, 0], matrix[:, -1] = 1, (-1.0) ** np.arange(n)
        return matrix
    if kind == 3:
        matrix = 2 * np.cos(np.pi * j * (k + 0.5) / n)
        matrix[:, 0] = 1
        return matrix
    return 2 * np.cos(np.pi * (j + 0.5) * (k + (0.5 if kind == 4 else 0)) / n)


def sine(n, kind):
    j, k = np.arange(n)[None, :], np.arange(n)[:, None]
    if kind == 1:
        return 2 * np.sin(np.pi * (j + 1) * (k + 1) / (n + 1))
    if kind == 3:
        matrix = 2 * np.sin(np.pi * (j + 1) * (k + 0.5) / n)
        matrix[:, -1] = (-1.0) ** np.arange(n)
        return matrix
    return 2 * np.sin(np.pi * (j + 0.5) * (k + (0.5 if kind == 4 else 1)) / n)


@pytest.mark.parametrize("name, matrix", [("dct", cosine), ("dst", sine)])
@pytest.mark.parametrize("type", [1, 2, 3, 4])
def test_cosines_and_sines(fftw, real_kind, name, matrix, type):
    x, image = real_kind.random(11), real_kind.random(6, 9)
    routine = real_kind.letter + name
    real_kind.close(fftw[routine](x, type=type).y, matrix(11, type) @ x)
    real_kind.close(
        fftw[routine + "2"](image, type=type).y, matrix(6, type) @ image @ matrix(9, type).T
    )
    real_kind.close(
        fftw[routine + "s"](image, type=type, scale=0.5, effort="M").y,
        image @ matrix(9, type).T / 2,
    )


def test_what_is_no_transform(fftw):
    import farcall

    x = np.ones(4)
    for call in (
        lambda: fftw.zfft(np.zeros(0, complex)),
        lambda: fftw.zfft(x + 0j, sign=2),
        lambda: fftw.zfft(x + 0j, effort="X"),
        lambda: fftw.ddct(x, type=5),
        lambda: fftw.ddct(x[:1], type=1),
        lambda: fftw.dirfft(9, x + 0j),
    ):
        with pytest.raises(farcall.Error):
            call()
    assert fftw.zffts(np.zeros((0, 5), complex)).y.shape == (0, 5)


def test_more_sizes_than_plans_are_kept(fftw):
    """Plans are dropped and made again; sizes come back in another order."""
    for n in [*range(1, 40), *range(40, 0, -3), 5, 5, 38]:
        x = np.arange(n) + 1j
        np.testing.assert_allclose(fftw.zfft(x, effort="M").y, np.fft.fft(x), atol=1e-9)


def test_many_at_once(fftw):
    x = np.random.default_rng(7).normal(size=(24, 64))
    calls = [fftw.zfft.submit(row + 0j) for row in x]
    found = [call.result(60).y for call in calls]
    np.testing.assert_allclose(found, np.fft.fft(x, axis=1), atol=1e-9)


def test_a_large_cube(fftw):
    """No copy needs room twice on its way, and extents are 64 bits in the plan."""
    x = np.random.default_rng(3).normal(size=(64, 64, 64)) + 0j
    np.testing.assert_allclose(fftw.zfft3(x).y, np.fft.fftn(x), atol=1e-7)


def test_a_machine_without_fftw_names_the_package(tmp_path, request):
    here = request.path.parent
    for file in ("fftw.idl", "farcall_fftw.c"):
        shutil.copy(here / file, tmp_path)
    glue = tmp_path / "farcall_fftw.c"
    glue.write_text(glue.read_text().replace("<fftw3.h>", "<not_fftw3.h>"))
    command = ["farcall", "check", "--link", tmp_path / "fftw.idl"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode != 0
    assert "install the package libfftw3-dev" in result.stderr, result.stderr
