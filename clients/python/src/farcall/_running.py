"""What a published function asks and says while it runs, and the functions of its caller's that it
calls."""

from __future__ import annotations

import json
import threading
from typing import Any, Dict, List, Optional

import numpy as np

from . import _errors
from ._arrays import as_array, dtype_text, fits_exactly
from ._interface import CHAR, Callback, Interface, Parameter
from ._library import ffi, lib, text
from ._views import reach_of, shape_of, strides_of

# What is said of a failure.
_WORDS_BYTES = 16 << 10
# For texts that come from C, which their taker frees.
_libc = ffi.dlopen(None)


def is_cancelled() -> bool:
    """In a published function: whether the call is to end, since it was cancelled, its time is over
    or its caller is gone.

    A module whose source has this name is given `cancel_grace_ms` of the server's farcall.toml to
    return, and what it returns is thrown away; any other is ended at once, with its process. False
    where no call runs, as in a test of the function.
    """
    return bool(lib.farcall_is_cancelled() == 1)


def progress(done: float, words: str = "") -> None:
    """In a published function: says how far it is, from 0 to 1, with a word on it. Whoever watches
    the call sees it.

    May be called as often as is convenient: what comes faster than fifty times a second is left
    out. Does nothing where no call runs, as in a test of the function.
    """
    lib.farcall_progress(float(done), words.replace("\0", " ").encode("utf-8", "replace"))


class Lent:
    """The functions that a call passes, which end with it."""

    def __init__(self, running: Any, interfaces: Dict[str, Interface], routine: str) -> None:
        self._running = running
        self._lock = threading.Condition()
        self._busy = 0
        self._over = False
        if routine not in interfaces:
            interfaces[routine] = Interface(
                json.loads(text(lib.farcall_running_json(running)) or "{}")
            )
        self._interface = interfaces[routine]

    def function(self, index: int) -> Function:
        """The one that is this parameter."""
        return Function(
            self, index, self._interface.parameters[index].callback, self._interface.full_name
        )

    def enter(self, name: str) -> Any:
        """The call that runs, which goes on until `leave`."""
        with self._lock:
            if self._over:
                advice = "call it before the routine returns"
                raise _errors.make(
                    _errors.Cancelled, "call back", "its call has ended", advice, function=name
                )
            self._busy += 1
            return self._running

    def leave(self) -> None:
        """A call of a function is over."""
        with self._lock:
            self._busy -= 1
            self._lock.notify_all()

    def end(self) -> None:
        """The routine has returned: waits for threads of it that are inside of a function."""
        with self._lock:
            self._over = True
            self._lock.wait_for(lambda: not self._busy)


class Function:
    """A function of the caller's, as a published function is given it.

    It is called with all IN and INOUT parameters of the callback, or without the numbers that the
    arrays' extents say, and returns what is OUT: one value, or a tuple. INOUT arrays are changed in
    place.
    """

    def __init__(self, lent: Lent, index: int, callback: Callback, routine: str) -> None:
        self.__name__ = callback.name
        self.__qualname__ = f"{routine}.{callback.name}"
        self._lent, self._index, self._callback = lent, index, callback

    def __repr__(self) -> str:
        return f"<the caller's function {self.__qualname__}>"

    def __call__(self, *arguments: Any) -> Any:
        """Calls it and waits for it, at the caller's. What it raises there is a
        `farcall.RoutineFailed` here."""
        running = self._lent.enter(self.__qualname__)
        try:
            return self._call(running, arguments)
        finally:
            self._lent.leave()

    def _call(self, running: Any, arguments: Any) -> Any:
        parameters = self._callback.parameters
        views = ffi.new("farcall_parameter[]", max(len(parameters), 1))
        values = {one.index: _Value(self.__qualname__, one, views[one.index]) for one in parameters}
        for one, given in zip(self._given(len(arguments)), arguments):
            values[one.index].give(given)
        words = ffi.new("char[]", _WORDS_BYTES)
        if lib.farcall_running_arrange(
            running, self._index, views, len(parameters), words, _WORDS_BYTES
        ):
            raise _errors.InvalidArgument(text(words) or "")
        addresses = ffi.new("void *[]", [values[one.index].address() for one in parameters] or 1)
        before = list(addresses)
        failed = lib.farcall_running_call(
            running, self._index, addresses, len(parameters), words, _WORDS_BYTES
        )
        for one in parameters:
            values[one.index].taken_text(addresses[one.index], before[one.index])
        if failed or lib.farcall_callback_failure(words, _WORDS_BYTES) == 1:
            kind = _errors.Cancelled if is_cancelled() else _errors.RoutineFailed
            raise kind(text(words) or "")
        returned = [values[one.index].result() for one in self._callback.returned]
        for one in self._callback.written:
            values[one.index].write_back()
        return None if not returned else returned[0] if len(returned) == 1 else tuple(returned)

    def _given(self, count: int) -> List[Parameter]:
        for given in (self._callback.inputs, self._callback.brief):
            if len(given) == count:
                return given
        advice = f"it is {self._callback.example()}"
        raise _errors.make(
            _errors.WrongType,
            "call back",
            f"it is called with {count} arguments",
            advice,
            function=self.__qualname__,
        )


