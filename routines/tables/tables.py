"""A numerical database: Parquet, CSV, NumPy, HDF5 and Matrix Market files as tables, which callers
query in SQL. `$FARCALL_TABLES` names the files and folders; `docs/how-to/query-a-database.md` shows
how to serve them.

DuckDB reads the files: no database in Python alone scans Parquet at the speed of the disk.
"""

import farcall
from farcall_tables import answers, asked, settings
from farcall_tables.catalog import Catalog
from farcall_tables.engine import Engine, parameters_of

# Two tables of one name, and a file that cannot be read, are refused before anybody calls.
_catalog = Catalog(settings.files())
settings.rows_max(), settings.memory_bytes_max(), settings.seconds_max()
_engine = Engine(_catalog)


@farcall.routine(
    """Define select(
        IN string sql "one SELECT; the table tables lists all tables",
        IN string parameters "default '[]', values for ? or $name: a list or an object in JSON",
        IN int64 rows_max = 100000000 where rows_max >= 0 "most rows of the result",
        IN int64 bytes_max = 67108864 where bytes_max >= 0 "most bytes of the result",
        OUT string columns "name, type and place in data of each column, in JSON",
        OUT int64 rows "number of rows",
        OUT int64 bytes "bytes of data",
        OUT uint8 data[bytes_max : bytes] "the columns, one behind the other"
    ) "Reads columns of tables by a query in SQL." Idempotent"""
)
def select(sql, rows_max, bytes_max, parameters="[]"):
    with _engine.ask(sql, parameters_of(parameters), rows_max) as answer:
        gathered = answers.gather(answer, bytes_max)
        columns, block = answers.pack(gathered)
    if len(block) > bytes_max:
        raise asked.Refused(
            f"the result has {len(block)} bytes, and bytes_max = {bytes_max}; pass a larger one"
        )
    return columns, gathered.rows, len(block), block


@farcall.routine(
    """Define numbers(
        IN string sql "one SELECT of columns that have numbers",
        IN string parameters "default '[]', values for ? or $name: a list or an object in JSON",
        IN int64 columns_max = 64 where columns_max >= 1 "most columns of the result",
        IN int64 rows_max = max(1, 16777216 / columns_max) where rows_max >= 1 "most rows of it",
        OUT int64 rows "number of rows",
        OUT int64 columns "number of columns",
        OUT double values[rows_max : rows][columns_max : columns] column "NULL is NaN",
        OUT string names "names of the columns, one on each line"
    ) "Reads a matrix of numbers from tables by a query in SQL." Idempotent"""
)
def numbers(sql, rows_max, columns_max, parameters="[]"):
    with _engine.ask(sql, parameters_of(parameters), rows_max) as answer:
        count = len(answer.fields)
        if count > columns_max:
            advice = "pass a larger one, or ask for fewer columns"
            raise asked.Refused(
                f"the result has {count} columns, and columns_max = {columns_max}; {advice}"
            )
        gathered = answers.gather(answer, 16 * rows_max * columns_max)
        values = answers.matrix(gathered)
    names = "\n".join(name.replace("\n", " ") for name in gathered.names)
    return gathered.rows, count, values, names
