"""Calls from coroutines: they hold up no loop, need no thread each, and end with the task that
awaits them."""

import asyncio
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

BEHAVIOUR = pathlib.Path(__file__).resolve().parent / "routines/behaviour.idl"
NARROW = BEHAVIOUR.with_name("narrow.toml")


async def longest_gap(work):
    """What `work` gives, and the longest time for which it held the loop up."""
    gap, last, task = 0.0, time.monotonic(), asyncio.ensure_future(work)
    while not task.done():
        await asyncio.sleep(0.001)
        gap, last = max(gap, time.monotonic() - last), time.monotonic()
    return await task, gap


def test_results_and_errors_are_those_of_calls(server, farcall):
    async def main():
        assert (await server.square.aio(3)).y == 9
        r = await server.dgesv.aio(np.eye(3) * 2, np.ones(3), timeout=20)
        assert r.b.tolist() == [0.5] * 3
        with pytest.raises(farcall.RoutineCrashed, match="about to crash at 7"):
            await server.crash.aio(7)
        with pytest.raises(farcall.WrongType, match="takes 1 arguments by position"):
            await server.square.aio(1, 2)
        with pytest.raises(farcall.TimedOut, match="timeout: 0.2 s"):
            await server.pause.aio(30, timeout=0.2)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(server.pause.aio(30), 0.2)
        x = np.empty(3)
        await server.dgesv.aio(np.eye(3), np.ones(3), out={"b": x})
        assert x.tolist() == [1, 1, 1]

    asyncio.run(main())


def test_calls_do_not_hold_the_loop_up(server, tcp):
    big = np.ones((1500, 1500))

    async def main(there):
        _, gap = await longest_gap(there.pause.aio(0.5))
        assert gap < 0.25
        # 18 MB there and 18 MB back, which are neither copied nor sent by the loop.
        r, gap = await longest_gap(there.rows_float64.aio(big, big))
        assert gap < 0.25 and (r.b == 1).all()

    asyncio.run(main(server))
    asyncio.run(main(tcp))


def test_thousands_of_calls_need_no_thread_each(server):
    before = threading.active_count()

    async def main():
        tasks = [asyncio.ensure_future(server.square.aio(number)) for number in range(6000)]
        await asyncio.sleep(0.1)
        assert threading.active_count() <= before + 2
        return [r.y for r in await asyncio.gather(*tasks)]

    assert asyncio.run(main()) == [float(number) ** 2 for number in range(6000)]


