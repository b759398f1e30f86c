"""Runs the routines of a Python file for a server: `python -I -m farcall._executable FILE`, started
by servers only.

With `--places` it says which interpreter this is; with `--describe FILE` it reads a module's source
from standard input and says what its interfaces are. Both answer with one JSON object.
"""

from __future__ import annotations

import gc
import json
import operator
import os
import pathlib
import random
import shutil
import sys
import traceback
import weakref
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from . import _source
from ._hints import Mistake, found_names
from ._interface import Interface
from ._library import ffi, lib
from ._running import Lent
from ._source import Published
from ._views import array_at, shape_of

# How a process ends that cannot go on (EX_SOFTWARE of sysexits.h).
_KEPT_STATUS = 70
_NUMBER, _ARRAY, _TEXT, _FILE, _CALLBACK = 1, 2, 3, 4, 5
_IN, _OUT, _INOUT = 0, 1, 2
# NumPy's types by the numbers of spec/c-abi.md, section 5.
_TYPES = {
    1: np.dtype("S1"), 2: np.dtype("i1"), 3: np.dtype("u1"), 4: np.dtype("i2"), 5: np.dtype("u2"), 6: np.dtype("i4"),
    7: np.dtype("u4"), 8: np.dtype("i8"), 9: np.dtype("u8"), 10: np.dtype("f4"), 11: np.dtype("f8"),
    12: np.dtype("c8"), 13: np.dtype("c16"),
}  # fmt: skip


class _Unfit(Exception):
    """A routine returned what its interface does not say."""


class _Parameter:
    """A parameter of the call that runs."""

    def __init__(self, index: int, view: Any) -> None:
        self._view = view
        self.index = index
        self.name: str = ffi.string(view.name).decode()
        self.kind: int = view.kind
        self.is_input = view.mode in (_IN, _INOUT)
        self.is_output = view.mode in (_OUT, _INOUT)

    @property
    def shape(self) -> Tuple[int, ...]:
        return shape_of(self._view)

    def array(self) -> "np.ndarray[Any, Any]":
        """The memory itself, which ends with the call. IN arrays cannot be written to."""
        array = array_at(self._view, _TYPES[self._view.element])
        array.flags.writeable = self.is_output
        return array

    def value(self, wanted: Any) -> Any:
        """What the function is given; `wanted` is its annotation."""
        if self.kind == _TEXT:
            text = self._view.data
            return (
                None
                if text == ffi.NULL
                else ffi.buffer(text, self.shape[0])[:].decode("utf-8", "replace")
            )
        if self.kind == _ARRAY:
            return self.array()
        if self.kind == _FILE:
            return self.path()
        if self.kind != _NUMBER:
            return None
        number = self.array()[()]
        return bool(number) if wanted in (bool, "bool") else number.item()

    @property
    def is_null(self) -> bool:
        """Whether there is nothing."""
        return bool(self._view.data == ffi.NULL)

    def path(self) -> Optional[pathlib.Path]:
        """The file of a parameter that is one."""
        text = self._view.data
        return (
            None
            if text == ffi.NULL
            else pathlib.Path(os.fsdecode(ffi.string(ffi.cast("char *", text))))
        )

    def set_file(self, result: Any) -> None:
        """Takes the content of the file that a routine returned."""
        if not isinstance(result, (str, os.PathLike)) or not os.path.isfile(result):
            raise _Unfit(
                f"it returned {_described(result)} as {self.name}, which is not the path of a file"
            )
        place = self.path()
        if place is not None:
            shutil.copyfile(result, place)

    def set(self, result: Any, found: Tuple[Optional[str], ...] = ()) -> None:
        """Takes a result, checked. In dimensions that have a name in `found` it may be smaller than
        declared."""
        if self.kind == _ARRAY and (any(found) or not self._is_scalar(result)):
            return self._set_array(result, found)
        if self.kind not in (_NUMBER, _ARRAY):
            return None
        place = self.array()
        place.flags.writeable = True
        try:
            place[...] = _converted(result, place.dtype)
        except (TypeError, ValueError, OverflowError):
            raise _Unfit(
                f"it returned {_described(result)} as {self.name}, which is declared {_name(place.dtype)}"
            ) from None
        return None

    def _is_scalar(self, result: Any) -> bool:
        """An OUT scalar is an array of one element, to C."""
        return self.shape == (1,) and not isinstance(result, np.ndarray)

    def _set_array(self, result: Any, found: Tuple[Optional[str], ...]) -> None:
        place = self.array()
        place.flags.writeable = True
        is_array = (
            isinstance(result, np.ndarray)
            and result.dtype == place.dtype
            and result.ndim == place.ndim
        )
        if not is_array or not _fits(result.shape, place.shape, found):
            declared = f"{_name(place.dtype)} of shape {_shown(place.shape, found)}"
            raise _Unfit(
                f"it returned {_described(result)} as {self.name}, which is declared {declared}"
            )
        place[tuple(slice(0, count) for count in result.shape)] = result


