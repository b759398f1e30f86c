"""Functions that are passed to routines: called with NumPy arrays by whoever waits for the call,
their results checked."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Sequence
from typing import Any, Callable, List, Optional, Tuple

import numpy as np

from . import _errors
from ._arguments import Filler
from ._arrays import as_array, dtype_text
from ._refusals import refuse
from ._interface import CHAR, Callback, Parameter
from ._library import ffi, lib
from ._views import array_at, text_at, texts_at

# enum farcall_argument_kind.
NULL: int = lib.FARCALL_NULL
CALLBACK: int = lib.FARCALL_CALLBACK


class Passed:
    """A function that was passed for a callback of a routine, and what it has raised."""

    def __init__(self, routine: str, parameter: Parameter, function: Callable[..., Any]) -> None:
        self.name = f"{routine}.{parameter.name}"
        self._callback: Callback = parameter.callback
        self._function = function
        self._given = given_to(routine, parameter, function)
        # The last that it raised.
        self.raised: Optional[BaseException] = None
        # What the core gives back to `_run`.
        self.handle = ffi.new_handle(self)

    def run(self, running: Any) -> None:
        """Calls it with the parameters of a call of the callback."""
        try:
            self._call(running)
        except BaseException as error:
            self.fail(running, error)

    def fail(self, running: Any, error: BaseException) -> None:
        """It has raised: the routine is told so."""
        self.raised = error
        lib.farcall_running_fail(running, _said(error).encode("utf-8", "replace"))

    def _call(self, running: Any) -> None:
        views = ffi.new("farcall_parameter[]", len(self._callback.parameters))
        for one in self._callback.parameters:
            lib.farcall_running_parameter(running, one.index, views + one.index)
        values = {one.index: value_of(one, views[one.index]) for one in self._callback.inputs}
        returned = self._function(*(values[one.index] for one in self._given))
        for one in self._callback.written:
            if values[one.index] is not None:
                array_at(views[one.index], one.dtype)[...] = values[one.index]
        for one, result in zip(self._callback.returned, self._split(returned)):
            self._give(running, one, views[one.index], result)

    def _split(self, returned: Any) -> Tuple[Any, ...]:
        """One result for each that is declared."""
        wanted = self._callback.returned
        if not wanted:
            if returned is not None and self._callback.written:
                name = self._callback.written[0].name
                message = (
                    f"it returned {_described(returned)}, and the routine reads {name}, which is "
                    "INOUT"
                )
                raise _wrong(
                    self.name, message, f"write to it in place: {name}[...] = …; and return nothing"
                )
            return ()
        if len(wanted) == 1:
            return returned if isinstance(returned, tuple) and len(returned) == 1 else (returned,)
        if not isinstance(returned, (tuple, list)) or len(returned) != len(wanted):
            names = ", ".join(one.name for one in wanted)
            found = (
                f"{len(returned)} values" if isinstance(returned, tuple) else _described(returned)
            )
            raise _wrong(
                self.name,
                f"it returned {found}, and {len(wanted)} are declared",
                f"return ({names})",
            )
        return tuple(returned)

    def _give(self, running: Any, parameter: Parameter, view: Any, result: Any) -> None:
        if view.kind == lib.FARCALL_PARAMETER_TEXTS:
            self._answer_all(running, parameter, view.shape[0], result)
        elif parameter.is_text:
            self._answer(running, parameter, result)
        elif view.kind in (lib.FARCALL_PARAMETER_ARRAY, lib.FARCALL_PARAMETER_NUMBER):
            give(self.name, parameter, array_at(view, parameter.dtype), result)

    def _answer(self, running: Any, parameter: Parameter, result: Any, element: int = 0) -> None:
        if result is None:
            return
        text = result.encode("utf-8", "surrogateescape") if isinstance(result, str) else result
        answer = lib.farcall_running_answer_at
        if (
            not isinstance(text, bytes)
            or answer(running, parameter.index, element, text, len(text)) != 0
        ):
            message = f"it returned {_described(result)} as {parameter.name}, which is a string"
            raise _wrong(self.name, message, "return a str without a NUL, or None")

    def _answer_all(self, running: Any, parameter: Parameter, count: int, result: Any) -> None:
        """Takes the strings of an array; nothing returned leaves an INOUT one as it is."""
        if result is None and parameter.is_input:
            return
        if (
            isinstance(result, (str, bytes))
            or not isinstance(result, (Sequence, np.ndarray))
            or len(result) != count
        ):
            message = (
                f"it returned {_described(result)} as {parameter.name}, which is {count} strings"
            )
            raise _wrong(self.name, message, "return a list of them")
        for element, one in enumerate(result):
            if one is None:
                lib.farcall_running_answer_at(running, parameter.index, element, ffi.NULL, 0)
            self._answer(running, parameter, one, element)


@ffi.callback(
    "farcall_callback_body", onerror=lambda kind, error, trace: _interrupted(error, trace)
)  # type: ignore[untyped-decorator]
def _run(context: Any, running: Any) -> None:
    ffi.from_handle(context).run(running)


def _interrupted(error: BaseException, trace: Any) -> None:
    """An interrupt came before the function began, or after it: it is raised by the call."""
    known = trace.tb_frame.f_locals if trace is not None else {}
    if "context" in known and "running" in known:
        ffi.from_handle(known["context"]).fail(known["running"], error)
    else:
        traceback.print_exception(type(error), error, trace)


def pass_function(filler: Filler, parameter: Parameter, function: Any) -> Optional[Passed]:
    """Fills the slot of a callback; None is the NULL function."""
    slot = filler.slots[parameter.index]
    if function is None:
        slot.kind = NULL
        return None
    if not callable(function):
        message = f"the routine wants a function, not {_described(function)}"
        refuse(
            filler.routine,
            parameter,
            message,
            f"pass {parameter.callback.example()}",
            wrong_type=True,
        )
    if inspect.iscoroutinefunction(function):
        message, advice = (
            "it is a coroutine function, which would never be awaited",
            "pass an ordinary function",
        )
        refuse(filler.routine, parameter, message, advice, wrong_type=True)
    passed = Passed(filler.routine, parameter, function)
    slot.kind, slot.value.callback.body, slot.value.callback.context = CALLBACK, _run, passed.handle
    filler.keep.append(passed)
    return passed


def given_to(routine: str, parameter: Parameter, function: Callable[..., Any]) -> List[Parameter]:
    """What a function is called with: all IN and INOUT parameters, or those without what the
    arrays' extents say. As many as it takes decide that; arguments with defaults do not count
    unless they have to."""
    callback: Callback = parameter.callback
    try:
        taken = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        # Compiled functions need not say.
        return callback.brief
    kinds = inspect.Parameter
    if any(one.kind == kinds.VAR_POSITIONAL for one in taken):
        return callback.inputs
    by_position = [
        one for one in taken if one.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    ]
    needed = [one for one in by_position if one.default is kinds.empty]
    by_name = [
        one for one in taken if one.kind == kinds.KEYWORD_ONLY and one.default is kinds.empty
    ]
    if not by_name:
        for given in (callback.inputs, callback.brief):
            if len(given) == len(needed):
                return given
        for given in (callback.brief, callback.inputs):
            if len(needed) <= len(given) <= len(by_position):
                return given
    names = ", ".join(one.name for one in by_name or by_position) or "none"
    what = "by name" if by_name else "by position"
    message = f"the function takes {len(by_name or by_position)} arguments {what} ({names})"
    refuse(routine, parameter, message, f"pass {callback.example()}", wrong_type=True)


def value_of(parameter: Parameter, view: Any) -> Any:
    """What a function is given: a number, a text, or an array of its own, which lives as long as
    anything uses it; a list of texts."""
    if view.kind == lib.FARCALL_PARAMETER_TEXT:
        return text_at(view)
    if view.kind == lib.FARCALL_PARAMETER_TEXTS:
        return texts_at(view)
    if view.kind not in (lib.FARCALL_PARAMETER_NUMBER, lib.FARCALL_PARAMETER_ARRAY):
        return None
    array = array_at(view, parameter.dtype)
    if parameter.is_single and array.size == 1:
        one = array.reshape(())[()]
        return (
            one.tobytes().decode("latin-1")
            if parameter.element == CHAR
            else one.item()
            if parameter.dtype.names is None
            else one.copy()
        )
    if parameter.element == CHAR and not parameter.is_output and array.ndim == 1:
        return array.tobytes()
    own = array.copy("K")
    own.flags.writeable = parameter.is_output
    return own


def give(function: str, parameter: Parameter, place: "np.ndarray[Any, Any]", result: Any) -> None:
    """Takes what a function returned for a parameter, checked, into its place."""
    if result is None:
        declared = _declared(parameter, place)
        raise _wrong(
            function,
            f"it returned nothing as {parameter.name}, which is {declared}",
            f"return {parameter.name}",
        )
    if parameter.element == CHAR and isinstance(result, str):
        result = result.encode("utf-8", "replace")
    if parameter.element == CHAR and isinstance(result, (bytes, bytearray)):
        result = np.frombuffer(bytes(result), "S1")
    array = as_array(function, parameter, result)
    shape = array.shape + (1,) * (place.ndim - array.ndim)
    if parameter.is_single and array.size == 1:
        place[...] = array.reshape(place.shape)
    elif len(shape) == place.ndim and parameter.fits(shape, place.shape):
        place[tuple(slice(count) for count in shape)] = array.reshape(shape)
    else:
        message = (
            f"it returned {_described(result)} as {parameter.name}, which is "
            f"{_declared(parameter, place)}"
        )
        raise _wrong(function, message, "return one of that shape")


def _declared(parameter: Parameter, place: "np.ndarray[Any, Any]") -> str:
    return (
        f"one {dtype_text(parameter)}"
        if parameter.is_single
        else f"{dtype_text(parameter)} of shape {place.shape}"
    )


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    return "nothing" if value is None else f"{value!r:.60} ({type(value).__name__})"


def _wrong(function: str, message: str, advice: str) -> _errors.Error:
    return _errors.make(_errors.WrongType, "run a callback", message, advice, function=function)


def _said(error: BaseException) -> str:
    """What an exception says, and where it was raised."""
    try:
        words = (
            str(error)
            if isinstance(error, _errors.Error)
            else f"{type(error).__name__}: {error}".rstrip(": ")
        )
    except BaseException:
        words = f"{type(error).__name__}, which cannot say what is wrong"
    place = traceback.extract_tb(error.__traceback__)[-1:]
    if place and not isinstance(error, _errors.Error):
        words += f" ({place[0].filename}, line {place[0].lineno})"
    return words
