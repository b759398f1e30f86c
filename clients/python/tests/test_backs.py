"""Python routines that call functions of their callers, say how far they are, and ask whether they
are to end."""

import pathlib
import subprocess
import time

import farcall
import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture(scope="module", params=["unix", "tcp"])
def backs(request, tmp_path_factory):
    options = {}
    if request.param == "tcp":
        token = tmp_path_factory.mktemp("tcp") / "token"
        options = {
            "arguments": ["--listen", "tcp:127.0.0.1:0", "--token-file", str(token)],
            "token_file": token,
        }
    with farcall.connect(files=[HERE / "routines/backs.py"], timeout=60, **options) as server:
        yield server.backs


def test_functions_are_called_like_functions(backs):
    assert repr(backs.integrate) == "integrate(a, b, steps, f) -> result"
    assert backs.integrate(0.0, 3.0, 300, lambda x: x * x).result == pytest.approx(9, abs=1e-3)
    assert backs.integrate(0.0, 1.0, 10, f=np.exp).result == pytest.approx(np.e - 1, abs=2e-3)


def test_arrays(backs):
    for n in (0, 1, 3000, 1 << 18):
        x = np.arange(float(n))
        assert np.array_equal(backs.apply(x, lambda x: 2 * x).result, 2 * x), n
    a = np.arange(6.0).reshape(2, 3)
    assert backs.turn(a, lambda n, m, a: a.T).result.tolist() == a.T.tolist()


def test_every_kind_of_parameter(backs):
    def f(x, s, k, z, u, c, wide):
        assert (s, k, z, u, c) == ("für", 3, 1 + 2j, "u", "c") and wide.tolist() == [0, 1, 2, 3]
        x[:] = [1, 2, 3, 4]
        return "tür", k + 1, 2 * z, u + u

    assert backs.mixed(4, f).total == 10


def test_a_function_that_fails_is_an_exception_there(backs):
    def sometimes(n):
        if n % 2:
            raise ValueError("odd")

    assert backs.careful(5, sometimes).result == 2
    with pytest.raises(
        farcall.RoutineFailed, match=r"ZeroDivisionError.*backs/integrate\.f"
    ) as raised:
        backs.integrate(0.0, 1.0, 3, lambda x: 1 / x)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_each_thread_of_a_routine_hears_of_its_own_failures(backs):
    def odd(one):
        if one % 2:
            raise ValueError(f"thread {one}")

    assert backs.together(8, odd).result == 0


def test_a_function_ends_with_its_call(backs):
    assert backs.keep(lambda n: 10 * n).result == 10
    with pytest.raises(farcall.RoutineFailed, match="its call has ended"):
        for _ in range(8):
            # Until it meets the process that has kept one.
            backs.keep(lambda n: n)


@pytest.mark.parametrize(
    "how, words",
    [
        (0, r"called with 2 arguments.*a function of \(argument1\) that returns result"),
        (1, "argument1"),
    ],
)
def test_a_routine_that_calls_it_wrongly_is_told(backs, how, words):
    with pytest.raises(farcall.RoutineFailed, match=words):
        backs.wrong(how, lambda n: n)


def test_progress_is_told(backs):
    heard = []
    assert backs.steps(4, 0.05, progress=heard.append).result == 4
    told = [one for one in heard if one.done is not None]
    assert [(one.done, one.text) for one in told] == [
        (0, "step 0"),
        (0.25, "step 1"),
        (0.5, "step 2"),
        (0.75, "step 3"),
        (1, ""),
    ]


def test_a_routine_that_asks_ends_by_itself(backs):
    backs.steps(1, 0.0)
    call = backs.steps.submit(100_000, 0.01)
    while not call.running():
        time.sleep(0.01)
    begun = time.monotonic()
    assert call.cancel()
    assert backs.steps(1, 0.0).result == 1
    assert time.monotonic() - begun < 2


def test_outside_of_a_call_nobody_listens():
    assert farcall.is_cancelled() is False
    assert farcall.progress(0.5, "half") is None


def test_hints_of_functions_that_say_too_little_are_named(tmp_path):
    for hint, words in (
        ("Callable", "does not say what the function takes"),
        ("Callable[..., float]", "takes"),
        ("Callable[[list], float]", "does not travel"),
    ):
        file = tmp_path / "wrong.py"
        file.write_text(
            f"from typing import Callable\ndef g(f: {hint}) -> float:\n    return 1.0\n"
        )
        with pytest.raises(farcall.Error, match=words):
            farcall.connect(files=[file], timeout=60)
