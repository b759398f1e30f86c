"""Calls that run while the program goes on: futures, and the one thread per connection that completes them."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Set

from . import _errors
from ._library import OK, error_place, ffi, lib, owned, taken

# A thread without calls to wait for ends after this many seconds, so that it keeps no connection alive.
_IDLE_SECONDS = 0.5
# The longest that the thread waits without looking whether it is to stop.
_SLICE_SECONDS = 0.25


class CallFuture(concurrent.futures.Future):  # type: ignore[type-arg]
    """The future of a call. Its arrays must not be changed until it is done; its `result()` is a `farcall.Results`.

    `cancel()` succeeds until the call is done: the future is cancelled at once, and the server is asked to end the
    call. Callbacks run in the connection's thread, so they should be short.
    """

    def __init__(self) -> None:
        super().__init__()
        self._call: Any = None
        self._deadline: Optional[float] = None
        # Everything that the call uses, until it is over.
        self._prepared: Any = None

    def started(self, call: Any, prepared: Any, timeout: Optional[float]) -> None:
        """The call is under way."""
        self._call = owned(call, lib.farcall_call_free)
        self._prepared = prepared
        self._deadline = None if timeout is None else time.monotonic() + timeout

    def running(self) -> bool:
        """Whether the call is under way."""
        return not self.done()

    def cancel(self) -> bool:
        """Asks the server to end the call. False if it is done already."""
        if self.cancelled():
            return True
        if not super().cancel():
            return False
        call = self._call
        if call is not None:
            lib.farcall_call_cancel(call, ffi.NULL)
        self._announce()
        return True

    def _announce(self) -> bool:
        """Tells those who wait for several futures of a cancellation; whether a result is wanted still."""
        try:
            return self.set_running_or_notify_cancel()
        except (concurrent.futures.InvalidStateError, RuntimeError):
            return False

    def complete(self, outcome: Callable[[], Any]) -> None:
        """Sets what `outcome` gives or raises."""
        try:
            result, error = outcome(), None
        except BaseException as raised:
            result, error = None, raised
        # From here on nobody writes to the caller's arrays.
        self._call = self._prepared = None
        if self.cancelled() or not self._announce():
            return
        if error is None:
            self.set_result(result)
        else:
            self.set_exception(error)

    def overdue(self, now: float) -> bool:
        """Whether its time is over."""
        return self._deadline is not None and now >= self._deadline

    def seconds_left(self, now: float) -> float:
        """Seconds until its time is over, at most a slice."""
        return _SLICE_SECONDS if self._deadline is None else min(max(self._deadline - now, 0.0), _SLICE_SECONDS)

    def collect(self) -> None:
        """Takes the outcome of a call that is over, or whose time is."""
        place, error, prepared = ffi.new("farcall_results **"), error_place(), self._prepared
        status = lib.farcall_call_wait(self._call, 0.0, place, error)
        if status == OK:
            self.complete(lambda: prepared.collect(place[0]))
            return
        raised = taken(status, error) if status > OK else _errors.Cancelled("the call was abandoned")
        if isinstance(raised, _errors.InterfaceChanged):
            prepared.forget_routine()
        self.complete(lambda: _raise(raised))


def _raise(error: BaseException) -> None:
    raise error


class Waiter:
    """Completes the futures of a connection, in one daemon thread that runs while there are any."""

    def __init__(self, handles: Any) -> None:
        self._handles = handles
        self._changed = threading.Condition()
        self._pending: Dict[int, CallFuture] = {}
        # Told of before their future was added, and collected before they were told of.
        self._early: Set[int] = set()
        self._overdue: Set[int] = set()
        self._thread: Optional[threading.Thread] = None
        self._stopping = False

    def add(self, future: CallFuture, number: int) -> None:
        """Watches a call that was started with `announced`."""
        with self._changed:
            early = number in self._early
            self._early.discard(number)
            if not early:
                self._pending[number] = future
            if self._thread is None:
                self._handles.hold()
                self._thread = threading.Thread(target=self._run, name="farcall futures", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        if early:
            future.collect()

    def stop(self) -> None:
        """Cancels what is under way and waits until it is over."""
        with self._changed:
            self._stopping = True
            pending = list(self._pending.values())
            thread = self._thread
            self._changed.notify_all()
        for future in pending:
            call = future._call
            if call is not None:
                lib.farcall_call_cancel(call, ffi.NULL)
        # A callback may close the connection: its thread cannot wait for itself.
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        number = ffi.new("uint64_t *")
        while self._wait_for_work():
            error = error_place()
            status = lib.farcall_next_finished(self._handles.client, self._patience(), number, error)
            if status == OK:
                self._told(number[0])
            elif status > OK:
                # The connection is gone, and each call knows why.
                taken(status, error)
                self._collect(self._take(lambda future: True))
            self._collect(self._take(lambda future: future.overdue(time.monotonic()), overdue=True))
        self._handles.release()

    def _wait_for_work(self) -> bool:
        with self._changed:
            if not self._pending and not self._stopping:
                self._changed.wait(_IDLE_SECONDS)
            if not self._pending:
                self._thread = None
                return False
            return True

    def _patience(self) -> float:
        with self._changed:
            now = time.monotonic()
            return min((future.seconds_left(now) for future in self._pending.values()), default=0.0)

    def _told(self, number: int) -> None:
        with self._changed:
            future = self._pending.pop(number, None)
            if future is None and number in self._overdue:
                self._overdue.discard(number)
            elif future is None:
                self._early.add(number)
        if future is not None:
            future.collect()

    def _take(self, wanted: Callable[[CallFuture], bool], overdue: bool = False) -> List[CallFuture]:
        with self._changed:
            numbers = [number for number, future in self._pending.items() if wanted(future)]
            if overdue:
                self._overdue.update(numbers)
            return [self._pending.pop(number) for number in numbers]

    @staticmethod
    def _collect(futures: List[CallFuture]) -> None:
        for future in futures:
            future.collect()
