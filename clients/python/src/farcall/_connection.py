"""A connection to a server and what ends with it: handles of the core, a private server, the thread for futures."""

from __future__ import annotations

import json
import os
import threading
import weakref
from typing import Any, Dict, List, Optional, Sequence

from . import _errors
from ._future import Waiter
from ._library import check, error_place, ffi, find, lib, text

# What `connect` without an address connects to, if set.
SERVER_VARIABLE = "FARCALL_SERVER"


class Handles:
    """The core's client and private server: freed once, and never while a function of the core uses them."""

    def __init__(self, client: Any, server: Any) -> None:
        self.client = client
        self.server = server
        self.pid = os.getpid()
        self.waiter = Waiter(self)
        self.closed = False
        self._users = 0
        # Re-entrant: garbage may be collected, and a connection with it, while it is held.
        self._lock = threading.RLock()

    def __enter__(self) -> Any:
        """Lends the client, or says why it cannot be used."""
        if os.getpid() != self.pid:
            raise _errors.make(
                _errors.ConnectionLost,
                "call",
                "this connection belongs to the process that this one was forked from",
                "connect again after the fork",
            )
        with self._lock:
            if self.closed:
                raise _errors.make(
                    _errors.ConnectionLost, "call", "this connection was closed", "connect again with farcall.connect()"
                )
            self._users += 1
        return self.client

    def __exit__(self, *_: Any) -> None:
        self.release()

    def hold(self) -> None:
        """Keeps the client for somebody who uses it already, beyond that use."""
        with self._lock:
            self._users += 1

    def release(self) -> None:
        """Gives the client back. The last one disconnects what was closed meanwhile."""
        with self._lock:
            self._users -= 1
            last = self.closed and self._users == 0
        if last:
            lib.farcall_disconnect(self.client)

    def close(self) -> None:
        """Ends calls that are under way, the connection, and the private server."""
        # A forked child must leave alone what its parent uses.
        if os.getpid() != self.pid:
            return
        with self._lock:
            if self.closed:
                return
            self.closed = True
            # Whoever uses the client at this moment gives it back, and disconnects, when its call is over.
            idle = self._users == 0
        self.waiter.stop()
        if idle:
            lib.farcall_disconnect(self.client)
        if self.server:
            lib.farcall_server_stop(self.server)


class Connection:
    """What servers, modules and routines of Python share. It closes with the last of them, or with the interpreter."""

    def __init__(self, client: Any, server: Any) -> None:
        self.handles = Handles(client, server)
        self.address = text(lib.farcall_address(client)) or ""
        # Routines by the name they were asked for.
        self.routines: Dict[str, Any] = {}
        self._listed: Optional[List[Dict[str, Any]]] = None
        self._finalizer = weakref.finalize(self, self.handles.close)

    def close(self) -> None:
        """Closes it now."""
        self.routines.clear()
        self._finalizer()

    def lookup(self, name: str) -> Any:
        """A routine handle of the core, which the caller owns."""
        place, error = ffi.new("farcall_routine **"), error_place()
        with self.handles as client:
            check(lib.farcall_lookup(client, name.encode("utf-8", "replace"), place, error), error)
        return place[0]

    def forget(self, routine: Any) -> None:
        """Drops what is known of a routine whose interface changed."""
        for name in [name for name, known in list(self.routines.items()) if known is routine]:
            self.routines.pop(name, None)
        self._listed = None

    def listed(self, fresh: bool = False) -> List[Dict[str, Any]]:
        """The interfaces of all routines as the core's JSON says, asked for once unless `fresh`."""
        if self._listed is None or fresh:
            place, error = ffi.new("char **"), error_place()
            with self.handles as client:
                check(lib.farcall_list(client, place, error), error)
            try:
                self._listed = json.loads(ffi.string(place[0]))
            finally:
                lib.farcall_text_free(place[0])
        return self._listed

    def modules(self, fresh: bool = False) -> Dict[str, List[str]]:
        """Modules, with the names of their routines."""
        modules: Dict[str, List[str]] = {}
        for one in self.listed(fresh):
            modules.setdefault(one.get("module", ""), []).append(one["name"])
        return modules


def open_connection(address: Optional[str], token_file: Optional[str], timeout: float) -> Connection:
    """Connects to a server that runs already."""
    return Connection(_connect(address, token_file, timeout), ffi.NULL)


def open_private(
    files: Sequence[str], program: Optional[str], arguments: Sequence[str], token_file: Optional[str], timeout: float
) -> Connection:
    """Starts a server of this process's own, and connects to it."""
    server = _start(files, program or find("FARCALL_PROGRAM", "bin", "farcall"), arguments)
    try:
        return Connection(_connect(text(lib.farcall_server_address(server)), token_file, timeout), server)
    except BaseException:
        lib.farcall_server_stop(server)
        raise


def _encoded(given: Optional[str]) -> Any:
    """C text that lives as long as the caller holds it; NULL for None."""
    return ffi.NULL if given is None else ffi.new("char[]", os.fsencode(given))


def _connect(address: Optional[str], token_file: Optional[str], timeout: float) -> Any:
    if not timeout > 0:
        raise _errors.make(_errors.InvalidArgument, "connect", f"a timeout of {timeout} s", "give seconds above 0")
    place, error = ffi.new("farcall_client **"), error_place()
    address_text, token_text = _encoded(address), _encoded(token_file)
    options = ffi.new("farcall_connect_options *")
    options.size = ffi.sizeof("farcall_connect_options")
    options.address, options.token_file, options.timeout_seconds = address_text, token_text, timeout
    check(lib.farcall_connect_with(options, place, error), error)
    return place[0]


def _start(files: Sequence[str], program: str, arguments: Sequence[str]) -> Any:
    place, error = ffi.new("farcall_server **"), error_place()
    program_text = _encoded(program)
    file_texts, argument_texts = [_encoded(one) for one in files], [_encoded(one) for one in arguments]
    file_list, argument_list = ffi.new("char *[]", file_texts), ffi.new("char *[]", argument_texts)
    options = ffi.new("farcall_server_options *")
    options.size = ffi.sizeof("farcall_server_options")
    options.program, options.files, options.file_count = program_text, file_list, len(file_texts)
    options.arguments, options.argument_count = argument_list, len(argument_texts)
    check(lib.farcall_server_start(options, place, error), error)
    return place[0]
