"""The parameters of a call that a Python function runs: what the function is given, and what it
returned, checked."""

from __future__ import annotations

import dataclasses
import operator
import os
import pathlib
import shutil
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from ._interface import ELEMENTS
from ._library import ffi, lib
from ._views import array_at, shape_of, texts_at

# enum farcall_parameter_kind.
NUMBER: int = lib.FARCALL_PARAMETER_NUMBER
ARRAY: int = lib.FARCALL_PARAMETER_ARRAY
TEXT: int = lib.FARCALL_PARAMETER_TEXT
TEXTS: int = lib.FARCALL_PARAMETER_TEXTS
FILE: int = lib.FARCALL_PARAMETER_FILE
CALLBACK: int = lib.FARCALL_PARAMETER_CALLBACK
# enum farcall_mode.
_IN: int = lib.FARCALL_MODE_IN
_OUT: int = lib.FARCALL_MODE_OUT
_INOUT: int = lib.FARCALL_MODE_INOUT
# NumPy's types by the numbers of enum farcall_element.
_TYPES = dict(ELEMENTS.values())


class Unfit(Exception):
    """A routine returned what its interface does not say."""


class RunningParameter:
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
        """Its dimensions."""
        return shape_of(self._view)

    def array(self) -> "np.ndarray[Any, Any]":
        """The memory itself, which ends with the call. IN arrays cannot be written to."""
        array = array_at(self._view, _TYPES[self._view.element])
        array.flags.writeable = self.is_output
        return array

    def value(self, wanted: Any) -> Any:
        """What the function is given; `wanted` is its annotation."""
        if self.kind == TEXT:
            text = self._view.data
            return (
                None
                if text == ffi.NULL
                else ffi.buffer(text, self.shape[0])[:].decode("utf-8", "replace")
            )
        if self.kind == TEXTS:
            return self.texts()
        if self.kind == ARRAY:
            return self.array()
        if self.kind == FILE:
            return self.path()
        if self.kind != NUMBER:
            return None
        number = self.array()[()]
        return bool(number) if wanted in (bool, "bool") else number.item()

    def texts(self) -> List[Optional[str]]:
        """The texts of an array of them; of one text, that alone."""
        return texts_at(self._view) if self.kind == TEXTS else [self.value(str)]

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
            raise Unfit(
                f"it returned {described(result)} as {self.name}, which is not the path of a file"
            )
        place = self.path()
        if place is not None:
            shutil.copyfile(result, place)

    def set(self, result: Any, found: Tuple[Optional[str], ...] = ()) -> None:
        """Takes a result, checked. In dimensions that have a name in `found` it may be smaller than
        declared."""
        if self.kind == ARRAY and (any(found) or not self._is_scalar(result)):
            return self._set_array(result, found)
        if self.kind not in (NUMBER, ARRAY):
            return None
        place = self.array()
        place.flags.writeable = True
        try:
            place[...] = _converted(result, place.dtype)
        except OverflowError:
            raise Unfit(
                f"it returned {described(result)} as {self.name}, which does not fit "
                f"{_name(place.dtype)}"
            ) from None
        except (TypeError, ValueError):
            raise Unfit(
                f"it returned {described(result)} as {self.name}, which is declared "
                f"{_name(place.dtype)}"
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
            raise Unfit(
                f"it returned {described(result)} as {self.name}, which is declared {declared}"
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
    pairs = zip(declared, found)
    return f"({', '.join(f'{name} <= {most}' if name else str(most) for most, name in pairs)})"


def _converted(result: Any, dtype: "np.dtype[Any]") -> Any:
    if dtype.kind in "iu":
        whole = operator.index(bool(result) if isinstance(result, np.bool_) else result)
        limits = np.iinfo(dtype)
        # NumPy of some versions would keep the lower bits.
        if not int(limits.min) <= whole <= int(limits.max):
            raise OverflowError
        return whole
    if isinstance(result, (str, bytes)):
        raise TypeError
    converted = (
        float(result) if dtype.kind == "f" else complex(result) if dtype.kind == "c" else result
    )
    # Compared as integers: as floating-point numbers they would be rounded alike.
    if isinstance(result, (int, np.integer)) and int(dtype.type(converted).real) != result:
        raise OverflowError
    # Floats may be rounded, but not to infinity.
    with np.errstate(over="ignore"):
        if np.isinf(dtype.type(converted)) and not np.isinf(converted):
            raise OverflowError
    return converted


def truth_of(name: str, result: Any) -> bool:
    """A result that is declared bool: Python would take most things for true, and callers would get
    other numbers."""
    if isinstance(result, (bool, np.bool_, int, np.integer)) and result in (0, 1):
        return bool(result)
    raise Unfit(
        f"it returned {described(result)} as {name}, which is declared bool; return True or False, "
        "or bool(...) of it"
    )


def _name(dtype: "np.dtype[Any]") -> str:
    return dtype.name if dtype.isnative else f"{dtype.name} of the other byte order"


def described(result: Any) -> str:
    if isinstance(result, np.ndarray):
        return f"an array of {_name(result.dtype)} of shape {result.shape}"
    return f"{result!r:.60} ({type(result).__name__})"


def note_extents(
    extents: Dict[str, Optional[int]], name: str, result: Any, found: Tuple[Optional[str], ...]
) -> None:
    """What a result's extents are, by the names that its declaration gives them."""
    for position, extent in enumerate(found):
        if extent is None:
            continue
        count = result.shape[position]
        if extents[extent] not in (None, count):
            raise Unfit(
                f"it returned {count} elements as {name}, and another result has "
                f"{extents[extent]}; both are {extent}"
            )
        extents[extent] = count


def split_results(returned: Any, count: int) -> Tuple[Any, ...]:
    """One for each result."""
    if dataclasses.is_dataclass(returned) and not isinstance(returned, type):
        returned = tuple(getattr(returned, one.name) for one in dataclasses.fields(returned))
    if count == 1 and not isinstance(returned, tuple):
        return (returned,)
    results = (
        () if returned is None else tuple(returned) if isinstance(returned, tuple) else (returned,)
    )
    if len(results) != count:
        what = f"a tuple of {len(results)}" if isinstance(returned, tuple) else described(returned)
        raise Unfit(f"it returned {what}, and a tuple of {count} results is declared")
    return results
