"""Type hints: what travels of a value with one, in the words of the interface language."""

from __future__ import annotations

import collections.abc
import pathlib
import re
import types
import typing
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from . import _forms

if TYPE_CHECKING:
    from ._fields import Fields

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
# Aliases of aliases that are followed.
_ALIASES_MAX = 16
# What expressions of extents may call.
_FUNCTIONS = {"min", "max", "abs"}
EXAMPLE = 'Annotated[NDArray[np.float64], "n, m"]'
_TABLE = f"write {EXAMPLE}, which callers may pass a DataFrame for"
_ROW = 'write Annotated[NDArray[np.float64], "n"]'
_BYTES = 'write Annotated[NDArray[np.uint8], "n"], which callers may pass bytes for'
# What to write in place of well-known classes, and of those that are made from them.
_INSTEAD = {
    "pandas.DataFrame": f"{_TABLE}; make one of it in the function",
    "pandas.Series": f"{_ROW}, which callers may pass a Series for",
    "polars.DataFrame": f"write {EXAMPLE}, and pass df.to_numpy()",
    "xarray.DataArray": f"write {EXAMPLE}, which callers may pass a DataArray for",
    "enum.Enum": "write int or str, for the value or the name of the member",
    "datetime.date": "write str, and pass d.isoformat()",
    "datetime.time": "write str, and pass t.isoformat()",
    "datetime.timedelta": "write float, and pass d.total_seconds()",
    "decimal.Decimal": "write str, or float if its digits are enough",
    "fractions.Fraction": "write two int, or float if its digits are enough",
    "builtins.bytes": _BYTES,
    "builtins.bytearray": _BYTES,
    "builtins.set": "write a list: list[int], or list[str]",
    "builtins.frozenset": "write a list: list[int], or list[str]",
    "builtins.object": "say which type: float, str, …",
}


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
    # Of a field of a dataclass: what its description says of that.
    field: str = ""
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
    # Arguments that are dataclasses, whose fields are among the others.
    groups: Dict[str, Fields] = {}
    # The results, if a dataclass is among them.
    gives: Optional[Fields] = None


def with_default(value: Value, default: Any) -> Value:
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


def value_of(name: str, hint: Any) -> Value:
    notes: List[Any] = []
    hint = expanded(hint)
    if typing.get_origin(hint) is typing.Annotated:
        notes = list(typing.get_args(hint)[1:])
    hint = plain(hint)
    if isinstance(hint, collections.abc.Hashable) and hint in _SCALARS:
        return Value(name, _SCALARS[hint], -1)
    if typing.get_origin(hint) in (list, collections.abc.Sequence, collections.abc.Iterable):
        return _list(name, *typing.get_args(hint))
    if typing.get_origin(hint) is tuple:
        return _tuple(name, typing.get_args(hint))
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
    raise Mistake(f"{name} has the type {_shown(hint)}, which does not travel", _advice(hint))


def _advice(hint: Any) -> str:
    """What to write in place of a type that does not travel."""
    if hint in (list, tuple, collections.abc.Sequence):
        return "say of what it is: list[float], or list[str]"
    if hint is dict or typing.get_origin(hint) in (dict, collections.abc.Mapping):
        return "write a dataclass with a field for each key, or a list of keys and one of values"
    if _is_union(hint):
        return "choose one type, or write an argument for each"
    if typing.get_origin(hint) is typing.Literal:
        kind = type(typing.get_args(hint)[0]).__name__
        return f"write {kind}, and check the value in the function"
    if hint is typing.Any:
        return _INSTEAD["builtins.object"]
    origin = typing.get_origin(hint)
    for name in _names_of(hint if origin is None else origin):
        if name in _INSTEAD and (name != "builtins.object" or hint is object):
            return _INSTEAD[name]
    return (
        f"write int, float, complex, bool, str, pathlib.Path, {EXAMPLE}, list[float], list[str], a "
        "dataclass, or of a function Callable[[float], float]"
    )


def _names_of(hint: Any) -> List[str]:
    """A class and those that it is made from, in full."""
    kinds = hint.__mro__ if isinstance(hint, type) else ()
    return [f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in kinds]


def expanded(hint: Any) -> Any:
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


def plain(hint: Any) -> Any:
    """A type without what is noted on it, and X of Optional[X]: nothing is what is left out."""
    hint = expanded(hint)
    if typing.get_origin(hint) is typing.Annotated:
        hint = expanded(typing.get_args(hint)[0])
    items = [one for one in typing.get_args(hint) if one is not type(None)]
    return plain(items[0]) if _is_union(hint) and len(items) == 1 else hint


def may_be_none(hint: Any) -> bool:
    """Whether a type is Optional[X]."""
    hint = expanded(hint)
    if typing.get_origin(hint) is typing.Annotated:
        return may_be_none(typing.get_args(hint)[0])
    return _is_union(hint) and type(None) in typing.get_args(hint)


def _is_union(hint: Any) -> bool:
    unions = (typing.Union, getattr(types, "UnionType", typing.Union))
    return typing.get_origin(hint) in unions


def _list(name: str, item: Any = None, form: str = _forms.LIST) -> Value:
    """Of numbers, truth values or texts."""
    if item is None:
        raise Mistake(f"{name} has the type list, which does not travel", _advice(list))
    if _is_class(item):
        message = f"{name} is a list of {_shown(item)}, which does not travel here"
        raise Mistake(message, "write a list for each field of it")
    one = value_of(name, item)
    if one.rank >= 0 or one.element == "filename":
        raise Mistake(
            f"{name} is a list of {_shown(item)}, which does not travel",
            f"write list[float], list[str], or {EXAMPLE}",
        )
    return one._replace(rank=1, extents=_forms.extents_of(name, _forms.LIST), form=form)


def _is_class(hint: Any) -> bool:
    from . import _fields

    return _fields.class_of(hint) is not None


def _tuple(name: str, items: Tuple[Any, ...]) -> Value:
    """Of any number of values of one type, or of so many."""
    if len(items) == 2 and items[1] is Ellipsis:
        return _list(name, items[0], _forms.TUPLE)
    if not items or any(item != items[0] for item in items):
        message = f"{name} is a tuple of values of different types, which does not travel"
        raise Mistake(message, "write a dataclass, or a NamedTuple, with a field for each")
    one = _list(name, items[0], _forms.TUPLE)
    return one._replace(extents=(str(len(items)),))


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


def with_bounds(value: Value) -> Value:
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
