"""Objects of a server's classes, and arrays of function handles: executables that are held for this
program."""

from __future__ import annotations

import os
import time
import weakref
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NoReturn, Optional, Tuple

from . import _errors
from ._connection import Connection, count_of, not_portable, seconds
from ._library import check, error_place, ffi, handle_place, lib, text, wait_for
from ._resources import NAMES, resources
from ._results import Results
from ._routine import Method

if TYPE_CHECKING:
    from ._server import Server

# The method that takes what an object is made with.
_INITIALIZE = "_initialize"
# What a call has at least, whose time is over before it begins: so that it says so itself.
_MOMENT_SECONDS = 1e-3


class Held:
    """What a server holds for this program. It ends with its last reference, without waiting for
    that."""

    def __init__(self, connection: Connection, name: str, count: int, options: Any) -> None:
        self.connection = connection
        self.pid = os.getpid()
        self.closed = False
        self._place, error = handle_place("farcall_hold **", lib.farcall_hold_free), error_place()
        client = connection.handles.client()
        check(
            lib.farcall_hold_start(client[0], name.encode(), count, options, self._place, error),
            error,
        )
        self.name = text(lib.farcall_hold_name(self._place[0])) or name

    def handle(self, operation: str) -> Any:
        """The core's handle, while there is something to do with it."""
        if self.pid != os.getpid():
            message, advice = (
                "it belongs to the process that this one was forked from",
                "make one in this process",
            )
            raise _errors.make(_errors.ConnectionLost, operation, message, advice, object=self.name)
        if self.closed:
            message, advice = "it was closed", "make another one"
            raise _errors.make(_errors.NotFound, operation, message, advice, object=self.name)
        return self._place[0]

    def id(self, index: int) -> bytes:
        """The id of one of them."""
        place, error = ffi.new("unsigned char[16]"), error_place()
        check(lib.farcall_hold_id(self.handle("name an object"), index, place, error), error)
        return bytes(ffi.buffer(place))

    def wait(self) -> None:
        """Waits until all take calls; signals are handled meanwhile."""
        handle, error = self.handle("make an object"), error_place()
        wait_for(
            lambda time: lib.farcall_hold_ready(handle, time, error),
            error,
            self.connection.handles.client,
        )

    def close(self) -> None:
        """Ends them, and waits until they have; once is enough."""
        try:
            self._release(-1.0)
        except _errors.NotFound:
            # It has ended before: its lease was over, somebody deleted it, or its server was
            # restarted.
            pass

    def abandon(self, wait: float) -> None:
        """Ends them when they could not be made, and waits at most so many seconds until they
        have."""
        try:
            self._release(wait)
        except _errors.Error:
            # Why they could not be made says more.
            pass

    def _release(self, wait: float) -> None:
        if self.closed or self.pid != os.getpid():
            return
        self.closed = True
        if self.connection.handles.closed:
            return
        error = error_place()
        check(lib.farcall_hold_release(self._place[0], wait, error), error)


# The text that options name.
_RESOURCES: Any = weakref.WeakKeyDictionary()


def _hold_options(
    lease: Optional[float],
    timeout: Optional[float],
    detached: bool,
    ranks: Optional[int],
    asked: Dict[str, Any],
) -> Any:
    options = ffi.new("farcall_hold_options *")
    options.size = ffi.sizeof("farcall_hold_options")
    if lease is not None:
        options.lease_seconds = seconds("make an object", lease, "give seconds above 0") or 0.0
    if timeout is not None:
        options.start_seconds = (
            seconds("make an object", timeout, "give seconds above 0, or None") or 0.0
        )
    options.detached = bool(detached)
    options.ranks = count_of("make an object", "ranks", ranks)
    text = resources(asked)
    options.resources = text
    # It lives as long as they do.
    _RESOURCES[options] = text
    return options


