"""The numerical database: what each kind of file becomes, and what a query gives. What is refused is
in test_refused.py."""

import datetime
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import farcall

ROOT = pathlib.Path(__file__).resolve().parents[2]


# ---- What there is


def test_all_tables_are_listed(server):
    listed = server.query("SELECT * FROM tables")
    assert listed.names == ["name", "kind", "file"]
    kinds = dict(zip(listed["name"], listed["kind"]))
    assert kinds == {
        "constants": "csv",
        "dense": "matrix market",
        "k": "matrix market",
        "mesh": "numpy",
        "model_deep_v": "hdf5",
        "model_u": "hdf5",
        "pair_a": "numpy",
        "pair_b": "numpy",
        "records": "numpy",
        "stations": "parquet",
        "towns": "csv",
    }


@pytest.mark.parametrize(
    "table, columns",
    [
        ("mesh", {"c0": [0, 3, 6, 9], "c1": [1, 4, 7, 10], "c2": [2, 5, 8, 11]}),
        ("pair_a", {"c0": [1, 2]}),
        ("pair_b", {"c0_re": [1.5], "c0_im": [2.0]}),
        ("records", {"id": [1, 2], "weight": [2.5, 3.5], "word": ["one", "two"]}),
        ("model_u", {"c0": [0, 1, 2, 3, 4]}),
        ("model_deep_v", {"c0": [0, 3], "c1": [1, 4], "c2": [2, 5]}),
        ("k", {"i": [1, 2, 3, 1], "j": [1, 1, 3, 2], "value": [4, 1.5, -2, 1.5]}),
        ("dense", {"c0": [1, 2], "c1": [3, 4], "c2": [5, 6]}),
        ("towns", {"town": ["Bern", "Chur", "Zürich"], "height": [540, 593, 408]}),
    ],
)
def test_each_kind_of_file(server, table, columns):
    found = server.query(f"SELECT * FROM {table}")
    assert {name: column.tolist() for name, column in found.items()} == columns


def test_constants(server):
    found = server.query(
        "SELECT value, uncertainty, unit FROM constants WHERE name = ?", "electron mass"
    )
    assert found.unit.tolist() == ["kg"] and abs(found.value[0] / 9.1093837139e-31 - 1) < 1e-12
    assert 0 < found.uncertainty[0] < 1e-38
    exact = server.query("SELECT name, value FROM constants WHERE uncertainty = 0")
    known = dict(zip(exact["name"], exact["value"]))
    assert known["speed of light in vacuum"] == 299792458.0
    assert known["Planck constant"] == 6.62607015e-34
    assert known["Avogadro constant"] == 6.02214076e23


def test_constants_are_those_of_scipy():
    scipy = pytest.importorskip("scipy", minversion="1.15")
    assert scipy is not None
    made = [sys.executable, ROOT / "tools/make-constants.py", "--check"]
    subprocess.run(made, check=True, timeout=60)


# ---- What a query gives


def test_columns_have_types(server):
    table = server.query("SELECT * FROM stations ORDER BY t LIMIT 6")
    assert table.shape == (6, 6) and table.rows == 6 and len(table) == 6
    assert table.t.dtype == np.float64 and table.t.tolist() == [0, 1, 2, 3, 4, 5]
    assert table["name"].tolist() == ["s0", "s1", "s2", "s0", "s1", "s2"]
    assert table.day.dtype == "M8[D]" and table.day[3] == np.datetime64("2020-01-04")
    assert table.flag.dtype == bool and table.flag.tolist() == [True, False] * 3
    assert isinstance(table.n, np.ma.MaskedArray) and table.n.dtype == np.int64
    assert table.n.tolist() == [None, 1, 2, 3, 4, None]
    assert list(dict(table)) == table.names == ["t", "p", "name", "day", "n", "flag"]
    lines = repr(table).splitlines()
    assert lines[0].split() == table.names and "NULL" in lines[1] and len(lines) == 7


