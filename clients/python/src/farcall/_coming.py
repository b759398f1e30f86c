"""Values of data that are fetched."""

from __future__ import annotations

from typing import Any, Optional

from . import _errors
from ._connection import Connection
from ._data import call_options, seconds_or_none
from ._library import PENDING, SLICE_SECONDS, check, ffi, lib
from ._places import take_places
from ._results import of_data


def value_of_data(
    connection: Connection, handle: Any, dtype: Any, rank: int, timeout: Optional[float]
) -> Any:
    """The value, when it is there: elements of this type, and so many dimensions."""
    limit = seconds_or_none("fetch data", timeout)
    options = call_options(limit)
    # Nobody but this thread waits for it.
    options.announced = 0
    places = take_places()
    places.used.append(handle)
    try:
        call, results, error = places.call, places.results, places.error
        check(lib.farcall_data_fetch(handle[0], options, ffi.NULL, call, error), error)
        wait = lib.farcall_call_wait
        while check(wait(call[0], SLICE_SECONDS, results, error), error) == PENDING:
            # Says so when another thread closes the connection.
            connection.handles.client()
        return of_data(rank, dtype, places)
    except _errors.TimedOut as late:
        # Without a limit it is the call that was late.
        if limit is None:
            raise
        raise _late(limit) from late
    finally:
        places.give_back()


def _late(limit: float) -> _errors.Error:
    return _errors.make(
        _errors.TimedOut,
        "fetch data",
        "it has not come in time, and the call that makes it may still run",
        "raise timeout=; Server.data() shows its state",
        timeout=f"{limit:g} s",
    )
