"""How files become columns: Parquet and CSV are scanned by the engine, NumPy, HDF5 and Matrix Market
files are read here.

Arrays of one dimension have the column c0, of two dimensions c0, c1, …, and those of a structured
type a column for each field. A complex column x becomes x_re and x_im.
"""

import gzip
import pathlib
import re
import zipfile
from typing import Any, Callable, Dict, Optional

import numpy as np

from .settings import Mistake

ENDINGS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".npy": "numpy",
    ".npz": "numpy",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".mtx": "matrix market",
    ".mtx.gz": "matrix market",
}
# What the engine takes one column for another's width of: more are an accident.
COLUMNS_MAX = 10_000
Columns = Dict[str, Any]
Loader = Callable[[], Columns]


def _ending(file: pathlib.Path) -> str:
    name = file.name.lower()
    return max((one for one in ENDINGS if name.endswith(one)), key=len, default="")


def kind_of(file: pathlib.Path) -> Optional[str]:
    """What a file is, by the ending of its name."""
    return None if file.name.startswith(".") else ENDINGS.get(_ending(file))


def stem_of(file: pathlib.Path) -> str:
    """Its name without the ending."""
    return file.name[: -len(_ending(file))]


def scan_of(kind: str, file: pathlib.Path) -> Optional[str]:
    """SQL that scans it, for what the engine reads by itself."""
    functions = {"parquet": "read_parquet", "csv": "read_csv"}
    quoted = str(file).replace("'", "''")
    return f"{functions[kind]}('{quoted}')" if kind in functions else None


def parts_of(kind: str, file: pathlib.Path) -> Dict[str, Loader]:
    """The tables in a file, each with what reads it; one that is alone has no name."""
    if kind == "numpy":
        return _numpy_parts(file)
    if kind == "hdf5":
        return _hdf5_parts(file)
    return {"": lambda: _matrix(file)}


def columns_of(array: Any, file: pathlib.Path) -> Columns:
    """The columns of an array."""
    array = np.atleast_1d(array)
    if array.dtype.names:
        columns = {name: array[name] for name in array.dtype.names}
    elif array.ndim <= 2:
        wide = array.reshape(len(array), -1)
        columns = {f"c{index}": wide[:, index] for index in range(wide.shape[1])}
    else:
        raise Mistake(f"{file} has {array.ndim} dimensions; a table has one or two")
    if len(columns) > COLUMNS_MAX:
        raise Mistake(f"{file} has {len(columns)} columns, and a table {COLUMNS_MAX} at most")
    taken: Columns = {}
    for name, column in columns.items():
        taken.update(_split(name, column, file))
    return taken


def _split(name: str, column: Any, file: pathlib.Path) -> Columns:
    """A column as the engine takes it."""
    if column.ndim != 1:
        raise Mistake(f"the field {name} of {file} is an array; a column has single values")
    if column.dtype.kind == "c":
        return {f"{name}_re": column.real, f"{name}_im": column.imag}
    if column.dtype.kind in "SU":
        texts = np.char.decode(column, "utf-8") if column.dtype.kind == "S" else column
        return {name: texts.astype(object)}
    if column.dtype.kind not in "biufmM" or column.dtype == np.longdouble:
        raise Mistake(f"the column {name} of {file} is {column.dtype}, which no table has")
    if column.dtype == np.float16:
        return {name: column.astype(np.float32)}
    return {name: column.astype(column.dtype.newbyteorder("="), copy=False)}


# ---- NumPy


def _numpy_parts(file: pathlib.Path) -> Dict[str, Loader]:
    if file.suffix.lower() == ".npy":
        return {"": lambda: columns_of(np.load(file, mmap_mode="r", allow_pickle=False), file)}
    with zipfile.ZipFile(file) as archive:
        names = [name[:-4] for name in archive.namelist() if name.endswith(".npy")]

    def loader(name: str) -> Loader:
        return lambda: columns_of(np.load(file, allow_pickle=False)[name], file)

    return {_part(name, names): loader(name) for name in names}


def _part(name: str, names: Any) -> str:
    return "" if len(names) == 1 else re.sub(r"\W+", "_", name.strip("/"))


# ---- HDF5


def _hdf5(file: pathlib.Path) -> Any:
    try:
        import h5py
    except ImportError:
        fix = "run .venv/bin/pip install h5py, or take the file away"
        raise Mistake(f"{file}: this Python has no h5py; {fix}") from None
    # A lock is a write, which the module may not do.
    return h5py.File(file, "r", locking=False)


