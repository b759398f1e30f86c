"""Calls that go on without the program that made them: found by their ids, listed, forgotten."""

from __future__ import annotations

import json
import time
import warnings
from typing import TYPE_CHECKING, Any, List, NamedTuple, Optional

from . import _errors
from ._connection import Connection, seconds
from ._future import CallFuture
from ._library import check, error_place, ffi, handle_place, interruptible, lib
from ._news import SILENT
from ._places import CallPlaces
from ._results import Results, collect

if TYPE_CHECKING:
    from ._routine import Routine


class KeptCall(NamedTuple):
    """A call that a server keeps, or will."""

    id: str
    """What `Server.fetch` finds it by."""
    routine: str
    """Its full name."""
    state: str
    """`waiting`, `running`, `returned` or `failed`."""
    bytes: int
    """What is kept, or set aside while it runs."""
    seconds_left: float
    """Until it is forgotten; of one that is open, counted from its end."""
    durable: bool
    """Whether it survives the server."""
    submitted: float
    """When it was submitted, in seconds since 1970, by the clock of the program that did."""
    arguments: str
    """Its arguments, in short."""
    label: str
    """What it was submitted with as `label`."""
    server: str = ""
    """The name of the server that keeps it."""


class Fetched:
    """What a future needs of a call that was made elsewhere."""

    keep: Optional[float] = None
    """The server keeps it, and has said so to whoever made it."""
    is_kept = True

    def __init__(self, routine: Routine, timeout: Optional[float]) -> None:
        self.routine = routine
        self.timeout = timeout
        self.deadline = None if timeout is None else time.monotonic() + timeout
        self.listener = SILENT

    def collect(self, places: CallPlaces) -> Results:
        """The core's results as Python's."""
        return collect(self.routine._interface, places, {})

    def timed_out(self) -> _errors.Error:
        """The error of a call whose time to wait is over."""
        facts = {"routine": self.routine.name, "timeout": f"{self.timeout:g} s"}
        return _errors.make(
            _errors.TimedOut, "fetch a call", "it is not over yet", "fetch it again later", **facts
        )

    @property
    def calls_back(self) -> bool:
        """The functions that it was called with are not here."""
        return False

    def check_functions(self) -> None:
        """There are none."""

    def explained(self, error: BaseException) -> BaseException:
        """What is to be raised."""
        return error

    def forget_routine(self) -> None:
        """Its interface is that of its time: nothing is to be looked up again."""


def _encoded(call: object) -> bytes:
    if isinstance(call, str) and "\0" not in call:
        return call.encode("utf-8", "replace")
    raise _errors.make(
        _errors.WrongType, "find a call", f"a call is named by the str of its id, not by {call!r}"
    )


def fetch(connection: Connection, call: object, timeout: Optional[float], make: Any) -> CallFuture:
    """Takes a call up. `make` makes a routine of its handle."""
    client = connection.handles.client()
    limit = (
        None
        if timeout is None
        else seconds("fetch a call", timeout, "give seconds above 0, or None")
    )
    options = ffi.new("farcall_call_options *")
    options.size = ffi.sizeof("farcall_call_options")
    options.timeout_seconds, options.announced = limit or 0.0, 1
    place, routine = (
        handle_place("farcall_call **", lib.farcall_call_free),
        handle_place("farcall_routine **", lib.farcall_routine_free),
    )
    error, wanted = error_place(), ffi.new("char[]", _encoded(call))
    check(
        interruptible(
            lib.farcall_fetch,
            client[0],
            wanted,
            options,
            routine,
            place,
            error,
            used=(client, wanted, options),
        ),
        error,
    )
    future = CallFuture()
    future.started(place, Fetched(make(routine), limit), connection.handles.waiter)
    return future


def forget(connection: Connection, call: object) -> None:
    """Has a call forgotten."""
    client, error, wanted = (
        connection.handles.client(),
        error_place(),
        ffi.new("char[]", _encoded(call)),
    )
    check(interruptible(lib.farcall_forget, client[0], wanted, error, used=(client, wanted)), error)


def kept(connection: Connection) -> List[KeptCall]:
    """What the server, and all that it knows, keep of this user's calls."""
    client, error = connection.handles.client(), error_place()
    place = handle_place("char **", lib.farcall_text_free)
    silent = handle_place("char **", lib.farcall_text_free)
    ask = lib.farcall_kept_by_server
    check(interruptible(ask, client[0], place, silent, error, used=(client,)), error)
    for one in json.loads(ffi.string(silent[0])):
        words = f"{one['server']} did not say which calls it keeps: {one['error']}"
        warnings.warn(words, stacklevel=4)
    return [
        KeptCall(*(one[name] for name in KeptCall._fields))
        for one in json.loads(ffi.string(place[0]))
    ]
