"""A server as the standard library's Executor: for code that is written for thread and process
pools."""

from __future__ import annotations

import atexit
import concurrent.futures
import functools
import os
import threading
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, Optional, Set, Tuple

from . import _errors
from ._future import CallFuture
from ._prepared import Prepared
from ._routine import Routine

if TYPE_CHECKING:
    from ._results import Results
    from ._server import Server


# What executors were given that is not done. Strong references: nobody else may hold the future.
_UNDER_WAY: Set[CallFuture] = set()


def _finish() -> None:
    """Waits at the end of the program for what was submitted, as the standard library's executors
    do."""
    concurrent.futures.wait(list(_UNDER_WAY))


# A child has its parent's futures, and nobody who completes them.
os.register_at_fork(after_in_child=_UNDER_WAY.clear)


@functools.lru_cache(maxsize=None)
def _finish_at_exit() -> None:
    # Not before there is a connection: whatever is registered last runs first, and connections
    # close at exit, too.
    atexit.register(_finish)


class Executor(concurrent.futures.Executor):
    """Runs routines of a server: `executor.submit(server.dgesv, A, b)`, or a name for the routine.

    Everything of `concurrent.futures.Executor`: `map`, `shutdown`, `with`, and its futures in
    `wait` and `as_completed`. `submit` waits for nothing: what the server has no room for yet waits
    in order. Shutting down leaves the connection open. A program that ends waits for what it
    submitted, unless that was cancelled. An exception that leaves its `with` block, such as that of
    Ctrl-C, cancels all calls that are not done.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = threading.RLock()
        self._open = True
        self._pending: Set[CallFuture] = set()
        _finish_at_exit()

    def __repr__(self) -> str:
        state = "" if self._open else ", shut down"
        return f"<farcall.Executor at {self._server.address}{state}>"

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """Waits for the calls; where an exception leaves the block, or interrupts the wait, cancels
        them instead."""
        try:
            self.shutdown(wait=kind is None, cancel_futures=kind is not None)
        except BaseException:
            self.shutdown(wait=False, cancel_futures=True)
            raise

    # Not of any function's type: what runs is a routine, and what it gives are Results.
    @_errors.ends_here
    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> CallFuture:  # type: ignore[override]
        """Starts a call of a routine and returns its future, which raises whatever goes wrong.

        Raises:
            RuntimeError: after `shutdown`.
            WrongType: `fn` is no routine; Python functions do not travel.
        """
        routine = self._server._routine_of(fn)
        future = CallFuture(routine.name)
        try:
            self._start(future, routine, args, kwargs)
        except BaseException:
            # Of an interrupt: nobody has the future, which may be one that nobody completes either.
            self._pending.discard(future)
            _UNDER_WAY.discard(future)
            future.cancel()
            raise
        return future

    def _start(
        self, future: CallFuture, routine: Routine, args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> None:
        with self._lock:
            if not self._open:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._pending.add(future)
            _UNDER_WAY.add(future)
        future.add_done_callback(self._pending.discard)
        future.add_done_callback(_UNDER_WAY.discard)
        try:
            routine._connection.handles.starter.start(future, Prepared(routine, args, kwargs))
        except _errors.Error as error:
            future.fail(error)

    # As above.
    def map(  # type: ignore[override]
        self,
        fn: Any,
        /,
        *iterables: Iterable[Any],
        timeout: Optional[float] = None,
        chunksize: int = 1,
        **named: Any,
    ) -> Iterator[Results]:
        """Calls a routine with an item of each iterable, as far as the shortest goes: results in
        their order.

        What is `named` goes to every call: arguments, and options such as `run_timeout`. `timeout`
        is for all results together; `chunksize` means nothing here.
        """
        alike: Any = _Alike(self, named)
        return concurrent.futures.Executor.map(
            alike, fn, *iterables, timeout=timeout, chunksize=chunksize
        )

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls. `wait` for those that were submitted.

        `cancel_futures` cancels all that are not done, as each future's `cancel()` does: what waits
        here for room, what waits in the server's queue, and what runs there, too, for a routine can
        be ended where a thread's function cannot. What is done already keeps its results.
        """
        with self._lock:
            self._open = False
            pending = list(self._pending)
        for future in pending:
            if cancel_futures:
                future.cancel()
        if wait:
            concurrent.futures.wait(pending)


class _Alike:
    """An executor all of whose calls have the same named arguments."""

    def __init__(self, executor: Executor, named: Dict[str, Any]) -> None:
        self._executor = executor
        self._named = named

    def submit(self, fn: Any, /, *args: Any) -> CallFuture:
        """Starts one of them."""
        return self._executor.submit(fn, *args, **self._named)
