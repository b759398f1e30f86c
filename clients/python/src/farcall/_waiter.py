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
# So long after a call it waits for the server without a call that is open: the next one comes soon
# where a program makes one after the other, and waking the thread for each takes longer.
_LINGER_SECONDS = 0.005
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
        # Whether that waits for the server, or to be rung for.
        self._waits = self._idle = False
        self._stopping = False

    def add(self, future: CallFuture, number: int) -> None:
        """Watches a call that was started with `announced`."""
        with self._lock:
            early = number in self._early
            if early:
                self._early.discard(number)
            else:
                self._watch(number, future)
                if not self._waits:
                    self._have_thread()
        if early:
            # Not by `_collect`, which only logs: this may be the main thread, and an interrupt must
            # end what starts the call.
            if self._is_over(number, future):
                future.collect()
        elif self._stopping:
            # It was started while the connection was being closed.
            self._close(number, future)

    def _watch(self, number: int, future: CallFuture) -> None:
        self._pending[number] = future
        deadline = future.deadline
        if deadline is not None:
            heapq.heappush(self._deadlines, (deadline, number))

    def forget(self, number: int) -> None:
        """The call is given up."""
        with self._lock:
            self._pending.pop(number, None)
            self._early.discard(number)

    def hand_over(self) -> None:
        """Has another thread do the work of this one, if this is it: a callback is about to wait
        for a call."""
        # No other thread makes it this one, nor another one of it.
        if self._thread is threading.current_thread():
            with self._lock:
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
        me = threading.current_thread()
        number, error = ffi.new("uint64_t *"), error_place()
        lingers = False
        while self._wait_for_work(me, lingers):
            status = lib.farcall_next_finished(client[0], self._patience(), number, error)
            self._waits = False
            lingers = status == OK
            if status == OK:
                self._told(number[0])
            elif status != PENDING:
                # The connection is gone, and each call knows why.
                taken(status, error)
                self._collect_all()
            if self._deadlines:
                self._collect_overdue()

    def _wait_for_work(self, me: threading.Thread, lingers: bool) -> bool:
        """False if there has been nothing to do for a while, or another thread does it by now."""
        with self._lock:
            if self._thread is not me:
                return False
            self._waits = bool(self._pending) or lingers and not self._stopping
            if self._waits:
                return True
            self._idle = not self._stopping
        if self._idle:
            try:
                self._bell.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                pass
        with self._lock:
            if self._thread is not me:
                return False
            self._idle = False
            self._waits = bool(self._pending)
            if not self._waits:
                self._thread = None
            return self._waits

    def _patience(self) -> float:
        if not self._pending:
            return _LINGER_SECONDS
        if not self._deadlines:
            return _SLICE_SECONDS
        with self._lock:
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
        future = self._pending.pop(number, None)
        if future is None:
            future = self._told_early(number)
        if future is not None and self._is_over(number, future):
            self._collect(future)

    def _told_early(self, number: int) -> Optional[CallFuture]:
        """Notes what came before its future was added, unless that has happened meanwhile."""
        with self._lock:
            future = self._pending.pop(number, None)
            if future is None and number in self._overdue:
                self._overdue.discard(number)
            elif future is None:
                self._early.add(number)
        return future

    def _is_over(self, number: int, future: CallFuture) -> bool:
        """Passes on what the server has told of a call, which no other thread does meanwhile;
        whether the call has ended."""
        while not future.hear():
            with self._lock:
                # It was told of again meanwhile.
                if number in self._early:
                    self._early.discard(number)
                    continue
                if not future.cancelled():
                    self._watch(number, future)
                return False
        self._early.discard(number)
        return True

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
