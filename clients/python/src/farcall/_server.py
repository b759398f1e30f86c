"""Servers and their modules, as objects with routines for attributes."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Union, overload

from . import _data, _errors, _keeping, _pages, _publish, _query, _transactions
from ._connection import Connection, open_running
from ._data import Data, DataState
from ._executor import Executor
from ._future import CallFuture
from ._keeping import KeptCall
from ._map import Map
from ._namespace import Namespace, checked
from ._objects import Class
from ._query import Table
from ._results import Results
from ._routine import Routine
from ._transaction import Transaction
from ._transactions import TransactionState

# What routines have and modules have not.
_OF_ROUTINES = ("submit", "aio", "interface", "name", "hold")
# What a look-up may take beyond the time of the call that it is for: a name that is known at once
# costs a round trip.
_LOOKUP_SECONDS = 0.25
# What a call has at least, whose time is over before it begins: so that it says so itself.
_MOMENT_SECONDS = 1e-3
PathLike = Union[str, "os.PathLike[str]"]


@_errors.ends_here
def running_server() -> Server:
    """In a routine that Farcall runs: its own server, to call other routines.

    The calls are part of the one that runs: they are made with its caller's rights, in what is left
    of its time, and end with it. Ask again in each call; `with farcall.running_server() as server:`
    frees it at once.

    Raises:
        Unavailable: no call runs in this process, or its server lets routines call no others.
    """
    return Server(open_running())


def _methods(name: str, names: List[str]) -> List[str]:
    """The methods of a class among a module's names; none of what is not a class."""
    return [one[len(name) + 1 :] for one in names if one.startswith(f"{name}.")]


def _shown(names: List[str]) -> List[str]:
    """A module's names, with a class in place of its methods."""
    return sorted({one.partition(".")[0] for one in names})


