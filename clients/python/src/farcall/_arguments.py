"""From Python values to the core's arguments: arrays by address, numbers and text by value, nothing
rounded unasked.

Arrays of the interface's type are taken as they lie, whatever their order and strides. Others are
converted, into a copy, if no value can change: safe widening (int32 to int64, float32 to float64,
real to complex), the other byte order, and what fits of Python's own numbers and lists. Narrowing
is refused.
"""

from __future__ import annotations

import operator
import os
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any, Dict, List, NoReturn, Optional, Tuple, Union

import numpy as np

from . import _errors
from ._interface import CHAR, STRUCT, Parameter
from ._library import ffi

# enum farcall_argument_kind.
INTEGER, REAL, COMPLEX, RAW, TEXT, TEXTS, NULL, ARRAY, FETCHED = 1, 2, 3, 4, 5, 6, 7, 8, 11
# enum farcall_destination.
IN_PLACE, INTO = 1, 2
_INT64_MAX = 2**63 - 1
# Of DLPack: CPU, and host memory that CUDA or ROCm pinned.
_HOST_DEVICES = (1, 3, 11)
_KEEP = List[Any]


class URL(str):
    """An array that the server fetches by itself, from where its manifest allows it:
    `server.dmmul(URL("https://…/a.npy"), B, n=100)`.

    The file is NumPy's (`.npy`) or Matrix Market's (`.mtx`), and holds the type that the routine
    takes, or numbers that fit it. What sizes the array must be given by another argument: this
    program does not see it. An array argument alone.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"URL({str(self)!r})"


def refuse(
    routine: str, parameter: Parameter, message: str, advice: str = "", wrong_type: bool = False
) -> NoReturn:
    """An argument that does not fit."""
    kind = _errors.WrongType if wrong_type else _errors.InvalidArgument
    raise _errors.make(kind, "call", message, advice, parameter=parameter.name, routine=routine)


class Filler:
    """Fills one call's argument array; `keep` holds what the core's pointers point to until the
    call is over."""

    __slots__ = ("routine", "slots", "keep", "given", "paths", "functions", "array_bytes")

    def __init__(self, routine: str, count: int) -> None:
        self.routine = routine
        self.slots = ffi.new("farcall_argument[]", count)
        self.keep: _KEEP = [self.slots]
        # Arrays that were taken as they are, by parameter: these alone can be written in place.
        self.given: Dict[int, Any] = {}
        # Files that the call writes, by parameter.
        self.paths: Dict[int, Any] = {}
        # Functions that it passes.
        self.functions: List[Any] = []
        self.array_bytes = 0

    def fill(self, parameter: Parameter, value: Any) -> None:
        """One IN or INOUT argument."""
        if parameter.is_callback:
            from ._callbacks import pass_function

            passed = pass_function(self, parameter, value)
            self.functions += [passed] if passed is not None else []
        elif isinstance(value, URL):
            self._url(parameter, value)
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
            self._array(parameter, value)
        elif parameter.element == STRUCT:
            self._struct(parameter, value)
        elif parameter.element == CHAR:
            self._character(parameter, value)
        else:
            self._number(parameter, value)

    def destination(self, parameter: Parameter, array: Any, kind: int) -> None:
        """Where the result of an OUT parameter (kind 0) or an INOUT parameter (IN_PLACE, INTO)
        goes."""
        self._check_destination(parameter, array)
        slot = self.slots[parameter.index]
        if kind == INTO:
            slot.into_element, slot.into, slot.into_rank = (
                parameter.element,
                _address(array),
                array.ndim,
            )
            slot.into_shape, slot.into_strides = self._shape(array)
        elif kind == 0:
            self._lay(slot, parameter, array)
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
        if _overlaps_itself(array):
            message = (
                f"elements of the array for the result overlap (strides {array.strides} bytes)"
            )
            refuse(self.routine, parameter, message, "pass one whose elements lie apart")

    # ---- Files
    # -------------------------------------------------------------------------------------------------------

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
            refuse(self.routine, parameter, f"the path {_short(path)} contains a NUL")
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

    # ---- Text
    # --------------------------------------------------------------------------------------------------------

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
            message = f"the text {_short(value)} cannot be written in UTF-8: {error.reason}"
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
            message = f"the interface wants one character, not {_short(value)}"
            refuse(
                self.routine, parameter, message, "pass a text of one character", wrong_type=True
            )
        slot = self.slots[parameter.index]
        slot.kind = TEXT
        self._put_bytes(slot.value.text, data)

    # ---- Numbers
    # -----------------------------------------------------------------------------------------------------

    def _number(self, parameter: Parameter, value: Any) -> None:
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        elif not isinstance(value, (int, float, complex, np.generic)):
            value = _whole_number(value)
        slot, kind = self.slots[parameter.index], parameter.dtype.kind
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
                refuse(self.routine, parameter, f"{_digits(value)} does not fit {parameter.type}")
            if value > _INT64_MAX:
                slot.kind = RAW
                self._put_bytes(slot.value.text, np.uint64(value).tobytes())
                return
        elif abs(value) > _INT64_MAX or int(parameter.dtype.type(value).real) != value:
            message = f"{_digits(value)} is not exact as {dtype_text(parameter)}"
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
        message = f"the interface wants {wanted[parameter.dtype.kind]} ({parameter.type}), not {_short(value)}"
        refuse(self.routine, parameter, message, advice, wrong_type=True)

    def _struct(self, parameter: Parameter, value: Any) -> None:
        one = self._struct_array(parameter, value)
        if one.size != 1:
            refuse(
                self.routine, parameter, f"the interface wants one {parameter.type}, not {one.size}"
            )
        slot = self.slots[parameter.index]
        slot.kind = RAW
        self._put_bytes(slot.value.text, one.tobytes())

    # ---- Arrays
    # ------------------------------------------------------------------------------------------------------

    def _array(self, parameter: Parameter, value: Any) -> None:
        if parameter.element == CHAR and isinstance(value, (str, bytes, bytearray)):
            slot = self.slots[parameter.index]
            slot.kind = TEXT
            self._put_text(slot.value.text, parameter, value)
            return
        if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            count = int(np.ma.getmaskarray(value).sum())
            message = f"masked elements: {count}, and a routine knows nothing of masks"
            refuse(self.routine, parameter, message, f"fill them: {parameter.name}.filled(...)")
        array = self.as_array(parameter, value)
        if array is value:
            self.given[parameter.index] = array
        self._lay(self.slots[parameter.index], parameter, array)

    def as_array(self, parameter: Parameter, value: Any) -> Any:
        """`value` itself if its elements are the interface's, otherwise a converted copy."""
        if isinstance(value, np.ndarray) and fits_exactly(value.dtype, parameter):
            return value
        if not isinstance(value, (np.ndarray, np.generic)) and hasattr(value, "__dlpack__"):
            value = self._of_tensor(parameter, value)
        if parameter.element == STRUCT:
            return self._struct_array(parameter, value)
        if parameter.element == CHAR:
            return self._characters(parameter, value)
        return self._converted(parameter, value)

    def _of_tensor(self, parameter: Parameter, value: Any) -> Any:
        """What another library exports by DLPack, where it lies."""
        name = type(value).__name__
        device = tuple(value.__dlpack_device__())
        if device[0] not in _HOST_DEVICES:
            message = f"this {name} is on a device (DLPack {int(device[0])}:{device[1]}), which routines cannot access"
            refuse(
                self.routine,
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
            refuse(self.routine, parameter, message, "pass a NumPy array", wrong_type=True)
        return array

    def _converted(self, parameter: Parameter, value: Any) -> Any:
        typed = hasattr(value, "dtype") or hasattr(value, "__array_interface__")
        if not typed:
            # Elements of a buffer have a type; NumPy would take bytes for one text.
            value, typed = _of_buffer(value)
        try:
            array = np.asarray(value)
        except (ValueError, TypeError) as error:
            refuse(self.routine, parameter, f"no array can be made of it: {error}", wrong_type=True)
        if fits_exactly(array.dtype, parameter):
            return array
        if array.size == 0 and not typed:
            # NumPy calls the type of an empty list float64; it has none.
            return array.astype(parameter.dtype)
        if array.dtype.kind not in "biufc":
            self._refuse_elements(parameter, value, array)
        safe = np.can_cast(array.dtype, parameter.dtype, "safe")
        if not safe and (typed or not _is_weaker(array.dtype, parameter.dtype)):
            what = "an array" if typed else "a list"
            message = f"{what} of {array.dtype}, the interface wants {dtype_text(parameter)}"
            refuse(
                self.routine,
                parameter,
                message,
                _conversion(parameter, array, typed),
                wrong_type=True,
            )
        return self._cast(parameter, array)

    def _refuse_elements(self, parameter: Parameter, value: Any, array: Any) -> NoReturn:
        """What NumPy makes no array of numbers of."""
        wanted, found = dtype_text(parameter), type(value).__name__
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
            refuse(self.routine, parameter, message, advice, wrong_type=True)
        if array.dtype.kind == "O" and array.ndim > 0:
            for index, element in np.ndenumerate(array):
                if np.asarray(element).dtype.kind == "O":
                    place = "".join(f"[{position}]" for position in index)
                    message = f"the element {place} is {_short(element)}, and the interface wants {wanted}"
                    refuse(self.routine, parameter, message, wrong_type=True)
        message = f"the interface wants {wanted}, not an array of {array.dtype}"
        refuse(self.routine, parameter, message, wrong_type=True)

    def _cast(self, parameter: Parameter, array: Any) -> Any:
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
                self.routine,
                parameter,
                f"{message} exactly" if whole else f"{message}: it would become infinite",
            )
        return cast

    def _characters(self, parameter: Parameter, value: Any) -> Any:
        """An array of byte strings has one dimension more as characters."""
        array = np.asarray(value)
        if array.dtype.kind != "S" or array.dtype.itemsize == 0:
            message = f"the interface wants characters, not an array of {array.dtype}"
            refuse(
                self.routine,
                parameter,
                message,
                "pass bytes, or an array of dtype 'S1'",
                wrong_type=True,
            )
        width = array.dtype.itemsize
        return np.ascontiguousarray(array).view("S1").reshape(array.shape + (width,))

    def _struct_array(self, parameter: Parameter, value: Any) -> Any:
        names = parameter.dtype.names
        if isinstance(value, dict) and set(value) == set(names):
            value = tuple(value[name] for name in names)
        try:
            # NumPy would give every field of a struct the same value where it finds a number.
            if _struct_names(value) not in (names, None):
                raise TypeError(f"found {_short(value)}")
            return np.asarray(value, dtype=parameter.dtype)
        except (ValueError, TypeError) as error:
            message = f"no {parameter.type} can be made of it: {error}"
            refuse(
                self.routine,
                parameter,
                message,
                f"pass tuples of ({', '.join(names)})",
                wrong_type=True,
            )

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


