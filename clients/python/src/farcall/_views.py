"""Values of a call as the core shows them (`farcall_parameter`): memory as NumPy arrays, text as
str."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import numpy as np

from ._library import ffi


def shape_of(view: Any) -> Tuple[int, ...]:
    """The extents."""
    return tuple(view.shape[position] for position in range(view.rank))


def strides_of(view: Any) -> Tuple[int, ...]:
    """Bytes between neighbours."""
    return tuple(view.strides[position] for position in range(view.rank))


def reach_of(view: Any) -> int:
    """Bytes from the first element to the end of the last."""
    steps = sum((count - 1) * stride for count, stride in zip(shape_of(view), strides_of(view)))
    return int(steps + view.element_bytes)


def array_at(view: Any, dtype: Any) -> "np.ndarray[Any, Any]":
    """The memory itself, which ends with the call; of a number, an array without dimensions."""
    shape = shape_of(view)
    if view.data == ffi.NULL or 0 in shape:
        return np.empty(shape, dtype)
    return np.ndarray(shape, dtype, ffi.buffer(view.data, reach_of(view)), 0, strides_of(view))


def text_at(view: Any) -> Optional[str]:
    """A copy of a text."""
    return (
        None
        if view.data == ffi.NULL
        else ffi.buffer(view.data, view.shape[0])[:].decode("utf-8", "replace")
    )


def texts_at(view: Any) -> List[Optional[str]]:
    """Copies of an array of texts."""
    pointers = ffi.cast("char **", view.data)
    texts = [pointers[index] for index in range(view.shape[0] if pointers != ffi.NULL else 0)]
    return [
        None if one == ffi.NULL else ffi.string(one).decode("utf-8", "replace") for one in texts
    ]
