"""Values of data that are fetched."""

from __future__ import annotations

from typing import Any, Optional

from . import _errors
from ._connection import Connection
from ._data import call_options, seconds_or_none
from ._future import CallFuture
from ._keeping import Fetched
from ._library import check, error_place, handle_place, interruptible, lib
from ._places import CallPlaces
from ._results import Results, of_data
from ._routine import Routine


def value_of_data(connection: Connection, handle: Any, timeout: Optional[float]) -> Any:
    """The value, when it is there."""
    limit = seconds_or_none("fetch data", timeout)
    options, error = call_options(limit), error_place()
    place = handle_place("farcall_call **", lib.farcall_call_free)
    routine = handle_place("farcall_routine **", lib.farcall_routine_free)
    fetch, used = lib.farcall_data_fetch, (handle, options)
    try:
        check(interruptible(fetch, handle[0], options, routine, place, error, used=used), error)
    except _errors.TimedOut as late:
        raise _late(limit) from late
    future = CallFuture()
    future.started(place, _Coming(Routine(connection, routine), limit), connection.handles.waiter)
    return future.result().value


class _Coming(Fetched):
    """A value that comes."""

    def collect(self, places: CallPlaces) -> Results:
        """It is an array, whatever has elements like it among the results of routines."""
        (value,) = self.routine._interface.outputs
        return of_data(value, places)

    def timed_out(self) -> _errors.Error:
        """The error of a fetch that is late."""
        return _late(self.timeout)


def _late(timeout: Optional[float]) -> _errors.Error:
    return _errors.make(
        _errors.TimedOut,
        "fetch data",
        "it has not come in time, and the call that makes it may still run",
        "raise timeout=; Server.data() shows its state",
        timeout=None if timeout is None else f"{timeout:g} s",
    )
