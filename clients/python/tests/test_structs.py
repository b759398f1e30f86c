"""Structs from Python's values: a field takes what a parameter of its type takes, and says which
one it is that does not fit."""

import collections
import math

import numpy as np
import pytest

SOURCE = """
Module cells;
Struct cell { int id; double depth; char tag; float temp[3]; }
Struct named { char name[8]; short n; uint8 b; }
Define one(IN cell c, OUT double y) { *y = c.id + 10 * c.depth + 100 * c.temp[2]; }
Define sum(IN int n, IN cell c[n], OUT double y) {
    int i; *y = 0; for (i = 0; i < n; i++) *y += c[i].id * c[i].depth;
}
Define letters(IN named a, OUT int k) {
    int i; *k = 0; for (i = 0; i < 8; i++) *k += a.name[i] != 0;
}
Define asked(OUT double y, f(IN int i, OUT cell c)) {
    cell c; f(1, &c); *y = c.id + 10 * c.depth;
}
"""
CELL = np.dtype([("id", "i4"), ("depth", "f8"), ("tag", "S1"), ("temp", "f4", (3,))])
GOOD = (1, 2.0, "b", (0, 5, 1.5))


@pytest.fixture(scope="module")
def cells(farcall, tmp_path_factory):
    path = tmp_path_factory.mktemp("cells") / "cells.idl"
    path.write_text(SOURCE)
    with farcall.connect(files=[path]) as server:
        yield server


def good(**changes):
    return {"id": 1, "depth": 2.0, "tag": "b", "temp": (0, 5, 1.5), **changes}


def without(name):
    return {key: value for key, value in good().items() if key != name}


def structured(**formats):
    types = {"id": "i4", "depth": "f8", "tag": "S1", **formats}
    return np.array(GOOD, [*types.items(), ("temp", "f4", (3,))])


def test_what_fits_is_taken(cells):
    Pair = collections.namedtuple("Pair", "depth id temp tag")
    as_array = np.array(GOOD, CELL)
    for value in [
        GOOD, good(), as_array, as_array[()], Pair(2.0, 1, [0, 5, 1.5], b"b"),
        (np.int64(1), np.float32(2), b"b", np.array([0, 5, 1.5], "f4")),
        (True, 2, "b", np.array([0, 5, 1.5], object)),
        structured(id="i2", depth="f4", tag="U1"),
        as_array[["temp", "tag", "depth", "id"]],
    ]:  # fmt: skip
        assert cells.one(value).y == 1 + 20 + 150, value
    two = [GOOD, good(id=3, depth=0.5)]
    for value in [two, np.array([GOOD, (3, 0.5, "", (0, 0, 0))], CELL)]:
        assert cells.sum(value).y == 3.5
    assert cells.sum([]).y == 0
    assert cells.letters(("abcdefgh", 1, 255)).k == 8 and cells.letters((b"ab", 1, 0)).k == 2
    assert cells.one((1, math.inf, "", (math.nan, 0, 0))).y != 0


WRONG = [
    ("a real for a whole number", (1.9, *GOOD[1:]), "c.id: ", "1.9 (float)"),
    ("NumPy's", (np.float64(1.0), *GOOD[1:]), "c.id: ", "wants a whole number (int32)"),
    ("no number", (math.nan, *GOOD[1:]), "c.id: ", "nan (float)"),
    ("one that is too large", (2**31, *GOOD[1:]), "c.id: 2147483648 does not fit int32"),
    ("a text for a number", good(id="7"), "c.id: ", "'7' (str)"),
    ("a text for a real", good(depth="1"), "c.depth: ", "a real number (float64), not '1'"),
    ("a complex", good(depth=1j), "c.depth: ", "1j"),
    ("a whole number that is not exact", good(depth=2**53 + 1), "c.depth: ", "is not exact"),
    ("a long text", good(tag="abc"), "c.tag: ", "has 3 bytes, and there is one character"),
    ("a number for a text", good(tag=7), "c.tag: ", "wants a text, not 7 (int)"),
    ("one number for all", good(temp=7), "c.temp: ", "wants 3 of float32, not 7 (int)"),
    ("too few", good(temp=(0, 0)), "c.temp: it has 2 elements, and the field has 3"),
    ("infinity", good(temp=(0, 1e39, 0)), "c.temp[1]: 1e+39 does not fit float32"),
    ("doubles", good(temp=np.zeros(3)), "c.temp: elements of float64", "float32"),
    ("a short tuple", GOOD[:3], "a tuple of 3, and there are 4 fields"),
    ("a list", list(GOOD), "c[0]: found 1 (int)"),
    ("a missing key", without("depth"), "the key 'depth' is missing"),
    ("one too many", good(x=1), "no field for the key 'x'"),
    ("one misspelled", {**without("id"), "ID": 1}, "no field for the key 'ID'; did you mean 'id'?"),
    ("an array of doubles", structured(id="f8"), "c.id: elements of float64", "int32"),
    ("an array of other fields", np.zeros((), [("a", "i4")]), "no field for the field 'a'"),
    ("an array of longer texts", np.array((1, 2.0, "abc", (0, 0, 0)), [("id", "i4"),
     ("depth", "f8"), ("tag", "S3"), ("temp", "f4", (3,))]), "c.tag: a text of 3 bytes"),
    ("an array of fewer numbers", np.zeros((), [(n, CELL[n]) for n in ("id", "depth", "tag")]
     + [("temp", "f4", (2,))])[()], "the field temp has shape (2,), and the interface wants (3,)"),
]  # fmt: skip


@pytest.mark.parametrize("value, parts", [(one[1], one[2:]) for one in WRONG],
                         ids=[one[0] for one in WRONG])
def test_nothing_is_changed(cells, farcall, value, parts):
    with pytest.raises(farcall.Error) as caught:
        cells.one(value)
    assert "parameter: c" in str(caught.value) and "cells/one" in str(caught.value)
    for part in parts:
        assert part in str(caught.value)


def test_the_element_is_named(cells, farcall):
    for value, part in [
        ([GOOD, good(id=1.5)], "c[1].id: "),
        ([GOOD, GOOD, good(temp=(0, 0, "x"))], "c[2].temp[2]: "),
        ([GOOD, without("tag")], "c[1]: the key 'tag' is missing"),
        ([GOOD, [GOOD]], "c[1]: it has shape (1,)"),
        (np.array([GOOD, 3], object), "c[1]: found 3 (int)"),
    ]:
        with pytest.raises(farcall.WrongType) as caught:
            cells.sum(value)
        assert part in str(caught.value)
    with pytest.raises(farcall.WrongType, match="a.name: .* has 9 bytes, and there is room"):
        cells.letters(("abcdefghi", 1, 2))
    with pytest.raises(farcall.WrongType, match="a.b: 256 does not fit uint8"):
        cells.letters(("a", 1, 256))


def test_callbacks_return_no_less(cells, farcall):
    assert cells.asked(lambda i: GOOD).y == 21 and cells.asked(lambda i: good()).y == 21
    for value, part in [
        (good(id=1.7), "c.id: "),
        (good(tag="abc"), "c.tag: "),
        (without("tag"), "'tag' is missing"),
    ]:
        with pytest.raises(farcall.Error) as caught:
            cells.asked(lambda i, value=value: value)
        assert part in str(caught.value)