def _fits(
    shape: Tuple[int, ...], declared: Tuple[int, ...], found: Tuple[Optional[str], ...]
) -> bool:
    bounded = found or (None,) * len(declared)
    return all(
        own <= most if name else own == most for own, most, name in zip(shape, declared, bounded)
    )


def _shown(declared: Tuple[int, ...], found: Tuple[Optional[str], ...]) -> str:
    if not any(found):
        return str(declared)
    return f"({', '.join(f'{name} <= {most}' if name else str(most) for most, name in zip(declared, found))})"


def _converted(result: Any, dtype: "np.dtype[Any]") -> Any:
    if dtype.kind in "iu":
        return operator.index(bool(result) if isinstance(result, np.bool_) else result)
    if isinstance(result, (str, bytes)):
        raise TypeError
    converted = (
        float(result) if dtype.kind == "f" else complex(result) if dtype.kind == "c" else result
    )
    # Compared as integers: as floating-point numbers they would be rounded alike.
    if isinstance(result, (int, np.integer)) and int(dtype.type(converted).real) != result:
        raise OverflowError
    return converted


def _truth(name: str, result: Any) -> bool:
    """A result that is declared bool: Python would take most things for true, and callers would get
    other numbers."""
    if isinstance(result, (bool, np.bool_, int, np.integer)) and result in (0, 1):
        return bool(result)
    raise _Unfit(
        f"it returned {_described(result)} as {name}, which is declared bool; return True or False, or bool(...) of it"
    )


def _name(dtype: "np.dtype[Any]") -> str:
    return dtype.name if dtype.isnative else f"{dtype.name} of the other byte order"


def _described(result: Any) -> str:
    if isinstance(result, np.ndarray):
        return f"an array of {_name(result.dtype)} of shape {result.shape}"
    return f"{result!r:.60} ({type(result).__name__})"


