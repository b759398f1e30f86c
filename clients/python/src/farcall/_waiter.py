"""The one thread per connection that completes the futures of calls that run while the program goes
on."""

from __future__ import annotations

import heapq
import logging
import queue
import threading
import time
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Set, Tuple

from ._library import OK, PENDING, error_place, ffi, lib, taken

if TYPE_CHECKING:
    from ._future import CallFuture

# A thread without calls to wait for ends after this many seconds, so that it keeps no connection
# alive.
_IDLE_SECONDS = 0.5
# The longest that the thread waits without looking whether it is to stop.
_SLICE_SECONDS = 0.25
# Deadlines of calls that are over are thrown away where there are so many more than calls.
_STALE_MAX = 1000
# Closing waits no longer than this for the thread, whose callbacks may never end.
_STOP_SECONDS = 30.0
# Where the standard library says what callbacks of futures raise.
_LOG = logging.getLogger("concurrent.futures")


class Waiter:
    """Completes the futures of a connection, in one daemon thread that runs while there are any.

    An interrupt may come between any two steps of Python's in the main thread, which therefore
    takes only what C takes and gives back in one: an `RLock`, and no `Condition`. It is re-entrant
    because garbage may be collected, and a connection closed with it, while it is held.
    """

    def __init__(self, handles: Any) -> None:
        self._handles = handles
        self._lock = threading.RLock()
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._pending: Dict[int, CallFuture] = {}
        # When the time of which call is over, the first in front; also of calls that are over
        # already.
        self._deadlines: List[Tuple[float, int]] = []
        # Told of before their future was added, and collected before they were told of.
        self._early: Set[int] = set()
        self._overdue: Set[int] = set()
        self._thread: Optional[threading.Thread] = None
        self._idle = False
        self._stopping = False

    def add(self, future: CallFuture, number: int) -> None:
        """Watches a call that was started with `announced`."""
        with self._lock:
            early = number in self._early
            self._early.discard(number)
            # Cancelled is what nobody will be told of.
            if not early and not future.cancelled():
                self._watch(number, future)
                self._have_thread()
        if early:
            self._hear(number, future)
        elif self._stopping:
            # It was started while the connection was being closed.
            self._close(number, future)

    def _watch(self, number: int, future: CallFuture) -> None:
        self._pending[number] = future
        if future.deadline is not None:
            heapq.heappush(self._deadlines, (future.deadline, number))

    def forget(self, number: int) -> None:
        """The call is given up."""
        with self._lock:
            self._pending.pop(number, None)
            self._early.discard(number)

    def hand_over(self) -> None:
        """Has another thread do the work of this one, if this is it: a callback is about to wait
        for a call."""
        with self._lock:
            if self._thread is threading.current_thread():
                self._have_thread()

    def _have_thread(self) -> None:
        """Starts a thread unless there is one, other than this, that takes care of what is
        pending."""
        thread = self._thread
        # One whose start was interrupted is not alive.
        if thread is None or not thread.is_alive() or thread is threading.current_thread():
            client = self._handles.client()
            thread = threading.Thread(
                target=self._run, args=(client,), name="farcall futures", daemon=True
            )
            self._thread = thread
            thread.start()
        self._ring()

    def _ring(self) -> None:
        if self._idle:
            self._idle = False
            self._bell.put(None)

    def stop(self) -> None:
        """Cancels what is under way and waits until it is over, but not for ever."""
        with self._lock:
            self._stopping = True
            pending, thread = list(self._pending.items()), self._thread
            self._ring()
        for number, future in pending:
            self._close(number, future)
        # A callback may close the connection: its thread cannot wait for itself.
        if thread is not None and thread is not threading.current_thread():
            thread.join(_STOP_SECONDS)

    def _close(self, number: int, future: CallFuture) -> None:
        future.close()
        with self._lock:
            if number in self._pending:
                self._watch(number, future)

    def _run(self, client: Any) -> None:
        number = ffi.new("uint64_t *")
        while self._wait_for_work():
            error = error_place()
            status = lib.farcall_next_finished(client[0], self._patience(), number, error)
            if status == OK:
                self._told(number[0])
            elif status != PENDING:
                # The connection is gone, and each call knows why.
                taken(status, error)
                self._collect_all()
            self._collect_overdue()

    def _wait_for_work(self) -> bool:
        """False if there has been nothing to do for a while, or another thread does it by now."""
        with self._lock:
            self._idle = not self._pending and not self._stopping and self._is_mine()
        if self._idle:
            try:
                self._bell.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                pass
        with self._lock:
            if not self._is_mine():
                return False
            self._idle = False
            if not self._pending:
                self._thread = None
            return bool(self._pending)

    def _is_mine(self) -> bool:
        return self._thread is threading.current_thread()

    def _patience(self) -> float:
        with self._lock:
            if not self._pending:
                return 0.0
            at = self._next_deadline()
        return (
            _SLICE_SECONDS if at is None else min(max(at - time.monotonic(), 0.0), _SLICE_SECONDS)
        )

    def _next_deadline(self) -> Optional[float]:
        if len(self._deadlines) > 2 * len(self._pending) + _STALE_MAX:
            self._deadlines = [
                (one.deadline, number)
                for number, one in self._pending.items()
                if one.deadline is not None
            ]
            heapq.heapify(self._deadlines)
        while self._deadlines:
            at, number = self._deadlines[0]
            future = self._pending.get(number)
            if future is not None and future.deadline == at:
                return at
            heapq.heappop(self._deadlines)
        return None

    def _told(self, number: int) -> None:
        with self._lock:
            future = self._pending.pop(number, None)
            if future is None and number in self._overdue:
                self._overdue.discard(number)
            elif future is None:
                self._early.add(number)
        if future is not None:
            self._hear(number, future)

    def _hear(self, number: int, future: CallFuture) -> None:
        """A call is over, or there are news of it, which nobody else takes meanwhile."""
        while not future.hear():
            with self._lock:
                # It was told of again meanwhile.
                if number in self._early:
                    self._early.discard(number)
                    continue
                if not future.cancelled():
                    self._watch(number, future)
                return
        with self._lock:
            self._early.discard(number)
        self._collect(future)

    def _collect_all(self) -> None:
        with self._lock:
            numbers = list(self._pending)
        for number in numbers:
            self._collect_untold(number)

    def _collect_overdue(self) -> None:
        while True:
            with self._lock:
                at = self._next_deadline()
                if at is None or at > time.monotonic():
                    return
                number = self._deadlines[0][1]
            self._collect_untold(number)

    def _collect_untold(self, number: int) -> None:
        """One at a time: while a callback waits for one of the others, another thread can take
        that."""
        with self._lock:
            future = self._pending.pop(number, None)
            if future is not None:
                self._overdue.add(number)
        if future is not None:
            self._collect(future)

    @staticmethod
    def _collect(future: CallFuture) -> None:
        try:
            future.collect()
        except BaseException:
            # The standard library lets pass what is no Exception, such as that of sys.exit().
            # Others wait for this thread, too.
            _LOG.exception("exception calling callback for %r", future)
