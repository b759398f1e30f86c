"""Every type of elements in every order with every kind of strides, there and back, by shared
memory and by TCP."""

import gc

import numpy as np
import pytest

TYPES = [
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float32", "float64", "complex64", "complex128",
]  # fmt: skip

# How the caller's array lies in memory; each has the given shape and holds what it was made from.
PLACINGS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "negative": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "half negative": lambda a: np.asfortranarray(a[:, ::-1])[:, ::-1],
    "sliced": lambda a: _inside(a, (3 * a.shape[0], 2 * a.shape[1]), np.s_[1::3, ::2]),
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "submatrix": lambda a: _inside(a, (a.shape[0] + 3, a.shape[1] + 5), np.s_[1:-2, 2:-3]),
    "read-only": lambda a: _read_only(a),
    "misaligned": lambda a: _misaligned(a),
}
# Small arrays travel inside the call, large ones in shared memory or as blocks.
SHAPES = [(2, 3), (1, 1), (7, 1), (1, 5), (83, 61)]


def _inside(a, shape, part):
    whole = np.zeros(shape, a.dtype)
    whole[part] = a
    return whole[part]


def _read_only(a):
    copy = a.copy()
    copy.flags.writeable = False
    return copy


def _misaligned(a):
    memory = np.zeros(a.nbytes + 1, np.uint8)
    view = memory[1:].view(a.dtype).reshape(a.shape)
    view[...] = a
    return view


def values(name, shape):
    """Elements that are all different, negative and imaginary where they can be."""
    dtype = np.dtype(name)
    numbers = np.arange(np.prod(shape)).reshape(shape)
    if dtype.kind == "c":
        return (numbers - 0.5j * numbers + 1j).astype(dtype)
    return (numbers if dtype.kind == "u" else numbers - 3).astype(dtype)


def check(server, order, name, a, c):
    routine = server.layouts[f"{order}_{name}"]
    kept = a.copy(), c.copy()
    r = routine(a, c)
    assert (a == kept[0]).all() and (c == kept[1]).all(), "an argument changed"
    assert r.b.dtype == r.c.dtype == np.dtype(name)
    single = kept[0].size == 1
    assert (r.b == kept[0].T).all() and (r.c == kept[1][::-1, ::-1]).all()
    if not single:
        assert r.c.flags.f_contiguous if order == "columns" else r.c.flags.c_contiguous
    assert r.b.flags.writeable


@pytest.mark.parametrize("order", ["rows", "columns"])
@pytest.mark.parametrize("name", TYPES)
def test_types(server, order, name):
    for shape in SHAPES:
        for place in PLACINGS.values():
            check(
                server,
                order,
                name,
                place(values(name, shape)),
                place(values(name, shape) + np.dtype(name).type(1)),
            )


@pytest.mark.parametrize("order", ["rows", "columns"])
@pytest.mark.parametrize("placing", PLACINGS)
def test_placings_by_tcp(tcp, order, placing):
    for shape in SHAPES:
        check(
            tcp,
            order,
            "float64",
            PLACINGS[placing](values("float64", shape)),
            values("float64", shape),
        )


@pytest.mark.parametrize("order", ["rows", "columns"])
def test_characters(server, order):
    routine = server.layouts[f"{order}_char"]
    a = np.array([[b"a", b"b", b"c"], [b"d", b"e", b"f"]])
    r = routine(a, a)
    assert r.b.dtype == np.dtype("S1") and (r.b == a.T).all() and (r.c == a[::-1, ::-1]).all()
    # Byte strings are arrays with one dimension more; any one-byte type is a character.
    assert (routine(np.array([b"abc", b"def"]), a).b == a.T).all()
    assert (routine(a.view(np.uint8), a.view(np.int8)).b == a.T).all()


@pytest.mark.parametrize("order", ["rows", "columns"])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_empty_arrays(server, order, shape):
    r = server.layouts[f"{order}_float64"](np.zeros(shape), np.zeros(shape))
    assert r.b.shape == shape[::-1] and r.c.shape == shape


@pytest.mark.parametrize("shape", [(2, 3, 4), (17, 1, 90)])
def test_three_dimensions(server, tcp, shape):
    a = values("float64", shape)
    for server in (server, tcp):
        assert (server.cube(a).b == a.transpose()).all()
        assert (server.cube(a.transpose(2, 0, 1)).b == a.transpose(1, 0, 2)).all()


def test_fewer_dimensions_come_back_as_few(server):
    r = server.layouts.columns_float64(np.arange(4.0), np.arange(4.0))
    assert r.c.tolist() == [3.0, 2.0, 1.0, 0.0] and r.b.shape == (1, 4)


@pytest.mark.parametrize("placing", PLACINGS)
def test_results_in_place(server, tcp, placing):
    if placing == "read-only":
        return
    for server in (server, tcp):
        for shape in SHAPES:
            c = PLACINGS[placing](values("float64", shape))
            wanted = c[::-1, ::-1].copy()
            r = server.columns_float64(np.zeros(shape), c, inplace=True)
            assert r.c is c and (c == wanted).all()


def test_safe_widening_is_done(server):
    a = [[1, 2], [3, 4]]
    for given in ("int8", "uint8", "int16", "int32", "float32", "float16", "bool", ">f8", ">i4"):
        r = server.rows_float64(np.array(a, given), np.array(a, given))
        assert r.b.dtype == np.float64 and (r.b == np.array(a, given).T).all()
    assert server.rows_int64(np.array(a, np.int32), a).b.tolist() == [[1, 3], [2, 4]]
    assert server.rows_complex64(np.array(a, np.float32), a).b.dtype == np.complex64
    # Python's own numbers have no precision: they are rounded.
    assert server.rows_float32([[0.1]], [[0.1]]).b == np.float32(0.1)


def test_result_memory_lives_as_long_as_its_arrays(farcall, server):
    a = values("float64", (300, 300))
    part = server.rows_float64(a, a).b[10:20, ::7]
    kept = part.copy()
    gc.collect()
    # Memory is pooled: were it free, these calls would get it.
    for _ in range(5):
        server.rows_float64(a + 1, a + 1)
    assert (part == kept).all()
    part[...] = 5
    assert (part == 5).all()


def test_result_memory_is_given_back(server):
    a = np.zeros((1024, 1024))

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    server.rows_float64(a, a)
    before = resident()
    for _ in range(30):
        server.rows_float64(a, a)
    gc.collect()
    # 30 calls used 30 * 4 * 8 MB.
    assert resident() - before < 200e6
