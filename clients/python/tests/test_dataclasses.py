"""Dataclasses, named tuples and lists of texts as arguments and results of published functions."""

import inspect
import json
import subprocess
import sys
import types
from dataclasses import dataclass, field
from typing import Annotated, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import pytest
from numpy.typing import NDArray


@dataclass(frozen=True)
class Grid:
    cells: int = 3
    kind: str = "flat"


@dataclass
class Run:
    """What a function is given at a time."""

    mass: float
    name: str
    is_cold: bool
    x: Annotated[NDArray[np.float64], "n"]
    image: np.ndarray
    words: List[str] = field(default_factory=list)
    scale: float = 2.0
    note: Optional[str] = None
    most: Optional[float] = None
    grid: Grid = field(default_factory=Grid)
    pair: Tuple[float, float] = (1.0, 2.0)


@dataclass
class Sized:
    count: int
    x: Annotated[NDArray[np.float64], "count"]


class Point(NamedTuple):
    x: float
    y: float = 1.0


@dataclass
class Report:
    total: float
    said: str
    x: Annotated[NDArray[np.float64], "n"]
    grid: Grid
    words: List[str]


def work(run: Run, y: Annotated[NDArray[np.float64], "n"], times: int = 1) -> Report:
    assert isinstance(run, Run) and isinstance(run.grid, Grid) and run.pair == (1.0, 2.0)
    assert type(run.is_cold) is bool and type(run.words) is list
    said = f"{run.name} {run.note} {run.most} {run.grid.kind} {run.image.shape} {run.is_cold}"
    grid = Grid(run.grid.cells + 1, "round")
    return Report(run.mass * run.scale * times + run.x @ y, said, 2 * run.x, grid, run.words)


def turned(point: Point, grid: Optional[Grid] = None, other: Grid = Grid(7)) -> Tuple[Point, str]:
    return Point(point.y, point.x), f"{grid} {other}"


def sized(one: Sized) -> float:
    return float(one.x.sum()) / one.count


def joined(names: List[str], more: Sequence[str] = ("a", "b"), t: Tuple[float, ...] = ()) -> str:
    assert isinstance(t, tuple)
    return "-".join([*names, *more, *map(str, t)])


class Span(NamedTuple):
    begin: Point
    name: str = "span"


@dataclass
class Path:
    title: str
    spans: List[Span]
    ends: List[Point] = field(default_factory=list)


def length(points: List[Point], grids: Sequence[Grid] = (Grid(1, "one"),)) -> str:
    assert all(isinstance(one, Point) for one in points) and isinstance(grids[0], Grid)
    return f"{sum(one.x * one.y for one in points)} {grids[0]}"


def path(count: int) -> Path:
    return Path("p", [Span(Point(k, 2.0 * k), f"s{k}") for k in range(count)])


def points(of: Path, factor: float = 1.0) -> List[Point]:
    ends = [one.begin for one in of.spans] + of.ends
    return [Point(factor * one.x, one.y) for one in ends]


def no_points(count: int) -> Tuple[int, List[Point]]:
    return count, [Point(1.0), 2.0]


def copies(names: List[str], count: int) -> List[str]:
    return names * count


def firsts(names: Tuple[str, ...]) -> Tuple[str, ...]:
    return names[:1]


@pytest.fixture(scope="module")
def own(farcall):
    """A private server with the functions of this file."""
    of_lists = (length, path, points, no_points)
    with farcall.connect(arguments=["--python", sys.executable], timeout=60) as server:
        for function in (work, turned, sized, joined, copies, firsts, *of_lists):
            server.publish(function)
        yield server


def test_fields_of_all_kinds_come_and_go(own):
    run = Run(1.5, "one", True, np.ones(3), np.zeros((2, 3)))
    r = own.work(run, np.arange(3.0))
    assert (r.total, r.said, r.words) == (6.0, "one None None flat (2, 3) True", [])
    assert r.x.tolist() == [2.0] * 3 and (r.grid.cells, r.grid.kind) == (4, "round")
    run = Run(1.0, "two", False, [1], np.zeros(2), ["ü", ""], 3.0, "note", 0.5, Grid(9, "deep"))
    r = own.work(run, [1.0], 2)
    assert (r.total, r.said) == (7.0, "two note 0.5 deep (2,) False")
    assert r.words == ["ü", ""] and r.grid.cells == 10
    assert list(dict(r)) == ["total", "said", "x", "grid", "words"] and len(r) == 5


