"""Tracebacks of errors: they end in the caller's line, and name classes as programs import them."""

import asyncio
import pathlib
import pickle
import traceback

import numpy as np
import pytest

PACKAGE = str(pathlib.Path("farcall") / "_")


def awaited(server):
    asyncio.run(server.square.aio("nine"))


# Every way to call, look up and connect, with something wrong about it.
WRONG = {
    "a call": lambda farcall, server: server.square("nine"),
    "a call by name": lambda farcall, server: server.call("square", "nine"),
    "a name that nobody has": lambda farcall, server: server.squares,
    "an item that nobody has": lambda farcall, server: server["behaviour"]["squares"],
    "a future": lambda farcall, server: server.square.submit("nine").result(),
    "a coroutine": lambda farcall, server: awaited(server),
    "a call that fails there": lambda farcall, server: server.dgesv(np.zeros((2, 3)), np.zeros(2)),
    "what NumPy makes no array of": lambda farcall, server: server.dgesv([[1.0], [2.0, 3.0]], [1]),
    "a result that there is not": lambda farcall, server: server.square(2.0)["z"],
    "an address": lambda farcall, server: farcall.connect("tcp:nowhere"),
    "a kept call": lambda farcall, server: server.fetch("0" * 32),
    "memory": lambda farcall, server: farcall.empty(-1),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_tracebacks_end_in_the_callers_line(farcall, server, wrong):
    with pytest.raises(farcall.Error) as caught:
        wrong(farcall, server)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert sum(PACKAGE in frame.filename for frame in frames) <= 1
    written = "".join(traceback.format_exception(caught.value))
    assert "During handling" not in written and "direct cause" not in written
    assert written.splitlines()[-1].startswith(f"farcall.{type(caught.value).__name__}: ")


def test_what_the_callers_own_functions_raised_is_shown_whole(server, farcall):
    def fails(*_):
        raise ZeroDivisionError("in the caller's function")

    with pytest.raises(farcall.Error) as caught:
        server.apply(1.0, fails)
    written = "".join(traceback.format_exception(caught.value))
    assert "in fails" in written and "in the caller's function" in written


def test_an_error_within_another_ones_handling_keeps_it(server):
    with pytest.raises(TypeError) as caught:
        try:
            raise KeyError("of the program itself")
        except KeyError:
            server.square("nine")
    assert isinstance(caught.value.__context__, KeyError)


def test_classes_are_named_as_programs_import_them(farcall):
    kinds = [one for one in vars(farcall).values() if isinstance(one, type)]
    errors = [one for one in kinds if issubclass(one, farcall.Error)]
    assert len(errors) > 20 and {one.__module__ for one in errors} == {"farcall"}
    for kind in errors:
        error = kind("what", operation="call", advice="do", retryable=True)
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is kind and (again.operation, again.advice) == ("call", "do")