class _Program:
    """The two functions that run a module's routines."""

    def __init__(self) -> None:
        # Interfaces of routines that take functions, by name.
        self._interfaces: Dict[str, Interface] = {}
        self._file = ""
        self._routines: Dict[str, Published] = {}
        self._words: Any = None
        self._process = os.getpid()

    def serve(self) -> int:
        load = ffi.callback("farcall_load", self._load)
        body = ffi.callback("farcall_body", self._body)
        return int(lib.farcall_executable_serve(load, body, ffi.NULL))

    def _load(self, _context: Any, file: Any, source: Any) -> Any:
        self._file = ffi.string(file).decode("utf-8", "surrogateescape")
        try:
            module = _source.load(self._file, ffi.string(source).decode())
            self._routines, _ = _source.published(module)
        except BaseException as error:
            _print_traceback()
            self._words = ffi.new("char[]", self._said(error))
            return self._words
        finally:
            _flush()
        return ffi.NULL

    def _body(self, _context: Any, name: Any, running: Any) -> None:
        try:
            self._run_and_tell(name, running)
        except BaseException:
            # cffi would pass over it, and the call would end well without results.
            os._exit(_KEPT_STATUS)

    def _run_and_tell(self, name: Any, running: Any) -> None:
        self._begin()
        try:
            lent = self._run(ffi.string(name).decode(), running)
            _take_back(lent)
        except SystemExit as end:
            _leave(end)
        except _Unfit as unfit:
            lib.farcall_running_fail(running, str(unfit).encode())
        except BaseException as error:
            _print_traceback()
            lib.farcall_running_fail(running, self._said(error))
        finally:
            _flush()

    def _begin(self) -> None:
        """A fork of a process that has loaded the module must not draw the same random numbers as
        its sisters."""
        if os.getpid() != self._process:
            self._process = os.getpid()
            random.seed()
            np.random.seed()

    def _said(self, error: BaseException) -> bytes:
        try:
            words, line = _source.located(error, self._file)
        except BaseException:
            words, line = f"{type(error).__name__}, which cannot say what is wrong", None
        told = words if line is None else f"{words} ({self._file}, line {line})"
        if isinstance(error, PermissionError):
            # Its author may be allowed what his routine is not, and would not find the reason.
            module = os.path.splitext(os.path.basename(self._file))[0]
            keys = f"modules.{module}.readable, .writable and .network"
            told += f"; routines have what the server's farcall.toml grants them: {keys}"
        return told.encode("utf-8", "replace")

    def _run(self, name: str, running: Any) -> Dict[str, Any]:
        """Calls the function and takes its results; returns what leads to the arrays that it was
        lent, by name."""
        routine = self._routines[name]
        parameters = self._parameters(running)
        inputs = {one.name: one for one in parameters if one.is_input}
        hints = getattr(routine.function, "__annotations__", {})
        functions = {one.name: one for one in parameters if one.kind == _CALLBACK}
        taken = Lent(running, self._interfaces, name) if functions else None
        arguments = {
            one: inputs[one].value(hints.get(one)) for one in routine.takes if one in inputs
        }
        for one in routine.takes:
            if taken is not None and one in functions:
                arguments[one] = (
                    None if functions[one].is_null else taken.function(functions[one].index)
                )
        arrays = {
            key: one
            for key, one in arguments.items()
            if isinstance(one, np.ndarray) and one.base is not None
        }
        lent = {key: weakref.ref(array) for key, array in arrays.items()}
        try:
            returned = routine.function(**arguments)
        finally:
            if taken is not None:
                taken.end()
        declared = {one.name: one for one in routine.results}
        extents: Dict[str, Optional[int]] = {name: None for name in found_names(routine.results)}
        outputs = [
            one
            for one in parameters
            if one.is_output and not one.is_input and one.name not in extents
        ]
        for parameter, result in zip(outputs, _split(returned, len(outputs))):
            if parameter.kind == _TEXT:
                self._answer(running, parameter, result)
            elif parameter.kind == _FILE:
                parameter.set_file(result)
            else:
                hint = declared.get(parameter.name)
                found = hint.found if hint is not None else ()
                parameter.set(
                    _truth(parameter.name, result)
                    if hint is not None and hint.is_truth
                    else result,
                    found,
                )
                _note(extents, parameter.name, result, found)
        for parameter in parameters:
            if parameter.name in extents:
                parameter.set(extents[parameter.name] or 0)
        return lent

    def _parameters(self, running: Any) -> List[_Parameter]:
        parameters = []
        for index in range(lib.farcall_running_parameters(running)):
            view = ffi.new("struct farcall_parameter *")
            lib.farcall_running_parameter(running, index, view)
            parameters.append(_Parameter(index, view))
        return parameters

    def _answer(self, running: Any, parameter: _Parameter, result: Any) -> None:
        if not isinstance(result, str):
            raise _Unfit(
                f"it returned {_described(result)} as {parameter.name}, which is declared str"
            )
        text = result.encode("utf-8", "surrogateescape")
        if lib.farcall_running_answer(running, parameter.index, text, len(text)) != 0:
            raise _Unfit(f"it returned a text with a NUL inside as {parameter.name}")