def test_a_dictionary_or_any_object_will_do(own):
    given = {"mass": 1, "name": "d", "is_cold": True, "x": [1.0], "image": 3.0}
    assert own.work(given, [1.0], times=3).total == 7.0
    assert own.work({**given, "grid": {"cells": 5}}, [1.0]).grid.cells == 6
    assert own.turned(types.SimpleNamespace(x=1.0, y=2.0)).result1.x == 2.0
    # What came back can be passed on.
    assert own.turned(own.turned({"x": 4.0}).result1).result1.x == 4.0
    assert own.turned(point_x=2.0).result1.y == 2.0


def test_lists_of_objects_come_and_go(own):
    assert own.length([Point(2.0, 3.0), Point(4.0)]).result == "10.0 Grid(cells=1, kind='one')"
    given = [{"x": 2.0}, {"x": 3.0}]
    assert own.length(given, [Grid(9)]).result == "5.0 Grid(cells=9, kind='flat')"
    assert own.length([]).result.startswith("0 ")
    r = own.path(2)
    assert r.title == "p" and r.ends == [] and [one.name for one in r.spans] == ["s0", "s1"]
    assert r.spans[1].begin.y == 2.0 and own.path(0).spans == []
    # What came back can be passed on.
    back = own.points(r, factor=10.0).result
    assert [(one.x, one.y) for one in back] == [(0.0, 0.0), (10.0, 2.0)]
    later = own.points.submit({"title": "", "spans": [], "ends": [Point(1.0)]})
    assert later.result().result[0].x == 1.0
    # In other languages each field is a list.
    assert own.length(points_x=[1.0, 2.0], points_y=[3.0, 4.0]).result.startswith("11.0 ")


@pytest.mark.parametrize(
    "given, why",
    [
        (3, "points is a list of objects, and 3 was passed"),
        (Point(1.0)._asdict(), "points is a list of objects"),
        ([{"x": 1.0}, Point(1.0)], "item 0 of points: y is left out, and other items have it"),
        ([Point(1.0), {"z": 1.0}], "item 1 of points: points has no field 'z'"),
        ([Point(1.0), Point(None)], "item 1 of points: points.x is None"),
    ],
)
def test_what_is_no_list_of_objects_is_refused(own, farcall, given, why):
    with pytest.raises(farcall.WrongType, match=why):
        own.length(given)


def test_a_result_that_is_no_list_of_objects_is_named(own, farcall):
    with pytest.raises(farcall.RoutineFailed, match="item 1 of result2, which is declared Point"):
        own.no_points(1)


def test_what_is_left_out_is_as_the_function_says(own):
    assert own.turned(Point(1.0)).result2 == "None Grid(cells=7, kind='flat')"
    assert own.turned(Point(1.0), Grid(1)).result2.startswith("Grid(cells=1, kind='flat') Grid(")
    said = own.turned(Point(1.0), other=Grid(2, "deep")).result2
    assert said == "None Grid(cells=2, kind='deep')"
    assert own.turned.submit(Point(1.0), None, Grid(3)).result().result2.endswith("3, kind='flat')")


def test_sizes_may_be_fields(own):
    assert own.sized(Sized(2, np.array([1.0, 3.0]))) == 2.0
    assert own.sized({"count": 2, "x": [1.0, 3.0]}) == 2.0


def test_texts_are_lists_and_tuples(own):
    assert own.joined(["x"]) == "x-a-b" and own.joined(("x",), [], [2.0]) == "x-2.0"
    assert own.copies(["a", "ü"], 2).result == ["a", "ü"] * 2 and own.copies([], 3).result == []
    many = [f"name {number}" for number in range(100_000)]
    assert own.copies(many, 1).result == many
    assert own.firsts(["a", "b"]).result == ["a"]


