"""Calls that run while the program goes on: their futures, which a `Waiter` completes."""

from __future__ import annotations

import concurrent.futures
import logging
import operator
import os
import threading
import time
from typing import TYPE_CHECKING, Any, List, NoReturn, Optional, Tuple

from . import _errors, _pages
from ._data import Data, StayingResults, of_call
from ._library import (
    OK,
    PENDING,
    check,
    error_place,
    ffi,
    lib,
    taken,
    text,
)
from ._places import CallPlaces, take_places

if TYPE_CHECKING:
    from ._prepared import Prepared
    from ._results import Results
    from ._waiter import Waiter

# The longest that a thread waits for one call without looking whether that is wanted still.
_SLICE_SECONDS = 0.25
# Time for a server to answer when its calls are cancelled because the connection is closed.
_CANCEL_SECONDS = 10.0
# What programs use of a future; the rest is for this package.
_OFFERED = (
    "add_done_callback", "cancel", "cancelled", "data", "done", "exception", "id", "result",
    "running",
)  # fmt: skip
# What becomes of a call: results, or what is raised; neither for one that was given up.
_Outcome = Tuple[Optional["Results"], Optional[BaseException]]
# Where the standard library says what callbacks of futures raise.
_LOG = logging.getLogger("concurrent.futures")


class _Condition(threading.Condition):
    """A condition whose lock is taken and given back by C alone.

    In `Condition.__enter__`, which is Python, an interrupt may come when the lock is taken and no
    `with` knows of it: nobody could complete the future any more.
    """

    __enter__: Any = property(operator.attrgetter("_lock.__enter__"))
    __exit__: Any = property(operator.attrgetter("_lock.__exit__"))


