"""A remote routine as a Python callable."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
from typing import Any, Dict, NoReturn, Optional

from . import _errors, _pages
from ._connection import Connection, not_portable
from ._explained import Explanation, explain
from ._future import CallFuture
from ._interface import OPTIONS, Interface, option_name, python_name
from ._library import ffi, lib, text
from ._prepared import Prepared
from ._resources import Count, Time
from ._results import Results


class Routine:
    """A routine of a server. Calling it runs it there and returns `farcall.Results`.

    IN and INOUT arrays, strings, and scalars that neither arrays nor defaults determine go by
    position, in interface order, and what has a default behind them; everything may be given by
    name. These options are understood by every routine:

    timeout: seconds for the whole call, its time in the queue too; `farcall.TimedOut` when they are
        over.
    run_timeout: seconds for the routine from when it begins, each time that the server runs it;
        `farcall.TimedOut` when they have passed. Time in the queue does not count.
    out: where results go: a dictionary of arrays by name, a tuple in the order of the results
        (None: a new array), or one array for the only array result. An OUT parameter given by name
        does the same.
    inplace: True to write the results of INOUT arrays over the arguments.
    on_output: a function, or a text file, that gets what the routine prints while it runs, as
        `farcall.Printed`.
    progress: True for a bar in the terminal or the notebook, for routines that say how far they
        are; or a function that gets a `farcall.Progress` when the call is queued, begins, and gets
        on.
    keep: seconds after its end for which the server keeps the outcome. The call goes on without
        this program, and its outcome survives the server: `Server.fetch(call.id)`.
    label: what `Server.kept` lists a call with `keep` by, at most 200 bytes of UTF-8.
    ranks: processes that MPI starts for the call, of a routine with `Backend "MPI"`. Other routines
        run in one.
    at: the server that the call is to run on, and no other, where there are several: its name or
        one of its addresses, as `farcall servers` lists them.
    stay: True to have the results that are arrays of numbers stay at the server as `farcall.Data`,
        or the names of some of them. They are arguments of other calls without travelling.
    lease: seconds for which these stay when the connection has ended; not at all by default.
    cores, memory, gpus, wall_time: what each of its processes is given: `cores=4, memory="2 GB",
        gpus=1, wall_time="30 min"`, or some of these. A batch system is asked for them, and they are
        limits on the routine. `options` gives them, or any of the others, to all calls.

    Without `out` or `inplace` no argument is changed. An option of the same name as a parameter is
    written with an underscore behind it.
    """

    def __init__(self, connection: Connection, place: Any) -> None:
        self._connection = connection
        # The handle lives as long as its place.
        self._place, handle = place, place[0]
        self._pid = os.getpid()
        # Options of all calls, by the names that they have here.
        self._defaults: Dict[str, Any] = {}
        self._json = text(lib.farcall_routine_json(handle)) or "{}"
        self._interface = Interface(json.loads(self._json))
        # What each option is called here, and the other way round.
        self._options = {option_name(option, self._interface.names): option for option in OPTIONS}
        self._signature = self._in_python(text(lib.farcall_routine_signature(handle)) or "")
        if self._interface.is_python:
            self._signature = self._with_optional()
        self.name = self._interface.full_name
        self.__name__ = self._interface.name
        self.__qualname__ = self.name.replace("/", ".")
        self.__doc__ = text(lib.farcall_routine_help(handle)) or ""
        self.__signature__ = self._interface.signature()

    def __repr__(self) -> str:
        return self._signature

    def _repr_html_(self) -> str:
        """Its signature, what it does, and its parameters, in notebooks."""
        return _pages.of_routine(self.interface, self._signature)

    def __reduce__(self) -> NoReturn:
        raise not_portable("a routine")

    def _in_python(self, signature: str) -> str:
        """The core's signature with parameters as keywords may be spelled; the routine's own name
        stays."""
        name, bracket, rest = signature.partition("(")
        for one in self._interface.visible:
            if python_name(one.name) != one.name:
                rest = re.sub(rf"\b{one.name}\b", python_name(one.name), rest)
        return name + bracket + rest

    def _with_optional(self) -> str:
        """The signature with what has a default before the star: by position, too."""
        listed = self._interface.signature().parameters.values()
        own = [one for one in listed if one.name not in self._options]
        outputs = self._interface.result_names
        names = ", ".join(outputs)
        results = f"({names})" if len(outputs) > 1 else names or "None"
        return f"{self._interface.name}{inspect.Signature(own)} -> {results}"

    def _option(self, option: str) -> Optional[str]:
        """The name by which calls take an option of Farcall's: another one where a parameter has
        that name."""
        return next((name for name, meant in self._options.items() if meant == option), None)

    def _handle(self) -> Any:
        """The core's handle; in a forked child one of the child's own."""
        # The caller has checked that the connection is this process's.
        if self._pid != self._connection.handles.pid:
            place = self._connection.lookup(self.name)
            if (text(lib.farcall_routine_json(place[0])) or "{}") != self._json:
                self._connection.forget(self)
                message, advice = (
                    "its interface changed after the client fetched it",
                    "look it up again",
                )
                raise _errors.make(
                    _errors.InterfaceChanged, "call", message, advice, routine=self.name
                )
            # The parent's keeps what lies there; nothing is freed of it here.
            self._inherited, self._place, self._pid = self._place, place, os.getpid()
        return self._place[0]

    def _on(self) -> Any:
        """The id of the process of the server's that it runs in; None for any."""
        return None

    @_errors.ends_here
    def options(self, **options: Any) -> Routine:
        """The same routine with options for all calls, where a call does not say otherwise:
        `solve = server.dgesv.options(cores=4, memory="2 GB")`."""
        for name in options:
            if name not in self._options:
                known = ", ".join(self._options)
                message, advice = f'there is no option "{name}"', f"there are {known}"
                raise _errors.make(
                    _errors.WrongType, "set options", message, advice, routine=self.name
                )
        one = Routine.__new__(type(self))
        one.__dict__.update(self.__dict__)
        one._defaults = {**self._defaults, **options}
        one._of = getattr(self, "_of", self)
        return one

    @property
    def interface(self) -> Dict[str, Any]:
        """The interface as data: the keys are those of `farcall show --json`."""
        described: Dict[str, Any] = json.loads(self._json)
        return described

    def __call__(self, /, *arguments: Any, **named: Any) -> Results:
        """Calls it and waits for its end."""
        try:
            return Prepared(self, arguments, named).call()
        except (_errors.Error, KeyboardInterrupt) as error:
            # As `ends_here`, which a small call would notice.
            __tracebackhide__ = True
            raise _errors.shortened(error)

    @_errors.ends_here
    def explain(self, /, *arguments: Any, **named: Any) -> Explanation:
        """Where a call with these arguments would run, and why: a table of all servers with the
        seconds that it would wait, be sent, run and return. Nothing is called. Arrays may be left
        out where their sizes are given: `server.dgesv.explain(n=4000)`."""
        return explain(Prepared(self, arguments, named))

    @_errors.ends_here
    def hold(
        self,
        count: int,
        *,
        lease: Optional[float] = None,
        timeout: Optional[float] = None,
        wait: bool = True,
        ranks: Optional[int] = None,
        cores: Optional[Count] = None,
        memory: Optional[str] = None,
        gpus: Optional[Count] = None,
        wall_time: Optional[Time] = None,
    ) -> Any:
        """So many processes of its own on the server that run it and nothing else:
        `farcall.Handles`. With `wait=False` without waiting for their start; calls may follow at
        once. `ranks`: processes of which MPI makes each. `cores`, `memory`, `gpus`, `wall_time`: what
        each process is given."""
        from ._objects import Handles, _hold_options

        asked = {"cores": cores, "memory": memory, "gpus": gpus, "wall_time": wall_time}
        return Handles(self, count, wait, _hold_options(lease, timeout, False, ranks, asked))

    async def aio(self, /, *arguments: Any, **named: Any) -> Results:
        """Calls it from a coroutine: `results = await routine.aio(...)`. The event loop goes on
        meanwhile.

        Any number may be under way, in any number of loops and threads. If the awaiting task is
        cancelled, the server is asked to end the call, and its arrays are the caller's again.
        """
        starter = self._connection.handles.starter
        await starter.turn()
        future = CallFuture(self.name)
        try:
            starter.start(future, Prepared(self, arguments, named))
            return await asyncio.wrap_future(future)
        except _errors.Error as error:
            __tracebackhide__ = True
            raise _errors.shortened(error)
        finally:
            # For a coroutine that is closed; a cancelled task has cancelled the future already.
            future.cancel()

    @_errors.ends_here
    def submit(self, /, *arguments: Any, **named: Any) -> CallFuture:
        """Starts it, and returns a `concurrent.futures.Future`. Whatever goes wrong is raised by
        its `result()`.

        With `keep` it returns when the server has said that the call goes on without this program,
        and raises why if it does not: a call that has an id is found by it.
        """
        future = CallFuture(self.name)
        try:
            prepared = Prepared(self, arguments, named)
            prepared.start(future)
        except _errors.Error as error:
            if named.get("keep") is not None:
                raise
            future.set_exception(error)
            return future
        if prepared.keep is not None:
            future.wait_kept()
        return future


class Method(Routine):
    """A routine that runs in one certain process of the server: a method of an object, or one of an
    array of handles."""

    def __init__(self, routine: Routine, held: Any, index: int) -> None:
        self.__dict__.update(routine.__dict__)
        # The hold lives as long as whoever can call it, and calls under way.
        self._of, self._held, self._index = routine, held, index

    def _handle(self) -> Any:
        # In a forked child, that one's own.
        return self._of._handle()

    def _on(self) -> Any:
        self._held.handle("call")
        return ffi.new("unsigned char[16]", self._held.id(self._index))

    def hold(self, *_: Any, **__: Any) -> NoReturn:
        raise _errors.make(
            _errors.WrongType, "make handles", "it is a method, or one of such handles already"
        )
