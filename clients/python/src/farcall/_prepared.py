"""The arguments of one call, ready for the core, from where on it is made: at once, or in the
background."""

from __future__ import annotations

import time
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

import numpy as np

from . import _arguments, _errors
from ._arguments import Filler
from ._arrays import dtype_text
from ._call_options import ANNOUNCED, UNANNOUNCED, call_options
from ._connection import FOR_EVER_SECONDS, count_of, seconds
from ._data import DATA, data_options
from ._groups import spread
from ._interface import CHAR, STRUCT, Parameter
from ._library import (
    PENDING,
    SLICE_SECONDS,
    check,
    error_place,
    ffi,
    handle_place,
    lib,
)
from ._named import label_text, server_text
from ._news import SILENT, Listener, is_shown
from ._places import (
    ArgumentMemory,
    CallPlaces,
    give_arguments_back,
    take_arguments,
    take_places,
)
from ._resources import resources
from ._results import Results, collect

if TYPE_CHECKING:
    from ._future import CallFuture
    from ._routine import Routine


def _is_habit(parameter: Parameter, value: Any) -> bool:
    """Whether a number is passed for a scalar result, as Fortran wants a variable for each: there
    is nothing to do with it."""
    if not parameter.is_single or parameter.is_text or parameter.element == STRUCT:
        return False
    kinds: Any = str if parameter.element == CHAR else (int, float, complex, np.number, np.bool_)
    return isinstance(value, kinds)


