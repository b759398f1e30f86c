"""A remote routine as a Python callable."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from difflib import get_close_matches
from typing import Any, Dict, NoReturn, Optional, Tuple

import numpy as np

from . import _arguments, _errors, _pages
from ._arguments import Filler
from ._arrays import dtype_text
from ._connection import FOR_EVER_SECONDS, Connection, count_of, not_portable, seconds
from ._future import CallFuture
from ._interface import OPTIONS, Interface, Parameter, option_name, python_name
from ._library import (
    PENDING,
    SLICE_SECONDS,
    check,
    error_place,
    ffi,
    handle_place,
    lib,
    text,
    wait_for,
)
from ._news import Listener
from ._results import Results, collect


class Routine:
    """A routine of a server. Calling it runs it there and returns `farcall.Results`.

    IN and INOUT arrays, strings, and scalars that neither arrays nor defaults determine go by
    position, in interface order; everything may be given by name. Seven options are understood by
    every routine:

    timeout: seconds for the whole call; `farcall.TimedOut` when they are over.
    out: where results go: a dictionary of arrays by name, a tuple in the order of the results (None: a new array), or
        one array for the only array result. An OUT parameter given by name does the same.
    inplace: True to write the results of INOUT arrays over the arguments.
    on_output: a function, or a text file, that gets what the routine prints while it runs, as `farcall.Printed`.
    progress: True for a bar in the terminal or the notebook, for routines that say how far they are; or a function that
        gets a `farcall.Progress` when the call is queued, begins, and gets on.
    keep: seconds after its end for which the server keeps the outcome. The call goes on without this program, and its
        outcome survives the server: `Server.fetch(call.id)`.
    ranks: processes that MPI starts for the call, of a routine with `Backend "MPI"`. Other routines run in one.

    Without `out` or `inplace` no argument is changed. An option of the same name as a parameter is
    written with an underscore behind it.
    """

    def __init__(self, connection: Connection, place: Any) -> None:
        self._connection = connection
        # The handle lives as long as its place.
        self._place, handle = place, place[0]
        self._pid = os.getpid()
        self._json = text(lib.farcall_routine_json(handle)) or "{}"
        self._interface = Interface(json.loads(self._json))
        self._signature = self._in_python(text(lib.farcall_routine_signature(handle)) or "")
        # What each option is called here, and the other way round.
        self._options = {option_name(option, self._interface.names): option for option in OPTIONS}
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

    def _option(self, option: str) -> Optional[str]:
        """The name by which calls take an option of Farcall's: another one where a parameter has
        that name."""
        return next((name for name, meant in self._options.items() if meant == option), None)

    def _handle(self) -> Any:
        """The core's handle; in a forked child one of the child's own."""
        if self._pid != os.getpid():
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

    @property
    def interface(self) -> Dict[str, Any]:
        """The interface as data: the keys are those of `farcall show --json`."""
        described: Dict[str, Any] = json.loads(self._json)
        return described

    def __call__(self, /, *arguments: Any, **named: Any) -> Results:
        """Calls it and waits for its end."""
        return Prepared(self, arguments, named).call()

    def hold(
        self,
        count: int,
        *,
        lease: Optional[float] = None,
        timeout: Optional[float] = None,
        wait: bool = True,
        ranks: Optional[int] = None,
    ) -> Any:
        """So many processes of its own on the server that run it and nothing else:
        `farcall.Handles`. With `wait=False` without waiting for their start; calls may follow at
        once. `ranks`: processes of which MPI makes each."""
        from ._objects import Handles, _hold_options

        return Handles(self, count, wait, _hold_options(lease, timeout, False, ranks))

    async def aio(self, /, *arguments: Any, **named: Any) -> Results:
        """Calls it from a coroutine: `results = await routine.aio(...)`. The event loop goes on
        meanwhile.

        Any number may be under way, in any number of loops and threads. If the awaiting task is
        cancelled, the server is asked to end the call, and its arrays are the caller's again.
        """
        starter = self._connection.handles.starter
        await starter.turn()
        future = CallFuture()
        starter.start(future, Prepared(self, arguments, named))
        try:
            return await asyncio.wrap_future(future)
        finally:
            # For a coroutine that is closed; a cancelled task has cancelled the future already.
            future.cancel()

    def submit(self, /, *arguments: Any, **named: Any) -> CallFuture:
        """Starts it, and returns a `concurrent.futures.Future`. Whatever goes wrong is raised by
        its `result()`.

        With `keep` it returns when the server has said that the call goes on without this program,
        and raises why if it does not: a call that has an id is found by it.
        """
        future = CallFuture()
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


class Prepared:
    """The arguments of one call, ready for the core, and all the memory that they name."""

    def __init__(self, routine: Routine, arguments: Tuple[Any, ...], named: Dict[str, Any]) -> None:
        self.routine = routine
        self.interface = routine._interface
        self.filler = Filler(routine.name, len(self.interface.parameters))
        self.places: Dict[int, Any] = {}
        # Whether there was no room for it once.
        self._waited = False
        self.timeout: Optional[float] = None
        self.deadline: Optional[float] = None
        options = self._fill(arguments, named)
        self._set_timeout(options.get("timeout"))
        self.listener = Listener(routine.name, options.get("on_output"), options.get("progress"))
        keep, advice = options.get("keep"), "give seconds above 0, or None"
        # How long is too long, the server says: for ever, too.
        self.keep = (
            None
            if keep is None
            else seconds("keep a call", keep, advice, routine=routine.name) or FOR_EVER_SECONDS
        )
        self.ranks = count_of("call", "ranks", options.get("ranks"), routine=routine.name)
        self._set_destinations(
            options.get("out"), self._flag("inplace", options.get("inplace", False))
        )

    # ---- Arguments
    # ---------------------------------------------------------------------------------------------------

    def _wrong(self, message: str, advice: str = "") -> _errors.Error:
        return _errors.make(_errors.WrongType, "call", message, advice, routine=self.routine.name)

    def _fill(self, arguments: Tuple[Any, ...], named: Dict[str, Any]) -> Dict[str, Any]:
        """Files arguments under their parameters; returns the options."""
        given = self._by_position(arguments)
        options: Dict[str, Any] = {}
        for name, value in named.items():
            option = self.routine._options.get(name)
            if option is not None:
                options[option] = value
                continue
            parameter = self._named(name)
            if parameter.index in given or parameter.index in self.places:
                raise self._wrong(
                    f"{parameter.name} was passed twice", "give it by position or by name"
                )
            if parameter.is_input:
                given[parameter.index] = value
            elif value is not None:
                self._into(parameter, value)
        for index, value in given.items():
            self.filler.fill(self.interface.parameters[index], value)
        return options

    def _by_position(self, arguments: Tuple[Any, ...]) -> Dict[int, Any]:
        positional = self.interface.positional
        if len(arguments) <= len(positional):
            return {parameter.index: value for parameter, value in zip(positional, arguments)}
        names = ", ".join(one.name for one in positional) or "none"
        others = ", ".join(f"{one.name}=" for one in self.interface.by_keyword)
        advice = f"give others by name: {others}" if others else ""
        message = f"{self.routine.__name__} takes {len(positional)} arguments by position ({names}), not {len(arguments)}"
        raise self._wrong(message, advice)

    def _named(self, name: str) -> Parameter:
        parameter = self.interface.find(name)
        if parameter is None:
            names = [one.name for one in self.interface.visible] + list(self.routine._options)
            advice = f"it takes {', '.join(names)}"
            nearest = get_close_matches(str(name), names, 1)
            if nearest:
                advice = f"did you mean {nearest[0]}? {advice}"
            raise self._wrong(f'{self.routine.__name__} takes no argument "{name}"', advice)
        return parameter

    def _set_timeout(self, timeout: Any) -> None:
        if timeout is None:
            return
        self.timeout = seconds(
            "call", timeout, "give seconds above 0, or None", routine=self.routine.name
        )
        if self.timeout is not None:
            self.deadline = time.monotonic() + self.timeout

    def _flag(self, option: str, value: Any) -> bool:
        if not isinstance(value, (bool, np.bool_)):
            raise self._wrong(f"{option}={value!r} is neither True nor False", "give one of them")
        return bool(value)

    # ---- Destinations
    # ------------------------------------------------------------------------------------------------

    def _set_destinations(self, out: Any, inplace: bool) -> None:
        for parameter, array in self._pairs(out):
            if array is not None:
                self._into(parameter, array)
        if inplace:
            for parameter in self.interface.outputs:
                if parameter.is_input and parameter.is_array and parameter.index not in self.places:
                    self._in_place(parameter)
        if len(self.places) > 1:
            self._check_apart()

    def _pairs(self, out: Any) -> Any:
        """Parameters and arrays that `out` names."""
        outputs, arrays = self.interface.outputs, self.interface.array_outputs
        if out is None:
            return ()
        if isinstance(out, dict):
            return [(self._named(name), array) for name, array in out.items()]
        if isinstance(out, (tuple, list)):
            if len(out) != len(outputs):
                names = ", ".join(one.name for one in outputs)
                raise self._wrong(
                    f"out has {len(out)} items, and there are {len(outputs)} results ({names})"
                )
            return list(zip(outputs, out))
        if len(arrays) != 1:
            names = ", ".join(one.name for one in arrays) or "none"
            raise self._wrong(
                f"one array cannot be for all array results ({names})", "say out={name: array, ...}"
            )
        return [(arrays[0], out)]

    def _into(self, parameter: Parameter, array: Any) -> None:
        if not parameter.is_output:
            raise self._wrong(f"{parameter.name} is not a result", "leave it out of `out`")
        if parameter.is_file or parameter.is_files:
            self._into_file(parameter, array)
            return
        if parameter.is_text or not parameter.is_array and parameter.is_input:
            raise self._wrong(
                f"the result {parameter.name} is not an array", "leave it out of `out`"
            )
        if parameter.index in self.places:
            raise self._wrong(f"two places for the result {parameter.name}", "name one")
        self.filler.destination(parameter, array, _arguments.INTO if parameter.is_input else 0)
        self.places[parameter.index] = array

    def _into_file(self, parameter: Parameter, path: Any) -> None:
        if parameter.is_input:
            message = f"the file {parameter.name} is replaced where it lies"
            raise self._wrong(message, "pass its path as the argument, and leave it out of `out`")
        if parameter.index in self.filler.paths:
            raise self._wrong(f"two places for the result {parameter.name}", "name one")
        if parameter.is_files:
            self.filler.files(parameter, path)
        else:
            self.filler.path(parameter, path)

    def _in_place(self, parameter: Parameter) -> None:
        array = self.filler.given.get(parameter.index)
        if array is None:
            message = f"{parameter.name} was converted, so that its result cannot go in its place"
            wanted = dtype_text(parameter)
            raise self._wrong(message, f"pass a NumPy array of {wanted}, or leave inplace out")
        self.filler.destination(parameter, array, _arguments.IN_PLACE)
        self.places[parameter.index] = array

    def _check_apart(self) -> None:
        arrays = list(self.places.items())
        for position, (index, one) in enumerate(arrays):
            for other, another in arrays[:position]:
                if np.shares_memory(one, another):
                    names = [self.interface.parameters[place].name for place in (other, index)]
                    raise self._wrong(
                        f"{names[0]} and {names[1]} would be written to the same memory"
                    )

    # ---- The call
    # ----------------------------------------------------------------------------------------------------

    def collect(self, results: Any) -> Results:
        """The core's results as Python's."""
        return collect(self.interface, results, {**self.places, **self.filler.paths})

    def _options(self, announced: bool) -> Any:
        options = ffi.new("farcall_call_options *")
        options.size = ffi.sizeof("farcall_call_options")
        # More than a clock can hold is no limit, and neither is 0.
        options.timeout_seconds = self.timeout or 0.0
        if self._waited and self.deadline is not None:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise self.timed_out()
            options.timeout_seconds = left
        options.announced = announced
        options.wanted = self.listener.wanted
        if isinstance(self.routine, Method):
            # Kept as long as the options are read.
            self._id = self.routine._on()
            options.on = self._id
        options.ranks = self.ranks
        if self.keep is not None:
            options.keep_seconds, options.durable = self.keep, 1
        return options

    def _start(self, announced: bool, wait: float) -> Any:
        """The place of a call under way, which keeps alive all that its arguments name; None if
        there is no room for one."""
        # Says why if the connection cannot be used.
        self.routine._connection.handles.client()
        place, error = (
            handle_place("farcall_call **", lib.farcall_call_free, used=self),
            error_place(),
        )
        slots, count = self.filler.slots, len(self.interface.parameters)
        options = self._options(announced)
        status = lib.farcall_start_within(
            self.routine._handle(), slots, count, options, wait, place, error
        )
        self._waited = check(status, error) == PENDING
        return None if self._waited else place

    @property
    def array_bytes(self) -> int:
        """Bytes of the arrays that it passes."""
        return self.filler.array_bytes

    @property
    def calls_back(self) -> bool:
        """Whether it passes functions, which run in the thread that waits for it."""
        return bool(self.filler.functions)

    def explained(self, error: BaseException) -> BaseException:
        """What is to be raised for a call that failed: what one of its functions raised has led to
        it, or is meant to end the program."""
        raised = [one.raised for one in self.filler.functions if one.raised is not None]
        if raised and isinstance(error, _errors.RoutineFailed):
            error.__cause__ = raised[-1]
        return next((one for one in raised if not isinstance(one, Exception)), error)

    def check_functions(self) -> None:
        """Raises an interrupt of one of its functions."""
        for one in self.filler.functions:
            if one.raised is not None and not isinstance(one.raised, Exception):
                raise one.raised

    def call(self) -> Results:
        """Makes the call and waits for its end."""
        try:
            return self._interruptible()
        except _errors.InterfaceChanged:
            self.forget_routine()
            raise
        except _errors.Error as error:
            explained = self.explained(error)
            if explained is error:
                raise
            raise explained from error

    def timed_out(self) -> _errors.Error:
        """The error of a call that the core would still wait for, when it times out."""
        facts = {"routine": self.routine.name, "timeout": f"{self.timeout:g} s"}
        return _errors.make(_errors.TimedOut, "call", "timed out", "raise timeout=", **facts)

    def forget_routine(self) -> None:
        """Has the routine looked up again when it is named again: its interface is another one by
        now."""
        self.routine._connection.forget(getattr(self.routine, "_of", self.routine))

    def _interruptible(self) -> Results:
        results, error = handle_place("farcall_results **", lib.farcall_results_free), error_place()
        # Says so when another thread closes the connection. Only then this call lets go of it: it
        # has a share in it.
        client = self.routine._connection.handles.client

        def connected() -> None:
            client()
            self.check_functions()

        call = None
        # In slices, so that signals are handled.
        while call is None:
            call = self._start(announced=False, wait=SLICE_SECONDS)
        ended_well = False
        try:
            while self.listener.wanted and not self.listener.take(call, SLICE_SECONDS):
                connected()
            wait_for(
                lambda seconds: lib.farcall_call_wait(call[0], seconds, results, error),
                error,
                connected,
            )
            self.check_functions()
            ended_well = True
            return self.collect(results)
        finally:
            self.listener.close(ended_well)
            # Ends the call if an exception came in between: its memory is free then.
            ffi.release(call)

    def start(self, future: CallFuture) -> None:
        """Makes the call while the program goes on; waits until there is room for it."""
        while not self.start_within(future, SLICE_SECONDS):
            pass

    def start_within(self, future: CallFuture, wait: float) -> bool:
        """The same, but no longer than for `wait` seconds: False if there is no room by then."""
        # Whoever runs its functions hears of its end, too.
        call = self._start(announced=not self.calls_back, wait=wait)
        if call is None:
            return False
        future.started(call, self, self.routine._connection.handles.waiter)
        return True
