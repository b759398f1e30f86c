"""Structs from tuples, dictionaries and structured arrays, field by field.

A field takes what a parameter of its type takes: nothing is rounded to a whole number, cut off,
read from a text, or spread over an array. NumPy does all of that when it makes structured arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Sequence

import numpy as np

from ._interface import Parameter
from ._refusals import digits, refuse, short
from ._single import value_of

_INT64_MAX = 2**63 - 1
_WANTED = {"i": "a whole number", "u": "a whole number", "f": "a real number", "c": "a number"}


class _Unfit(Exception):
    """What is wrong with a value, and where: `[2].temp[0]`."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(message)
        self.place = place


def struct_array(routine: str, parameter: Parameter, value: Any) -> Any:
    """Structs of a parameter's type: of lists an array, of anything else one."""
    names = parameter.dtype.names
    try:
        return _structs(parameter.dtype, value, "")
    except _Unfit as unfit:
        where = f"{parameter.name}{unfit.place}: " if unfit.place else ""
        message = f"no {parameter.type} can be made of it: {where}{unfit}"
        advice = f"pass tuples of ({', '.join(names)}), or dictionaries with these keys"
        refuse(routine, parameter, message, advice, wrong_type=True)


def _structs(dtype: "np.dtype[Any]", value: Any, place: str) -> Any:
    value = value_of(value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        value = value.tolist()
    if isinstance(value, list):
        return _listed(dtype, value, place)
    if getattr(getattr(value, "dtype", None), "names", None):
        return _of_structured(dtype, np.asarray(value), place)
    if not isinstance(value, (tuple, Mapping)):
        raise _Unfit(place, f"found {short(value)}")
    one = np.zeros((), dtype)
    _fill(one, value, place)
    return one


def _listed(dtype: "np.dtype[Any]", values: Sequence[Any], place: str) -> Any:
    """An array of what a list holds, which must be alike."""
    if not values:
        return np.zeros(0, dtype)
    parts = [_structs(dtype, one, f"{place}[{index}]") for index, one in enumerate(values)]
    for index, part in enumerate(parts):
        if part.shape != parts[0].shape:
            message = f"it has shape {part.shape}, and the first one has {parts[0].shape}"
            raise _Unfit(f"{place}[{index}]", message)
    made = np.zeros((len(parts), *parts[0].shape), dtype)
    for index, part in enumerate(parts):
        made[index] = part
    return made


def _fill(one: Any, value: Any, place: str) -> None:
    """The fields of one struct."""
    names = one.dtype.names
    fields = getattr(value, "_fields", None)
    if fields is not None:
        # A named tuple says which item is which.
        value = dict(zip(fields, value))
    if isinstance(value, Mapping):
        _check_names(names, list(value), "key", place)
        items = [value[name] for name in names]
    elif len(value) == len(names):
        items = list(value)
    else:
        message = f"a tuple of {len(value)}, and there are {len(names)} fields"
        raise _Unfit(place, message)
    for name, item in zip(names, items):
        one[name] = _field(one.dtype[name], item, f"{place}.{name}")


def _check_names(names: Sequence[str], given: Sequence[Any], what: str, place: str) -> None:
    """Names are those of the fields, in any order."""
    unknown = [name for name in given if name not in names]
    missing = [name for name in names if name not in given]
    if unknown:
        close = get_close_matches(str(unknown[0]).lower(), [name.lower() for name in names], 1)
        meant = [name for name in names if name.lower() in close]
        hint = f"; did you mean {meant[0]!r}?" if meant else ""
        raise _Unfit(place, f"there is no field for the {what} {unknown[0]!r}{hint}")
    if missing:
        raise _Unfit(place, f"the {what} {missing[0]!r} is missing")


def _field(dtype: "np.dtype[Any]", value: Any, place: str) -> Any:
    """The value of a field, checked."""
    value = value_of(value)
    if dtype.kind == "S":
        return _text(dtype.itemsize, value, place)
    if dtype.subdtype is None:
        return _number(dtype, value, place)
    base, shape = dtype.subdtype
    if base.kind == "S":
        return _text(dtype.itemsize, value, place)
    return _numbers(base, shape[0], value, place)


def _numbers(dtype: "np.dtype[Any]", count: int, values: Any, place: str) -> Any:
    """As many numbers as the field has: one is not spread over it."""
    is_array = isinstance(values, np.ndarray) and values.ndim == 1
    if not is_array and not isinstance(values, (list, tuple)):
        raise _Unfit(place, f"the interface wants {count} of {dtype.name}, not {short(values)}")
    if len(values) != count:
        raise _Unfit(place, f"it has {len(values)} elements, and the field has {count}")
    if is_array and values.dtype.kind != "O":
        return _cast(dtype, values, place)
    return [_number(dtype, one, f"{place}[{index}]") for index, one in enumerate(values)]


def _number(dtype: "np.dtype[Any]", value: Any, place: str) -> Any:
    value = value_of(value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    elif not isinstance(value, (int, float, complex, np.generic)):
        value = _whole_number(value)
    if isinstance(value, (int, np.integer, np.bool_)):
        return _whole(dtype, int(value), place)
    is_real = dtype.kind in "fc" and isinstance(value, (float, np.floating))
    if not is_real and not (dtype.kind == "c" and isinstance(value, (complex, np.complexfloating))):
        wanted = f"the interface wants {_WANTED[dtype.kind]} ({dtype.name})"
        raise _Unfit(place, f"{wanted}, not {short(value)}")
    with np.errstate(over="ignore"):
        made = dtype.type(value)
    if np.isinf(made) and not np.isinf(value):
        raise _Unfit(place, f"{value} does not fit {dtype.name}: it would become infinite")
    # A long double was chosen for its precision; other floats may be rounded.
    if value.__class__ in (np.longdouble, np.clongdouble) and made != value and value == value:
        raise _Unfit(place, f"{value} is not exact as {dtype.name}")
    return made


def _whole_number(value: Any) -> Any:
    try:
        return operator.index(value)
    except TypeError:
        return value


def _whole(dtype: "np.dtype[Any]", value: int, place: str) -> Any:
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not int(limits.min) <= value <= int(limits.max):
            raise _Unfit(place, f"{digits(value)} does not fit {dtype.name}")
    elif abs(value) > _INT64_MAX or int(dtype.type(value).real) != value:
        raise _Unfit(place, f"{digits(value)} is not exact as {dtype.name}")
    return dtype.type(value)


def _text(width: int, value: Any, place: str) -> bytes:
    """The letters of a text, all of which must have room."""
    if isinstance(value, str):
        try:
            value = value.encode()
        except UnicodeEncodeError as error:
            raise _Unfit(
                place, f"{short(value)} cannot be written in UTF-8: {error.reason}"
            ) from None
    if not isinstance(value, (bytes, bytearray)):
        raise _Unfit(place, f"the interface wants a text, not {short(value)}")
    if len(value) > width:
        room = f"room for {width}" if width > 1 else "one character"
        raise _Unfit(place, f"{short(bytes(value))} has {len(value)} bytes, and there is {room}")
    return bytes(value)


def _of_structured(dtype: "np.dtype[Any]", given: Any, place: str) -> Any:
    """A structured array, by the names of its fields."""
    _check_names(dtype.names or (), given.dtype.names, "field", place)
    made = np.zeros(given.shape, dtype)
    for name in dtype.names or ():
        wanted, values = made.dtype[name], given[name]
        base, shape = wanted.subdtype or (wanted, ())
        if values.shape != given.shape + shape:
            found = values.shape[given.ndim :] or "one value"
            message = f"the field {name} has shape {found}"
            raise _Unfit(place, f"{message}, and the interface wants {shape or 'one'}")
        made[name] = _cast(base, values, f"{place}.{name}")
    return made


def _cast(dtype: "np.dtype[Any]", values: Any, place: str) -> Any:
    """Elements that have a type become others only where no value can change."""
    if dtype.kind == "S" and values.dtype.kind in "SU":
        return _cut_nothing(dtype, values, place)
    if values.dtype.kind in "biufc" and dtype.kind in "iufc":
        if np.can_cast(values.dtype, dtype, "safe"):
            return values
        # As for other arrays: whole numbers may become real ones that are exact.
        if values.dtype.kind in "iu" and dtype.kind in "fc" and _is_exact(dtype, values):
            return values
    raise _Unfit(place, f"elements of {values.dtype}, and the interface wants {dtype.name}")


def _is_exact(dtype: "np.dtype[Any]", values: Any) -> bool:
    cast = values.astype(dtype).real
    # Beyond the whole numbers of 64 bits, the way back tells nothing.
    return bool((np.abs(cast) <= _INT64_MAX).all() and (cast.astype(values.dtype) == values).all())


def _cut_nothing(dtype: "np.dtype[Any]", values: Any, place: str) -> Any:
    letters = np.char.encode(values, "utf-8") if values.dtype.kind == "U" else values
    longest = int(np.char.str_len(letters).max(initial=0))
    if longest > dtype.itemsize:
        raise _Unfit(place, f"a text of {longest} bytes, and there is room for {dtype.itemsize}")
    return letters
