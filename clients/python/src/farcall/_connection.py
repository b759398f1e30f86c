"""A connection to a server and what ends with it: handles of the core, a private server, the thread
for futures."""

from __future__ import annotations

import json
import os
import threading
import time
import weakref
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

from . import _errors
from ._addresses import Own, is_list
from ._interface import Names
from ._library import (
    check,
    error_place,
    ffi,
    find,
    handle_place,
    interruptible,
    lib,
    text,
    wait_for,
)
from ._starter import Starter
from ._waiter import Waiter

# What `connect` without an address connects to, if set.
SERVER_VARIABLE = "FARCALL_SERVER"
# A server whose socket is not there may be about to listen: for so long, and as often, is it tried.
# The commands do the same (bins/farcall/src/connection.rs).
_START_SECONDS, _START_PAUSE_SECONDS = 2.0, 0.02
# More than a century.
FOR_EVER_SECONDS = 2.0**32


def seconds(
    operation: str, given: Any, advice: str, what: str = "a timeout", **context: object
) -> Optional[float]:
    """A time limit in seconds, which callers know as `what`; None for one without end."""
    if isinstance(given, (bool, np.bool_)) or not isinstance(
        given, (int, float, np.integer, np.floating)
    ):
        raise _errors.make(
            _errors.WrongType, operation, f"{what} of {given!r}", advice, **context
        )
    if not given > 0:
        raise _errors.make(
            _errors.InvalidArgument, operation, f"{what} of {given} s", advice, **context
        )
    # Whole numbers of Python's may be larger than any float.
    return float(given) if given < FOR_EVER_SECONDS else None


def count_of(operation: str, option: str, given: Any, **context: object) -> int:
    """A number of things, from 1 on; 0 for None."""
    if given is None:
        return 0
    if isinstance(given, (bool, np.bool_)) or not isinstance(given, (int, np.integer)):
        raise _errors.make(
            _errors.WrongType,
            operation,
            f"{option}={given!r} is not an integer",
            "give one",
            **context,
        )
    if not 0 < given < 1 << 32:
        raise _errors.make(
            _errors.InvalidArgument,
            operation,
            f"{option}={given}",
            "give a number above 0",
            **context,
        )
    return int(given)


def not_portable(what: str) -> _errors.Error:
    """Why something of a connection cannot be pickled or copied."""
    message = f"{what} belongs to the connection of this process"
    return _errors.make(_errors.WrongType, "pickle", message, "connect in the other process")


class Handles:
    """The core's client and private server: freed once, and never while a function of the core uses
    them.

    Whoever uses the client holds its place. That needs no counting, which an interrupt could leave
    half done.
    """

    def __init__(self, client: Any, server: Any, reconnect: Callable[[], Any]) -> None:
        self._server = server
        self._reconnect = reconnect
        # The parent's, in a forked child: it keeps what lies there, and frees nothing.
        self._inherited: List[Any] = []
        self._begin(client)
        _ALL.add(self)

    def _begin(self, client: Any) -> None:
        self.pid = os.getpid()
        self.waiter = Waiter(self)
        self.starter = Starter()
        # In a forked child, until it is used, without a client.
        self.forked = client is None
        self._client = client
        # Re-entrant: garbage may be collected, and a connection with it, while it is held.
        self._lock = threading.RLock()

    def after_fork(self) -> None:
        """In the child: what the parent connected is the parent's, and its threads and locks are
        not here."""
        if self.closed:
            return
        self._inherited += [self._client, self._server]
        self._server = None
        self._begin(None)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._client is None and not self.forked

    def client(self) -> Any:
        """The place of the client, which stays connected while it is held, or why it cannot be
        used."""
        if os.getpid() != self.pid:
            message, advice = (
                "this connection belongs to the parent process, before the fork",
                "after the fork",
            )
            raise _errors.make(_errors.ConnectionLost, "call", message, f"connect again {advice}")
        client = self._client
        if client is None and self.forked:
            client = self._connect_again()
        if client is None:
            message, advice = "this connection was closed", "connect again with farcall.connect()"
            raise _errors.make(_errors.ConnectionLost, "call", message, advice)
        return client

    def _connect_again(self) -> Any:
        with self._lock:
            if self.forked:
                self._client = self._reconnect()
                self.forked = False
            return self._client

    def close(self) -> None:
        """Ends calls that are under way, the connection, and the private server."""
        # A forked child must leave alone what its parent uses.
        if os.getpid() != self.pid:
            return
        with self._lock:
            client, self._client, self.forked = self._client, None, False
        if client is None:
            return
        try:
            self.waiter.stop()
        finally:
            # Also for what the program still has: data, transactions, and calls of other threads.
            lib.farcall_close(client[0])
            del client
            if self._server is not None:
                ffi.release(self._server)


# Whatever may have to be told of a fork.
_ALL: weakref.WeakSet[Handles] = weakref.WeakSet()


def _after_fork() -> None:
    for handles in list(_ALL):
        handles.after_fork()


