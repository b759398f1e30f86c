"""Queries of a server's tables: SQL goes, and columns come back, where they lie in the answer."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple

import numpy as np

from . import _errors

if TYPE_CHECKING:
    from ._server import Server

# Rows that a table shows of itself.
_SHOWN_MAX = 20
# How wide a value is shown.
_WIDTH_MAX = 40


class Table(Mapping):  # type: ignore[type-arg]
    """The result of a query: NumPy arrays by the names of the columns, in their order.

    `table["p"]` and `table.p` are a column, `len(table)` counts columns, `table.rows` rows;
    `dict(table)` makes a dictionary, `table.to_pandas()` a pandas.DataFrame. Columns of texts and of
    bytes are arrays of objects, in which NULL is None. Dates and times are datetime64 and
    timedelta64; times with a zone are UTC. All other columns that have a NULL are masked arrays.
    """

    def __init__(self, rows: int, columns: Dict[str, Any]) -> None:
        self.rows = rows
        self._columns = columns

    @property
    def names(self) -> List[str]:
        """The names of the columns, in their order."""
        return list(self._columns)

    @property
    def shape(self) -> Tuple[int, int]:
        """Rows and columns."""
        return (self.rows, len(self._columns))

    def __getitem__(self, name: str) -> Any:
        try:
            return self._columns[name]
        except (KeyError, TypeError):
            message, advice = f"no column is called {name!r}", f"there are {', '.join(self.names)}"
            raise _errors.make(_errors.NotFound, "read a column", message, advice) from None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if _errors.is_property(self, name):
            return object.__getattribute__(self, name)
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *(one for one in self._columns if one.isidentifier())})

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with the same columns; integers and truth values that have a NULL are
        of pandas' types that know it. pandas has to be installed."""
        import pandas

        return pandas.DataFrame({name: _for_pandas(one) for name, one in self._columns.items()})

    def __repr__(self) -> str:
        shown = min(self.rows, _SHOWN_MAX)
        table = [[name, *map(_shown, one[:shown])] for name, one in self._columns.items()]
        widths = [max(map(len, column)) for column in table]
        lines = [
            "  ".join(text.rjust(width) for text, width in zip(line, widths))
            for line in zip(*table)
        ]
        if self.rows > shown:
            lines.append(f"({self.rows} rows)")
        return "\n".join(lines)


def _shown(value: Any) -> str:
    if value is None or value is np.ma.masked:
        return "NULL"
    text = f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)
    text = text.replace("\n", " ")
    return text if len(text) <= _WIDTH_MAX else text[: _WIDTH_MAX - 1] + "…"


def _for_pandas(column: Any) -> Any:
    if not isinstance(column, np.ma.MaskedArray):
        return column
    import pandas

    mask = np.ma.getmaskarray(column)
    if column.dtype.kind == "b":
        return pandas.arrays.BooleanArray(column.data, mask)
    if column.dtype.kind in "iu":
        return pandas.arrays.IntegerArray(column.data, mask)
    return column.filled(np.array("NaT", column.dtype) if column.dtype.kind in "mM" else np.nan)


def query(
    server: Server, sql: str, parameters: Tuple[Any, ...], module: str, options: Dict[str, Any]
) -> Table:
    """Asks the module, and makes a table of the answer."""
    if not isinstance(sql, str):
        message = f"the query is {sql!r}"
        raise _errors.make(_errors.WrongType, "query", message, "write it as a str, in SQL")
    if parameters:
        named = len(parameters) == 1 and isinstance(parameters[0], Mapping)
        options["parameters"] = _encoded(dict(parameters[0]) if named else list(parameters))
    try:
        results = server.call(f"{module}/select", sql, **options)
    except _errors.NotFound as error:
        advice = f"serve them: farcall serve {module} (docs/how-to/query-a-database.md)"
        message = f'the server publishes no tables: it has no module "{module}" with them'
        address = server.address
        raise _errors.make(_errors.NotFound, "query", message, advice, server=address) from error
    data = results["data"]
    described = json.loads(results["columns"])
    rows = results["rows"]
    return Table(rows, {one["name"]: _column(one, rows, data) for one in described})


def _encoded(parameters: Any) -> str:
    try:
        return json.dumps(parameters, default=_json)
    except (TypeError, ValueError) as error:
        advice = "pass numbers, texts, truth values, dates or None"
        message = f"a parameter does not travel: {error}"
        raise _errors.make(_errors.WrongType, "query", message, advice) from None


def _json(value: Any) -> Any:
    """What JSON has no word for."""
    if isinstance(value, np.datetime64):
        value = value.astype("M8[us]").item()
    if isinstance(value, datetime.datetime):
        return {"$timestamp": value.isoformat()}
    if isinstance(value, datetime.date):
        return {"$date": value.isoformat()}
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"{value!r} is a {type(value).__name__}")


def _column(described: Dict[str, Any], rows: int, data: Any) -> Any:
    """A column, as a view of the block."""
    nulls = _view(data, described.get("nulls_at"), rows, "b1")
    kind = described["type"]
    if kind in ("text", "bytes"):
        starts = _view(data, described["at"], rows + 1, "i8")
        return _objects(data, described["bytes_at"], starts, nulls, kind == "text")
    values = _view(data, described["at"], rows, kind if kind[0] in "mM" else f"<{kind}")
    return values if nulls is None else np.ma.MaskedArray(values, nulls)


def _view(data: Any, at: Optional[int], count: int, kind: str) -> Any:
    if at is None:
        return None
    dtype = np.dtype(kind)
    return data[at : at + count * dtype.itemsize].view(dtype)


def _objects(data: Any, at: int, starts: Any, nulls: Any, is_text: bool) -> Any:
    """Texts as Python has them; NULL is None."""
    letters = data[at : at + int(starts[-1])].tobytes()
    bounds = starts.tolist()
    found: List[Any] = [letters[begin:end] for begin, end in zip(bounds, bounds[1:])]
    if is_text:
        found = [one.decode("utf-8", "replace") for one in found]
    column = np.empty(len(found), object)
    column[:] = found
    if nulls is not None:
        column[nulls] = None
    return column
