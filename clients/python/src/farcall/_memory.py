"""Arrays that travel without a copy to a server on the same host: they lie in memory that it can
share."""

from __future__ import annotations

import operator
from typing import Any, Sequence, Union

import numpy as np

from . import _errors
from ._library import check, error_place, ffi, handle_place, kept_buffer, lib

# Arrays up to this many bytes travel inside of the call's message, wherever they lie.
_INLINE_MAX = 4096
Shape = Union[int, Sequence[int]]


@_errors.ends_here
def empty(shape: Shape, dtype: Any = float, order: str = "C") -> Any:
    """An array of any values, as `numpy.empty` makes it, that travels without a copy to a server on
    the same host.

    So do views and slices of it that lie as the interface stores the array: for `column` in Fortran
    order. As an argument the routine reads it where it lies; as `out=`, or with `inplace=True`, it
    writes there. Over TCP, and to a second server at a time, it is an array like any other.
    """
    kind = np.dtype(dtype)
    if kind.hasobject:
        advice = "give the type of numbers"
        raise _errors.make(
            _errors.WrongType, "make an array", f"elements of {kind} do not travel", advice
        )
    extents = _extents(shape)
    count = kind.itemsize
    for extent in extents:
        count *= extent
    if count > np.iinfo(np.intp).max:
        message = f"{count} bytes are more than any program can have"
        raise _errors.make(_errors.LimitExceeded, "make an array", message, "make it in parts")
    # NumPy says what is wrong with the order.
    if count <= _INLINE_MAX or order not in ("C", "F"):
        return np.empty(extents, kind, order)  # type: ignore[call-overload]
    data, error = ffi.new("void **"), error_place()
    place = handle_place("farcall_memory **", lib.farcall_memory_free)
    check(lib.farcall_memory_allocate(count, data, place, error), error)
    buffer = kept_buffer(data[0], count, place)
    return np.ndarray(extents, kind, buffer, order=order)  # type: ignore[arg-type]


@_errors.ends_here
def zeros(shape: Shape, dtype: Any = float, order: str = "C") -> Any:
    """The same, filled with zeros."""
    array = empty(shape, dtype, order)
    # Memory of earlier arrays is used again.
    array[...] = np.zeros((), array.dtype)
    return array


@_errors.ends_here
def empty_like(prototype: Any, dtype: Any = None, order: str = "K") -> Any:
    """The same with the shape and type of another array: in its order, or in "C" or "F"."""
    like = np.asanyarray(prototype)
    if order in ("A", "K"):
        order = "F" if like.flags.fnc else "C"
    return empty(like.shape, like.dtype if dtype is None else dtype, order)


def _extents(shape: Shape) -> Sequence[int]:
    extents = tuple(shape) if isinstance(shape, (tuple, list, np.ndarray)) else (shape,)
    try:
        extents = tuple(operator.index(extent) for extent in extents)
    except TypeError:
        message = f"the shape {shape!r} is made of something else than whole numbers"
        raise _errors.make(_errors.WrongType, "make an array", message) from None
    if any(extent < 0 for extent in extents):
        raise _errors.make(
            _errors.InvalidArgument, "make an array", f"the shape {shape!r} has a negative extent"
        )
    return extents