os.register_at_fork(after_in_child=_after_fork)


class Connection:
    """What servers, modules and routines of Python share. It closes with the last of them, or with
    the interpreter."""

    def __init__(self, server: Any, connect: Callable[[], Any]) -> None:
        client = connect()
        self.handles = Handles(client, server, connect)
        self.address = text(lib.farcall_address(client[0])) or ""
        # Routines by the name they were asked for.
        self.routines: Dict[str, Any] = {}
        self._listed: Optional[List[Dict[str, Any]]] = None
        # By module, the functions that were published and are no routines, with the reason.
        self.left_out: Dict[str, Dict[str, str]] = {}
        self._finalizer = weakref.finalize(self, self.handles.close)

    def close(self) -> None:
        """Closes it now."""
        self.routines.clear()
        self._finalizer()

    def lookup(self, name: str, within: Optional[float] = None) -> Any:
        """The place of a routine handle of the core. The name may be in another case where that is
        unique."""
        if "\0" in name:
            raise _errors.make(_errors.NotFound, "find a routine", f"no routine is called {name!r}")
        go_on = self._until(name, within)
        try:
            return self._lookup_exactly(name, go_on)
        except _errors.NotFound:
            found = Names(self._routine_names(go_on)).find(name)
            if found is None or found == name:
                self._tell_left_out(name)
                raise
            return self._lookup_exactly(found, go_on)

    def _tell_left_out(self, name: str) -> None:
        """Says why there is no routine of this name, if it was left out of what was published."""
        module, _, bare = name.rpartition("/")
        for one, left_out in self.left_out.items():
            if bare in left_out and module in ("", one):
                message = f"{bare} was left out when {one} was published: {left_out[bare]}"
                raise _errors.make(_errors.NotFound, "find a routine", message) from None

    def _until(self, name: str, within: Optional[float]) -> Callable[[], object]:
        """What raises when nobody is to wait for a look-up any longer."""
        deadline = None if within is None else time.monotonic() + within

        def go_on() -> None:
            self.handles.client()
            if deadline is not None and time.monotonic() >= deadline:
                advice = "raise timeout=, or check the server: farcall doctor"
                raise _errors.make(
                    _errors.TimedOut, "find a routine", "no answer in time", advice, routine=name
                )

        return go_on

    def _lookup_exactly(self, name: str, go_on: Callable[[], object]) -> Any:
        client = self.handles.client()
        place, error = handle_place("farcall_routine **", lib.farcall_routine_free), error_place()
        wanted = name.encode("utf-8", "replace")
        wait_for(
            lambda seconds: lib.farcall_lookup_within(client[0], wanted, seconds, place, error),
            error,
            go_on,
        )
        return place

    def _routine_names(self, go_on: Callable[[], object]) -> List[str]:
        """Full names, and bare ones: those of several modules twice, which makes them no name in
        another case."""
        listed = self.listed(go_on=go_on)
        return [one["full_name"] for one in listed] + [one["name"] for one in listed]

    def forget(self, routine: Any) -> None:
        """Drops what is known of a routine whose interface changed."""
        for name in [name for name, known in list(self.routines.items()) if known is routine]:
            self.routines.pop(name, None)
        self._listed = None

    def forget_all(self) -> None:
        """Drops what is known of all routines: something was published."""
        self.routines.clear()
        self._listed = None

    def listed(
        self, fresh: bool = False, go_on: Optional[Callable[[], object]] = None
    ) -> List[Dict[str, Any]]:
        """The interfaces of all routines as the core's JSON says, asked for once unless `fresh`."""
        listed = self._listed
        if listed is None or fresh:
            client = self.handles.client()
            place, error = handle_place("char **", lib.farcall_text_free), error_place()
            wait_for(
                lambda seconds: lib.farcall_list_within(client[0], seconds, place, error),
                error,
                go_on or self.handles.client,
            )
            listed = self._listed = list(json.loads(ffi.string(place[0])))
        return listed

    def modules(self, fresh: bool = False) -> Dict[str, List[str]]:
        """Modules, with the names of their routines."""
        modules: Dict[str, List[str]] = {}
        for one in self.listed(fresh):
            modules.setdefault(one.get("module", ""), []).append(one["name"])
        return modules


def open_connection(
    address: Optional[str],
    token_file: Optional[str],
    timeout: float,
    heartbeat: Optional[float] = None,
    reconnect: Optional[float] = None,
    settings: Optional[str] = None,
    here: Optional[Own] = None,
) -> Connection:
    """Connects to a server that runs already, or that ssh begins with these settings; or to those
    of a list, of which this program has the private one."""
    return Connection(
        None, lambda: _connect(address, token_file, timeout, heartbeat, reconnect, settings, here)
    )


