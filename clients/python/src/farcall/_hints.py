"""Interfaces from type hints: what a Python function takes and gives, as a line of the interface
language."""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import pathlib
import re
import types
import typing
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from . import _forms

# The interface language's names of NumPy's types, by kind and bytes of an element.
_ELEMENTS = {
    "f4": "float", "f8": "double", "c8": "scomplex", "c16": "dcomplex",
    "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64",
    "u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64",
}  # fmt: skip
# Python's own scalars. A truth value travels as 0 or 1, of a path the content of its file.
_SCALARS = {
    int: "int64", float: "double", complex: "dcomplex", str: "string", bool: "logical",
    pathlib.Path: "filename",
}  # fmt: skip
# What stands for the type of a function of the caller's.
_FUNCTION = "function"
# Aliases of aliases that are followed.
_ALIASES_MAX = 16
# What expressions of extents may call.
_FUNCTIONS = {"min", "max", "abs"}
EXAMPLE = 'Annotated[NDArray[np.float64], "n, m"]'


class Mistake(Exception):
    """What is wrong with a function as a routine: in which one, and what to do."""

    def __init__(self, message: str, fix: str, line: Optional[int] = None) -> None:
        super().__init__(message)
        self.fix = fix
        self.line = line


class Value(NamedTuple):
    """A parameter or result: of a scalar the rank is -1."""

    name: str
    element: str
    rank: int
    extents: Tuple[str, ...] = ()
    # Of a result, for each dimension: the name of what comes with it, where the extent is only a
    # bound.
    found: Tuple[Optional[str], ...] = ()
    default: Optional[str] = None
    # Of a list, or an array of any rank (`_forms.py`).
    form: str = ""
    # Of a number that may be NULL: an array of one.
    is_one: bool = False
    doc: str = ""
    # Of a function of the caller's: what it takes and gives.
    function: Optional[Hinted] = None

    @property
    def is_truth(self) -> bool:
        """Whether it is True or False."""
        return self.element == _SCALARS[bool]


class Hinted(NamedTuple):
    """A function as its hints describe it."""

    arguments: Tuple[Value, ...]
    results: Tuple[Value, ...]


def has_hints(function: Callable[..., Any]) -> bool:
    """Whether somebody meant it to have an interface."""
    return bool(getattr(function, "__annotations__", None))


def read(function: Callable[..., Any]) -> Hinted:
    """What the hints of a function say.

    Raises:
        Mistake: a hint is missing, or says nothing that can travel.
    """
    name = function.__name__
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception as error:
        raise Mistake(
            f"the hints of {name} cannot be read: {error}",
            "import what they name",
            line_of(function),
        ) from error
    try:
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise Mistake(
                "it does not return its results when it is called", "make it an ordinary function"
            )
        arguments = tuple(
            _argument(one, hints) for one in inspect.signature(function).parameters.values()
        )
        if "return" not in hints:
            raise Mistake("it does not say what it returns", f"write `-> {EXAMPLE}`, or `-> None`")
        results = _results(hints["return"])
        _check_names(arguments, results)
    except Mistake as mistake:
        raise Mistake(f"{name}: {mistake}", mistake.fix, line_of(function)) from None
    return Hinted(arguments, results)


def line_of(function: Callable[..., Any]) -> int:
    return int(function.__code__.co_firstlineno)


def _argument(parameter: inspect.Parameter, hints: Dict[str, Any]) -> Value:
    name = parameter.name
    if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        raise Mistake(f"{parameter} takes any number of arguments", "name each, with its type")
    if name not in hints:
        raise Mistake(
            f"the argument {name} has no type", f"write `{name}: float`, or `{name}: {EXAMPLE}`"
        )
    hint = _expanded(hints[name])
    if typing.get_origin(hint) is collections.abc.Callable:
        if parameter.default is not inspect.Parameter.empty:
            raise Mistake(
                f"{name} is a function, which callers cannot leave out", "drop the default"
            )
        return _function(name, *typing.get_args(hint))
    value = _value(name, hints[name])
    if parameter.default is inspect.Parameter.empty:
        return value
    return _with_default(value, parameter.default)


