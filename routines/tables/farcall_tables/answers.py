"""Answers as they travel: the columns of a query in one block of bytes, or a matrix of doubles."""

import json
from typing import Any, Dict, List, NamedTuple, Tuple

import numpy as np

from . import arrow
from .asked import Refused
from .engine import Answer

# Where a column begins in the block: at a multiple of what a cache line has.
_ALIGNMENT = 64
# A block of up to this many bytes is written again and again: fresh memory costs more than to write
# it.
_KEPT_BYTES_MAX = 32 << 20


class Column(NamedTuple):
    """A column while it is gathered."""

    field: arrow.Field
    name: str
    chunks: List[arrow.Chunk]


class Gathered(NamedTuple):
    """All of a result, where the engine has it."""

    rows: int
    columns: List[Column]

    @property
    def names(self) -> List[str]:
        """Those of the columns."""
        return [column.name for column in self.columns]


def _unique(names: List[str]) -> List[str]:
    """Names of which no two are alike: a, a_1, a_2."""
    taken: Dict[str, None] = {}
    for name in names:
        number, fresh = 0, name
        while fresh in taken or (number and fresh in names):
            number += 1
            fresh = f"{name}_{number}"
        taken[fresh] = None
    return list(taken)


def gather(answer: Answer, bytes_max: int) -> Gathered:
    """Takes all rows.

    Raises:
        Refused: they have more than `bytes_max` bytes.
    """
    fields = answer.fields
    names = _unique([field.name for field in fields])
    columns = [Column(field, name, []) for field, name in zip(fields, names)]
    rows = nbytes = 0
    for length, chunks in answer.batches():
        rows += length
        for column, chunk in zip(columns, chunks):
            column.chunks.append(chunk)
            nbytes += chunk.nbytes + (0 if chunk.nulls is None else length)
        if nbytes > bytes_max:
            raise Refused(
                f"the result has more bytes than bytes_max = {bytes_max}; pass a larger bytes_max, "
                "or ask for fewer rows or columns"
            )
    return Gathered(rows, columns)


# ---- Columns


def pack(gathered: Gathered) -> Tuple[str, Any]:
    """The columns, described in JSON, and the block that they lie in.

    Each has its name, its type (NumPy's, "text" or "bytes") and where its values begin (`at`); where
    a value is NULL, which those are (`nulls_at`, a byte for each row); of texts `at` leads to where
    each begins, and one more, as int64, in what begins at `bytes_at`.
    """
    described, places, end = [], [], 0
    for column in gathered.columns:
        said, end, own = _placed(column, gathered.rows, end)
        described.append(said)
        places.extend(own)
    block, written = _room(end), 0
    for at, dtype, parts in places:
        # Between columns there is nothing of another call.
        block[written:at] = 0
        written = _write(block, at, np.dtype(dtype), parts)
    return json.dumps(described), block


_kept = np.empty(0, np.uint8)


def _room(count: int) -> Any:
    """Memory for a block, until the next one: a process answers one call after the other."""
    global _kept
    if count > _KEPT_BYTES_MAX:
        return np.empty(count, np.uint8)
    if count > len(_kept):
        _kept = np.empty(count, np.uint8)
    return _kept[:count]


def _placed(column: Column, rows: int, end: int) -> Tuple[Dict[str, Any], int, List[Any]]:
    """Where a column lies behind `end`: its description, the new end, and what is to be written."""
    said: Dict[str, Any] = {"name": column.name, "type": column.field.type}
    places: List[Any] = []

    def place(word: str, dtype: str, count: int, parts: List[Any]) -> None:
        nonlocal end
        at = -(-end // _ALIGNMENT) * _ALIGNMENT
        said[word] = at
        places.append((at, dtype, parts))
        end = at + count * np.dtype(dtype).itemsize

    if column.field.type in (arrow.TEXT, arrow.BYTES):
        texts = [chunk.values for chunk in column.chunks]
        place("at", "i8", rows + 1, _starts(texts))
        place("bytes_at", "u1", sum(len(one.bytes) for one in texts), [one.bytes for one in texts])
    else:
        kind = np.dtype(column.field.type)
        wide = "i8" if kind.kind in "mM" else kind.str
        place("at", wide, rows, [chunk.values for chunk in column.chunks])
    if any(chunk.nulls is not None for chunk in column.chunks):
        place("nulls_at", "b1", rows, [_nulls(chunk) for chunk in column.chunks])
    return said, end, places


def _length(chunk: arrow.Chunk) -> int:
    values = chunk.values
    return len(values.starts) - 1 if isinstance(values, arrow.Texts) else len(values)


def _nulls(chunk: arrow.Chunk) -> Any:
    return np.zeros(_length(chunk), np.bool_) if chunk.nulls is None else chunk.nulls


def _starts(texts: List[arrow.Texts]) -> List[Any]:
    """Where each text begins in all of them, and where the last one ends."""
    before, starts = 0, []
    for one in texts:
        starts.append(one.starts[:-1] + before)
        before += len(one.bytes)
    return [*starts, np.array([before], np.int64)]


def _write(block: Any, at: int, dtype: "np.dtype[Any]", parts: List[Any]) -> int:
    """Writes the parts one behind the other; returns where they end."""
    for part in parts:
        nbytes = len(part) * dtype.itemsize
        block[at : at + nbytes].view(dtype)[...] = part
        at += nbytes
    return at


# ---- A matrix


def matrix(gathered: Gathered) -> Any:
    """The numbers, column by column; NULL is NaN.

    Raises:
        Refused: a column has no numbers.
    """
    shape = (gathered.rows, len(gathered.columns))
    numbers = np.empty(shape, np.float64, order="F")
    for index, column in enumerate(gathered.columns):
        kind = column.field.type
        if kind in (arrow.TEXT, arrow.BYTES) or np.dtype(kind).kind in "mM":
            advice = "leave it out, cast it to DOUBLE, or ask for columns: tables/select"
            raise Refused(f'the column "{column.name}" has {_word(kind)} and no numbers; {advice}')
        row = 0
        for chunk in column.chunks:
            place = numbers[row : row + len(chunk.values), index]
            place[...] = chunk.values
            if chunk.nulls is not None:
                place[chunk.nulls] = np.nan
            row += len(place)
    return numbers


def _word(kind: str) -> str:
    return {arrow.TEXT: "texts", arrow.BYTES: "bytes"}.get(kind, "times")
