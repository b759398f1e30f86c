"""Arrays of the interface's type from what Python has: as they lie, or converted into a copy if no
value can change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, Tuple

import numpy as np

from ._interface import CHAR, STRUCT, Parameter
from ._refusals import refuse, short
from ._single import Single
from ._structs import struct_array

_INT64_MAX = 2**63 - 1
# Of DLPack: CPU, and host memory that CUDA or ROCm pinned.
_HOST_DEVICES = (1, 3, 11)


def as_array(routine: str, parameter: Parameter, value: Any) -> Any:
    """`value` itself if its elements are the interface's, otherwise a converted copy."""
    if parameter.is_logical:
        return _truths(routine, parameter, value)
    if isinstance(value, np.ndarray) and fits_exactly(value.dtype, parameter):
        return value
    if not isinstance(value, (np.ndarray, np.generic)) and hasattr(value, "__dlpack__"):
        value = _of_tensor(routine, parameter, value)
    if parameter.element == STRUCT:
        return struct_array(routine, parameter, value)
    if parameter.element == CHAR:
        return _characters(routine, parameter, value)
    return _converted(routine, parameter, value)


def _truths(routine: str, parameter: Parameter, value: Any) -> Any:
    """LOGICALs: 1 for whatever is not 0, also for a routine that looks at one bit of it."""
    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    if array.dtype.kind not in "biu":
        return _converted(routine, parameter, value)
    if array.dtype == parameter.dtype and ((array == 0) | (array == 1)).all():
        return array
    return (array != 0).astype(parameter.dtype)