class CallFuture(concurrent.futures.Future["Results"]):
    """The future of a call. Its arrays must not be changed until it is done; its `result()` is a
    `farcall.Results`.

    `cancel()` succeeds until the call is done: the future is cancelled at once, the server is asked
    to end the call, and the arrays are the caller's again. Callbacks run in the connection's
    thread, so they should be short; one that waits for another call has another thread take over.
    """

    # The place of the call; with it goes everything that the call uses.
    _call: Any = None
    _prepared: Optional[Prepared] = None
    _waiter: Optional[Waiter] = None
    _deadline: Optional[float] = None
    _closing = False
    # Whether a thread of its own runs its functions, and completes it.
    _attended = False
    _id: Optional[str] = None
    # The place of a call until the server has said that it keeps it.
    _unkept: Any = None

    def __init__(self, routine: str = "") -> None:
        super().__init__()
        # Of a kept call it is known once that was found.
        self._routine = routine
        # Turning the one that is there takes less time than another one.
        self._condition.__class__ = _Condition
        self._pid = os.getpid()

    def started(self, call: Any, prepared: Prepared, waiter: Waiter) -> None:
        """The call is under way."""
        self._prepared, self._waiter, self._call = prepared, waiter, call
        self._routine = prepared.routine.name
        if prepared.is_kept:
            self._note_id(call, prepared)
        self._deadline = prepared.deadline
        number = lib.farcall_call_number(call[0])
        waiter.add(self, number)
        if prepared.calls_back:
            self._attended = True
            attend = threading.Thread(
                target=self._attend, args=(call, prepared), name="farcall callbacks", daemon=True
            )
            attend.start()
        # Who cancelled it meanwhile found nothing to end, or nobody that waits for it.
        if self.cancelled():
            waiter.forget(number)
            self._give_up()

    def _note_id(self, call: Any, prepared: Prepared) -> None:
        digits = ffi.new("char[33]")
        if lib.farcall_call_id(call[0], digits):
            self._id = text(digits)
            self._unkept = call if prepared.keep is not None else None

    def fail(self, error: _errors.Error) -> None:
        """The call could not be started."""
        if not self.cancelled() and self._announce():
            self.set_exception(error)

    @property
    def id(self) -> Optional[str]:
        """What `Server.fetch` finds the call by, from any process of the same user; None for a call
        that ends with this program."""
        return self._id

    def wait_kept(self) -> None:
        """Waits until the server has said that the call goes on without this program; raises why it
        never did."""
        call, self._unkept = self._unkept, None
        while call is not None:
            error = error_place()
            if check(lib.farcall_call_wait_kept(call[0], _SLICE_SECONDS, error), error) == OK:
                return

    @property
    def data(self) -> StayingResults:
        """The results that stay at the server (`stay`), by name: arguments for other calls at once,
        which wait for them there."""
        # Not kept here: data keeps its future, and would go with nothing but the collector.
        prepared, call = self._prepared, self._call
        if call is not None and prepared is not None:
            routine = prepared.routine
            return of_call(routine._connection, call[0], routine._interface, self)
        # It has ended, or could not be started: then this raises why.
        results = self.result(0)
        return StayingResults(
            {name: value for name, value in results.items() if isinstance(value, Data)}
        )

    @property
    def sent(self) -> bool:
        """Whether the server has been told of the call."""
        return self._waiter is not None

    @property
    def number(self) -> int:
        """The call's number in its connection; 0 when none is under way."""
        call = self._call
        return 0 if call is None else int(lib.farcall_call_number(call[0]))

    def __reduce__(self) -> NoReturn:
        message = "a call belongs to the connection of this process"
        raise _errors.make(
            _errors.WrongType, "pickle", message, "send its result() to the other process"
        )

    def __dir__(self) -> List[str]:
        """What Tab offers."""
        return sorted(
            name for name in super().__dir__() if name.startswith("_") or name in _OFFERED
        )

    def __repr__(self) -> str:
        state, said = self._doing()
        what = f" of {self._routine}" if self._routine else ""
        shown = f", {said}" if state == "done" else ""
        return f"<farcall.CallFuture{what}: {state}{shown}>"

    def _repr_html_(self) -> str:
        """How the call is doing, in notebooks."""
        return _pages.of_future(self._routine, *self._doing())

    def _doing(self) -> Tuple[str, str]:
        """How the call is doing, and what came of it."""
        if self.cancelled():
            return "cancelled", ""
        if not self.done():
            return "under way" if self.sent else "waits to be sent", ""
        raised = super().exception()
        if raised is not None:
            return f"failed: {type(raised).__name__}", str(raised)
        return "done", repr(super().result())

    def running(self) -> bool:
        """Whether the server has the call, which is not over: it is in the server's queue, or its
        routine runs. Not so of what waits here for room; `cancel()` succeeds in both cases."""
        return self.sent and not self.done()

    @_errors.ends_here
    def result(self, timeout: Optional[float] = None) -> Results:
        """Waits for the end of the call, for at most `timeout` seconds: its results, or what went
        wrong, raised."""
        self._hand_over()
        return super().result(timeout)

    @_errors.ends_here
    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        """Waits for the end of the call, for at most `timeout` seconds: what went wrong, or
        None."""
        self._hand_over()
        return super().exception(timeout)

    def _hand_over(self) -> None:
        if self.done():
            return
        if self._pid != os.getpid():
            message, advice = (
                "this call belongs to the process that this one was forked from",
                "call again",
            )
            raise _errors.make(_errors.ConnectionLost, "wait for a call", message, advice)
        if self._waiter is not None:
            self._waiter.hand_over()

    def cancel(self) -> bool:
        """Asks the server to end the call. False if it is done already."""
        if self.cancelled():
            return True
        if not super().cancel():
            return False
        self._give_up()
        self._announce()
        return True

    def _give_up(self) -> None:
        """Has the server end the call, and waits for nothing: its arrays are its caller's again."""
        number = self.number
        if self._waiter is not None and number:
            self._waiter.forget(number)
        if self._attended:
            # The thread that runs its functions has a reference.
            self.end_call()
        # The call ends with its last reference; whoever collects it at this moment has one.
        self._call = self._prepared = None

    def end_call(self) -> None:
        """Asks the server to end the call, if it is running."""
        call = self._call
        if call is not None:
            lib.farcall_call_cancel(call[0], ffi.NULL)

    def _attend(self, call: Any, prepared: Prepared) -> None:
        """Runs the functions that it passes, in a thread of its own: one that blocks holds up no
        other call."""
        places = take_places()
        status = PENDING
        while status == PENDING and not self.done():
            if prepared.listener.wanted:
                self._pass_news_on(call, prepared, _SLICE_SECONDS)
            seconds = 0.0 if prepared.listener.wanted else _SLICE_SECONDS
            status = lib.farcall_call_wait(call[0], seconds, places.results, places.error)
        if status == PENDING:
            return
        number = self.number
        if self._waiter is not None and number:
            self._waiter.forget(number)
        results: Optional[Results] = None
        raised: Optional[BaseException] = None
        try:
            results = self._taken_outcome(status, places, prepared)
        except BaseException as failed:
            raised = prepared.explained(failed)
        places.give_back()
        del call, prepared
        try:
            if not self.done():
                self._complete(results, raised)
        except BaseException:
            _LOG.exception("exception calling callback for %r", self)

    def _announce(self) -> bool:
        """Tells those who wait for several futures of a cancellation; whether a result is wanted
        still."""
        try:
            return self.set_running_or_notify_cancel()
        except (concurrent.futures.InvalidStateError, RuntimeError):
            return False

    def hear(self) -> bool:
        """Passes news of the call on; whether it is over. What its functions raise is logged, and
        they hear no more."""
        call, prepared = self._call, self._prepared
        if call is None or prepared is None or not prepared.listener.wanted:
            return True
        return self._pass_news_on(call, prepared, 0.0)

    def _pass_news_on(self, call: Any, prepared: Prepared, seconds: float) -> bool:
        over: Optional[bool] = False
        while over is False:
            try:
                over = prepared.listener.take(call, seconds)
            except BaseException:
                _LOG.exception(
                    "exception calling on_output or progress of a call of %s", self._routine
                )
                prepared.listener.deafen()
        return bool(over)

    def collect(self) -> None:
        """Takes the outcome of a call that is over, or whose time is. Its callbacks run, and may
        raise anything."""
        call, prepared = self._call, self._prepared
        if self._attended and not (prepared is not None and self._is_overdue()):
            return
        if self._attended:
            # The functions that it passes may block for ever.
            self.end_call()
        outcome = self._tried(call, prepared)
        del call, prepared
        self._complete(*outcome)

    def _is_overdue(self) -> bool:
        return self._deadline is not None and self._deadline <= time.monotonic()

    def _tried(self, call: Any, prepared: Optional[Prepared]) -> _Outcome:
        """Results, or what is to be raised."""
        try:
            if call is None or prepared is None:
                return None, None
            if self._attended:
                return None, self._given_up(prepared)
            return self._outcome(call, prepared), None
        except BaseException as error:
            return None, error

    def _complete(self, results: Optional[Results], raised: Optional[BaseException]) -> None:
        listener = None if self._prepared is None else self._prepared.listener
        # From here on nobody writes to the caller's arrays.
        self._call = self._prepared = None
        if listener is not None:
            listener.close(results is not None)
        if self.cancelled() or not self._announce():
            return
        if results is not None:
            self.set_result(results)
        else:
            self.set_exception(raised)

    def _outcome(self, call: Any, prepared: Prepared) -> Results:
        places = take_places()
        status = lib.farcall_call_wait(call[0], 0.0, places.results, places.error)
        try:
            return self._taken_outcome(status, places, prepared)
        finally:
            places.give_back()

    def _taken_outcome(self, status: int, places: CallPlaces, prepared: Prepared) -> Results:
        if status == OK:
            prepared.check_functions()
            return prepared.collect(places)
        raised = taken(status, places.error) if status != PENDING else self._given_up(prepared)
        if isinstance(raised, _errors.InterfaceChanged):
            prepared.forget_routine()
        raise raised

    def _given_up(self, prepared: Prepared) -> _errors.Error:
        if not self._closing:
            return prepared.timed_out()
        message = "the connection was closed, and the server did not end the call"
        return _errors.make(_errors.Cancelled, "call", message, routine=prepared.routine.name)

    def close(self) -> None:
        """Asks the server to end the call, which is given up if that takes long."""
        self._closing = True
        if self._id is not None:
            self._leave()
            return
        deadline = time.monotonic() + _CANCEL_SECONDS
        self._deadline = deadline if self._deadline is None else min(self._deadline, deadline)
        self.end_call()

    def _leave(self) -> None:
        """The connection is closed, and the server goes on with the call."""
        number = self.number
        if self._waiter is not None and number:
            self._waiter.forget(number)
        self._call = self._prepared = None
        if not self.done() and self._announce():
            message, advice = (
                "the connection was closed, and the call continues without it",
                f"fetch it by its id, {self._id}",
            )
            self.set_exception(_errors.make(_errors.Cancelled, "wait for a call", message, advice))

    @property
    def deadline(self) -> Optional[float]:
        """When its time is over."""
        return self._deadline