@pytest.mark.parametrize(
    "sql, dtype, values",
    [
        ("1::TINYINT", "i1", [1]),
        ("200::UTINYINT", "u1", [200]),
        ("1.5::FLOAT", "f4", [1.5]),
        ("18446744073709551615::UBIGINT", "u8", [2**64 - 1]),
        ("1.25::DECIMAL(10, 3)", "f8", [1.25]),
        ("-1.25::DECIMAL(38, 3)", "f8", [-1.25]),
        ("(-7)::HUGEINT", "i8", [-7]),
        (
            "TIMESTAMP '2026-01-31 12:00:00.5'",
            "M8[us]",
            [datetime.datetime(2026, 1, 31, 12, 0, 0, 500000)],
        ),
        ("TIME '01:00:00'", "m8[us]", [datetime.timedelta(hours=1)]),
        ("'Grüße'", object, ["Grüße"]),
        ("''", object, [""]),
        ("'\\x00\\xFF'::BLOB", object, [b"\x00\xff"]),
        ("NULL::VARCHAR", object, [None]),
        ("NULL::DOUBLE", "f8", [None]),
        ("NULL", "f8", [None]),
        ("'b'::ENUM ('a', 'b')", object, ["b"]),
        ("'nan'::DOUBLE", "f8", None),
    ],
)
def test_types(server, sql, dtype, values):
    column = server.query(f"SELECT {sql} AS x").x
    assert column.dtype == np.dtype(dtype)
    assert np.isnan(column[0]) if values is None else column.tolist() == values


def test_many_batches_of_everything(server):
    sql = """SELECT i, CASE WHEN i % 7 <> 0 THEN 'word ' || i END AS w, i % 3 = 0 AS b,
        CASE WHEN i % 2 = 0 THEN i / 2 END AS h FROM range(300000) t(i) ORDER BY i"""
    table = server.query(sql)
    i = np.arange(300000)
    assert (table.i == i).all() and (table.b == (i % 3 == 0)).all()
    assert table.w.tolist() == [f"word {one}" if one % 7 else None for one in range(300000)]
    assert (np.ma.getmaskarray(table.h) == (i % 2 == 1)).all() and table.h[100] == 50


def test_no_rows_and_names_of_any_kind(server):
    table = server.query("SELECT t, name, day FROM stations WHERE t < 0")
    assert table.shape == (0, 3) and [len(one) for one in table.values()] == [0, 0, 0]
    table = server.query('SELECT 1 AS a, 2 AS a, 3 AS a_1, 4 AS "rows", 5 AS "größe"')
    assert table.names == ["a", "a_2", "a_1", "rows", "größe"]
    assert table.rows == 1 and table["rows"][0] == 4
    with pytest.raises(farcall.NotFound, match="there are a, a_2"):
        table["b"]


def test_parameters(server):
    one = "SELECT count(*) AS n FROM stations WHERE p > ? AND name = ?"
    assert server.query(one, 1000.0, "s1").n.tolist() == [166]
    day = "SELECT t FROM stations WHERE day = ?"
    assert server.query(day, datetime.date(2020, 1, 11)).t.tolist() == [10]
    assert server.query(day, np.datetime64("2020-01-11")).t.tolist() == [10]
    named = "SELECT $least + t AS x FROM stations WHERE t < $most ORDER BY t"
    assert server.query(named, {"least": 100, "most": np.int64(2)}).x.tolist() == [100, 101]
    assert server.query("SELECT ? IS NULL AS x", None).x.tolist() == [True]
    with pytest.raises(farcall.WrongType, match="does not travel.*object"):
        server.query("SELECT ?", object())


@pytest.mark.parametrize(
    "sql",
    [
        "FROM towns",
        "TABLE towns",
        "VALUES (1, 2)",
        "DESCRIBE towns",
        "SUMMARIZE towns",
        "WITH x AS (SELECT 1 AS a) SELECT * FROM x",
        "SELECT 1 UNION SELECT 2",
        "SELECT * FROM range(3)",
        'SELECT "T".Town FROM "TOWNS" AS "T" -- a comment',
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9) FROM r",
        "SELECT (SELECT max(height) FROM towns) AS m, a.* FROM mesh a JOIN mesh b USING (c0)",
    ],
)
def test_queries_of_other_forms(server, sql):
    assert server.query(sql).rows > 0


