"""Runs the routines of a Python file for a server: `python -I -m farcall._executable FILE`, started
by servers only.

With `--places` it says which interpreter this is; with `--describe FILE` it reads a module's source
from standard input and says what its interfaces are. Both answer with one JSON object.
"""

from __future__ import annotations

import gc
import json
import os
import random
import sys
import traceback
import weakref
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from . import _fields, _source
from ._forms import LIST, RANK_MAX, is_one_list, received, returned, returned_texts
from ._hints import Mistake, Value, found_names
from ._interface import Interface
from ._library import ffi, lib, text
from ._parameters import (
    ARRAY,
    CALLBACK,
    FILE,
    TEXT,
    TEXTS,
    RunningParameter,
    Unfit,
    described,
    note_extents,
    split_results,
    truth_of,
)
from ._running import Lent
from ._source import Published

# How a process ends that cannot go on (EX_SOFTWARE of sysexits.h).
_KEPT_STATUS = 70


class _Program:
    """The two functions that run a module's routines."""

    def __init__(self) -> None:
        # Interfaces of routines that take functions, by name.
        self._interfaces: Dict[str, Interface] = {}
        # Which dimensions of results the routine decides, of those with a line of their own.
        self._ends: Dict[str, Dict[str, Tuple[Optional[str], ...]]] = {}
        self._file, self._known_as = "", ""
        self._routines: Dict[str, Published] = {}
        self._words: Any = None
        self._process = os.getpid()

    def serve(self) -> int:
        load = ffi.callback("farcall_load", self._load)
        body = ffi.callback("farcall_body", self._body)
        return int(lib.farcall_executable_serve(load, body, ffi.NULL))

    def _load(self, _context: Any, file: Any, source: Any) -> Any:
        self._file = self._known_as = ffi.string(file).decode("utf-8", "surrogateescape")
        try:
            module = _source.load(self._file, ffi.string(source).decode())
            self._known_as = _source.known_as(module, self._file)
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
        except Unfit as unfit:
            lib.farcall_running_fail(running, str(unfit).encode())
        except BaseException as error:
            # One that says itself all that its author could see has no use for it.
            if not getattr(error, "farcall_is_complete", False):
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
        told = words if line is None else f"{words} ({self._known_as}, line {line})"
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
        functions = {one.name: one for one in parameters if one.kind == CALLBACK}
        taken = Lent(running, self._interfaces, name) if functions else None
        arguments = _given(routine, inputs, hints)
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
        arguments = _fields.gathered(routine.groups, arguments)
        try:
            returned = routine.call(arguments)
        finally:
            if taken is not None:
                taken.end()
        if routine.gives is not None:
            returned = _fields.spread(routine.gives, returned)
        elif is_one_list(routine.results, returned):
            returned = (returned,)
        self._take_results(running, routine, parameters, returned)
        return lent

    def _take_results(
        self,
        running: Any,
        routine: Published,
        parameters: List[RunningParameter],
        returned: Any,
    ) -> None:
        """Takes what the function returned, checked."""
        declared = {one.name: one for one in routine.results}
        ends = {} if routine.results else self._ends_of(running, routine, parameters)
        # Of a routine with a line of its own, which returns them itself.
        counts: Dict[str, Optional[int]] = {
            one: None for all in ends.values() for one in all if one
        }
        extents: Dict[str, Optional[int]] = {name: None for name in found_names(routine.results)}
        by_name = {one.name: one for one in parameters}
        shapes = {f"_{one.name}_shape" for one in routine.results if one.form}
        outputs = [
            one
            for one in parameters
            if one.is_output
            and not one.is_input
            and one.name not in extents
            and one.name not in shapes
        ]
        for parameter, result in zip(outputs, split_results(returned, len(outputs))):
            if parameter.kind == TEXT:
                self._answer(running, parameter, result)
            elif parameter.kind == TEXTS:
                self._answer_all(running, declared.get(parameter.name), parameter, result, extents)
            elif parameter.kind == FILE:
                parameter.set_file(result)
            else:
                hint = declared.get(parameter.name)
                found = hint.found if hint is not None else ends.get(parameter.name, ())
                if hint is not None and hint.form:
                    result = _flat(hint, parameter, result, by_name.get(f"_{hint.name}_shape"))
                elif hint is not None and hint.is_truth:
                    result = truth_of(parameter.name, result)
                parameter.set(result, found)
                note_extents(counts or extents, parameter.name, result, found)
        for parameter in parameters:
            if counts.get(parameter.name) is not None:
                _check_end(parameter, counts[parameter.name])
            if parameter.name in extents:
                parameter.set(extents[parameter.name] or 0)

    def _ends_of(
        self, running: Any, routine: Published, parameters: List[RunningParameter]
    ) -> Dict[str, Tuple[Optional[str], ...]]:
        """Which dimensions of each result end where another result says: `[most : found]`."""
        if not any(one.kind == ARRAY and one.is_output for one in parameters):
            return {}
        if routine.interface not in self._ends:
            described = json.loads(text(lib.farcall_running_json(running)) or "{}")
            # Functions that are passed have no mode.
            results = [one for one in described["parameters"] if one.get("mode") == "out"]
            names = {one["name"] for one in results}
            self._ends[routine.interface] = {
                one["name"]: tuple(
                    of["end"] if of.get("end") in names else None for of in one["dimensions"]
                )
                for one in results
                if one.get("dimensions")
            }
        return self._ends[routine.interface]

    def _parameters(self, running: Any) -> List[RunningParameter]:
        parameters = []
        for index in range(lib.farcall_running_parameters(running)):
            view = ffi.new("struct farcall_parameter *")
            lib.farcall_running_parameter(running, index, view)
            parameters.append(RunningParameter(index, view))
        return parameters

    def _answer(self, running: Any, parameter: RunningParameter, result: Any) -> None:
        if not isinstance(result, str):
            raise Unfit(
                f"it returned {described(result)} as {parameter.name}, which is declared str"
            )
        text = result.encode("utf-8", "surrogateescape")
        if lib.farcall_running_answer(running, parameter.index, text, len(text)) != 0:
            raise Unfit(f"it returned a text with a NUL inside as {parameter.name}")

    def _answer_all(
        self,
        running: Any,
        hint: Optional[Value],
        parameter: RunningParameter,
        result: Any,
        extents: Dict[str, Optional[int]],
    ) -> None:
        """Gives the texts of an array of them, and says how many they are."""
        count = parameter.shape[0]
        hint = hint or Value(parameter.name, "string", 1, (str(count),), form=LIST)
        try:
            texts = returned_texts(hint, result, count)
        except TypeError as error:
            words = f"it returned {described(result)} as {parameter.name}, {error}"
            raise Unfit(words) from None
        if not any(hint.found) and len(texts) != count:
            raise Unfit(
                f"it returned {len(texts)} texts as {parameter.name}, which is declared {count}"
            )
        for position, text in enumerate(texts):
            place = (running, parameter.index, position, text, len(text))
            if lib.farcall_running_answer_at(*place) != 0:
                raise Unfit(f"it returned a text with a NUL inside as {parameter.name}")
        extents.update({name: len(texts) for name in hint.found if name is not None})