def _function(name: str, takes: Any = ..., gives: Any = None) -> Value:
    """A function of the caller's, by its hint."""
    if not isinstance(takes, (list, tuple)):
        raise Mistake(
            f"{name} does not say what the function takes",
            f"write `{name}: Callable[[float], float]`",
        )
    arguments = tuple(_value(f"argument{number}", hint) for number, hint in enumerate(takes, 1))
    results = _results(gives)
    for value in arguments + results:
        if value.element == "filename":
            raise Mistake(
                f"{name} takes or gives a file, which callbacks do not",
                "pass its content: NDArray[np.uint8]",
            )
        if value.form:
            raise Mistake(f"{name} takes or gives what has no size", f"write {EXAMPLE}")
    _check_names(arguments, results)
    return Value(name, _FUNCTION, -1, function=Hinted(arguments, results))


def _with_default(value: Value, default: Any) -> Value:
    """An argument that callers may leave out."""
    whole = isinstance(default, (int, np.integer))
    if whole and abs(int(default)) >= 2**63:
        raise Mistake(
            f"{value.name} = {default!r} cannot be left out by callers: only whole numbers of 64 "
            "bits travel",
            "drop the default, or make it such a number",
        )
    if value.rank >= 0 or value.element in ("string", "filename", "dcomplex", "scomplex"):
        return _forms.nullable(value, default)
    if whole:
        return value._replace(default=repr(int(default)))
    is_real = isinstance(default, (float, np.floating)) and value.element in ("double", "float")
    if is_real and np.isfinite(default):
        return value._replace(default=repr(float(default)))
    return _forms.nullable(value, default)


def _results(hint: Any) -> Tuple[Value, ...]:
    if hint is None or hint is type(None):
        return ()
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
        fields = typing.get_type_hints(hint, include_extras=True)
        return tuple(_with_bounds(_value(name, fields.get(name))) for name in hint._fields)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        fields = typing.get_type_hints(hint, include_extras=True)
        names = [one.name for one in dataclasses.fields(hint)]
        return tuple(_with_bounds(_value(name, fields.get(name))) for name in names)
    if typing.get_origin(hint) is tuple:
        items = typing.get_args(hint)
        if Ellipsis in items:
            raise Mistake("it returns any number of results", "write each: `tuple[float, int]`")
        return tuple(
            _with_bounds(_value(f"result{number}", item)) for number, item in enumerate(items, 1)
        )
    return (_with_bounds(_value("result", hint)),)


def _check_names(arguments: Tuple[Value, ...], results: Tuple[Value, ...]) -> None:
    names = [value.name for value in arguments + results] + found_names(results)
    for name in names:
        if names.count(name) > 1:
            raise Mistake(f"{name} is an argument and a result", "give one of them another name")
        if not re.fullmatch(r"[A-Za-z_]\w*", name, flags=re.ASCII):
            raise Mistake(
                f"{name} is not a name that other languages accept",
                "use letters from a to z, digits and _",
            )


def _value(name: str, hint: Any) -> Value:
    notes: List[Any] = []
    hint = _expanded(hint)
    if typing.get_origin(hint) is typing.Annotated:
        hint, *notes = typing.get_args(hint)
        hint = _expanded(hint)
    hint = _without_none(hint)
    if hint in _SCALARS:
        return Value(name, _SCALARS[hint], -1)
    if typing.get_origin(hint) in (list, collections.abc.Sequence):
        return _list(name, *typing.get_args(hint))
    if hint is np.ndarray:
        return _of_any_rank(name, "double", notes)
    if isinstance(hint, type) and issubclass(hint, np.generic):
        return Value(name, _element(name, hint), -1)
    if typing.get_origin(hint) is np.ndarray:
        shape, dtype = typing.get_args(hint)
        rank = _rank_of_type(shape)
        if rank is None and not any(isinstance(note, (str, int)) for note in notes):
            return _of_any_rank(name, _element(name, *typing.get_args(dtype)), notes)
        return _array(name, _element(name, *typing.get_args(dtype)), rank, notes)
    advice = (
        f"write int, float, complex, bool, str, pathlib.Path, {EXAMPLE}, or of a function "
        "Callable[[float], float]"
    )
    raise Mistake(f"{name} has the type {_shown(hint)}, which does not travel", advice)


def _expanded(hint: Any) -> Any:
    """What an alias stands for: those of a `type` statement, which NumPy's NDArray is in newer
    versions, are objects."""
    for _ in range(_ALIASES_MAX):
        # With arguments it passes for the alias itself, whose value does not have them.
        if hasattr(typing.get_origin(hint), "__value__"):
            hint = typing.get_origin(hint).__value__[typing.get_args(hint)]
        elif hasattr(hint, "__value__"):
            hint = hint.__value__
        else:
            break
    return hint


