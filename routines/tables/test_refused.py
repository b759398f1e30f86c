"""The numerical database: what it must refuse, what is bounded, and files that it does not serve."""

import pathlib
import sys

import pytest

import farcall

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from farcall_tables import settings as settings_of  # noqa: E402
from farcall_tables.catalog import Catalog  # noqa: E402

# ---- What is refused


@pytest.mark.parametrize(
    "sql, words",
    [
        ("COPY towns TO '{folder}/out.csv'", "COPY is no query"),
        ("ATTACH '{folder}/new.db'", "ATTACH is no query"),
        ("INSTALL httpfs", "LOAD is no query"),
        ("LOAD httpfs", "LOAD is no query"),
        ("SET memory_limit = '100GB'", "SET is no query"),
        ("PRAGMA memory_limit='100GB'", "SET is no query"),
        ("RESET memory_limit", "no query"),
        ("EXPORT DATABASE '{folder}/all'", "EXPORT is no query"),
        ("CREATE TABLE big AS SELECT * FROM range(10)", "CREATE is no query"),
        ("INSERT INTO towns VALUES ('Basel', 260)", "INSERT is no query"),
        ("DROP VIEW towns", "DROP is no query"),
        ("EXPLAIN ANALYZE CREATE TABLE t AS SELECT 1", "EXPLAIN is no query"),
        ("CALL enable_logging()", "CALL is no query"),
        ("BEGIN", "TRANSACTION is no query"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("SELECT 1; DROP VIEW towns", "DROP is no query"),
        ("", "0 statements"),
        ("SELEC 1", "syntax error"),
        # The engine itself would write to what it may read.
        (
            "WITH x AS (COPY (SELECT 1) TO '{folder}/towns.csv' (use_tmp_file false)) FROM x",
            "writes|CTE needs|syntax error",
        ),
        (
            "SELECT (WITH x AS (COPY (SELECT 1) TO '{folder}/towns.csv') SELECT count(*) FROM x)",
            "writes|CTE needs|syntax error",
        ),
        (
            "FROM query('WITH x AS (COPY (SELECT 1) TO ''{folder}/towns.csv'') FROM x')",
            'function "query"',
        ),
        (
            "WITH x AS (INSERT INTO towns VALUES ('B', 1) RETURNING *) FROM x",
            "writes|CTE needs|syntax error",
        ),
        ("SELECT * FROM read_csv('/etc/passwd')", 'function "read_csv"'),
        ("SELECT * FROM read_text('{folder}/notes.txt')", 'function "read_text"'),
        ("SELECT * FROM glob('/etc/*')", 'function "glob"'),
        ("SELECT * FROM '/etc/passwd'", "does not exist"),
        ("SELECT * FROM duckdb_settings()", 'function "duckdb_settings"'),
        ("SELECT * FROM parquet_metadata('{folder}/stations.parquet')", "parquet_metadata"),
        ("SELECT * FROM _catalog", "does not exist"),
        ("SELECT * FROM stations WHERE nothing = 1", "nothing"),
        ("SELECT [1, 2] AS x", "nested"),
        ("SELECT INTERVAL 1 DAY AS x", "interval"),
        ("SELECT 170141183460469231731687303715884105727 AS x", "more than 64 bits"),
    ],
)
def test_refused(server, folder, sql, words):
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(farcall.RoutineFailed, match=words):
        server.query(sql.format(folder=folder))
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    # And the engine goes on.
    assert server.query("SELECT count(*) AS n FROM towns").n.tolist() == [3]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 5000 + "1" + ")" * 5000,
        "SELECT " + "+".join(["1"] * 20000),
        "SELECT " + "[" * 900 + "1" + "]" * 900,
        "SELECT * FROM " + "(SELECT * FROM " * 400 + "towns" + ")" * 400,
        "SELECT 1" + " UNION ALL SELECT 1" * 3000,
    ],
)
def test_statements_of_any_depth_end(server, sql):
    try:
        assert server.query(sql).rows > 0
    except farcall.RoutineFailed as error:
        assert "Refused" in str(error)
    assert server.query("SELECT count(*) AS n FROM towns").n.tolist() == [3]