def _hdf5_parts(file: pathlib.Path) -> Dict[str, Loader]:
    import_error = _hdf5(file)
    names = []
    with import_error as opened:
        opened.visititems(lambda name, one: names.append(name) if hasattr(one, "dtype") else None)

    def loader(name: str) -> Loader:
        def load() -> Columns:
            with _hdf5(file) as opened:
                dataset = opened[name]
                offset = dataset.id.get_offset()
                if offset is not None and dataset.dtype.kind in "iuf" and dataset.size:
                    # It is in the file as it is in memory, and is mapped.
                    place = np.memmap(file, dataset.dtype, "r", offset, dataset.shape)
                    return columns_of(place, file)
                return columns_of(dataset[()], file)

        return load

    return {_part(name, names): loader(name) for name in names}


# ---- Matrix Market


def _matrix(file: pathlib.Path) -> Columns:
    """A Matrix Market file. Its coordinates are the columns i, j (from 1) and value; of a symmetric
    matrix both halves are there. An array has the columns c0, c1, …"""
    opened = gzip.open(file, "rb") if file.name.lower().endswith(".gz") else file.open("rb")
    with opened as lines:
        head = lines.readline().decode("ascii", "replace").lower().split()
        if len(head) < 5 or head[:2] != ["%%matrixmarket", "matrix"]:
            raise Mistake(f"{file} does not begin with %%MatrixMarket matrix")
        layout, field, symmetry = head[2:5]
        size = lines.readline()
        while size.startswith(b"%") or not size.strip():
            if not size:
                raise Mistake(f"{file} has no line with the size of its matrix")
            size = lines.readline()
        rest = lines.read()
    extents = [int(one) for one in size.split()]
    numbers = np.array(rest.split(), dtype=np.float64)
    if layout == "array":
        return _dense(file, extents, numbers, field, symmetry)
    return _coordinates(file, extents, numbers, field, symmetry)


def _values(numbers: Any, field: str) -> Columns:
    """The last columns of the numbers, as values of this field."""
    if field == "pattern":
        return {"value": np.ones(len(numbers))}
    if field == "complex":
        return {"value_re": numbers[:, -2], "value_im": numbers[:, -1]}
    value = numbers[:, -1]
    return {"value": value.astype(np.int64) if field == "integer" else value}


def _coordinates(
    file: pathlib.Path, extents: Any, numbers: Any, field: str, symmetry: str
) -> Columns:
    width = 2 + {"pattern": 0, "complex": 2}.get(field, 1)
    if len(extents) != 3 or len(numbers) != extents[2] * width:
        raise Mistake(f"{file} has {len(numbers)} numbers, and its size line says otherwise")
    table = numbers.reshape(-1, width)
    columns = {"i": table[:, 0].astype(np.int64), "j": table[:, 1].astype(np.int64)}
    columns.update(_values(table, field))
    if symmetry == "general":
        return {name: np.ascontiguousarray(one) for name, one in columns.items()}
    other = columns["i"] != columns["j"]
    mirrored = {name: one[other] for name, one in columns.items()}
    mirrored["i"], mirrored["j"] = mirrored["j"], mirrored["i"]
    if symmetry == "skew-symmetric":
        for name in mirrored.keys() - {"i", "j"}:
            mirrored[name] = -mirrored[name]
    elif symmetry == "hermitian" and "value_im" in mirrored:
        mirrored["value_im"] = -mirrored["value_im"]
    return {name: np.concatenate([one, mirrored[name]]) for name, one in columns.items()}


def _dense(file: pathlib.Path, extents: Any, numbers: Any, field: str, symmetry: str) -> Columns:
    rows, count = extents[:2]
    if field == "complex":
        numbers = numbers.reshape(-1, 2) @ np.array([1, 1j])
    if symmetry == "general":
        if len(numbers) != rows * count:
            raise Mistake(f"{file} has {len(numbers)} numbers, and its size line says otherwise")
        return columns_of(numbers.reshape(count, rows).T, file)
    strict = 1 if symmetry == "skew-symmetric" else 0
    if rows != count or len(numbers) != rows * (rows + 1 - 2 * strict) // 2:
        raise Mistake(f"{file} has {len(numbers)} numbers, and its size line says otherwise")
    # One half, column by column: the row of each is at least its column.
    column, row = np.triu_indices(rows, strict)
    full = np.zeros((rows, rows), numbers.dtype)
    full[column, row] = {"skew-symmetric": -numbers, "hermitian": numbers.conj()}.get(
        symmetry, numbers
    )
    full[row, column] = numbers
    return columns_of(full, file)
