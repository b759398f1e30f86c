"""Arrays of other libraries: by DLPack and the buffer protocol, of every type of numbers."""

import array
import ctypes

import numpy as np
import pytest


class Tensor:
    """What a library of tensors exports; it knows nothing of NumPy."""

    def __init__(self, values, device=(1, 0)):
        self.values, self.device = values, device

    def __dlpack__(self, **how):
        return self.values.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.device


class Odd(Tensor):
    """Of a type that DLPack has not."""

    def __dlpack__(self, **_):
        raise BufferError("bfloat16 is not exported")


@pytest.mark.skipif(not hasattr(np, "from_dlpack"), reason="this NumPy has no DLPack")
def test_tensors_are_read_where_they_lie(server):
    a = np.eye(3) * 2
    r = server.dgesv(Tensor(a), Tensor(np.ones((3, 2), order="F")))
    assert r.b.tolist() == [[0.5, 0.5]] * 3 and (a == np.eye(3) * 2).all()
    assert server.see(Tensor(np.arange(5.0)[::2] + 3), seconds=0).seen == 3
    assert (server.slow_double(0, Tensor(np.ones(4, np.float32))).x == 2).all(), (
        "float32 to float64 loses nothing"
    )
    assert server.see(Tensor(np.ones(2000), (3, 0)), seconds=0).seen == 1, (
        "pinned memory is the host's"
    )


@pytest.mark.skipif(not hasattr(np, "from_dlpack"), reason="this NumPy has no DLPack")
def test_tensors_elsewhere_are_refused(server, farcall):
    with pytest.raises(
        farcall.InvalidArgument, match=r"Tensor is on a device \(DLPack 2:1\).*parameter: x.*x\.cpu"
    ):
        server.see(Tensor(np.ones(3), (2, 1)), seconds=0)
    with pytest.raises(farcall.WrongType, match="this Odd: bfloat16 is not exported.*parameter: x"):
        server.see(Odd(np.ones(3)), seconds=0)
    with pytest.raises(farcall.WrongType, match="complex128.*real part"):
        server.see(Tensor(np.ones(3, complex)), seconds=0)
    with pytest.raises(farcall.WrongType, match="results go into NumPy arrays, not a Tensor"):
        server.slow_double(0, np.ones(3), out=Tensor(np.empty(3)))


def test_buffers_are_read_where_they_lie(server, farcall):
    values = array.array("d", [4, 5, 6])
    assert server.slow_double(0, values).x.tolist() == [8, 10, 12] and values[0] == 4
    numbers = (ctypes.c_double * 4)(1, 2, 3, 4)
    assert server.slow_double(0, numbers).x.tolist() == [2, 4, 6, 8]
    assert server.slow_double(0, array.array("f", [1.5])).x.tolist() == [3]
    with pytest.raises(farcall.WrongType, match="an array of float64, the interface wants float32"):
        server.rows_float32(memoryview(np.ones((2, 2))), np.ones((2, 2), np.float32))
    with pytest.raises(farcall.WrongType):
        server.slow_double(0, "text")


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_are_numbers(server, kind):
    small = memoryview(kind(bytes(range(6)))).cast("B", (2, 3)) if kind is memoryview else None
    if small is not None:
        assert server.rows_uint8(small, small).b.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert server.slow_double(0, kind(b"\x01\x02")).x.tolist() == [2, 4]


NARROWER = {
    np.float32: [np.float16, np.int16, np.uint8, np.bool_],
    np.float64: [np.float16, np.float32, np.int32, np.uint32, np.bool_],
    np.complex64: [np.float16, np.float32, np.int16],
    np.complex128: [np.float16, np.float64, np.complex64, np.int32],
    np.int64: [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.bool_],
    np.uint64: [np.uint8, np.uint16, np.uint32, np.bool_],
    np.int16: [np.int8, np.uint8, np.bool_],
}


@pytest.mark.parametrize("wide", NARROWER)
def test_what_loses_nothing_is_widened(server, wide):
    name = np.dtype(wide).name
    for narrow in NARROWER[wide]:
        a = np.array([[1, 0, 1], [0, 1, 1]]).astype(narrow)
        for order in (a, np.asfortranarray(a), a[::-1], a.astype(a.dtype.newbyteorder())):
            r = server[f"layouts/rows_{name}"](order, np.zeros((2, 3), wide))
            assert r.b.dtype == wide and (r.b == order.T).all(), narrow


def test_the_other_byte_order_and_any_strides(server):
    a = np.arange(12.0).reshape(3, 4)
    for view in (a.astype(">f8"), a[:, ::-1], a.T.copy().T, np.broadcast_to(a[0], (3, 4))):
        assert (server.rows_float64(view, np.zeros((3, 4))).b == np.asarray(view).T).all()


def test_whole_numbers_of_other_libraries(server):
    class Count:
        def __index__(self):
            return 3

    assert server.square(Count()).y == 9


def test_scalars_of_every_kind(server):
    r = server.scalars(
        b"c",
        np.int8(1),
        True,
        3,
        np.uint8(4),
        np.float16(0.5),
        np.float32(0.25),
        1,
        np.complex64(2j),
    )
    assert (r.s2, r.i2, r.l2, r.u2, r.f2, r.d2, r.z2, r.w2) == (1, 1, 3, 4, 0.5, 0.25, 1, 2j)


class Series:
    """As those of pandas and xarray: an array with a name."""

    def __init__(self, name, values):
        self.name, self._values = name, np.asarray(values)
        self.dtype = self._values.dtype

    def __array__(self, dtype=None, copy=None):
        return self._values.astype(dtype or self.dtype)


class Table:
    """As that of pandas: columns of different types, which NumPy makes objects of."""

    def __init__(self, **columns):
        self.columns = list(columns)
        self._columns = {name: Series(name, values) for name, values in columns.items()}

    def __getitem__(self, name):
        return self._columns[name]

    def __array__(self, dtype=None, copy=None):
        columns = [np.asarray(one) for one in self._columns.values()]
        same = len({one.dtype for one in columns}) == 1
        return np.stack([one if same else one.astype(object) for one in columns], axis=1)


def test_a_column_without_numbers_is_named(server, farcall):
    days = np.array(["2024-01-01", "2024-01-02"], "M8[D]")
    numbers = [1.0, 2.0]
    for table, words in (
        (Table(flow=numbers, day=days), "the column 'day' .str. has elements of datetime64"),
        (Table(day=days), "the column 'day' .str. has elements of datetime64"),
        (Table(site=np.array(["a", "b"], object), flow=numbers), "the column 'site' .*object"),
        (Series("day", days), "the series 'day' .str. has elements of datetime64"),
    ):
        with pytest.raises(farcall.WrongType, match=words + ".*parameter: a"):
            server.dgesv(table, np.ones(2))
    x = server.dgesv(Table(a=[1.0, 0.0], b=[0.0, 1.0]), Series("b", numbers)).b
    assert x.tolist() == numbers
