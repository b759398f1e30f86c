"""The engine, DuckDB, locked: it opens the files of the catalog and no other, keeps to its memory and
time, and writes nothing.
"""

import functools
import json
import resource
import threading
from typing import Any, Dict, Iterator, List, Tuple, Union

import duckdb

from . import arrow, asked, settings
from .asked import Refused
from .catalog import TABLES, Catalog

Parameters = Union[List[Any], Dict[str, Any]]
# Statements whose tree is known.
_KNOWN_MAX = 256
# What a process needs beside the engine's memory, in bytes: the interpreter, and copies.
_BESIDE_BYTES = 1 << 29
_ENVIRONMENT = "set a larger one in `environment` of spawner-local in the server's farcall.toml"


class Engine:
    """One process's engine, which is made when it is first asked: its threads do not survive the
    fork of a process that has loaded the module."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._made: Any = None
        self._known: List[str] = []
        self._read = functools.lru_cache(_KNOWN_MAX)(lambda sql: asked.read(self._engine(), sql))

    def _engine(self) -> Any:
        if self._made is None:
            _limit_memory()
            self._made = _locked(self._catalog.scanned())
            self._made.register(TABLES, _objects(self._catalog.listed()))
        return self._made

    def _provide(self, names: List[str]) -> None:
        """Has the engine know the tables that a statement names."""
        for table in self._catalog.find(names):
            if table.name in self._known:
                continue
            if table.load is not None:
                self._engine().register(table.name, table.load())
            else:
                name = table.name.replace('"', '""')
                self._engine().execute(f'CREATE VIEW "{name}" AS SELECT * FROM {table.scan}')
            self._known.append(table.name)

    def ask(self, sql: str, parameters: Parameters, rows_max: int) -> "Answer":
        """Begins a query. `Answer` ends it.

        Raises:
            Refused: it does more than to read, or the engine does not take it.
        """
        with _told(self):
            statement = self._read(sql)
            self._provide(statement.names)
            return Answer(self, self._engine(), (statement.sql, parameters), rows_max)

    def abandon(self) -> None:
        """Has the next query made by a fresh engine."""
        self._made, self._known = None, []


class Answer:
    """The rows of a query, as they come, for its time. To be used in a `with` block."""

    def __init__(
        self, owner: Engine, engine: Any, query: Tuple[str, Parameters], rows_max: int
    ) -> None:
        self._owner, self._engine, self._query = owner, engine, query
        self._rows_max = min(rows_max, settings.rows_max())
        self._stream: Any = None
        self._timer = threading.Timer(settings.seconds_max(), self._end)
        self._timer.daemon = True
        self.is_late = False

    def _end(self) -> None:
        self.is_late = True
        self._engine.interrupt()

    def __enter__(self) -> "Answer":
        self._timer.start()
        try:
            with _told(self):
                # What is in memory is read-only, too.
                self._engine.execute("BEGIN TRANSACTION READ ONLY")
                sql, parameters = self._query
                relation = self._engine.sql(sql, params=parameters or None)
                self._stream = arrow.Stream(relation.__arrow_c_stream__())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: Any) -> None:
        self._timer.cancel()
        if self._stream is not None:
            self._stream.close()
        self._timer.join()
        try:
            self._engine.execute("ROLLBACK")
        except duckdb.Error:
            # Whatever holds the transaction open would be in the way of the next query.
            self._owner.abandon()

    @property
    def fields(self) -> List[arrow.Field]:
        """Its columns."""
        return list(self._stream.fields)

    def batches(self) -> Iterator[Tuple[int, List[arrow.Chunk]]]:
        """The rows of each batch, and its chunks."""
        rows = 0
        with _told(self):
            for length, chunks in self._stream.batches():
                if rows + length > self._rows_max:
                    raise Refused(self._too_many())
                rows += length
                yield length, chunks

    def _too_many(self) -> str:
        if self._rows_max == settings.rows_max():
            said = f"{settings.ROWS} = {self._rows_max}; {_ENVIRONMENT}, or add LIMIT or WHERE"
        else:
            said = f"rows_max = {self._rows_max}; pass a larger one, or add LIMIT or WHERE"
        return f"the result has more rows than {said}"


class _told:
    """Says what the engine says in words for the caller."""

    def __init__(self, one: Any) -> None:
        self._one = one

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: Any, error: Any, __: Any) -> None:
        if error is None or isinstance(error, (Refused, settings.Mistake, GeneratorExit)):
            return
        if getattr(self._one, "is_late", False):
            seconds = f"{settings.SECONDS} = {settings.seconds_max():g}"
            raise Refused(f"the query ran longer than {seconds} s; {_ENVIRONMENT}") from None
        words = str(error)
        memory = isinstance(error, (duckdb.OutOfMemoryException, MemoryError))
        if memory or "Out of Memory" in words or "bad_alloc" in words:
            most = f"{settings.MEMORY} = {settings.memory_bytes_max()}"
            raise Refused(
                f"the query needs more memory than {most} bytes; {_ENVIRONMENT}"
            ) from None
        if isinstance(error, (duckdb.Error, arrow.NoType, RuntimeError, MemoryError)):
            raise Refused(words.strip()) from None


def _limit_memory() -> None:
    """What the engine does not count, such as single large texts, is bounded with the process."""
    most = 2 * settings.memory_bytes_max() + _BESIDE_BYTES
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    bounds = [one for one in (soft, hard, most) if one != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(bounds), hard))


def _locked(files: List[str]) -> Any:
    config = {
        "memory_limit": f"{settings.memory_bytes_max()}B",
        "threads": str(settings.threads()),
        # What does not fit into the memory is refused, and fills no disk.
        "temp_directory": "",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        # Variables of this program are no tables.
        "python_enable_replacements": "false",
    }
    engine = duckdb.connect(":memory:", config=config)
    if files:
        listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
        engine.execute(f"SET allowed_paths = [{listed}]")
    engine.execute("SET enable_external_access = false")
    engine.execute("SET lock_configuration = true")
    return engine


def _objects(columns: Dict[str, List[str]]) -> Dict[str, Any]:
    import numpy as np

    return {name: np.array(values, object) for name, values in columns.items()}


def parameters_of(text: str) -> Parameters:
    """The parameters of a query, from JSON: a list, or an object of names. What JSON has no word
    for is an object with one member: {"$date": "2026-01-31"}, {"$timestamp": "2026-01-31T12:00:00"}."""
    try:
        read = json.loads(text or "[]", object_hook=_typed)
    except (ValueError, TypeError, RecursionError) as error:
        raise Refused(f"the parameters are no JSON: {error}; write [1000.0]") from None
    if not isinstance(read, (list, dict)):
        raise Refused("parameters are a list in JSON, or an object; write [1000.0]")
    return read


def _typed(given: Dict[str, Any]) -> Any:
    import datetime

    if list(given) == ["$date"]:
        return datetime.date.fromisoformat(given["$date"])
    if list(given) == ["$timestamp"]:
        return datetime.datetime.fromisoformat(given["$timestamp"])
    return given