class Server(Namespace["Found"]):
    """A connection to a server. Routines are attributes: `server.dgesv(A, b)`, or
    `server.lapack.dgesv` in full.

    A bare name works where it is unique; where a module and a routine or class of it share a name,
    the attribute is the module, which can be called too. `server["map"]` reaches any name, those of methods too.
    It may be used by any number of threads, ends with `close()`, a `with` block, its last reference
    or the interpreter; after a fork the child has its own.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        closed = ", closed" if self._connection.handles.closed else ""
        return f"<farcall.Server at {self._connection.address}{closed}>"

    def _repr_html_(self) -> str:
        """The catalogue, in notebooks; of a server that cannot be asked, who it is."""
        try:
            return _pages.of_server(f"Farcall server at {self.address}", self._connection.listed())
        except _errors.Error:
            return _pages.of_server(repr(self), ())

    @property
    def address(self) -> str:
        """Where it is: "unix:PATH", "tls://HOST:PORT" or "farcall://HOST:PORT"."""
        return self._connection.address

    def close(self) -> None:
        """Ends calls under way and the connection, and a private server too. Results stay valid.

        Other threads that wait for a call hear of it at once: `farcall.ConnectionLost`; futures
        raise `farcall.Cancelled`.
        """
        self._connection.close()

    @_errors.ends_here
    def call(self, name: str, /, *arguments: Any, **named: Any) -> Results:
        """Calls the routine `name`, "module/routine" or a unique bare name; see `farcall.Routine`.

        `timeout` is for looking it up, too.
        """
        begin, limit = time.monotonic(), named.get("timeout")
        is_limit = isinstance(limit, (int, float)) and not isinstance(limit, bool) and limit > 0
        routine = self._routine(checked(name), limit + _LOOKUP_SECONDS if is_limit else None)
        if is_limit and routine._option("timeout") == "timeout":
            named["timeout"] = max(limit - (time.monotonic() - begin), _MOMENT_SECONDS)
        return routine(*arguments, **named)

    def executor(self) -> Executor:
        """The server as a `concurrent.futures.Executor` whose functions are routines."""
        return Executor(self)

    @_errors.ends_here
    def map(self, routine: Any, /, *arguments: Any, **named: Any) -> Map:
        """Calls a routine once for each element, many calls at a time: `for y in server.map("bend",
        loads, lengths)`. An iterator of their results, and for `async for`.

        An argument is an iterable of items, or an array whose first dimension is that of the
        elements; or it is the same for all: a number or text, and an array with the dimensions of
        the parameter. `farcall.each(...)` and `farcall.same(...)` say which it is. Lengths that are
        known must be the same; otherwise the shortest iterable ends it, which is read no further
        than needed. Arguments must not be changed until their results are there.

        Args:
            routine: a routine of this server, or its name.
            order: False to get results as they come; in the order of the elements by default.
            window: elements that are running, or wait for their turn, at most; by default 1024,
                and 256 MiB of arrays.
            progress: True for a bar; or a function that is given a `farcall.Progress`.
            errors: "raise" ends it with the first call that fails; "return" gives the exceptions
                among the results. Either has `element`, which counts from 0.
            named: more arguments, and options of each call: `timeout`, `run_timeout`, `keep`,
                `label`, `at`, `ranks`, `cores`, `memory`, `gpus`, `wall_time`, `stay`, `lease`.
        """
        return Map(self._routine_of(routine), arguments, named)

    @_errors.ends_here
    def publish(self, what: Any, *, stay: bool = False, timeout: Optional[float] = None) -> Any:
        """Has the server publish a function, a module of yours, or a file: `f = server.publish(f)`.

        The source travels, and nothing is pickled. A function goes with all that it needs of its
        file or notebook: imports, classes and other functions at the top of it, and the values that
        its variables have now; its hints are its interface. A module or file goes with the modules beside it that it imports, an
        interface file with the sources and libraries that it names. What you have published by the
        same name before is replaced.

        Args:
            what: the function, the module, or the path of a Python file or interface file.
            stay: True to have it published again whenever the server is started again.
            timeout: seconds that it may take; an hour by default, since the server may compile.

        Returns:
            The routine of a function; else the module.

        Raises:
            InvalidSource: the server cannot make routines of it; the text says which line, and why.
            PermissionDenied: you may not publish there, or the name is another user's.
        """
        given = _publish.sent(what)
        module = _publish.publish(self._connection, given, stay, timeout)
        if given.function is not None:
            return self._routine(f"{module}/{given.function}")
        return Module(self, module)

    @_errors.ends_here
    def query(self, sql: str, /, *parameters: Any, module: str = "tables", **options: Any) -> Table:
        """Reads tables that the server publishes, by a query in SQL:
        `server.query("SELECT t, p FROM stations WHERE p > ?", 1000.0)`.

        `SELECT * FROM tables` lists them. Nothing can be written.

        Args:
            sql: one SELECT, in DuckDB's SQL.
            parameters: the values for each `?` of the query, or one dictionary with those for each
                `$name`: numbers, texts, truth values, dates, None.
            module: the module that has the tables.
            options: `rows_max` and `bytes_max`, bounds of the result, 64 MiB by default; and the
                options of every routine, such as `timeout` and `at`.

        Raises:
            NotFound: the server publishes no tables.
            RoutineFailed: the query is refused, or passes a bound; the text says which.
        """
        return _query.query(self, sql, parameters, module, options)

    @_errors.ends_here
    def fetch(self, call: str, *, timeout: Optional[float] = None) -> Any:
        """Takes up a call that was submitted with `keep`, by its id, from this process or another
        of the same user: its `farcall.CallFuture`. By the id of a transaction, its results: a list with
        `farcall.TransactionResults` of each call that has any.

        The future's `result()` has the results as ever, with memory of their own; files are their contents.
        They stay with the server until their time expires, or `forget`. `timeout` is for waiting.

        Raises:
            NotFound: it was never accepted, is forgotten, or is another user's.
        """
        try:
            return _keeping.fetch(
                self._connection, call, timeout, lambda place: Routine(self._connection, place)
            )
        except (_errors.NotFound, _errors.Unreachable) as unknown:
            # A server that does not answer may have a call of this id, and no transaction: that is
            # known here.
            return _transactions.fetch(self, call, unknown)

    @_errors.ends_here
    def transaction(
        self, *, keep: Optional[float] = None, timeout: Optional[float] = None
    ) -> Transaction:
        """Calls that run at the server as one graph: `with server.transaction() as t:`. They are written
        down in the block, `lu = t.dgetrf(a); x = t.dgetrs(lu.a, lu.ipiv, b)`, and run at its end.

        Args:
            keep: seconds for which the transaction and its results stay when it and the connection have ended; it
                goes on without this program. By default it ends with the connection.
            timeout: seconds until the server has accepted it and has its arrays.

        Raises:
            VersionMismatch: the server is too old for transactions.
        """
        return Transaction(self, keep, timeout)

    @_errors.ends_here
    def transactions(self) -> List[TransactionState]:
        """Your transactions at the server, the oldest first, at most 1000; and behind them those of the
        servers that it knows."""
        return _transactions.listed(self)

    @_errors.ends_here
    def put(
        self,
        array: Any,
        *,
        lease: Optional[float] = None,
        at: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Data:
        """Sends an array to the server, where it stays: an argument for any number of calls. Later
        changes of the array do not reach it.

        Args:
            array: an array of numbers, or what NumPy makes one of.
            lease: seconds for which it stays when the connection has ended; not at all by default.
            at: the server, where there are several: its name or one of its addresses.
            timeout: seconds that it may take.

        Raises:
            LimitExceeded: there is no room for it.
            VersionMismatch: the server keeps no data.
        """
        return _data.put(self._connection, array, lease, at, timeout)

    @overload
    def data(self) -> List[DataState]: ...

    @overload
    def data(self, id: str) -> Data: ...

    @_errors.ends_here
    def data(self, id: Optional[str] = None) -> Any:
        """Your data at the server, and at those that it knows: a list of what is deleted next first,
        at most 1000 of each; or one by its id, of this process or another of the same user,
        which is not deleted with the object.

        Raises:
            NotFound: it was deleted, its lease has ended, or it is another user's.
        """
        if id is None:
            return _data.listed(self._connection)
        return _data.find(self._connection, id)

    @_errors.ends_here
    def kept(self) -> List[KeptCall]:
        """Your calls that the server keeps, or will: those that are forgotten next first, at most
        1000; and behind them those of the servers that it knows. A server that does not answer is
        named in a warning."""
        return _keeping.kept(self._connection)

    @_errors.ends_here
    def forget(self, call: str) -> None:
        """Has the server forget a kept call by its id. One that still runs ends as if cancelled."""
        _keeping.forget(self._connection, call)

    @_errors.ends_here
    def routines(self) -> List[str]:
        """Full names of all routines, asked of the server again."""
        return [one["full_name"] for one in self._connection.listed(fresh=True)]

    def _routine(self, name: str, within: Optional[float] = None) -> Routine:
        routines: Dict[str, Routine] = self._connection.routines
        known = routines.get(name)
        if known is None:
            known = routines[name] = Routine(
                self._connection, self._connection.lookup(name, within)
            )
        return known

    def _routine_of(self, function: object) -> Routine:
        """The routine that an executor is given: itself, its name, or the module of its name."""
        if isinstance(function, Routine):
            return function
        if isinstance(function, Module):
            return function._own_routine()
        if isinstance(function, str):
            return self._routine(function)
        message = f"{function!r} is not a routine of a server"
        advice = (
            "pass a routine, such as server.dgesv, or its name; Python functions run where Python "
            "is"
        )
        raise _errors.make(_errors.WrongType, "submit", message, advice)

    def _class(self, name: str, modules: Dict[str, List[str]]) -> Optional[Class]:
        """The class of this name, where one module alone has one."""
        having = [module for module, names in modules.items() if _methods(name, names)]
        if len(having) != 1:
            return None
        module = having[0]
        return Class(self, f"{module}/{name}" if module else name, _methods(name, modules[module]))

    def _found(self, name: str) -> Any:
        if "/" in name:
            module, bare = name.split("/", 1)
            methods = _methods(bare, self._connection.modules().get(module, []))
            return Class(self, name, methods) if methods else self._routine(name)
        modules = self._connection.modules()
        if name in modules:
            return Module(self, name)
        found = self._class(name, modules)
        if found is not None:
            return found
        try:
            return self._routine(name)
        except _errors.NotFound:
            # Perhaps a module or class that was published since.
            modules = self._connection.modules(fresh=True)
            if name in modules:
                return Module(self, name)
            found = self._class(name, modules)
            if found is not None:
                return found
            raise

    def _keys(self) -> List[str]:
        # In full, too: `server["lapack/`.
        modules = self._connection.modules()
        full = (f"{module}/{name}" for module in modules for name in _shown(modules[module]))
        return sorted({*self._names(), *(name for name in full if name[0] != "/")})

    def _names(self) -> List[str]:
        modules = self._connection.modules()
        bare = [name for names in modules.values() for name in _shown(names)]
        return sorted({*modules, *(name for name in bare if bare.count(name) == 1)})


class _Page:
    """What `help` shows of a module: the page of the routine of its name, or else its routines."""

    def __get__(self, module: Optional[Module], _: Any = None) -> str:
        about = "A module of a server: `server.lapack.dgesv`."
        if module is None:
            return about
        try:
            names = module._names()
            if module.__name__ in names and not module._own_methods():
                return module._own_routine().__doc__ or about
            return f"Module {module.__name__}: {', '.join(names)}"
        except _errors.Error:
            return about


class Module(Namespace[Routine]):
    __doc__ = _Page()  # type: ignore[assignment]

    def __init__(self, server: Server, name: str) -> None:
        self._server = server
        self._connection = server._connection
        self.__name__ = name

    def __repr__(self) -> str:
        return (
            f"<farcall.Module {self.__name__} at {self._connection.address}: "
            f"{', '.join(self._names())}>"
        )

    def _repr_html_(self) -> str:
        """Its routines, in notebooks."""
        try:
            listed = [
                one for one in self._connection.listed() if one.get("module", "") == self.__name__
            ]
        except _errors.Error:
            listed = []
        return _pages.of_module(f"{self.__name__} at {self._connection.address}", listed)

    @_errors.ends_here
    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        """Calls the routine of the same name, or makes an object of the class of the same name,
        where there is one."""
        name, methods = self.__name__, self._own_methods()
        if methods:
            return Class(self._server, f"{name}/{name}", methods)(*arguments, **named)
        return self._own_routine()(*arguments, **named)

    def _own_methods(self) -> List[str]:
        """Those of the class of the same name, where there is one."""
        return _methods(self.__name__, self._connection.modules().get(self.__name__, []))

    def _own_routine(self) -> Routine:
        if self.__name__ in self._names():
            # By its bare name, which is ambiguous if another module has such a routine, too.
            return self._server._routine(self.__name__)
        message = f'the module "{self.__name__}" is not a routine'
        advice = "it has " + ", ".join(self._names())
        raise _errors.make(
            _errors.WrongType, "call", message, advice, server=self._connection.address
        )

    def _found(self, name: str) -> Any:
        names = self._names()
        if name in _OF_ROUTINES and name not in names and self.__name__ in names:
            # Of the routine of the same name, which nothing else stands for.
            return getattr(self._own_routine(), name)
        methods = _methods(name, self._connection.modules().get(self.__name__, []))
        if methods:
            return Class(self._server, f"{self.__name__}/{name}", methods)
        return self._server._routine(f"{self.__name__}/{name}")

    def _names(self) -> List[str]:
        return _shown(self._connection.modules().get(self.__name__, []))


if TYPE_CHECKING:

    class Found(Routine, Module):
        """What type checkers take an attribute of a server for: it is one of both."""