class _Value:
    """One value of a call of a function: where it lies."""

    def __init__(self, function: str, parameter: Parameter, view: Any) -> None:
        self._function, self._parameter, self._view = function, parameter, view
        self._array: Optional["np.ndarray[Any, Any]"] = None
        # Memory that lies as the callback wants it, where that of the array does not.
        self._laid: Optional["np.ndarray[Any, Any]"] = None
        self._own: Any = None
        self._text: Any = None
        self._answer: Optional[str] = None
        if parameter.is_input and not parameter.is_array and not parameter.is_text:
            # For a number that follows from others.
            self._array = np.zeros((), parameter.dtype)
            view.data = _address(self._array)

    def give(self, value: Any) -> None:
        """What it is called with."""
        parameter, view = self._parameter, self._view
        if parameter.is_text:
            view.kind = lib.FARCALL_PARAMETER_TEXT
            if value is not None:
                self._text = ffi.new("char[]", self._encoded(value))
                view.data, view.shape[0] = self._text, len(self._text) - 1
            return
        if parameter.element == CHAR and isinstance(value, (str, bytes, bytearray)):
            value = np.frombuffer(
                value.encode("utf-8", "replace") if isinstance(value, str) else bytes(value), "S1"
            )
        array = as_array(self._function, parameter, value)
        if parameter.is_single:
            if array.size != 1:
                raise self._wrong(f"it is given {array.size} values", "pass one")
            # Its own: what a number becomes is returned.
            array = np.array(array.reshape((1,) * parameter.rank), parameter.dtype)
        elif parameter.is_output:
            self._check_written(value)
        self._own = value
        self._array = np.asarray(array, order="F" if parameter.is_column else "C")
        view.kind = (
            lib.FARCALL_PARAMETER_ARRAY if parameter.is_array else lib.FARCALL_PARAMETER_NUMBER
        )
        view.data, view.rank = _address(self._array), self._array.ndim if parameter.is_array else 0
        for position, count in enumerate(self._array.shape):
            view.shape[position] = count

    def _encoded(self, value: Any) -> bytes:
        data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
        if not isinstance(data, bytes) or b"\0" in data:
            raise self._wrong(
                f"it is a string, and no {type(value).__name__}",
                "pass a str without a NUL, or None",
            )
        return data

    def _check_written(self, value: Any) -> None:
        if (
            not isinstance(value, np.ndarray)
            or not fits_exactly(value.dtype, self._parameter)
            or not value.flags.writeable
        ):
            message = "the function changes it in place"
            raise self._wrong(
                message,
                f"pass an array of {dtype_text(self._parameter)} that may be written to: .copy()",
            )

    def _wrong(self, message: str, advice: str) -> _errors.Error:
        facts = {"parameter": self._parameter.name, "function": self._function}
        return _errors.make(_errors.WrongType, "call back", message, advice, **facts)

    def address(self) -> Any:
        """Where it lies for the call, laid as that wants it."""
        view = self._view
        if view.kind == lib.FARCALL_PARAMETER_TEXT or self._parameter.is_text:
            return self._text if self._text is not None else ffi.NULL
        if view.kind != lib.FARCALL_PARAMETER_ARRAY:
            return _address(self._array) if self._array is not None else ffi.NULL
        shape, strides, before = (
            shape_of(view),
            strides_of(view),
            int(ffi.cast("uintptr_t", view.data)),
        )
        if 0 in shape:
            self._laid = np.empty(shape, self._parameter.dtype)
            return ffi.NULL
        if (
            self._array is not None
            and before == 0
            and self._array.reshape(shape, order="A").strides == strides
        ):
            self._laid = self._array.reshape(shape, order="A")
            return _address(self._array)
        memory = np.zeros(before + reach_of(view), np.uint8)
        self._laid = np.ndarray(shape, self._parameter.dtype, memory.data, before, strides)
        if self._array is not None:
            self._laid[...] = self._array.reshape(shape)
        return _address(memory)

    def taken_text(self, address: Any, before: Any) -> None:
        """A text that came back, which is ours to free."""
        if not (self._parameter.is_text and self._parameter.is_output) or address == ffi.NULL:
            return
        self._answer = ffi.string(ffi.cast("char *", address)).decode("utf-8", "replace")
        if address != before:
            _libc.free(address)

    def result(self) -> Any:
        """What it is after the call."""
        if self._parameter.is_text:
            return self._answer
        laid = self._laid if self._laid is not None else self._array
        if laid is None or not self._parameter.is_single:
            return laid
        one = laid.reshape(())[()]
        return one.tobytes().decode("latin-1") if self._parameter.element == CHAR else one.item()

    def write_back(self) -> None:
        """Puts what the function wrote where its caller has it."""
        if (
            self._laid is not None
            and self._own is not None
            and not np.shares_memory(self._laid, self._own)
        ):
            self._own[...] = self._laid.reshape(self._own.shape)


def _address(array: Any) -> Any:
    return ffi.cast("void *", array.__array_interface__["data"][0])
