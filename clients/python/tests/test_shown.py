"""How futures and executors print, and what Tab offers."""

import concurrent.futures

import numpy as np


def test_a_future_says_whose_call_it_is_and_how_it_is_doing(server, farcall):
    call = server.pause.submit(0.3)
    assert repr(call).startswith("<farcall.CallFuture of behaviour/pause: ") and "done" not in (
        repr(call)
    )
    call.result(10)
    assert repr(call) == "<farcall.CallFuture of behaviour/pause: done, Results(slept=0.3)>"
    wrong = server.square.submit("nine")
    assert repr(wrong) == "<farcall.CallFuture of behaviour/square: failed: WrongType>"
    ended = server.pause.submit(30)
    ended.cancel()
    assert repr(ended) == "<farcall.CallFuture of behaviour/pause: cancelled>"
    assert repr(farcall.CallFuture()) == "<farcall.CallFuture: waits to be sent>"


def test_an_executor_says_whose_it_is(server):
    with server.executor() as executor:
        assert repr(executor) == f"<farcall.Executor at {server.address}>"
        call = executor.submit("square", 2.0)
        assert "behaviour/square" in repr(call) or "square" in repr(call)
    assert repr(executor).endswith(", shut down>")


def test_tab_offers_of_a_future_what_programs_use(server):
    offered = [name for name in dir(server.square.submit(2.0)) if not name.startswith("_")]
    assert offered == [
        "add_done_callback",
        "cancel",
        "cancelled",
        "data",
        "done",
        "exception",
        "id",
        "result",
        "running",
    ]
    for name in ("set_result", "set_exception", "set_running_or_notify_cancel"):
        assert hasattr(concurrent.futures.Future, name), "hidden, and there all the same"


def test_tab_offers_names_in_full(server):
    keys = server._ipython_key_completions_()
    assert {"dgesv", "lapack", "lapack/dgesv", "behaviour/behaviour"} <= set(keys)
    assert len(keys) == len(set(keys)) and all(server[key] is not None for key in keys[:5])
    assert "dgesv" in server["lapack"]._ipython_key_completions_()
    assert "lapack/dgesv" not in server["lapack"]._ipython_key_completions_()


def test_tab_offers_classes_in_full_and_nothing_of_a_server_that_is_gone(farcall, tmp_path):
    (tmp_path / "tank.idl").write_text(
        "Module tank;\nDefClass Tank {\nDefState { int n; }\n"
        "DefMethod _initialize() { n = 0; }\n"
        "DefMethod fill(OUT int now) { *now = ++n; }\n}\n"
    )
    with farcall.connect(files=[tmp_path / "tank.idl"]) as server:
        assert "tank/Tank" in server._ipython_key_completions_()
        server._connection._listed = None
    assert server._ipython_key_completions_() == []


def test_a_result_of_several_arrays_prints_as_what_it_is(server):
    shown = repr(server.dgesv(np.eye(2), np.ones(2)))
    assert shown == "Results(a=float64[2, 2], ipiv=[1, 2], b=[1., 1.], info=0)"
