"""What is told of calls while they are under way."""

import asyncio
import io
import logging
import time

import pytest

import farcall


def test_lines_come_while_the_routine_runs(server):
    server.chat(0, 0)
    heard = []
    begun = time.monotonic()
    assert (
        server.chat(
            3,
            150,
            on_output=lambda text: heard.append((text, text.stream, time.monotonic() - begun)),
        ).done
        == 3
    )
    took = time.monotonic() - begun
    assert (
        "".join(text for text, stream, _ in heard if stream == "stdout")
        == "step 1\nstep 2\nstep 3\nfür dich"
    )
    assert "".join(text for text, stream, _ in heard if stream == "stderr") == "converged\n"
    assert heard[0][0] == "step 1\n" and heard[0][2] < took - 0.3
    assert isinstance(heard[0][0], farcall.Printed)


def test_output_goes_into_a_file(server):
    file = io.StringIO()
    server.chat(1, 0, on_output=file)
    assert file.getvalue() in ("step 1\nfür dichconverged\n", "step 1\nconverged\nfür dich")


def test_progress_tells_of_the_begin(server):
    heard = []
    server.chat(0, 0, progress=heard.append)
    assert farcall.Progress("running") in heard
    assert {one.state for one in heard} <= {"queued", "running"}


def test_what_a_function_raises_ends_the_call(server):
    def stop(_):
        raise KeyError("enough")

    begun = time.monotonic()
    with pytest.raises(KeyError, match="enough"):
        server.chat(100, 100, on_output=stop)
    assert time.monotonic() - begun < 5


def test_futures_tell_too(server):
    heard, others = [], []
    futures = [
        server.chat.submit(2, 20, on_output=heard.append, progress=others.append) for _ in range(8)
    ]
    silent = [server.chat.submit(1, 0) for _ in range(8)]
    assert [future.result(20).done for future in futures] == [2] * 8
    assert [future.result(20).done for future in silent] == [1] * 8
    text = "".join(one for one in heard if one.stream == "stdout")
    assert (text.count("step 1\n"), text.count("step 2\n"), text.count("für dich")) == (8, 8, 8)
    assert others.count(farcall.Progress("running")) == 8


def test_a_function_that_raises_does_no_harm_to_a_future(server, caplog):
    def fail(_):
        raise ValueError("no disk left")

    with caplog.at_level(logging.ERROR, "concurrent.futures"):
        assert server.chat.submit(3, 20, on_output=fail).result(20).done == 3
    assert caplog.text.count("ValueError: no disk left") == 1


def test_a_function_may_call_the_server(server):
    heard = []
    future = server.chat.submit(
        2, 20, on_output=lambda text: heard.append(server.chat.submit(0, 0).result(20).done)
    )
    assert future.result(20).done == 2
    assert heard and set(heard) == {0}


def test_coroutines_tell_too(server):
    heard = []

    async def main():
        return await asyncio.gather(
            *[server.chat.aio(2, 10, on_output=heard.append) for _ in range(4)]
        )

    assert [one.done for one in asyncio.run(main())] == [2] * 4
    assert "".join(one for one in heard if one.stream == "stdout").count("step 2\n") == 4


def test_the_last_words_of_a_crash_come(server):
    heard = []
    with pytest.raises(farcall.RoutineCrashed):
        server.shriek(on_output=heard.append)
    assert "".join(heard) == "about to crash\n"


@pytest.mark.parametrize("option", ["on_output", "progress"])
def test_what_cannot_be_called_is_refused(server, option):
    with pytest.raises(farcall.WrongType, match=option):
        server.chat(0, 0, **{option: 3})