class Class:
    """A class of a server. Calling it makes an object there: `solver = server.Heat(n)`.

    What it is called with is what its `_initialize` takes. These options are understood by every
    class:

    lease: seconds for which the object stays when the connection is lost, a minute by default.
    timeout: seconds that its start may take, its `_initialize` included; `farcall.TimedOut` when
    they are over. detached: True to leave it, for its lease, when the connection is closed or its
    last reference is gone. ranks: processes of which it consists, where MPI starts it (`Backend
    "MPI"`). cores, memory, gpus, wall_time: what each of its processes is given.
    """

    def __init__(self, server: Server, name: str, methods: List[str]) -> None:
        self._server = server
        self.name = name
        self.__name__ = name.rpartition("/")[2]
        self.__qualname__ = name.replace("/", ".")
        self.methods = sorted(method for method in methods if not method.startswith("_"))
        self._begins = _INITIALIZE in methods
        first = _INITIALIZE if self._begins else next(iter(self.methods), None)
        # Each method says what its class is.
        method = None if first is None else server._routine(f"{name}.{first}")
        # Where _initialize has an argument of that name, with an underscore behind it.
        known = method._options if method is not None and self._begins else {}
        self._resources = {name: name for name in NAMES}
        self._resources.update({option: name for name, option in known.items() if option in NAMES})
        if method is not None and method.interface.get("class_doc"):
            self.__doc__ = f"{method.interface['class_doc']}\n\n{Class.__doc__}"
        if self._begins:
            self.__signature__ = method.__signature__

    def __repr__(self) -> str:
        return f"<farcall.Class {self.name}: {', '.join(self.methods)}>"

    def __reduce__(self) -> NoReturn:
        raise not_portable("a class of a server")

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *self.methods})

    @_errors.ends_here
    def __getattr__(self, name: str) -> Any:
        if _errors.is_property(self, name):
            return object.__getattribute__(self, name)
        if name.startswith("_") or name not in self.__dict__.get("methods", ()):
            raise AttributeError(f"{self.__dict__.get('name', 'a class')} has no method {name!r}")
        message = f"{self.name}.{name} is a method: it runs on an object"
        advice = f"make one, and call that one's: {self.__name__}(...).{name}(...)"
        raise _errors.make(_errors.WrongType, "call", message, advice)

    def _asked(self, named: Dict[str, Any]) -> Dict[str, Any]:
        """Takes out what its processes are to be given."""
        return {option: named.pop(name, None) for option, name in self._resources.items()}

    @_errors.ends_here
    def __call__(
        self,
        /,
        *arguments: Any,
        lease: Optional[float] = None,
        timeout: Optional[float] = None,
        detached: bool = False,
        ranks: Optional[int] = None,
        **named: Any,
    ) -> Object:
        """Makes an object, and waits until it takes calls."""
        asked = self._asked(named)
        if (arguments or named) and not self._begins:
            message = f"{self.__name__} takes no arguments"
            raise _errors.make(_errors.WrongType, "make an object", message, "leave them out")
        begin = time.monotonic()
        held = Held(
            self._server._connection,
            self.name,
            1,
            _hold_options(lease, timeout, detached, ranks, asked),
        )
        made = Object(self, held)
        held.wait()
        if self._begins:
            initialize = made._method(_INITIALIZE)
            option = initialize._option("timeout")
            if timeout is not None and option is not None:
                named[option] = max(timeout - (time.monotonic() - begin), _MOMENT_SECONDS)
            try:
                initialize(*arguments, **named)
            except BaseException:
                held.abandon(-1.0 if timeout is None else 0.0)
                raise
        return made


class Object:
    """An object of a server's class. Its methods are attributes that are called like routines:
    `solver.step(10)`, `solver.step.submit(10)`; calls on it run one after the other, in their
    order.

    It ends with `close()`, a `with` block, or its last reference; `close` waits until its
    `_finalize` has run.
    """

    def __init__(self, of: Class, held: Held) -> None:
        self._class = of
        self._held = held

    def __repr__(self) -> str:
        state = ", closed" if self._held.closed else ""
        return f"<farcall.Object {self._class.name} at {self._held.connection.address}{state}>"

    def __reduce__(self) -> NoReturn:
        raise not_portable("an object of a server")

    def __enter__(self) -> Object:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *self._class.methods})

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise AttributeError(
                f"{name!r} of {self!r} cannot be assigned to: its state is on the server"
            )
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if _errors.is_property(self, name):
            return object.__getattribute__(self, name)
        if name.startswith("_") or name not in self._class.methods:
            methods = ", ".join(self._class.methods)
            raise AttributeError(f"{self._class.name} has no method {name!r}; it has {methods}")
        return self._method(name)

    def _method(self, name: str) -> Method:
        return Method(self._class._server._routine(f"{self._class.name}.{name}"), self._held, 0)

    @property
    def object_id(self) -> str:
        """Its id, as `farcall objects` shows it."""
        return self._held.id(0).hex()

    @_errors.ends_here
    def close(self) -> None:
        """Ends it, and calls under way on it, and waits until it has. What goes wrong in its
        `_finalize` is raised; it has ended all the same."""
        self._held.close()


class Handles:
    """An array of function handles: each is a process of its own that runs the routine, and keeps
    its static variables.

    `handles[3](x)` calls one; calls on one run in their order, those on several at the same time.
    They end with `close()`, a `with` block, or their last reference.
    """

    def __init__(self, routine: Any, count: int, wait: bool, options: Any) -> None:
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            message = f"{count!r} is not a number of handles"
            raise _errors.make(
                _errors.WrongType, "make handles", message, "give a whole number above 0"
            )
        self._routine, self._count = routine, count
        self._held = Held(routine._connection, routine.name, count, options)
        if wait:
            self._held.wait()

    def __repr__(self) -> str:
        state = ", closed" if self._held.closed else ""
        return f"<farcall.Handles of {self._routine.name}: {self._count}{state}>"

    def __reduce__(self) -> NoReturn:
        raise not_portable("an array of handles")

    def __enter__(self) -> Handles:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Method:
        try:
            place = range(self._count)[index]
        except IndexError:
            raise IndexError(f"{self!r} has no number {index}") from None
        return Method(self._routine, self._held, place)

    def __iter__(self) -> Iterator[Method]:
        return (self[index] for index in range(self._count))

    @_errors.ends_here
    def map(self, *columns: Any, **named: Any) -> List[Results]:
        """Calls handle after handle with an item of each column, as far as the shortest goes:
        results in their order."""
        rows: List[Tuple[Any, ...]] = list(zip(*columns))
        calls = [self[index % self._count].submit(*row, **named) for index, row in enumerate(rows)]
        return [call.result() for call in calls]

    @_errors.ends_here
    def close(self) -> None:
        """Ends them, and calls under way on them, and waits until they have."""
        self._held.close()
