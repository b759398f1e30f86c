"""Index, columns and coordinates of what pandas and xarray have: results of the same shape get them
back. Neither is imported here."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import numpy as np

from ._interface import Parameter


def has_labels(value: Any) -> bool:
    """Whether it is one of theirs."""
    return _library_of(value) is not None


def put_back(
    labelled: Dict[int, Any], values: Dict[str, Any], outputs: List[Parameter], without: Any
) -> None:
    """Gives array results the labels of an argument of their shape: of their own, or of the first.
    `labelled` are arguments by the index of their parameter; results that lie in the caller's
    arrays (`without`) stay as they are."""
    for one in outputs:
        value = values[one.name]
        if isinstance(value, np.ndarray) and value.ndim and one.index not in without:
            like = _like(labelled, one, value.shape)
            values[one.name] = value if like is None else _labelled(value, like)


def _like(labelled: Dict[int, Any], parameter: Parameter, shape: Any) -> Optional[Any]:
    own = labelled.get(parameter.index)
    candidates = [*([] if own is None else [own]), *labelled.values()]
    return next((one for one in candidates if tuple(one.shape) == tuple(shape)), None)


def _library_of(value: Any) -> Optional[str]:
    """Whose series, table or array it is, or of a class that is made from them."""
    for kind in type(value).__mro__:
        name = kind.__module__.partition(".")[0]
        if name == "pandas" and kind.__name__ in ("Series", "DataFrame"):
            return name
        if name == "xarray" and kind.__name__ == "DataArray":
            return name
    return None


def _labelled(array: Any, like: Any) -> Any:
    """An array with the labels of another of its shape."""
    if _library_of(like) == "xarray":
        return like.copy(data=array)
    made = getattr(like, "_constructor", type(like))
    if hasattr(like, "columns"):
        return made(array, index=like.index, columns=like.columns)
    return made(array, index=like.index, name=like.name)