def open_when_it_listens(
    address: Optional[str],
    token_file: Optional[str],
    timeout: float,
    heartbeat: Optional[float],
    reconnect: Optional[float],
    settings: Optional[str] = None,
    here: Optional[Own] = None,
) -> Connection:
    """The same, of a server on a Unix socket that may be about to listen: a script starts it and
    this program one after the other."""
    begin = time.monotonic()
    left = timeout
    while True:
        try:
            return open_connection(
                address, token_file, left, heartbeat, reconnect, settings, here
            )
        except _errors.Unreachable:
            passed = time.monotonic() - begin
            if not _is_coming(address) or passed >= min(_START_SECONDS, timeout):
                raise
            time.sleep(_START_PAUSE_SECONDS)
            left = max(timeout - passed - _START_PAUSE_SECONDS, _START_PAUSE_SECONDS)


def _is_coming(address: Optional[str]) -> bool:
    """Whether a server can begin to listen there: on a Unix socket in a folder that exists."""
    named = os.environ.get(SERVER_VARIABLE, "") if address is None else address
    if is_list(named):
        return False
    kind, _, path = named.partition(":")
    return kind == "unix" and os.path.isdir(os.path.dirname(path) or ".")


def open_running() -> Connection:
    """Connects to the server of the routine that this process runs."""
    return Connection(None, _connect_running)


def open_private(
    files: Sequence[str],
    program: Optional[str],
    arguments: Sequence[str],
    token_file: Optional[str],
    timeout: float,
    heartbeat: Optional[float] = None,
    reconnect: Optional[float] = None,
) -> Connection:
    """Starts a server of this process's own, and connects to it."""
    server = _start(files, program, arguments, timeout)
    address = text(lib.farcall_server_address(server[0]))
    return Connection(server, lambda: _connect(address, token_file, timeout, heartbeat, reconnect))


def _encoded(operation: str, given: Optional[str]) -> Any:
    """C text that lives as long as the caller holds it; NULL for None."""
    if given is None:
        return ffi.NULL
    if "\0" in given:
        raise _errors.make(_errors.InvalidArgument, operation, f"{given!r} contains a NUL")
    return ffi.new("char[]", os.fsencode(given))


def _connect(
    address: Optional[str],
    token_file: Optional[str],
    timeout: float,
    heartbeat: Optional[float],
    reconnect: Optional[float],
    settings: Optional[str] = None,
    here: Optional[Own] = None,
) -> Any:
    place, error = handle_place("farcall_client **", lib.farcall_disconnect), error_place()
    address_text, token_text = _encoded("connect", address), _encoded("connect", token_file)
    options = ffi.new("farcall_connect_options *")
    options.size = ffi.sizeof("farcall_connect_options")
    options.address, options.token_file = address_text, token_text
    options.timeout_seconds = (
        seconds("connect", timeout, "give seconds above 0") or FOR_EVER_SECONDS
    )
    if heartbeat is not None:
        # 0 is for ever here, and what the environment says there.
        advice = "give at least 1 s, or 0 for no limit"
        options.heartbeat_seconds = (
            -1.0 if heartbeat == 0 else seconds("connect", heartbeat, advice) or -1.0
        )
    if reconnect is not None:
        advice = "give seconds, or 0 to end calls at once"
        options.reconnect_seconds = (
            -1.0 if reconnect == 0 else seconds("connect", reconnect, advice) or FOR_EVER_SECONDS
        )
    settings_text = _encoded("connect", settings)
    options.settings = settings_text
    own, lists = (ffi.NULL, ()) if here is None else _server_options(*here, timeout)
    options.here = own
    texts = (address_text, token_text, settings_text, own, *lists)
    check(interruptible(lib.farcall_connect_with, options, place, error, used=texts), error)
    return place


def _connect_running() -> Any:
    place, error = handle_place("farcall_client **", lib.farcall_disconnect), error_place()
    check(interruptible(lib.farcall_running_server, place, error, used=()), error)
    return place


def _start(
    files: Sequence[str], program: Optional[str], arguments: Sequence[str], timeout: float
) -> Any:
    place, error = handle_place("farcall_server **", lib.farcall_server_stop), error_place()
    options, lists = _server_options(files, program, arguments, timeout)
    check(interruptible(lib.farcall_server_start, options, place, error, used=lists), error)
    return place


def _server_options(
    files: Sequence[str], program: Optional[str], arguments: Sequence[str], timeout: float
) -> Tuple[Any, Tuple[Any, ...]]:
    """What a private server is to do, and what must live as long as that."""
    doing = "start a private server"
    program_text = _encoded(doing, program)
    file_texts, argument_texts = (
        [_encoded(doing, one) for one in files],
        [_encoded(doing, one) for one in arguments],
    )
    file_list, argument_list = ffi.new("char *[]", file_texts), ffi.new("char *[]", argument_texts)
    options = ffi.new("farcall_server_options *")
    options.size = ffi.sizeof("farcall_server_options")
    options.program, options.files, options.file_count = program_text, file_list, len(file_texts)
    options.arguments, options.argument_count = argument_list, len(argument_texts)
    options.timeout_seconds = seconds("connect", timeout, "give seconds above 0") or 0.0
    return options, (program_text, file_texts, argument_texts, file_list, argument_list)
