"""From Python values to the core's arguments: arrays by address, numbers and text by value, nothing
rounded unasked.

Arrays of the interface's type are taken as they lie, whatever their order and strides. Others are
converted, into a copy, if no value can change: safe widening (int32 to int64, float32 to float64,
real to complex), the other byte order, and what fits of Python's own numbers and lists. Narrowing
is refused.
"""

from __future__ import annotations

import os
import pathlib
from typing import Any, Dict, List, NoReturn, Optional, Tuple, Union

import numpy as np

from ._arrays import as_array, dtype_text, fits_exactly, overlaps_itself
from ._data import Data
from ._interface import CHAR, STRUCT, Parameter
from ._labels import has_labels
from ._library import ffi, lib
from ._refusals import digits, refuse, short
from ._single import value_of, whole_number
from ._structs import struct_array
from ._url import URL

# enum farcall_argument_kind.
INTEGER: int = lib.FARCALL_INTEGER
REAL: int = lib.FARCALL_REAL
COMPLEX: int = lib.FARCALL_COMPLEX
RAW: int = lib.FARCALL_RAW
TEXT: int = lib.FARCALL_TEXT
TEXTS: int = lib.FARCALL_TEXTS
NULL: int = lib.FARCALL_NULL
ARRAY: int = lib.FARCALL_ARRAY
FETCHED: int = lib.FARCALL_URL
# enum farcall_destination.
NEW: int = lib.FARCALL_NEW
IN_PLACE: int = lib.FARCALL_IN_PLACE
INTO: int = lib.FARCALL_INTO
_INT64_MAX = 2**63 - 1
_KEEP = List[Any]