class Prepared:
    """The arguments of one call, ready for the core, and all the memory that they name."""

    def __init__(self, routine: Routine, arguments: Tuple[Any, ...], named: Dict[str, Any]) -> None:
        self.routine = routine
        self.interface = routine._interface
        # Until the core has copied them.
        self._memory: Optional[ArgumentMemory] = take_arguments(self.interface)
        self.filler = Filler(routine.name, self._memory.slots, routine._connection)
        self.destinations: Dict[int, Any] = {}
        # Whether there was no room for it once.
        self._waited = False
        self.timeout: Optional[float] = None
        self.deadline: Optional[float] = None
        self.run_timeout: Optional[float] = None
        self.listener = SILENT
        self.keep: Optional[float] = None
        self._label: Any = None
        self._at: Any = None
        self.ranks = 0
        self._resources: Any = ffi.NULL
        self._stay: Any = None
        self._lease: Optional[float] = None
        self.staying_at: Any = None
        named = {**routine._defaults, **named} if routine._defaults else named
        self._has_no_options = not named
        if self.interface.groups:
            arguments, named = (), spread(self.interface, arguments, named, self.wrong)
        if named:
            self._set_options(self._fill(arguments, named))
        else:
            self._fill_positions(arguments)
            if is_shown():
                self.listener = Listener(routine.name, None, None)
        if self.interface.has_beside:
            self._fill_beside()

    def _fill_beside(self) -> None:
        """What published Python functions are told beside their arguments (`_forms.py`)."""
        slots = self.filler.slots
        for parameter in self.interface.nullable:
            slot = slots[parameter.index]
            slot.kind = slot.kind or _arguments.NULL
        for rank, array in self.interface.ranks:
            if slots[array.index].kind == _arguments.ARRAY:
                slot = slots[rank.index]
                slot.kind, slot.value.integer = _arguments.INTEGER, slots[array.index].rank

    def _set_options(self, options: Dict[str, Any]) -> None:
        routine = self.routine
        self._set_timeouts(options.get("timeout"), options.get("run_timeout"))
        on_output, progress = options.get("on_output"), options.get("progress")
        if on_output is not None or progress is not None or is_shown():
            self.listener = Listener(routine.name, on_output, progress)
        keep, advice = options.get("keep"), "give seconds above 0, or None"
        # How long is too long, the server says: for ever, too.
        self.keep = (
            None
            if keep is None
            else seconds("keep a call", keep, advice, "a keep", routine=routine.name)
            or FOR_EVER_SECONDS
        )
        self._label = label_text(options.get("label"), self)
        self._at = server_text(options.get("at"), self.wrong)
        self.ranks = count_of("call", "ranks", options.get("ranks"), routine=routine.name)
        self._resources = resources(options)
        self._stay, self._lease = data_options(options, self)
        self.staying_at = None if self._stay is None else routine._connection
        self._set_destinations(
            options.get("out"), self._flag("inplace", options.get("inplace", False))
        )

    def wrong(self, message: str, advice: str = "") -> _errors.Error:
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
            if parameter.index in given or parameter.index in self.destinations:
                raise self.wrong(
                    f"{parameter.name} was passed twice", "give it by position or by name"
                )
            if parameter.is_input:
                given[parameter.index] = value
            elif value is not None and not _is_habit(parameter, value):
                self._into(parameter, value)
        for index, value in given.items():
            self.filler.fill(self.interface.parameters[index], value)
        return options

    def _fill_positions(self, arguments: Tuple[Any, ...]) -> None:
        """The same of a call without names."""
        positional = self.interface.positional
        if len(arguments) > len(positional):
            self._by_position(arguments)
            positional = positional + self.interface.optional
        fill = self.filler.fill
        for parameter, value in zip(positional, arguments):
            fill(parameter, value)

    def _by_position(self, arguments: Tuple[Any, ...]) -> Dict[int, Any]:
        optional = self.interface.optional
        positional = self.interface.positional + optional
        if len(arguments) <= len(positional):
            return {parameter.index: value for parameter, value in zip(positional, arguments)}
        names = ", ".join(one.name for one in positional) or "none"
        others = ", ".join(
            f"{one.name}=" for one in self.interface.by_keyword if one not in optional
        )
        advice = f"give others by name: {others}" if others else ""
        most = f"at most {len(positional)}" if optional else f"{len(positional)}"
        message = (
            f"{self.routine.__name__} takes {most} arguments by position ({names}), not "
            f"{len(arguments)}"
        )
        raise self.wrong(message, advice)

    def _named(self, name: str) -> Parameter:
        parameter = self.interface.find(name)
        if parameter is None:
            names = [one.name for one in self.interface.visible] + list(self.routine._options)
            advice = f"it takes {', '.join(names)}"
            nearest = get_close_matches(str(name), names, 1)
            if nearest:
                advice = f"did you mean {nearest[0]}? {advice}"
            raise self.wrong(f'{self.routine.__name__} takes no argument "{name}"', advice)
        return parameter

    def _set_timeouts(self, timeout: Any, run_timeout: Any) -> None:
        self.timeout = self.seconds_of(timeout)
        if self.timeout is not None:
            self.deadline = time.monotonic() + self.timeout
        self.run_timeout = self.seconds_of(run_timeout, "a run_timeout")

    def seconds_of(self, given: Any, what: str = "a timeout") -> Optional[float]:
        advice = "give seconds above 0, or None"
        if given is None:
            return None
        return seconds("call", given, advice, what, routine=self.routine.name)

    def _flag(self, option: str, value: Any) -> bool:
        if not isinstance(value, (bool, np.bool_)):
            raise self.wrong(f"{option}={value!r} is neither True nor False", "give one of them")
        return bool(value)

    # Destinations.
    def _set_destinations(self, out: Any, inplace: bool) -> None:
        for parameter, array in self._pairs(out):
            if array is not None:
                self._into(parameter, array)
        if inplace:
            for parameter in self.interface.outputs:
                is_free = parameter.index not in self.destinations
                kind = self.filler.slots[parameter.index].kind
                if is_free and parameter.may_be_written_over(kind):
                    self._in_place(parameter)
        if len(self.destinations) > 1:
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
                raise self.wrong(
                    f"out has {len(out)} items, and there are {len(outputs)} results ({names})"
                )
            return list(zip(outputs, out))
        if len(arrays) != 1:
            names = ", ".join(one.name for one in arrays) or "none"
            raise self.wrong(
                f"one array cannot be for all array results ({names})", "say out={name: array, ...}"
            )
        return [(arrays[0], out)]

    def _into(self, parameter: Parameter, array: Any) -> None:
        if not parameter.is_output:
            raise self.wrong(f"{parameter.name} is not a result", "leave it out of `out`")
        if parameter.is_file or parameter.is_files:
            self._into_file(parameter, array)
            return
        if parameter.is_text or not parameter.is_array and parameter.is_input:
            raise self.wrong(
                f"the result {parameter.name} is not an array", "leave it out of `out`"
            )
        if parameter.index in self.destinations:
            raise self.wrong(f"two places for the result {parameter.name}", "name one")
        self.filler.destination(parameter, array, _arguments.INTO)
        self.destinations[parameter.index] = array

    def _into_file(self, parameter: Parameter, path: Any) -> None:
        if parameter.is_input:
            message = f"the file {parameter.name} is replaced where it lies"
            raise self.wrong(message, "pass its path as the argument, and leave it out of `out`")
        if parameter.index in self.filler.paths:
            raise self.wrong(f"two places for the result {parameter.name}", "name one")
        if parameter.is_files:
            self.filler.files(parameter, path)
        else:
            self.filler.path(parameter, path)

    def _in_place(self, parameter: Parameter) -> None:
        array = self.filler.given.get(parameter.index)
        if array is None and self.filler.slots[parameter.index].kind == DATA:
            message = f"{parameter.name} is data, which never changes"
            raise self.wrong(message, "leave inplace out, and take the result")
        if array is None:
            message = f"{parameter.name} was converted, so that its result cannot go in its place"
            wanted = dtype_text(parameter)
            raise self.wrong(message, f"pass a NumPy array of {wanted}, or leave inplace out")
        self.filler.destination(parameter, array, _arguments.IN_PLACE)
        self.destinations[parameter.index] = array

    def _check_apart(self) -> None:
        arrays = list(self.destinations.items())
        for position, (index, one) in enumerate(arrays):
            for other, another in arrays[:position]:
                if np.shares_memory(one, another):
                    names = [self.interface.parameters[place].name for place in (other, index)]
                    raise self.wrong(
                        f"{names[0]} and {names[1]} would be written to the same memory"
                    )

    # The call.
    def collect(self, places: CallPlaces) -> Results:
        """The core's results as Python's."""
        destinations = self.destinations
        if self.filler.paths:
            destinations = {**destinations, **self.filler.paths}
        return collect(self.interface, places, destinations, self.filler.labelled, self.staying_at)

    def _options(self, announced: bool) -> Any:
        # Kept as long as the options are read.
        self._id = self.routine._on()
        if self._has_no_options and self._id is None and not self.listener.wanted:
            return ANNOUNCED if announced else UNANNOUNCED
        options = call_options(announced)
        # More than a clock can hold is no limit, and neither is 0.
        options.timeout_seconds = self.timeout or 0.0
        options.run_timeout_seconds = self.run_timeout or 0.0
        if self._waited and self.deadline is not None:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise self.timed_out()
            options.timeout_seconds = left
        options.wanted = self.listener.wanted
        if self._id is not None:
            options.on = self._id
        options.ranks = self.ranks
        options.resources = self._resources
        options.at = self._at or ffi.NULL
        if self._stay is not None:
            options.stay, options.lease_seconds = self._stay, self._lease or 0.0
        if self.keep is not None:
            options.keep_seconds, options.durable = self.keep, 1
            if self._label is not None:
                options.label = self._label
        return options

    def _start(self, announced: bool, wait: float, place: Any, error: Any) -> bool:
        """Starts a call in its place; False if there is no room for one."""
        memory, interface = self._memory, self.interface
        if memory is None:
            raise _errors.make(_errors.InternalError, "call", "it was started before")
        # Says why if the connection cannot be used.
        self.routine._connection.handles.client()
        options = self._options(announced)
        handle, count = self.routine._handle(), len(interface.parameters)
        status = lib.farcall_start_within(
            handle, memory.arguments, count, options, wait, place, error
        )
        self._waited = check(status, error) == PENDING
        if self._waited:
            return False
        self._memory = None
        give_arguments_back(interface, memory)
        return True

    def take_memory(self) -> Any:
        """Its arguments, once; `give_arguments_back` has them again."""
        memory, self._memory = self._memory, None
        return memory

    @property
    def is_kept(self) -> bool:
        """Whether it goes on without this program."""
        return self.keep is not None

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
        words = "timed out, and the server did not say whether it ran or waited in the queue"
        advice = "raise timeout="
        if self._memory is not None:
            words = "timed out before it was sent, since the server had no room for another call"
            advice = "raise timeout=, or give run_timeout=, which counts while the routine runs"
        return _errors.make(_errors.TimedOut, "call", words, advice, **facts)

    def forget_routine(self) -> None:
        """Has the routine looked up again when it is named again: its interface is another one by
        now."""
        self.routine._connection.forget(getattr(self.routine, "_of", self.routine))

    def _interruptible(self) -> Results:
        places = take_places()
        places.used.append(self)
        ended_well = False
        try:
            # In slices, so that signals are handled.
            while not self._start(False, SLICE_SECONDS, places.call, places.error):
                pass
            self._wait(places)
            ended_well = True
            return self.collect(places)
        finally:
            self.listener.close(ended_well)
            # Ends the call if an exception came in between: its memory is free then.
            places.give_back()

    def _wait(self, places: CallPlaces) -> None:
        """Waits for the end of the call."""
        call, results, error = places.call[0], places.results, places.error
        while self.listener.wanted and not self.listener.take(places.call, SLICE_SECONDS):
            self._check_wanted()
        while check(lib.farcall_call_wait(call, SLICE_SECONDS, results, error), error) == PENDING:
            self._check_wanted()
        self.check_functions()

    def _check_wanted(self) -> None:
        # Says so when another thread closes the connection. Only then this call lets go of it: it
        # has a share in it.
        self.routine._connection.handles.client()
        self.check_functions()

    def start(self, future: CallFuture) -> None:
        """Makes the call while the program goes on; waits until there is room for it."""
        while not self.start_within(future, SLICE_SECONDS):
            pass

    def start_within(self, future: CallFuture, wait: float) -> bool:
        """The same, but no longer than for `wait` seconds: False if there is no room by then."""
        # Whoever runs its functions hears of its end, too.
        call = handle_place("farcall_call **", lib.farcall_call_free, used=self)
        if not self._start(not self.calls_back, wait, call, error_place()):
            return False
        future.started(call, self, self.routine._connection.handles.waiter)
        return True
