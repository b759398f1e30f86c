"""Batches of the engine as NumPy arrays, by Arrow's C stream interface: no other package is needed,
and a result that is too large is noticed before all of it is there.

https://arrow.apache.org/docs/format/CStreamInterface.html
"""

import ctypes
from typing import Any, Iterator, List, NamedTuple, Optional, Tuple

import cffi
import numpy as np

ffi = cffi.FFI()
ffi.cdef(
    """
    struct ArrowSchema {
        const char *format; const char *name; const char *metadata;
        int64_t flags; int64_t n_children;
        struct ArrowSchema **children; struct ArrowSchema *dictionary;
        void (*release)(struct ArrowSchema *); void *private_data;
    };
    struct ArrowArray {
        int64_t length; int64_t null_count; int64_t offset; int64_t n_buffers; int64_t n_children;
        const void **buffers; struct ArrowArray **children; struct ArrowArray *dictionary;
        void (*release)(struct ArrowArray *); void *private_data;
    };
    struct ArrowArrayStream {
        int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
        int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
        const char *(*get_last_error)(struct ArrowArrayStream *);
        void (*release)(struct ArrowArrayStream *); void *private_data;
    };
    """
)
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]

# Formats whose values lie one behind the other.
_PLAIN = {
    "c": "i1", "C": "u1", "s": "i2", "S": "u2", "i": "i4", "I": "u4", "l": "i8", "L": "u8",
    "e": "f2", "f": "f4", "g": "f8",
}  # fmt: skip
# Those of time, which begin so: how they lie, and what NumPy calls them.
_TIMES = {
    "tdD": ("i4", "M8[D]"), "tdm": ("i8", "M8[ms]"),
    "tts": ("i4", "m8[s]"), "ttm": ("i4", "m8[ms]"), "ttu": ("i8", "m8[us]"),
    "ttn": ("i8", "m8[ns]"),
    "tss:": ("i8", "M8[s]"), "tsm:": ("i8", "M8[ms]"), "tsu:": ("i8", "M8[us]"),
    "tsn:": ("i8", "M8[ns]"),
    "tDs": ("i8", "m8[s]"), "tDm": ("i8", "m8[ms]"), "tDu": ("i8", "m8[us]"),
    "tDn": ("i8", "m8[ns]"),
}  # fmt: skip
TEXT, BYTES = "text", "bytes"
_INT64_MAX = (1 << 63) - 1


class NoType(Exception):
    """A column that does not travel: why, and what to do."""


class Field(NamedTuple):
    """A column: its name, Arrow's format, and the type of its values: NumPy's, or TEXT or BYTES."""

    name: str
    format: str
    type: str
    # That of the values that an ENUM's numbers stand for.
    dictionary: Optional[Any] = None


class Texts(NamedTuple):
    """Texts: where each begins, and one more; and their bytes."""

    starts: Any
    bytes: Any


class Chunk(NamedTuple):
    """The values of one batch, and which of them are NULL; None where none is."""

    values: Any
    nulls: Optional[Any]
    nbytes: int