def test_loops_of_several_threads_share_a_connection(server):
    async def main(first):
        results = await asyncio.gather(
            *(server.square.aio(first + number) for number in range(200))
        )
        return [r.y for r in results]

    found = {}
    threads = [
        threading.Thread(target=lambda first=first: found.update({first: asyncio.run(main(first))}))
        for first in (0, 1000, 2000)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert found == {
        first: [float(first + number) ** 2 for number in range(200)] for first in (0, 1000, 2000)
    }


def test_a_cancelled_task_ends_its_call(private):
    x, y = np.ones(1000), np.zeros(2)

    async def main():
        task = asyncio.ensure_future(private.loop.aio(x, inplace=True))
        short = asyncio.ensure_future(private.prefix.aio(np.ones(2), out={"y": y}))
        await asyncio.sleep(0.3)
        begin = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - begin < 2
        await short
        assert (await private.square.aio(2)).y == 4

    asyncio.run(main())
    assert private._connection.handles.waiter._pending == {}
    assert y.tolist() == [1, 1]


def test_few_calls_are_prepared_while_there_is_no_room(narrow, farcall, monkeypatch):
    monkeypatch.setattr(farcall._starter, "_QUEUE_MAX", 3)
    starter = narrow._connection.handles.starter

    async def main():
        busy = [asyncio.ensure_future(narrow.pause.aio(0.8)) for _ in range(2)]
        await asyncio.sleep(0.1)
        late = [asyncio.ensure_future(narrow.square.aio(number)) for number in range(12)]
        await asyncio.sleep(0.1)
        assert (starter._queued, len(starter._turns)) == (3, 9)
        for one in late[::2]:
            one.cancel()
        left = await asyncio.gather(*late, return_exceptions=True)
        assert [r.y for r in left[1::2]] == [1, 9, 25, 49, 81, 121]
        assert all(isinstance(r, asyncio.CancelledError) for r in left[::2])
        await asyncio.gather(*busy)

    asyncio.run(main())
    assert starter._queued == 0 and not starter._turns


def test_a_turn_that_came_too_late_is_the_next_ones(farcall, monkeypatch):
    monkeypatch.setattr(farcall._starter, "_QUEUE_MAX", 1)

    async def main():
        starter = farcall._starter.Starter()
        starter._queued = 1
        first, second = (asyncio.ensure_future(starter.turn()) for _ in range(2))
        await asyncio.sleep(0.01)
        starter._queued = 0
        starter._next_turn()
        first.cancel()
        await asyncio.wait_for(second, 5)
        with pytest.raises(asyncio.CancelledError):
            await first

    asyncio.run(main())


def test_large_arrays_are_sent_by_a_thread(server, monkeypatch):
    import farcall._routine as routine

    threads = []
    start = routine.Prepared.start_within

    def noted(self, future, wait):
        threads.append(threading.current_thread().name)
        return start(self, future, wait)

    monkeypatch.setattr(routine.Prepared, "start_within", noted)

    async def main():
        await server.rows_float64.aio(np.ones((5, 5)), np.ones((5, 5)))
        await server.rows_float64.aio(np.ones((600, 600)), np.ones((600, 600)))

    asyncio.run(main())
    assert threads[0] == threading.current_thread().name and set(threads[1:]) == {"farcall starter"}


def test_a_call_that_waits_for_room_has_its_timeout(narrow, farcall):
    async def main():
        busy = [asyncio.ensure_future(narrow.pause.aio(0.8)) for _ in range(2)]
        await asyncio.sleep(0.1)
        begin = time.monotonic()
        with pytest.raises(farcall.TimedOut):
            await narrow.square.aio(3, timeout=0.2)
        assert 0.15 < time.monotonic() - begin < 0.75
        await asyncio.gather(*busy)

    asyncio.run(main())


def test_closing_ends_what_waits_for_room(narrow, farcall):
    async def main():
        tasks = [asyncio.ensure_future(narrow.pause.aio(30)) for _ in range(6)]
        await asyncio.sleep(0.2)
        begin = time.monotonic()
        await asyncio.get_running_loop().run_in_executor(None, narrow.close)
        assert time.monotonic() - begin < 10
        ends = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 20)
        assert all(isinstance(one, farcall.Error) for one in ends), ends

    asyncio.run(main())


def test_a_loop_that_was_closed_takes_nobodys_turn(narrow, farcall, monkeypatch):
    monkeypatch.setattr(farcall._starter, "_QUEUE_MAX", 1)
    loop = asyncio.new_event_loop()
    tasks = [loop.create_task(narrow.pause.aio(0.3)) for _ in range(6)]
    loop.run_until_complete(asyncio.sleep(0.1))
    loop.close()

    async def main():
        return await asyncio.wait_for(narrow.square.aio(4), 20)

    assert asyncio.run(main()).y == 16
    for one in tasks:
        # Nobody runs them any more, and asyncio would say so.
        one._log_destroy_pending = False


def test_an_interrupt_ends_waiting_for_room():
    """A server that stands still while all places of the connection are taken."""
    program = """
        import farcall, os, signal, sys, subprocess
        server = subprocess.Popen(
            ["farcall", "serve", "--private", "--manifest", sys.argv[2], "--", sys.argv[1]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )
        client = farcall.connect(server.stdout.readline().strip())
        client.square(1), client.pause(0.01)
        calls = [client.pause.submit(60) for _ in range(2)]
        server.send_signal(signal.SIGSTOP)
        for start in (lambda: client.square.submit(3), lambda: client.square(3)):
            try:
                print("waiting", flush=True)
                start()
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        server.kill()
        os._exit(0)
    """
    text = textwrap.dedent(program)
    command = [sys.executable, "-c", text, str(BEHAVIOUR), str(NARROW)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as child:
        for _ in range(2):
            assert child.stdout.readline() == "waiting\n"
            time.sleep(0.3)
            begin = time.monotonic()
            os.killpg(child.pid, signal.SIGINT)
            assert child.stdout.readline() == "interrupted\n"
            assert time.monotonic() - begin < 2