@pytest.mark.parametrize("parameters", ["{", "1", '{"$date": "never"}', "[" * 100000])
def test_parameters_that_are_wrong(server, parameters):
    with pytest.raises(farcall.RoutineFailed, match="Refused: (the )?parameters are"):
        server.tables.select("SELECT ?", parameters)


def test_the_confinement_alone_lets_nothing_be_written(folder, tmp_path, connect_with, manifest_of):
    """What a query would do if nobody looked at it."""
    source = tmp_path / "loose.py"
    source.write_text(
        f"""import duckdb

def ask(sql: str) -> int:
    engine = duckdb.connect()
    engine.execute("SET allowed_directories = ['{folder}']")
    engine.execute("SET enable_external_access = false")
    return len(engine.execute(sql).fetchall())
"""
    )
    manifest = tmp_path / "loose.toml"
    text = manifest_of(environment="", folder=folder).replace("modules.tables", "modules.loose")
    manifest.write_text(text + "limits.confine = true\n")
    with connect_with(manifest, source) as server:
        assert server.ask(f"FROM '{folder}/towns.csv'").result == 3
        for sql in [
            f"COPY (SELECT 1) TO '{folder}/new.csv'",
            f"COPY (SELECT 1) TO '{folder}/towns.csv' (use_tmp_file false)",
            f"ATTACH '{folder}/new.db'",
        ]:
            with pytest.raises(farcall.RoutineFailed, match="Permission denied|IO Error"):
                server.ask(sql)
    assert not (folder / "new.csv").exists() and not (folder / "new.db").exists()
    assert (folder / "towns.csv").read_text().startswith("town,height")


# ---- What is bounded


def test_rows_and_bytes_of_a_call(server):
    with pytest.raises(farcall.RoutineFailed, match="more rows than rows_max = 10; pass a larger"):
        server.query("FROM stations", rows_max=10)
    assert server.query("FROM stations", rows_max=1000).rows == 1000
    with pytest.raises(farcall.RoutineFailed, match="more bytes than bytes_max = 1000"):
        server.query("SELECT t FROM stations", bytes_max=1000)
    assert server.query("SELECT t FROM stations", bytes_max=8000).rows == 1000
    with pytest.raises(farcall.RoutineFailed, match="columns_max = 2"):
        server.tables.numbers("FROM mesh", columns_max=2)
    with pytest.raises(farcall.RoutineFailed, match="rows_max = 2"):
        server.tables.numbers("FROM mesh", rows_max=2)
    # It ends when it is known, and not when all of it is there.
    with pytest.raises(farcall.RoutineFailed, match="bytes_max"):
        server.query("SELECT a.range FROM range(1000000000) a, range(10000) b")


@pytest.fixture(scope="module")
def small(folder, serve_tables):
    bounds = {"ROWS": "100", "MEMORY": "200 MB", "SECONDS": "0.5"}
    with serve_tables(
        folder, **{f"FARCALL_TABLES_{name}": value for name, value in bounds.items()}
    ) as one:
        yield one


def test_rows_of_the_server(small):
    with pytest.raises(farcall.RoutineFailed, match="FARCALL_TABLES_ROWS = 100; set a larger one"):
        small.query("FROM stations")


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
        "SELECT sum(sqrt(range)) FROM range(1000000000000)",
        "SELECT range FROM range(1000000000000) WHERE range < 0",
        "SELECT a.range FROM range(100000000) a, range(100000) b WHERE a.range + b.range < 0",
    ],
)
def test_time(small, sql):
    with pytest.raises(farcall.RoutineFailed, match="longer than FARCALL_TABLES_SECONDS = 0.5 s"):
        small.query(sql)
    assert small.query("SELECT 1 AS x").x.tolist() == [1]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT list(range) FROM range(1000000000)",
        "SELECT range FROM range(1000000000) ORDER BY hash(range)",
        "SELECT a.range FROM range(1000000000) a, range(1000000000) b WHERE a.range = -b.range",
        "SELECT string_agg(repeat('x', 1000), '') FROM range(100000000)",
        "SELECT length(repeat('x', 4000000000))",
    ],
)
def test_memory(small, sql):
    words = "more memory than FARCALL_TABLES_MEMORY = 200000000 bytes|FARCALL_TABLES_SECONDS"
    with pytest.raises(farcall.RoutineFailed, match=words):
        small.query(sql)
    assert small.query("SELECT 1 AS x").x.tolist() == [1]