def _shown(hint: Any) -> str:
    return (
        hint.__name__
        if isinstance(hint, type) and not isinstance(hint, types.GenericAlias)
        else str(hint)
    )


def _element(name: str, scalar: Any) -> str:
    try:
        dtype = np.dtype(scalar)
        return _ELEMENTS[f"{dtype.kind}{dtype.itemsize}"]
    except (KeyError, TypeError):
        known = "float64, complex128, int64, int32, uint8 or another number"
        raise Mistake(
            f"{name} has elements of type {_shown(scalar)}, which do not travel", f"use np.{known}"
        ) from None


def _without_none(hint: Any) -> Any:
    """X of Optional[X]: nothing is what is left out."""
    items = [one for one in typing.get_args(hint) if one is not type(None)]
    unions = (typing.Union, getattr(types, "UnionType", typing.Union))
    return items[0] if typing.get_origin(hint) in unions and len(items) == 1 else hint


def _list(name: str, item: Any = None) -> Value:
    """Of numbers or truth values."""
    one = _value(name, item)
    if one.rank >= 0 or one.element in ("string", "filename"):
        raise Mistake(
            f"{name} is a list of {_shown(item)}, which does not travel",
            f"write list[float], {EXAMPLE}, or str for texts that are joined",
        )
    return one._replace(rank=1, extents=_forms.extents_of(name, _forms.LIST), form=_forms.LIST)


def _of_any_rank(name: str, element: str, notes: List[Any]) -> Value:
    """An array that says how many dimensions it has when it is passed, unless notes do."""
    if any(isinstance(note, (str, int)) for note in notes):
        return _array(name, element, None, notes)
    extents = _forms.extents_of(name, _forms.ANY)
    return Value(name, element, len(extents), extents, form=_forms.ANY)


def _rank_of_type(shape: Any) -> Optional[int]:
    """The rank of np.ndarray[tuple[int, int], …]; None where the type leaves it open, as NDArray
    does."""
    items = typing.get_args(shape)
    return (
        len(items)
        if typing.get_origin(shape) is tuple and items and all(item is int for item in items)
        else None
    )


def _array(name: str, element: str, rank: Optional[int], notes: List[Any]) -> Value:
    extents: Tuple[str, ...] = ()
    for note in notes:
        if isinstance(note, str):
            extents = tuple(extent.strip() for extent in note.split(","))
            break
        if isinstance(note, int):
            extents = (":",) * note
            break
    if not extents:
        if rank is None:
            raise Mistake(
                f"{name} does not say how many dimensions it has",
                f"write {EXAMPLE}; an argument may say their number alone: {EXAMPLE[:-7]}2]",
            )
        extents = (":",) * rank
    if rank is not None and rank != len(extents):
        raise Mistake(
            f"{name} has {rank} dimensions by its type, and {len(extents)} extents",
            "make them agree",
        )
    for extent in extents:
        if not extent or not re.fullmatch(r"[\w\s+\-*/%()?:<>=!&|,^]*", extent, flags=re.ASCII):
            raise Mistake(
                f"{name} has the extent {extent!r}",
                'write a name, a number or "2*n+1"; `:` for any',
            )
    return Value(name, element, len(extents), extents)


def _with_bounds(value: Value) -> Value:
    """A result with `found <= n` as an extent has at most n elements; found comes with it."""
    if value.form:
        return value
    found: List[Optional[str]] = []
    bounds = []
    for extent in value.extents:
        name, _, bound = extent.rpartition("<=")
        if name and not re.fullmatch(r"[A-Za-z_]\w*", name.strip(), flags=re.ASCII):
            raise Mistake(
                f"{value.name} has the extent {extent!r}",
                'write "found <= n": a name, and the most that it can be',
            )
        found.append(name.strip() or None)
        bounds.append(bound.strip())
    return value._replace(extents=tuple(bounds), found=tuple(found))


def names_in(extent: str) -> List[str]:
    return [name for name in re.findall(r"[A-Za-z_]\w*", extent) if name not in _FUNCTIONS]


def found_names(results: Tuple[Value, ...]) -> List[str]:
    """What comes with results and says how large they are, each once."""
    return list(dict.fromkeys(name for result in results for name in result.found if name))
