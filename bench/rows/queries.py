# Queries of a Parquet file beside the same in DuckDB in the client.
import pathlib
import sys

from processes import FarcallClient, FarcallServer
from turns import Turns, row

# Doubles of the column.
ROWS = 1_000_000
MANIFEST = """
[[plugin]]
name = "spawner-local"
slot = "spawner"
[plugin.options]
environment = {{ FARCALL_TABLES = "{file}" }}
modules.tables.readable = ["{file}", "{packages}"]
"""


def queries(bench):
    """A column of doubles as a NumPy array. Both have the same cores: DuckDB reads with threads."""
    try:
        import duckdb
    except ImportError:
        print("  without duckdb, which tools/python-environment.sh installs, there is no row")
        return
    file, manifest = bench.folder / "million.parquet", bench.folder / "tables.toml"
    duckdb.execute(f"COPY (SELECT random() AS x FROM range({ROWS})) TO '{file}'")
    # The environment that is measured takes its packages from another one.
    packages = pathlib.Path(duckdb.__file__).parents[1]
    manifest.write_text(MANIFEST.format(file=file, packages=packages))
    module = bench.stage / "share/farcall/routines/by-name/tables.py"
    options = ("--manifest", manifest, "--python", sys.executable)
    with (
        FarcallServer(bench, "0,1", "unix", ("bench.idl", module), options) as server,
        FarcallClient(bench, "python", server, "0,1") as client,
    ):
        turns = Turns(
            bench.sizes.rounds,
            client.does("in_process", file),
            {"ours": client.does("query", file.stem, ROWS)},
        )
        row(
            "10^6 doubles of a Parquet file, server.query: time over DuckDB in the client",
            turns.over_anchor("ours"),
            turns.null(),
            "<= 1.5",
        )
