"""Routines, modules, parameters and results called like methods, options and words of Python."""

import asyncio
import sys

import pytest


def test_methods_hide_no_routine(server):
    for name, more in {"submit": 1, "aio": 2, "close": 3, "routines": 5, "interface": 7}.items():
        for routine in (server[f"executor/{name}"], server["executor"][name]):
            assert routine.name == f"executor/{name}" and routine(1).value == 1 + more
            assert routine.submit(1).result(30).value == 1 + more
            assert asyncio.run(routine.aio(1)).value == 1 + more
    assert server["executor/executor"](1).value == 7 and server["executor"](1).value == 7
    assert server["close"](1).value == 4 and server["class"](1)["pass"] == 9
    assert callable(server.close) and server.executor() is not None, "they stay what they are"


def test_attributes_of_a_module_are_its_routines_first(server):
    module = server["executor"]
    assert module.submit.name == "executor/submit" and module.aio.name == "executor/aio"
    assert (
        module.interface.name == "executor/interface"
        and getattr(module, "class").name == "executor/class"
    )
    assert module["executor"].submit(1).result(30).value == 7, (
        "the own routine's, whose place the others took"
    )


def test_parameters_called_like_options_and_self(server):
    assert server["close"](self=1)["values"] == 4 and server["routines"](submit=1).value == 6
    assert server["address"](1, inplace=2, inplace_=False).items == 7
    assert server["class"](def_=1)["pass"] == getattr(server["class"](1), "pass") == 9
    with pytest.raises(TypeError, match="neither True nor False"):
        server["address"](1, 2, inplace_=2)


def test_what_a_property_raises_is_not_taken_for_another_name(farcall):
    def away(_):
        raise farcall.NotFound("it is away")

    modules = [one for name, one in sys.modules.items() if name.startswith("farcall.")]
    classes = {
        one
        for module in modules
        for one in vars(module).values()
        if isinstance(one, type) and "__getattr__" in vars(one)
    }
    assert {farcall.Transaction, farcall.Results, farcall.Object} < classes
    for one in classes:
        owner = object.__new__(type("Owner", (one,), {"whereabouts": property(away)}))
        with pytest.raises(farcall.NotFound, match="it is away"):
            owner.whereabouts
    # Nor what one of the only result raises.
    with pytest.raises(farcall.NotFound, match="it is away"):
        farcall.Results({"y": type("Value", (), {"shape": property(away)})()}, None).shape