def _of_tensor(routine: str, parameter: Parameter, value: Any) -> Any:
    """What another library exports by DLPack, where it lies."""
    name = type(value).__name__
    device = tuple(value.__dlpack_device__())
    if device[0] not in _HOST_DEVICES:
        message = (
            f"this {name} is on a device (DLPack {int(device[0])}:{device[1]}), which routines "
            "cannot access"
        )
        refuse(
            routine,
            parameter,
            message,
            f"copy it to the host: {parameter.name}.cpu() or the like",
        )
    try:
        return np.from_dlpack(value)
    except (BufferError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        # Read-only ones, types that NumPy has not, or NumPy 1.22: perhaps by way of a copy.
        why = error
    try:
        array = np.asarray(value)
    except Exception:
        array = np.empty((), object)
    if array.dtype.kind == "O":
        message = f"no array can be made of this {name}: {why}"
        refuse(routine, parameter, message, "pass a NumPy array", wrong_type=True)
    return array


def _converted(routine: str, parameter: Parameter, value: Any) -> Any:
    typed = hasattr(value, "dtype") or hasattr(value, "__array_interface__")
    if not typed:
        # Elements of a buffer have a type; NumPy would take bytes for one text.
        value, typed = _of_buffer(value)
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        if isinstance(value, Single) and len(value._values) > 1:
            message = f"there are {len(value._values)} results, and one is wanted"
            advice = f"name it: {', '.join(value._values)}"
            refuse(routine, parameter, message, advice, wrong_type=True)
        refuse(routine, parameter, f"no array can be made of it: {error}", wrong_type=True)
    if fits_exactly(array.dtype, parameter):
        return array
    if array.size == 0 and not typed:
        # NumPy calls the type of an empty list float64; it has none.
        return array.astype(parameter.dtype)
    if array.dtype.kind not in "biufc":
        _refuse_elements(routine, parameter, value, array)
    safe = np.can_cast(array.dtype, parameter.dtype, "safe")
    if not safe and (typed or not _is_weaker(array.dtype, parameter.dtype)):
        what = "an array" if typed else "a list"
        message = f"{what} of {array.dtype}, the interface wants {dtype_text(parameter)}"
        refuse(
            routine,
            parameter,
            message,
            _conversion(parameter, array, typed),
            wrong_type=True,
        )
    return _cast(routine, parameter, array)


def _refuse_elements(routine: str, parameter: Parameter, value: Any, array: Any) -> NoReturn:
    """What NumPy makes no array of numbers of."""
    wanted, found = dtype_text(parameter), type(value).__name__
    _refuse_columns(routine, parameter, value)
    if (
        isinstance(value, Iterable)
        and not isinstance(value, (Sequence, np.ndarray))
        and array.ndim == 0
    ):
        message = f"the interface wants an array of {wanted}, not a {found}"
        # Of a dictionary it would be the keys, and of a sparse matrix its rows.
        advice = (
            "pass list(...) of it" if not isinstance(value, dict) else "pass list(....values())"
        )
        if hasattr(value, "toarray"):
            advice = "pass its toarray()"
        refuse(routine, parameter, message, advice, wrong_type=True)
    if array.dtype.kind == "O" and array.ndim > 0:
        for index, element in np.ndenumerate(array):
            if np.asarray(element).dtype.kind == "O":
                place = "".join(f"[{position}]" for position in index)
                message = (
                    f"the element {place} is {short(element)}, and the interface wants {wanted}"
                )
                refuse(routine, parameter, message, wrong_type=True)
    message = f"the interface wants {wanted}, not an array of {array.dtype}"
    refuse(routine, parameter, message, wrong_type=True)


def _refuse_columns(routine: str, parameter: Parameter, value: Any) -> None:
    """A table or a named series, as pandas and xarray have them, by the name of its first column
    that has no numbers."""
    names = getattr(value, "columns", None)
    if names is None:
        columns = [(getattr(value, "name", None), getattr(value, "dtype", None))]
    else:
        columns = [(name, getattr(value[name], "dtype", None)) for name in names]
    for name, dtype in columns:
        if name is None or dtype is None or getattr(dtype, "kind", "O") in "biufc":
            continue
        what = "column" if names is not None else "series"
        message = (
            f"the {what} {short(name)} has elements of {dtype}, and the interface wants "
            f"{dtype_text(parameter)}"
        )
        advice = "leave it out, or make it numbers" if names is not None else "make it numbers"
        refuse(routine, parameter, message, advice, wrong_type=True)


def _cast(routine: str, parameter: Parameter, array: Any) -> Any:
    whole = array.dtype.kind in "biu"
    with np.errstate(over="ignore", invalid="ignore"):
        cast = array.astype(parameter.dtype)
        # A whole number must stay itself; a Python float may be rounded, but not to infinity.
        changed = (
            (cast.real.astype(array.dtype) != array)
            if whole
            else (np.isinf(cast) & ~np.isinf(array))
        )
    if whole and cast.dtype.kind in "fc":
        # What a real number beyond the whole ones becomes on its way back depends on the
        # processor.
        changed = changed | (np.abs(cast) > _INT64_MAX)
    if np.any(changed):
        index = tuple(int(places[0]) for places in np.nonzero(changed)) if array.ndim else ()
        place = "".join(f"[{position}]" for position in index)
        what = f"the element {place} is {array[index]}, which" if place else f"{array[()]}"
        message = f"{what} does not fit {dtype_text(parameter)}"
        refuse(
            routine,
            parameter,
            f"{message} exactly" if whole else f"{message}: it would become infinite",
        )
    return cast


def _characters(routine: str, parameter: Parameter, value: Any) -> Any:
    """An array of byte strings has one dimension more as characters."""
    given = np.asarray(value)
    array = np.char.encode(given, "utf-8") if given.dtype.kind == "U" else given
    # Shorter texts are filled up with blanks, as Fortran does; bytes that say how long they are,
    # are what they are.
    if array.dtype.kind == "S" and (array is not value or array.dtype.itemsize < parameter.width):
        array = np.char.ljust(array, max(parameter.width, array.dtype.itemsize))
    if array.dtype.kind != "S" or array.dtype.itemsize == 0:
        message = f"the interface wants characters, not an array of {array.dtype}"
        refuse(
            routine,
            parameter,
            message,
            "pass bytes, or an array of dtype 'S1'",
            wrong_type=True,
        )
    width = array.dtype.itemsize
    letters = np.ascontiguousarray(array).view("S1").reshape(array.shape + (width,))
    # In Fortran's order, the letters of a text are the first dimension.
    is_first = parameter.is_column and parameter.width and array.ndim == parameter.rank - 1
    return np.moveaxis(letters, -1, 0) if is_first else letters


def _of_buffer(value: Any) -> Tuple[Any, bool]:
    """A view of what offers the buffer protocol; whether it does."""
    try:
        return memoryview(value), True
    except TypeError:
        return value, False


def fits_exactly(dtype: Any, parameter: Parameter) -> bool:
    """Whether elements of this type are the interface's, bit by bit. A character may be any
    byte."""
    if dtype == parameter.dtype:
        return True
    return bool(parameter.element == CHAR and dtype.itemsize == 1 and dtype.kind in "iuS")


def dtype_text(parameter: Parameter) -> str:
    """The NumPy name of a parameter's type."""
    return parameter.type if parameter.element == STRUCT else str(parameter.dtype.name)


def _conversion(parameter: Parameter, array: Any, typed: bool) -> str:
    """How to make an array of the interface's type of it, if that loses nothing but precision."""
    wanted, name = parameter.dtype, parameter.name
    if array.dtype.kind == "c" and wanted.kind != "c":
        return (
            f"pass its real part: {name}.real"
            if typed
            else f"pass real numbers, or np.real({name})"
        )
    # Bytes of whatever type are declared so, too: `void` in an interface file.
    own = f"{name}.view('uint8')" if typed else f"np.asarray({name}).view('uint8')"
    as_bytes = f", or {own} for its bytes" if wanted == np.uint8 else ""
    if array.dtype.kind == "f" and wanted.kind in "iu":
        return f"pass whole numbers{as_bytes}"
    with np.errstate(all="ignore"):
        cast = array.astype(wanted)
        fits = (
            (cast == array).all()
            if wanted.kind in "iu"
            else (np.isfinite(cast) == np.isfinite(array)).all()
        )
    return (
        f"convert it: {name}.astype({dtype_text(parameter)!r})"
        f"{' for its values' if as_bytes else ''}{as_bytes}"
        if fits
        else f"it has values that do not fit{as_bytes}"
    )


def overlaps_itself(array: Any) -> bool:
    """Whether elements may share memory: each axis must step over all that the axes of smaller
    strides reach."""
    if array.size == 0:
        return False
    reached = array.itemsize
    for stride, count in sorted(
        (abs(stride), count) for stride, count in zip(array.strides, array.shape) if count > 1
    ):
        if stride < reached:
            return True
        reached += stride * (count - 1)
    return False


def _is_weaker(given: Any, wanted: Any) -> bool:
    """Whether Python's own numbers may become the wanted ones, each value checked: whole < real <
    complex."""
    rank = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
    return bool(rank[given.kind] <= rank[wanted.kind])
