"""A folder with a file of each kind, and private servers that publish it."""

import gzip
import os
import pathlib

import duckdb
import h5py
import numpy as np
import pytest

import farcall

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What is staged, where the module is one that comes with Farcall, and confined.
PROGRAM = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build")) / "bin/farcall"
MANIFEST = """
[[plugin]]
name = "spawner-local"
slot = "spawner"
[plugin.options]
environment = {{ {environment} }}
modules.tables.readable = ["{folder}"]
"""


def fill(folder):
    """One file of each kind."""
    engine = duckdb.connect()
    engine.execute(
        f"""COPY (SELECT i::DOUBLE AS t, 990 + i * 0.02::DOUBLE AS p, 's' || (i % 3) AS name,
            DATE '2020-01-01' + i::INT AS day, CASE WHEN i % 5 <> 0 THEN i END AS n,
            i % 2 = 0 AS flag FROM range(1000) t(i)) TO '{folder}/stations.parquet'"""
    )
    engine.close()
    (folder / "towns.csv").write_text("town,height\nBern,540\nChur,593\nZürich,408\n")
    np.save(folder / "mesh.npy", np.arange(12.0).reshape(4, 3))
    np.savez(folder / "pair.npz", a=np.array([1, 2]), b=np.array([1.5 + 2j]))
    records = np.array([(1, 2.5, b"one"), (2, 3.5, b"two")], "i4,f8,S3")
    records.dtype.names = ("id", "weight", "word")
    np.save(folder / "records.npy", records)
    with h5py.File(folder / "model.h5", "w") as file:
        file["u"] = np.arange(5.0)
        file.create_dataset("deep/v", data=np.arange(6).reshape(2, 3), compression="gzip")
    (folder / "k.mtx").write_text(
        "%%MatrixMarket matrix coordinate real symmetric\n% a comment\n3 3 3\n"
        "1 1 4.0\n2 1 1.5\n3 3 -2\n"
    )
    with gzip.open(folder / "dense.mtx.gz", "wt") as file:
        file.write("%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n")
    (folder / "notes.txt").write_text("no table")


def connect(manifest, *files):
    """A private server."""
    arguments = ["--manifest", str(manifest)]
    return farcall.connect(files=files, program=PROGRAM, arguments=arguments)


def served(folder, **settings):
    """A private server with the tables of a folder."""
    environment = {"FARCALL_TABLES": str(folder), **settings}
    written = ", ".join(f'{name} = "{value}"' for name, value in environment.items())
    manifest = folder.parent / f"{folder.name}.toml"
    manifest.write_text(MANIFEST.format(environment=written, folder=folder))
    return connect(manifest, "tables")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("tables") / "data"
    made.mkdir()
    fill(made)
    return made


@pytest.fixture(scope="module")
def server(folder):
    with served(folder) as server:
        yield server


@pytest.fixture(scope="session")
def serve_tables():
    """What serves the tables of a folder: `served`."""
    return served


@pytest.fixture(scope="session")
def connect_with():
    """What starts a private server with a configuration file: `connect`."""
    return connect


@pytest.fixture(scope="session")
def manifest_of():
    """What makes the text of a configuration file."""
    return MANIFEST.format


@pytest.fixture(scope="session")
def stage():
    """The folder of what is staged."""
    return PROGRAM.parent.parent