def _given(
    routine: Published, inputs: Dict[str, RunningParameter], hints: Dict[str, Any]
) -> Dict[str, Any]:
    """What the function is called with. What is left out has the function's own default."""
    declared = {one.name: one for one in routine.arguments}
    arguments = {}
    for name in (name for name in routine.takes if name in inputs):
        value = declared.get(name)
        if value is not None and value.doc and inputs[name].is_null:
            continue
        rank = inputs.get(f"_{name}_rank")
        arguments[name] = received(
            inputs[name], value, hints.get(name), None if rank is None else rank.value(int)
        )
    return arguments


def _flat(
    hint: Value, parameter: RunningParameter, result: Any, beside: Optional[RunningParameter]
) -> Any:
    """A result of any size as it travels; its shape goes beside it."""
    place = parameter.array()
    try:
        array, shape = returned(hint, result, place.dtype, place.size)
    except TypeError as error:
        raise Unfit(f"it returned {described(result)} as {hint.name}, {error}") from None
    if beside is not None:
        beside.set(np.array([*shape, *[-1] * (RANK_MAX - len(shape))], np.int64))
    return array


def _check_end(parameter: RunningParameter, count: Optional[int]) -> None:
    """An array has as many elements as the result says that is its end."""
    if parameter.array().item() != count:
        raise Unfit(
            f"it returned {parameter.array().item()} as {parameter.name}, and an array that has "
            f"{count} elements there"
        )


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
    warnings = [f"warning: {file}: {name} is left out: {why}" for name, why in left_out.items()]
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