class Stream:
    """The batches of a result, which come as they are computed. What it gives lies in the engine's
    memory until `close`."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule
        address = _pointer_of(capsule, b"arrow_array_stream")
        self._stream = ffi.cast("struct ArrowArrayStream *", address)
        self._batches: List[Any] = []
        try:
            self.fields = self._read_fields()
        except BaseException:
            self.close()
            raise

    def _check(self, status: int) -> None:
        if status != 0:
            words = self._stream.get_last_error(self._stream)
            text = ffi.string(words).decode("utf-8", "replace") if words != ffi.NULL else ""
            raise RuntimeError(text or f"the engine ended with the error {status}")

    def _read_fields(self) -> List[Field]:
        schema = ffi.new("struct ArrowSchema *")
        self._check(self._stream.get_schema(self._stream, schema))
        try:
            children = [schema.children[index] for index in range(schema.n_children)]
            return [_field(one) for one in children]
        finally:
            schema.release(schema)

    def batches(self) -> Iterator[Tuple[int, List[Chunk]]]:
        """The rows of each batch, and a chunk of each column."""
        while True:
            batch = ffi.new("struct ArrowArray *")
            self._check(self._stream.get_next(self._stream, batch))
            if batch.release == ffi.NULL:
                return
            self._batches.append(batch)
            children = [batch.children[index] for index in range(batch.n_children)]
            chunks = [_chunk(field, one) for field, one in zip(self.fields, children)]
            yield batch.length, chunks

    def close(self) -> None:
        """Frees all that it gave, and ends the query."""
        for batch in self._batches:
            batch.release(batch)
        self._batches = []
        if self._stream.release != ffi.NULL:
            self._stream.release(self._stream)


def _field(schema: Any) -> Field:
    name = ffi.string(schema.name).decode("utf-8", "replace")
    format = ffi.string(schema.format).decode()
    if schema.dictionary != ffi.NULL:
        dictionary = _field(schema.dictionary)
        return Field(name, format, dictionary.type, dictionary)
    return Field(name, format, _type_of(name, format))


def _type_of(name: str, format: str) -> str:
    if format in _PLAIN:
        return _PLAIN[format]
    if format in ("b", "n"):
        return "b1" if format == "b" else "f8"
    if format in ("u", "U"):
        return TEXT
    if format in ("z", "Z"):
        return BYTES
    if format.startswith("d:"):
        # A HUGEINT, as sums of integers are, is a decimal without places.
        return "i8" if format.split(":")[1].split(",")[1] == "0" else "f8"
    for beginning, (_, numpy) in _TIMES.items():
        if format.startswith(beginning):
            return numpy
    advice = "cast it to VARCHAR or to a number, or take it apart with unnest or its fields"
    raise NoType(f'the column "{name}" is nested, an interval or of another rare type: {advice}')


def _chunk(field: Field, array: Any) -> Chunk:
    nulls = _nulls(array)
    if field.dictionary is not None:
        return _of_dictionary(field, array, nulls)
    length, offset, format = array.length, array.offset, field.format
    if format == "n":
        return Chunk(np.zeros(length), np.ones(length, np.bool_), 9 * length)
    if format == "b":
        return Chunk(_bits(array.buffers[1], offset, length), nulls, length)
    if field.type in (TEXT, BYTES):
        return _texts(array, "i8" if format in ("U", "Z") else "i4", nulls)
    if format.startswith("d:"):
        return _decimals(field, array, nulls)
    lies = _PLAIN.get(format) or next(t[0] for key, t in _TIMES.items() if format.startswith(key))
    values = _plain(array.buffers[1], lies, offset, length)
    return Chunk(values, nulls, length * np.dtype(field.type).itemsize)


def _plain(buffer: Any, kind: str, offset: int, length: int) -> Any:
    dtype = np.dtype(kind)
    if not length:
        return np.empty(0, dtype)
    memory = ffi.buffer(ffi.cast("char *", buffer), (offset + length) * dtype.itemsize)
    return np.frombuffer(memory, dtype)[offset:]


def _bits(buffer: Any, offset: int, length: int) -> Any:
    taken = _plain(buffer, "u1", 0, (offset + length + 7) // 8)
    return np.unpackbits(taken, bitorder="little")[offset : offset + length].view(np.bool_)


def _nulls(array: Any) -> Optional[Any]:
    if array.null_count == 0 or array.n_buffers == 0 or array.buffers[0] == ffi.NULL:
        return None
    nulls = ~_bits(array.buffers[0], array.offset, array.length)
    return nulls if nulls.any() else None


def _texts(array: Any, kind: str, nulls: Optional[Any]) -> Chunk:
    starts = _plain(array.buffers[1], kind, array.offset, array.length + 1).astype(np.int64)
    size = int(starts[-1] - starts[0]) if array.length else 0
    letters = _plain(array.buffers[2], "u1", int(starts[0]), size) if size else np.empty(0, "u1")
    return Chunk(Texts(starts - starts[0], letters), nulls, size + 8 * array.length)


def _decimals(field: Field, array: Any, nulls: Optional[Any]) -> Chunk:
    """Integers of 128 bits, or fewer, in units of the last place."""
    _, scale, *rest = field.format[2:].split(",")
    bits = int(rest[0]) if rest else 128
    if bits != 128:
        units = _plain(array.buffers[1], f"i{bits // 8}", array.offset, array.length)
        high, low = np.where(units < 0, -1, 0), units.astype(np.int64).view(np.uint64)
    else:
        pairs = _plain(array.buffers[1], "i8", 2 * array.offset, 2 * array.length).reshape(-1, 2)
        low, high = np.ascontiguousarray(pairs[:, 0]).view(np.uint64), pairs[:, 1]
    small = high == (low.view(np.int64) >> 63)
    if nulls is not None:
        small = small | nulls
    if field.type == "i8":
        if not small.all():
            advice = "cast it to DOUBLE"
            raise NoType(f'the column "{field.name}" has integers of more than 64 bits: {advice}')
        return Chunk(low.view(np.int64), nulls, 8 * array.length)
    wide = high.astype(np.float64) * 2.0**64 + low.astype(np.float64)
    units = np.where(small, low.view(np.int64).astype(np.float64), wide)
    return Chunk(units / 10.0 ** int(scale), nulls, 8 * array.length)


def _of_dictionary(field: Field, array: Any, nulls: Optional[Any]) -> Chunk:
    """The texts that an ENUM's numbers stand for."""
    words = _chunk(field.dictionary, array.dictionary).values
    which = _plain(array.buffers[1], _PLAIN[field.format], array.offset, array.length)
    which = which.astype(np.int64) if nulls is None else np.where(nulls, 0, which).astype(np.int64)
    lengths = np.diff(words.starts)[which] if array.length else np.empty(0, np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    letters = words.bytes.tobytes()
    bounds = list(zip(words.starts[:-1].tolist(), words.starts[1:].tolist()))
    joined = b"".join(letters[bounds[one][0] : bounds[one][1]] for one in which.tolist())
    found = Texts(starts, np.frombuffer(joined, np.uint8))
    return Chunk(found, nulls, len(joined) + 8 * array.length)
