"""`server.publish` of functions that read values of their file: they compute with those that the
program has when it publishes them."""

import importlib
import itertools
import linecache
import sys
import textwrap

import pytest

HEAD = """
import collections
import dataclasses
import enum
import functools
import math
import random
import sys
import threading
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

"""
COUNTER = itertools.count()


@pytest.fixture(scope="module")
def own(farcall):
    """A private server of this Python."""
    with farcall.connect(arguments=["--python", sys.executable], timeout=60) as server:
        yield server


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Imports a module with this text."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def written(text):
        name = f"values_{next(COUNTER)}"
        (tmp_path / f"{name}.py").write_text(HEAD + textwrap.dedent(text))
        linecache.checkcache()
        importlib.invalidate_caches()
        return importlib.import_module(name)

    return written


def read(expression):
    return f"\ndef got(x: float) -> float:\n    return x * float({expression})\n"


SENT = {
    "changed in place": (
        "CFG = {'a': 1.0}\nCFG['a'] = 5.0\nCFG.update(b=7.0)",
        "CFG['a'] + CFG['b']",
    ),
    "loop": ("for LAST in range(4):\n    pass", "LAST"),
    "filled": ("KEPT = []\nfor q in range(3): KEPT.append(q)", "len(KEPT)"),
    "added": ("SUM = 1.0\nSUM += 10.0", "SUM"),
    "random": ("DRAWN = random.random()", "DRAWN"),
    "read": ("with open(__file__) as lines:\n    FIRST = len(lines.readlines())", "FIRST"),
    "several": ("A, (B, C) = 1.0, (2.0, 3.0); D = 4.0", "A + 10 * B + 100 * C + 1000 * D"),
    "chosen": ("if sys.argv:\n    COND = 1.0\nelse:\n    COND = 2.0", "COND"),
    "set inside": ("LATE = 1.0\ndef late():\n    global LATE\n    LATE = 9.0\nlate()", "LATE"),
    "globals": ("globals()['HIDDEN'] = 4.0", "HIDDEN"),
    "array": (
        "TABLE = np.arange(6.0).reshape(2, 3)\nTABLE[1, 0] = 100.0",
        "TABLE[1, 0] + TABLE[0, 2]",
    ),
    "column order": ("TABLE = np.asfortranarray(np.arange(6.0).reshape(2, 3))", "TABLE[1, 0]"),
    "elements": (
        "TABLE = np.zeros(2, [('a', 'f8'), ('b', 'i4')])\nTABLE['b'] = 3",
        "TABLE['b'].sum()",
    ),
    "no elements": ("TABLE = np.zeros((0, 3))", "TABLE.shape[1]"),
    "scalar": ("ONE = np.float32(0.1)", "ONE"),
    "not finite": ("FAR = -math.inf\nNOT = math.nan", "FAR < 0 and NOT != NOT"),
    "large": ("LARGE = 10 ** 5000", "LARGE % 997"),
    "dataclass": (
        "@dataclasses.dataclass(frozen=True)\nclass Case:\n    n: int\n    m: int = 3\n"
        "    def __post_init__(self):\n        object.__setattr__(self, 'm', self.m + 1)\n"
        "CASE = Case(2)\nCASES = {'one': [CASE]}",
        "CASE.n + 10 * CASES['one'][0].m",
    ),
    "named tuple": ("class Pair(NamedTuple):\n    a: int\n    b: int\nPAIR = Pair(1, 2)", "PAIR.b"),
    "enumeration": ("class Way(enum.Enum):\n    UP = 3\nWAY = Way.UP", "WAY.value"),
    "functions": (
        "def two(): return 2\nMETHODS = {'two': two, 'cosine': np.cos}",
        "METHODS['two']() + METHODS['cosine'](0)",
    ),
    "other function": ("def one(): return 1\ndef two(): return 2\none = two", "one()"),
    "partial": ("def add(a, b): return a + b\nPLUS = functools.partial(add, 5)", "PLUS(b=2)"),
    "lambda": ("DT = 2.0\nscaled = lambda x: DT * x\nDT = 3.0", "scaled(1)"),
    "default": (
        "DT = 2.0\ndef scaled(x, y=DT,\n  *, z=DT * 2): return y + z\nDT = 3.0",
        "scaled(1)",
    ),
    "class attribute": ("class P:\n    k = 4.0\nP.k = 40.0", "P().k"),
    "lock": ("LOCK = threading.Lock()", "LOCK.acquire()"),
    "local of the name": (
        "with open(__file__) as fh:\n    pass\ndef length(fh=2): return fh",
        "length()",
    ),
    "mixed": (
        "try:\n    import missing_one\n    HAVE = 1.0\nexcept ImportError:\n"
        "    import math as missing_one\n    HAVE = 5.0\nHAVE += 1",
        "HAVE + missing_one.floor(2.5)",
    ),
    "recursion": (
        "def up(n): return down(n - 1) + 1\ndef down(n): return up(n) if n > 0 else 0",
        "up(4)",
    ),
    "text": ("NAME = 'a\\n\\'b\\udc80'", "len(NAME)"),
}


