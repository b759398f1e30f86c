"""Lists, arrays of any rank and defaults of any type in published Python functions: how they are
written in the interface language, and how they become Python's again.

The language has arrays of a declared rank whose sizes follow from the arguments. So an array of any
rank is one of RANK_MAX dimensions, with its rank beside it, and a result of any size comes flat,
with its shape beside it. What stands beside has a name that the Python client hides: `_x_rank`,
`_result_count`, `_result_shape`. What has a default that the language cannot write may be NULL, and
its description says so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Sequence, Tuple

import numpy as np

if TYPE_CHECKING:
    from ._hints import Value
    from ._parameters import RunningParameter

# Texts that a result may have whose hint does not say how many: these, or twice those of the
# arguments. On the way each costs a byte, in the call all of them have a pointer.
_TEXTS_MIN = 4096
# The most dimensions of an array whose hint does not say how many it has.
RANK_MAX = 4
# Elements that a result may have whose hint does not say how many: these, or twice those of the
# arguments. Memory for so many is set aside in each call, and used as far as they are there.
_ELEMENTS_MIN = 65536
# What a description of a parameter begins with that may be left out.
NULLABLE = "default "
# Characters of a default that are shown.
_SHOWN_MAX = 60
_HIDDEN = re.compile(r"_(\w+)_(count|rank|shape)", re.ASCII)
LIST, TUPLE, ANY = "list", "tuple", "any"


def hidden(names: Iterable[str]) -> Dict[str, Tuple[str, str]]:
    """Parameters that stand beside others, with those and what they say of them."""
    known = set(names)
    found = {name: _HIDDEN.fullmatch(name) for name in known}
    return {
        name: (match[1], match[2])
        for name, match in found.items()
        if match is not None and match[1] in known
    }


def nullable(value: Value, default: Any) -> Value:
    """An argument with a default that the language cannot write. A number is an array of one, which
    can be NULL."""
    shown = repr(default)
    shown = shown if len(shown) <= _SHOWN_MAX else shown[:_SHOWN_MAX] + "..."
    value = value._replace(doc=NULLABLE + shown)
    if value.rank >= 0 or value.element in ("string", "filename"):
        return value
    return value._replace(rank=1, extents=("1",), is_one=True)


def extents_of(name: str, form: str) -> Tuple[str, ...]:
    """Of an argument: any."""
    return (":",) * (RANK_MAX if form == ANY else 1)


def bounded(result: Value, arguments: Iterable[Value]) -> Value:
    """A result of any size, with the most that it may have."""
    if not result.form or result.extents and ":" not in result.extents:
        return result
    least = _TEXTS_MIN if result.element == "string" else _ELEMENTS_MIN
    arrays = [one.extents for one in arguments if one.extents]
    counts = [" * ".join(f"({extent})" for extent in extents) for extents in arrays]
    twice = f", 2 * ({' + '.join(counts)})" if counts else f", {least}"
    bound = f"max({least}{twice})"
    return result._replace(extents=(bound,), found=(f"_{result.name}_count",))


def beside(value: Value, mode: str) -> List[str]:
    """What stands beside an array of any rank, in the interface language."""
    if value.form != ANY:
        return []
    if mode == "IN":
        return [f"IN int64 _{value.name}_rank = 0"]
    return [f"OUT int64 _{value.name}_shape[{RANK_MAX}]"]


def received(
    parameter: RunningParameter, declared: Optional[Value], wanted: Any, rank: Optional[int]
) -> Any:
    """What the function is given."""
    if declared is None or not (declared.form or declared.is_one):
        is_truth = declared is not None and declared.is_truth and declared.rank < 0
        return parameter.value(bool if is_truth else wanted)
    if declared.element == "string":
        texts = parameter.texts()
        return tuple(texts) if declared.form == TUPLE else texts
    array = parameter.array()
    if declared.is_one:
        item = array.reshape(-1)[0].item()
        return bool(item) if declared.is_truth else item
    if declared.form in (LIST, TUPLE):
        items = [bool(item) for item in array] if declared.is_truth else array.tolist()
        return tuple(items) if declared.form == TUPLE else items
    return array.reshape(_shape(array.shape, rank or 0))


def _shape(shape: Tuple[int, ...], rank: int) -> Tuple[int, ...]:
    """Of an array of this rank; a caller that does not say it has no trailing dimensions of 1."""
    if rank > 0:
        return shape[:rank]
    while len(shape) > 1 and shape[-1] == 1:
        shape = shape[:-1]
    return shape


def is_one_list(results: Sequence[Value], returned: Any) -> bool:
    """Whether a tuple is the only result, and not what holds the results."""
    if len(results) != 1 or results[0].form not in (LIST, TUPLE):
        return False
    held = returned[0] if isinstance(returned, tuple) and len(returned) == 1 else None
    return isinstance(returned, tuple) and not isinstance(held, (list, tuple))


def returned_texts(declared: Value, result: Any, most: int) -> List[Optional[bytes]]:
    """A result of texts, as they travel.

    Raises:
        TypeError: it is no such thing, in words.
    """
    if not isinstance(result, (list, tuple)):
        raise TypeError(f"which is declared {declared.form}")
    wrong = [one for one in result if not isinstance(one, str)]
    if wrong:
        raise TypeError(f"whose items are declared str, and one is {wrong[0]!r:.60}")
    if len(result) > most:
        raise TypeError(
            f"and {most} texts are the most without a size; return one text that joins them"
        )
    return [one.encode("utf-8", "surrogateescape") for one in result]


def returned(
    declared: Value, result: Any, dtype: np.dtype[Any], most: int
) -> Tuple[np.ndarray[Any, Any], Tuple[int, ...]]:
    """A result as an array of one dimension, and its shape.

    Raises:
        TypeError: it is no such thing, in words.
    """
    is_list = declared.form in (LIST, TUPLE)
    if not isinstance(result, (list, tuple) if is_list else (np.ndarray, np.generic)):
        raise TypeError(f"which is declared {declared.form if is_list else 'np.ndarray'}")
    try:
        array = np.asarray(result)
    except ValueError:
        array = np.empty((), object)
    if array.size == 0 and is_list:
        array = array.astype(dtype)
    if is_list and array.ndim != 1 or array.ndim > RANK_MAX:
        raise TypeError(f"and {1 if is_list else RANK_MAX} dimensions are the most")
    if array.size > most:
        raise TypeError(
            f"and {most} elements are the most without a size: declare one, as in "
            'Annotated[NDArray[np.float64], "found <= n"]'
        )
    if not np.can_cast(array.dtype, dtype, "safe"):
        raise TypeError(f"which is declared of {dtype.name}")
    cast = array.astype(dtype)
    # Not every whole number of 64 bits is a double.
    if array.dtype.kind in "iu" and (cast != array).any():
        raise TypeError(f"which is not exact as {dtype.name}")
    return cast.reshape(-1), array.shape