def _note(
    extents: Dict[str, Optional[int]], name: str, result: Any, found: Tuple[Optional[str], ...]
) -> None:
    """What a result's extents are, by the names that its declaration gives them."""
    for position, extent in enumerate(found):
        if extent is None:
            continue
        count = result.shape[position]
        if extents[extent] not in (None, count):
            raise _Unfit(
                f"it returned {count} elements as {name}, and another result has {extents[extent]}; both are {extent}"
            )
        extents[extent] = count


def _split(returned: Any, count: int) -> Tuple[Any, ...]:
    """One for each result."""
    if count == 1 and not isinstance(returned, tuple):
        return (returned,)
    results = (
        () if returned is None else tuple(returned) if isinstance(returned, tuple) else (returned,)
    )
    if len(results) != count:
        what = f"a tuple of {len(results)}" if isinstance(returned, tuple) else _described(returned)
        raise _Unfit(f"it returned {what}, and a tuple of {count} results is declared")
    return results


def _take_back(lent: Dict[str, Any]) -> None:
    """Ends a process whose routine has kept an argument: other calls' numbers would appear in it
    without a word."""
    kept = [name for name, array in lent.items() if array() is not None]
    if kept and gc.collect() >= 0:
        kept = [name for name in kept if lent[name]() is not None]
    if kept:
        print(
            f"farcall: the routine keeps its argument {kept[0]}, whose memory ends with the call",
            file=sys.stderr,
        )
        print(f"farcall: keep a copy instead: {kept[0]}.copy()", file=sys.stderr)
        _leave(SystemExit(_KEPT_STATUS))


def _leave(end: SystemExit) -> None:
    """As C's exit: the call, and this process, have ended, and the caller is told the status."""
    status = end.code
    if status is not None and not isinstance(status, int):
        print(status, file=sys.stderr)
        status = 1
    _flush()
    os._exit((status or 0) & 0xFF)


def _print_traceback() -> None:
    """The routine may have closed what it is printed to, or its error may raise another when it is
    printed."""
    try:
        traceback.print_exc()
    except BaseException:
        pass


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass


def _describe(file: str) -> Dict[str, Any]:
    source = sys.stdin.buffer.read()
    # What the module prints when it runs is no part of the answer.
    answer = os.dup(1)
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        said = _described_source(file, source)
    except BaseException as error:
        words, line = _source.located(error, file)
        said = {"mistake": words, "line": line, "fix": _fix(error)}
        if isinstance(error, Mistake):
            said = {"mistake": str(error), "line": error.line, "fix": error.fix}
    _flush()
    os.dup2(answer, 1)
    return said


def _described_source(file: str, source: bytes) -> Dict[str, Any]:
    module = _source.load(file, source.decode())
    routines, left_out = _source.published(module)
    warnings = [f"warning: {file}: {name} is left out: it has no type hints" for name in left_out]
    takes = {name: list(one.takes) for name, one in routines.items()}
    return {"idl": _source.text(file, routines), "takes": takes, "warnings": "\n".join(warnings)}


def _fix(error: BaseException) -> Optional[str]:
    if isinstance(error, ModuleNotFoundError):
        return f"{sys.executable} -m pip install {error.name}"
    return None


def main(arguments: List[str]) -> int:
    """What the command line asks for."""
    sys.dont_write_bytecode = True
    if arguments[:1] == ["--places"]:
        print(json.dumps(_source.places()))
        return 0
    if arguments[:1] == ["--describe"] and len(arguments) == 2:
        print(json.dumps(_describe(arguments[1])))
        return 0
    # Nobody waits for a line at a pipe's end longer than it takes to write it.
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    return _Program().serve()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