@pytest.mark.parametrize("case", SENT)
def test_the_values_of_now_are_sent(own, write, case):
    before, expression = SENT[case]
    module = write(before + "\n" + read(expression))
    assert own.publish(module.got)(2.0) == module.got(2.0)


def test_another_value_is_published_again(own, write):
    module = write("DT = 0.1\ndef helped(x): return DT * x\n" + read("helped(1)"))
    for module.DT in (0.25, 0.5, 0.75):
        assert own.publish(module.got)(2.0) == 2 * module.DT
        assert own.got(2.0) == 2 * module.DT


REFUSED = {
    "file": ("import io\nlines = io.StringIO()", "len(lines.read())", "lines .line 16."),
    "generator": ("rng = np.random.default_rng(0)", "rng.random()", "rng .line 15.*Generator"),
    "drawing": ("draw = np.random.default_rng(0).normal", "draw()", "draw .line 15."),
    "iterator": ("steps = iter([1, 2])", "next(steps)", "steps .line 15.*list_iterator"),
    "too large": ("TABLE = np.zeros(2_000_000)", "TABLE[0]", "TABLE .line 15.*8 MiB"),
    "objects": ("TABLE = np.array([None, {}])", "len(TABLE)", "array of Python objects"),
    "itself": ("ROUND = []\nROUND.append(ROUND)", "len(ROUND)", "contains itself"),
    "with": ("with open(__file__) as fh:\n    pass", "fh.closed", "fh .line 15."),
    "class": ("class P:\n    k = 4.0\nsetattr(P, 'k', 5.0)", "P.k", "P.k .line 15.*another value"),
    "new attribute": ("class P:\n    pass\nsetattr(P, 'k', 5.0)", "P.k", "P.k .line 15."),
    "made before": (
        "def made(k):\n    return lambda x: k * x\nK = 2.0\nscaled = made(K)\nK = 3.0",
        "scaled(1)",
        "scaled .line 18.*made of K",
    ),
    "helper of helper": (
        "rng = random.Random(0)\ndef inner(): return rng.random()\ndef outer(): return inner()",
        "outer()",
        "rng .line 15.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_value_that_cannot_be_sent_is_named(own, farcall, write, case):
    before, expression, words = REFUSED[case]
    module = write(before + "\n" + read(expression))
    with pytest.raises(farcall.InvalidArgument, match=words) as refused:
        own.publish(module.got)
    assert "pass it as an argument, or compute it inside of the function" in str(refused.value)


def test_another_function_of_the_name_is_not_sent(own, farcall, write):
    text = "def first(x: float) -> float:\n    return x\nfirst_one = first\n"
    module = write(text + text.partition("first_one")[0].replace("return x", "return -x"))
    assert own.publish(module.first)(2.0) == -2.0
    with pytest.raises(farcall.InvalidArgument, match="its source is not to be found"):
        own.publish(module.first_one)


def test_hints_and_lines_stay_as_they_are(own, farcall, write):
    text = """
        N = 2
        Row = Annotated[NDArray[np.float64], "n"]
        SCALE = [
            1.0,
            2.0,
        ]

        def summed(row: Row) -> float:
            if row[0] < 0: raise ValueError("here")
            return float(row.sum() * SCALE[1] + N)
    """
    module = write(text)
    remote = own.publish(module.summed)
    assert remote([1.0, 2.0]) == 8.0
    with pytest.raises(farcall.RoutineFailed, match="here.*line 24"):
        remote([-1.0])


def test_a_cached_function_is_published(own, write):
    text = "GAIN = 3.0\n@functools.lru_cache\ndef cached(x: float) -> float:\n"
    module = write(text + "    return x * GAIN\n")
    assert own.publish(module.cached)(2.0) == 6.0


def test_a_function_made_by_another_says_what_to_pass(own, farcall, write):
    module = write("def made(k):\n    def f(x: float) -> float: return k * x\n    return f\n")
    with pytest.raises(farcall.InvalidArgument, match="as arguments: k"):
        own.publish(module.made(2.0))


def test_what_is_made_where_it_is_published_stays(own, farcall, write):
    text = """
        import logging
        import re
        LOG = logging.getLogger("here")
        WORDS = re.compile("a+", re.I)
        NEXT = np.vectorize(lambda v: v + 1)
        SCALE = 2
        SCALE *= 3

        def scaled(f):
            @functools.wraps(f)
            def g(*given): return f(*given) * SCALE
            return g

        class Base:
            rate = 1.5

        class Going(Base):
            def go(self): return self.rate * SCALE

        @scaled
        def helper(x): return x + 1

        def got(x: float) -> float:
            LOG.debug("called")
            found = len(WORDS.findall("aAb")) + NEXT([1.0])[0]
            return helper(x) + Going().go() + found
    """
    module = write(text)
    assert own.publish(module.got)(2.0) == module.got(2.0)
    module.Base.rate = 9.0
    with pytest.raises(farcall.InvalidArgument, match="Base.rate .*another value"):
        own.publish(module.got)