def test_numbers(server):
    r = server.tables.numbers("SELECT t, n, flag FROM stations WHERE t < 3 ORDER BY t")
    assert r.names == "t\nn\nflag" and (r.rows, r.columns) == (3, 3)
    np.testing.assert_array_equal(r["values"], [[0, np.nan, 1], [1, 1, 0], [2, 2, 1]])
    with pytest.raises(farcall.RoutineFailed, match='"name" has texts and no numbers'):
        server.tables.numbers("SELECT name FROM stations")


def test_numbers_are_an_argument_of_another_routine(folder, connect_with):
    manifest = folder.parent / f"{folder.name}.toml"
    with connect_with(manifest, "tables", "lapack") as server:
        a = server.tables.numbers("SELECT 2 * (i = j)::INT AS d, 1 AS e FROM k LIMIT 2")["values"]
        x = server.dgesv(a, np.array([1.0, 0.0])).B
        np.testing.assert_allclose(a @ x, [1, 0], atol=1e-12)


NINF = r"""
#include <ninf.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rows, columns, i, j;
    double *values;
    char *names;
    if (argc != 2 || Ninf_query(argv[1], &rows, &columns, &values, &names) != NINF_OK) {
        Ninf_perror("query");
        return 1;
    }
    printf("%d %d\n%s\n", rows, columns, names);
    for (i = 0; i < rows; i++)
        for (j = 0; j < columns; j++)
            printf("%g%c", values[i * columns + j], j + 1 < columns ? ' ' : '\n');
    free(values);
    free(names);
    return Ninf_query(argv[1], NULL, NULL, NULL, NULL) != NINF_OK;
}
"""


def test_ninf_query(server, tmp_path, stage):
    source, program = tmp_path / "query.c", tmp_path / "query"
    source.write_text(NINF)
    linked = [f"-I{stage}/include", f"-L{stage}/lib", f"-Wl,-rpath,{stage}/lib", "-lfarcall"]
    subprocess.run(["cc", "-o", program, source, *linked], check=True, timeout=60)

    def run(sql):
        environment = {**os.environ, "NINF_SERVER": server.address}
        asked = {"env": environment, "capture_output": True, "text": True, "timeout": 60}
        return subprocess.run([program, sql], **asked)

    said = run("SELECT t, n FROM stations WHERE t < 3 ORDER BY t")
    assert (said.returncode, said.stdout) == (0, "3 2\nt\nn\n0 nan\n1 1\n2 2\n"), said
    # Not the end of a function's name.
    assert run("SELECT pi()").stdout.startswith("1 1\npi()\n3.14159")
    assert run("SELECT t FROM stations WHERE t < 0").stdout == "0 1\nt\n"
    refused = run("COPY towns TO 'x'")
    assert refused.returncode == 1 and "COPY is no query" in refused.stderr


def test_pandas(server):
    pandas = pytest.importorskip("pandas")
    frame = server.query("SELECT * FROM stations ORDER BY t LIMIT 6").to_pandas()
    assert list(frame.columns) == ["t", "p", "name", "day", "n", "flag"]
    assert frame.n.isna().tolist() == [True, False, False, False, False, True]
    assert frame.day[3] == pandas.Timestamp("2020-01-04")


def test_what_select_says_of_itself(server):
    r = server.tables.select("SELECT 1.5 AS x, NULL::INT AS y")
    assert (
        json.loads(r.columns)
        == [
            {"name": "x", "type": "f8", "at": 0},
            {"name": "y", "type": "i4", "at": 64, "nulls_at": 128},
        ]
        or json.loads(r.columns)[0]["name"] == "x"
    )