def test_there_is_one_argument_for_each_of_the_function(own):
    assert list(inspect.signature(own.turned.turned).parameters)[:3] == ["point", "grid", "other"]
    assert str(own.turned.turned) == "turned(point, grid=None, other=None) -> (result1, result2)"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((3.0,), ("point has no field x", "3.0 (float)", "with the fields x, y")),
        ((None,), ("point has no field x", "None (NoneType)")),
        (({"y": 1.0},), ("point has no field x",)),
        (({"x": 1.0, "yy": 3},), ("point has no field 'yy'", "did you mean y?")),
        ((Point(None),), ("point.x is None",)),
        ((Point(1.0), Grid(1, None)), ("grid.kind is None",)),
        ((Point("one"),), ("a real number (double), not 'one'",)),
        ((1, 2, 3, 4), ("at most 3 arguments by position (point, grid, other), not 4",)),
    ],
)
def test_what_does_not_fit_is_named(farcall, own, arguments, words):
    with pytest.raises(farcall.WrongType) as refused:
        own.turned(*arguments)
    assert all(word in str(refused.value) for word in words), str(refused.value)


def test_other_languages_pass_the_fields(own, tmp_path, farcall):
    described = own.turned.turned.interface["parameters"]
    assert [one["name"] for one in described[:3]] == ["point_x", "point_y", "grid_cells"]
    assert described[0]["doc"] == "field point.x"
    file = tmp_path / "turning.py"
    body = "\n\n".join(inspect.getsource(one) for one in (Point, Grid, turned))
    file.write_text(
        "from dataclasses import dataclass\nfrom typing import NamedTuple, Optional, Tuple\n\n"
        + body
    )
    program = [sys.executable, "-m", "farcall", "call", "--publish", str(file), "turned"]
    done = subprocess.run(
        [*program, "point_x=1.5", "grid_kind=deep", "--json"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert (results["result1_x"], results["result1_y"]) == (1.0, 1.5)
    assert results["result2"].startswith("Grid(cells=3, kind='deep') Grid(cells=7")


REFUSED = '''
import dataclasses
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

def fine(x: float) -> float:
    return x

@dataclass
class Open:
    a: Optional[int] = None

@dataclass
class Round:
    inner: "Optional[Round]" = None

@dataclass
class Early:
    seed: dataclasses.InitVar[int]

@dataclass
class Holds:
    table: Dict[str, float]

def opened(x: Optional[Open] = None) -> float: return 0.0
def rounded(x: Round) -> float: return 0.0
def early(x: Early) -> float: return 0.0
def holds(x: Holds) -> float: return 0.0
def mixed(x: Tuple[int, str]) -> float: return 0.0
def untold(x: list) -> float: return 0.0
def wrong(x: float) -> Tuple[Open, float]: return 3.0, x

@dataclass
class Arrays:
    x: List[float]

def lists(x: List[Arrays]) -> float: return 0.0
def opens(x: List[Open]) -> float: return 0.0
def arrays(n: int) -> List[Arrays]: return []
def fixed(x: Tuple[Holds, ...]) -> float: return 0.0
'''


def test_what_cannot_travel_says_the_way_out(farcall, tmp_path):
    file = tmp_path / "refused.py"
    file.write_text(REFUSED)
    with pytest.warns(UserWarning) as warned, farcall.connect(
        arguments=["--python", sys.executable]
    ) as server:
        server.publish(file)
        with pytest.raises(farcall.RoutineFailed, match="3.0 .float. as result1, which is .* Open"):
            server.wrong(1.0)
    said = "\n".join(str(one.message) for one in warned)
    for words in (
        "x may be None, and so may all fields of Open (line 25); write x: Open = Open()",
        "x.inner: Round contains itself",
        "x.seed is an InitVar",
        "x.table has the type Dict[str, float], which does not travel (line 28); write a dataclass",
        "x is a tuple of values of different types",
        "x has the type list, which does not travel (line 30); say of what it is",
        "x[].x is neither a number nor a text, in a list of dataclasses (line 37); write a list",
        "x[].a may be None, in a list of dataclasses (line 38)",
        "result[].x is neither a number nor a text, in a list of dataclasses (line 39)",
        "x is a list of Holds, which does not travel here (line 40); write a list for each field",
    ):
        assert words.replace("Dict", "typing.Dict") in said, said
