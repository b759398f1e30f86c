"""Starts calls for event loops: what would hold a loop up is done by one thread per connection, in
order."""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import queue
import threading
from typing import TYPE_CHECKING, Deque, Optional, Tuple

from . import _errors

if TYPE_CHECKING:
    from ._future import CallFuture
    from ._prepared import Prepared

# A thread without calls to start ends after this many seconds.
_IDLE_SECONDS = 0.5
# The longest that the thread waits for room without looking whether the call is wanted still.
_SLICE_SECONDS = 0.25
# Calls of larger arrays are started by the thread: on one host, copying this many bytes takes about
# 0.1 ms.
_AT_ONCE_BYTES = 1 << 20
# Calls that are prepared and wait for room. Who comes later waits before anything is made of his
# arguments.
_QUEUE_MAX = 1024

_Queued = Tuple["CallFuture", "Prepared"]


class Starter:
    """Calls of event loops on their way to the server. Nothing here waits but the thread."""

    def __init__(self) -> None:
        # Re-entrant, and taken by C alone, for the reasons of `Waiter`.
        self._lock = threading.RLock()
        self._queue: queue.SimpleQueue[_Queued] = queue.SimpleQueue()
        # Those that the thread has not started yet, the one that it is about to start included.
        self._queued = 0
        self._turns: Deque[concurrent.futures.Future[None]] = collections.deque()
        self._thread: Optional[threading.Thread] = None

    async def turn(self) -> None:
        """Waits until there is room for one more call in the queue."""
        with self._lock:
            if self._queued < _QUEUE_MAX and not self._turns:
                return
            turn: concurrent.futures.Future[None] = concurrent.futures.Future()
            self._turns.append(turn)
        try:
            await asyncio.wrap_future(turn)
        except asyncio.CancelledError:
            # A turn that came meanwhile is the next one's.
            if not turn.cancel():
                self._next_turn()
            raise

    def start(self, future: CallFuture, prepared: Prepared) -> None:
        """Starts a call at once if nothing holds it up, and otherwise has the thread start it."""
        with self._lock:
            at_once = self._queued == 0 and prepared.array_bytes <= _AT_ONCE_BYTES
        if at_once and prepared.start_within(future, 0.0):
            return
        with self._lock:
            self._queued += 1
            self._queue.put((future, prepared))
            thread = self._thread
            if thread is None or not thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="farcall starter", daemon=True
                )
                self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                future, prepared = self._queue.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if self._queued == 0 and not self._turns:
                        self._thread = None
                        return
                # Whoever had a turn did not come: his loop was closed.
                for _ in range(_QUEUE_MAX):
                    self._next_turn()
                continue
            self._start_when_possible(future, prepared)
            # Neither the last call's arrays nor its results may wait for the next call.
            del future, prepared
            with self._lock:
                self._queued -= 1
            self._next_turn()

    @staticmethod
    def _start_when_possible(future: CallFuture, prepared: Prepared) -> None:
        try:
            while not future.cancelled() and not prepared.start_within(future, _SLICE_SECONDS):
                pass
        except BaseException as error:
            future.fail(error if isinstance(error, _errors.Error) else _unexpected(error))

    def _next_turn(self) -> None:
        """Lets the next one that waits for a place in the queue have it."""
        while True:
            with self._lock:
                turn = self._turns.popleft() if self._turns and self._queued < _QUEUE_MAX else None
            if turn is None or turn.set_running_or_notify_cancel():
                break
        if turn is not None:
            turn.set_result(None)


def _unexpected(error: BaseException) -> _errors.Error:
    made = _errors.make(_errors.InternalError, "start a call", f"{type(error).__name__}: {error}")
    made.__cause__ = error
    return made