def _of_buffer(value: Any) -> Tuple[Any, bool]:
    """A view of what offers the buffer protocol; whether it does."""
    try:
        return memoryview(value), True
    except TypeError:
        return value, False


def _address(array: Any) -> Any:
    return ffi.cast("void *", array.__array_interface__["data"][0])


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
    if array.dtype.kind == "f" and wanted.kind in "iu":
        return "pass whole numbers"
    with np.errstate(all="ignore"):
        cast = array.astype(wanted)
        fits = (
            (cast == array).all()
            if wanted.kind in "iu"
            else (np.isfinite(cast) == np.isfinite(array)).all()
        )
    return (
        f"convert it: {name}.astype({dtype_text(parameter)!r})"
        if fits
        else "it has values that do not fit"
    )


def _overlaps_itself(array: Any) -> bool:
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


def _struct_names(value: Any) -> Any:
    """Names of the fields of the structs in nested lists: None for tuples, False for what is no
    struct."""
    while isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, (tuple, list)):
        return None
    return getattr(getattr(value, "dtype", None), "names", None) or False


def _whole_number(value: Any) -> Any:
    """An object of another library that is an integer, as int; anything else as it is."""
    try:
        return operator.index(value)
    except TypeError:
        return value


def _digits(value: int) -> str:
    """A whole number in an error message, however long it is."""
    return str(value) if value.bit_length() <= 128 else f"a number of {value.bit_length()} bits"


def _short(value: Any) -> str:
    """A value in an error message."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape}"
    try:
        written = repr(value)
    except ValueError:
        # Python writes no whole number beyond sys.get_int_max_str_digits().
        written = "something with a very long number in it"
    return f"{written if len(written) <= 40 else written[:37] + '...'} ({type(value).__name__})"