class Filler:
    """Fills one call's argument array; `keep` holds what the core's pointers point to until the
    call is over."""

    __slots__ = (
        "routine", "slots", "keep", "given", "paths", "functions", "array_bytes", "labelled",
        "connection",
    )  # fmt: skip

    def __init__(self, routine: str, slots: List[Any], connection: Any = None) -> None:
        self.routine = routine
        self.connection = connection
        self.slots = slots
        self.keep: _KEEP = []
        # Arrays that were taken as they are, by parameter: these alone can be written in place.
        self.given: Dict[int, Any] = {}
        # Files that the call writes, by parameter.
        self.paths: Dict[int, Any] = {}
        # Functions that it passes.
        self.functions: List[Any] = []
        self.array_bytes = 0
        # Arguments with an index or coordinates, by parameter.
        self.labelled: Optional[Dict[int, Any]] = None

    def fill(self, parameter: Parameter, value: Any) -> None:
        """One IN or INOUT argument."""
        kind = type(value)
        if kind is float and -parameter.real_max <= value <= parameter.real_max:
            slot = self.slots[parameter.index]
            slot.kind, slot.value.real = REAL, value
        elif kind is int and parameter.whole_min <= value <= parameter.whole_max:
            slot = self.slots[parameter.index]
            slot.kind, slot.value.integer = INTEGER, value
        else:
            self._fill_carefully(parameter, value)

    def _fill_carefully(self, parameter: Parameter, value: Any) -> None:
        value = value_of(value)
        if parameter.is_callback:
            from ._callbacks import pass_function

            passed = pass_function(self, parameter, value)
            self.functions += [passed] if passed is not None else []
        elif isinstance(value, URL):
            self._url(parameter, value)
        elif isinstance(value, Data):
            value.pass_as(self.routine, parameter, self.connection, self.slots[parameter.index])
            self.keep.append(value)
        elif parameter.is_file:
            self._file(parameter, value)
        elif parameter.is_files:
            self.files(parameter, value)
        elif parameter.is_text:
            self._text(parameter, value)
        elif value is None:
            # As in the signature: inferred, defaulted, or not referred to. The core says if none of
            # them is so.
            return
        elif parameter.is_array:
            if type(value) is not np.ndarray and has_labels(value):
                self.labelled = {**(self.labelled or {}), parameter.index: value}
            self._array(parameter, value)
        elif parameter.element == STRUCT:
            self._struct(parameter, value)
        elif parameter.element == CHAR:
            self._character(parameter, value)
        else:
            self._number(parameter, value)

    def destination(self, parameter: Parameter, array: Any, kind: int) -> None:
        """Where a result goes: of an OUT parameter to the array, of an INOUT one over the argument
        (IN_PLACE) or to the array (INTO)."""
        self._check_destination(parameter, array)
        slot = self.slots[parameter.index]
        if not parameter.is_input:
            self._lay(slot, parameter, array)
            kind = NEW
        elif kind == INTO:
            slot.into_element, slot.into, slot.into_rank = (
                parameter.element,
                _address(array),
                array.ndim,
            )
            slot.into_shape, slot.into_strides = self._shape(array)
        slot.destination = kind

    def _check_destination(self, parameter: Parameter, array: Any) -> None:
        if not isinstance(array, np.ndarray):
            found = type(array).__name__
            refuse(
                self.routine,
                parameter,
                f"results go into NumPy arrays, not a {found}",
                wrong_type=True,
            )
        if not fits_exactly(array.dtype, parameter):
            advice = f"make it with dtype={dtype_text(parameter)}"
            message = f"the result is {dtype_text(parameter)}, the array for it {array.dtype}"
            refuse(self.routine, parameter, message, advice, wrong_type=True)
        if isinstance(array, np.ma.MaskedArray):
            message = "results do not go into masked arrays"
            refuse(self.routine, parameter, message, "pass a plain array", wrong_type=True)
        if not array.flags.writeable:
            refuse(
                self.routine,
                parameter,
                "the array for the result is read-only",
                "pass one that may be written to",
            )
        if overlaps_itself(array):
            message = (
                f"elements of the array for the result overlap (strides {array.strides} bytes)"
            )
            refuse(self.routine, parameter, message, "pass one whose elements lie apart")

    # Files.

    def path(self, parameter: Parameter, path: Any) -> None:
        """The file that an argument is read from, or a result is written to."""
        encoded = self._encoded_path(parameter, path)
        slot = self.slots[parameter.index]
        slot.kind = TEXT
        self._put_bytes(slot.value.text, encoded)
        if parameter.is_output:
            self.paths[parameter.index] = pathlib.Path(os.fsdecode(encoded))

    def files(self, parameter: Parameter, value: Any) -> None:
        """The files of an array, by their paths; None is NULL."""
        slot = self.slots[parameter.index]
        if value is None:
            slot.kind = NULL
            return
        if isinstance(value, (str, bytes, bytearray, os.PathLike)) or not hasattr(
            value, "__iter__"
        ):
            message = f"the interface wants several files, not a {type(value).__name__}"
            refuse(self.routine, parameter, message, "pass a list of paths", wrong_type=True)
        paths = list(value)
        items = ffi.new("farcall_text[]", max(len(paths), 1))
        self.keep.append(items)
        for index, path in enumerate(paths):
            if path is not None:
                self._put_bytes(items[index], self._encoded_path(parameter, path))
        slot.kind, slot.value.texts.items, slot.value.texts.count = TEXTS, items, len(paths)
        if parameter.is_output:
            self.paths[parameter.index] = [
                None if path is None else pathlib.Path(path) for path in paths
            ]

    def _encoded_path(self, parameter: Parameter, path: Any) -> bytes:
        if not isinstance(path, (str, os.PathLike)):
            found = type(path).__name__
            refuse(
                self.routine,
                parameter,
                f"a file is named by its path, not by a {found}",
                "pass a path",
                wrong_type=True,
            )
        encoded = os.fsencode(path)
        if b"\0" in encoded:
            refuse(self.routine, parameter, f"the path {short(path)} contains a NUL")
        return encoded

    def _file(self, parameter: Parameter, value: Any) -> None:
        """An argument: a path is a file, bytes are a content."""
        slot = self.slots[parameter.index]
        if value is None:
            slot.kind = NULL
            return
        if isinstance(value, (str, os.PathLike)):
            self.path(parameter, value)
            return
        try:
            content = memoryview(value).cast("B")
        except TypeError:
            message = f"the interface wants a file, not a {type(value).__name__}"
            refuse(
                self.routine,
                parameter,
                message,
                "pass its path, or its content as bytes",
                wrong_type=True,
            )
        slot.kind = RAW
        self._put_bytes(slot.value.text, content)

    def _url(self, parameter: Parameter, value: URL) -> None:
        if (
            not parameter.is_array
            or parameter.is_text
            or parameter.is_file
            or parameter.element == STRUCT
        ):
            refuse(
                self.routine,
                parameter,
                "only an array of numbers can be fetched",
                "pass the value itself",
                wrong_type=True,
            )
        slot = self.slots[parameter.index]
        slot.kind = FETCHED
        self._put_bytes(slot.value.text, value.encode("utf-8", "surrogateescape"))

    # Text.

    def _put_text(self, place: Any, parameter: Parameter, value: Any) -> bool:
        """Sets a farcall_text; False for what is no text."""
        if value is None:
            return True
        data = self._bytes(parameter, value)
        if data is None:
            return False
        self._put_bytes(place, data)
        return True

    def _put_bytes(self, place: Any, data: Union[bytes, memoryview]) -> None:
        buffer = ffi.from_buffer(data) if data else ffi.new("char[1]")
        self.keep.append(buffer)
        place.data, place.bytes = buffer, len(data)

    def _bytes(self, parameter: Parameter, value: Any) -> Optional[bytes]:
        """The bytes of what is a text: str, bytes, bytearray."""
        if isinstance(value, (bytes, bytearray)):
            return bytes(value)
        if not isinstance(value, str):
            return None
        try:
            return value.encode()
        except UnicodeEncodeError as error:
            message = f"the text {short(value)} cannot be written in UTF-8: {error.reason}"
            refuse(self.routine, parameter, message, "pass bytes")

    def _text(self, parameter: Parameter, value: Any) -> None:
        slot = self.slots[parameter.index]
        if not parameter.is_array:
            slot.kind = TEXT
            if not self._put_text(slot.value.text, parameter, value):
                message = f"the interface wants a {parameter.type}, not a {type(value).__name__}"
                refuse(self.routine, parameter, message, "pass str, bytes or None", wrong_type=True)
            return
        if isinstance(value, (str, bytes, bytearray)) or not hasattr(value, "__iter__"):
            message = f"the interface wants strings, not a {type(value).__name__}"
            refuse(
                self.routine,
                parameter,
                message,
                "pass a list of str, bytes or None",
                wrong_type=True,
            )
        values = value.tolist() if isinstance(value, np.ndarray) else list(value)
        items = ffi.new("farcall_text[]", max(len(values), 1))
        self.keep.append(items)
        for index, one in enumerate(values):
            if not self._put_text(items[index], parameter, one):
                message = f"item {index} is a {type(one).__name__} and no string"
                refuse(
                    self.routine,
                    parameter,
                    message,
                    "pass a list of str, bytes or None",
                    wrong_type=True,
                )
        slot.kind, slot.value.texts.items, slot.value.texts.count = TEXTS, items, len(values)

    def _character(self, parameter: Parameter, value: Any) -> None:
        data = value.encode("utf-8", "replace") if isinstance(value, str) else value
        if not isinstance(data, bytes) or len(data) != 1:
            message = f"the interface wants one character, not {short(value)}"
            refuse(
                self.routine, parameter, message, "pass a text of one character", wrong_type=True
            )
        slot = self.slots[parameter.index]
        slot.kind = TEXT
        self._put_bytes(slot.value.text, data)

    # Numbers.

    def _number(self, parameter: Parameter, value: Any) -> None:
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        elif not isinstance(value, (int, float, complex, np.generic)):
            value = whole_number(value)
        slot, kind = self.slots[parameter.index], parameter.dtype.kind
        if parameter.is_logical and isinstance(value, (int, np.integer, np.bool_)):
            # Whatever is not 0 is true, also for a routine that looks at one bit of it.
            value = bool(value)
        if isinstance(value, (int, np.integer, np.bool_)):
            self._whole(slot, parameter, int(value))
        elif kind in "fc" and isinstance(value, (float, np.floating)):
            self._check_range(parameter, value)
            self._check_exact(parameter, value, float(value))
            slot.kind, slot.value.real = REAL, float(value)
        elif kind == "c" and isinstance(value, (complex, np.complexfloating)):
            self._check_exact(parameter, value, complex(value))
            slot.kind, slot.value.parts.real, slot.value.parts.imaginary = (
                COMPLEX,
                value.real,
                value.imag,
            )
        else:
            self._refuse_number(parameter, value)

    def _whole(self, slot: Any, parameter: Parameter, value: int) -> None:
        kind = parameter.dtype.kind
        if kind in "iu":
            limits = np.iinfo(parameter.dtype)
            if not int(limits.min) <= value <= int(limits.max):
                refuse(self.routine, parameter, f"{digits(value)} does not fit {parameter.type}")
            if value > _INT64_MAX:
                slot.kind = RAW
                self._put_bytes(slot.value.text, np.uint64(value).tobytes())
                return
        elif abs(value) > _INT64_MAX or int(parameter.dtype.type(value).real) != value:
            message = f"{digits(value)} is not exact as {dtype_text(parameter)}"
            refuse(self.routine, parameter, message, "pass float(...) to round it")
        slot.kind, slot.value.integer = INTEGER, value

    def _check_range(self, parameter: Parameter, value: Any) -> None:
        """Python's floats carry no precision of their own, so they are rounded; but infinity is no
        rounding."""
        part = parameter.dtype.type(0).real.dtype
        if np.isfinite(value) and abs(float(value)) > float(np.finfo(part).max):
            refuse(self.routine, parameter, f"{value} does not fit {parameter.type}")

    def _check_exact(self, parameter: Parameter, value: Any, rounded: Any) -> None:
        """A long double was chosen for its precision."""
        is_long = isinstance(value, np.generic) and value.dtype.char in "gG"
        if is_long and rounded != value and not np.isnan(value):
            message = f"{value} of {value.dtype} is not exact as {dtype_text(parameter)}"
            refuse(
                self.routine, parameter, message, f"pass {type(rounded).__name__}(...) to round it"
            )

    def _refuse_number(self, parameter: Parameter, value: Any) -> NoReturn:
        advice = ""
        if parameter.dtype.kind in "iu" and isinstance(value, (float, np.floating)):
            advice = "pass int(...) if you mean a whole number"
        wanted = {
            "i": "a whole number",
            "u": "a whole number",
            "f": "a real number",
            "c": "a number",
        }
        message = (
            f"the interface wants {wanted[parameter.dtype.kind]} ({parameter.type}), not "
            f"{short(value)}"
        )
        refuse(self.routine, parameter, message, advice, wrong_type=True)

    def _struct(self, parameter: Parameter, value: Any) -> None:
        one = struct_array(self.routine, parameter, value)
        if one.size != 1:
            refuse(
                self.routine, parameter, f"the interface wants one {parameter.type}, not {one.size}"
            )
        slot = self.slots[parameter.index]
        slot.kind = RAW
        self._put_bytes(slot.value.text, one.tobytes())

    # Arrays.

    def _array(self, parameter: Parameter, value: Any) -> None:
        if parameter.element == CHAR and isinstance(value, (str, bytes, bytearray)):
            slot = self.slots[parameter.index]
            slot.kind = TEXT
            data = self._bytes(parameter, value)
            # As Fortran does with a shorter text.
            padded = data.ljust(parameter.width) if parameter.rank == 1 else data
            self._put_bytes(slot.value.text, padded)
            return
        if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            count = int(np.ma.getmaskarray(value).sum())
            message = f"masked elements: {count}, and a routine knows nothing of masks"
            refuse(self.routine, parameter, message, f"fill them: {parameter.name}.filled(...)")
        array = as_array(self.routine, parameter, value)
        if array is value:
            self.given[parameter.index] = array
        self._lay(self.slots[parameter.index], parameter, array)

    def _shape(self, array: Any) -> Tuple[Any, Any]:
        shape = ffi.new("uint64_t[]", array.shape or (1,))
        strides = ffi.new("int64_t[]", array.strides or (1,))
        self.keep += (shape, strides)
        return shape, strides

    def _lay(self, slot: Any, parameter: Parameter, array: Any) -> None:
        slot.kind, slot.element, slot.data, slot.rank = (
            ARRAY,
            parameter.element,
            _address(array),
            array.ndim,
        )
        slot.shape, slot.strides = self._shape(array)
        self.keep.append(array)
        self.array_bytes += array.nbytes


def _address(array: Any) -> Any:
    return ffi.cast("void *", array.__array_interface__["data"][0])