def test_a_query_ends_with_its_call(server):
    endless = (
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"
    )
    with pytest.raises(farcall.TimedOut):
        server.query(endless, timeout=0.3)
    assert server.query("SELECT count(*) AS n FROM towns").n.tolist() == [3]


# ---- What is not served


@pytest.mark.parametrize(
    "name, text, words",
    [
        ("towns.tsv", "a\tb\n", r'two tables are called "towns": .*towns.csv and .*towns.tsv'),
        ("Towns.parquet", "", r'two tables are called "(T|t)owns"'),
        ("constants.csv", "a\n1\n", r'called "constants": .*codata.csv and .*constants.csv'),
        ("tables.csv", "a\n1\n", '"tables" is the list of all tables'),
        ("bad.h5", "no HDF5", "bad.h5 cannot be read"),
        ("bad.npz", "no archive", "bad.npz cannot be read"),
    ],
)
def test_files_that_are_not_served(tmp_path, name, text, words):
    (tmp_path / "towns.csv").write_text("town,height\n")
    (tmp_path / name).write_text(text)
    with pytest.raises(settings_of.Mistake, match=words):
        Catalog([str(tmp_path)])


def test_a_server_says_which_files_clash(tmp_path, serve_tables):
    made = tmp_path / "data"
    made.mkdir()
    for name in ("towns.csv", "towns.tsv"):
        (made / name).write_text("town\n")
    with pytest.raises(farcall.Unavailable, match='"towns": .*towns.csv and .*towns.tsv; rename'):
        serve_tables(made)


@pytest.mark.parametrize(
    "place, words",
    [
        ("data", "no absolute path"),
        ("/nowhere/at/all", "does not exist"),
        ("/etc/shadow.csv", "does not exist"),
        ("/etc/hostname", "ends in no .parquet"),
    ],
)
def test_places_that_are_wrong(place, words):
    with pytest.raises(settings_of.Mistake, match=words):
        Catalog([place])


def test_a_folder_that_the_module_may_not_read(tmp_path, serve_tables):
    made = tmp_path / "data"
    made.mkdir()
    with pytest.raises(farcall.Unavailable, match="may not read .*modules.tables.readable"):
        serve_tables(made, FARCALL_TABLES="/root")


@pytest.mark.parametrize(
    "name, value, words",
    [
        ("FARCALL_TABLES_ROWS", "many", "FARCALL_TABLES_ROWS is 'many'.*such as 100000000"),
        ("FARCALL_TABLES_MEMORY", "-1", "FARCALL_TABLES_MEMORY is '-1'.*2 GiB"),
        ("FARCALL_TABLES_MEMORY", "1 parsec", "1 parsec"),
        ("FARCALL_TABLES_SECONDS", "0", "FARCALL_TABLES_SECONDS is '0'"),
    ],
)
def test_settings_that_are_wrong(monkeypatch, name, value, words):
    monkeypatch.setenv(name, value)
    read = (settings_of.rows_max, settings_of.memory_bytes_max, settings_of.seconds_max)
    with pytest.raises(settings_of.Mistake, match=words):
        [one() for one in read]
    monkeypatch.setenv("FARCALL_TABLES_MEMORY", "1.5 GiB")
    assert settings_of.memory_bytes_max() == 3 << 29


def test_broken_files_cost_their_own_queries_alone(tmp_path, serve_tables):
    made = tmp_path / "data"
    made.mkdir()
    (made / "good.csv").write_text("a\n1\n")
    (made / "bad.parquet").write_text("no Parquet")
    (made / "short.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n")
    with serve_tables(made) as server:
        with pytest.raises(farcall.RoutineFailed, match="bad.parquet"):
            server.query("FROM bad")
        with pytest.raises(farcall.RoutineFailed, match="short.mtx has 3 numbers"):
            server.query("FROM short")
        assert server.query("FROM good").a.tolist() == [1]


def test_a_server_without_tables():
    with farcall.connect(files=["ep"]) as server:
        with pytest.raises(farcall.NotFound, match="publishes no tables.*farcall serve tables"):
            server.query("SELECT 1")
