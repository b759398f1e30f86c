"""The scenarios of the Python client, one line each where that is enough: what a user does, and
what comes of it."""

import inspect
import io
import pydoc
import re

import numpy as np
import pytest

A = np.array([[4.0, 1.0], [1.0, 3.0]])
B = np.array([1.0, 2.0])
X = np.linalg.solve(A, B)

# What is called -> what it gives, in order of the results.
CALLS = [
    ("by bare name", lambda s: s.dgesv(A, B).b, X),
    ("by full name", lambda s: s.lapack.dgesv(A, B).b, X),
    ("by item", lambda s: s["dgesv"](A, B).b, X),
    ("by item, in full", lambda s: s["lapack/dgesv"](A, B).b, X),
    ("by item of a module", lambda s: s["lapack"]["dgesv"](A, B).b, X),
    ("explicitly", lambda s: s.call("lapack/dgesv", A, B, timeout=5).b, X),
    ("as a future", lambda s: s.dgesv.submit(A, B).result(10).b, X),
    ("all by keyword", lambda s: s.dgesv(a=A, b=B).b, X),
    ("keywords in another case", lambda s: s.dgesv(A=A, B=B).b, X),
    ("results in another case", lambda s: s.dgesv(A, B).B, X),
    ("sizes by keyword", lambda s: s.dgesv(A, B, n=2, nrhs=1, lda=2, ldb=2).b, X),
    ("a larger leading dimension", lambda s: s.dgesv(A, B, lda=7, ldb=5).b, X),
    ("lists", lambda s: s.dgesv([[4, 1], [1, 3]], [1, 2]).b, X),
    ("whole numbers", lambda s: s.dgesv(A.astype(int), B.astype(int)).b, X),
    ("the other byte order", lambda s: s.dgesv(A.astype(">f8"), B.astype(">f8")).b, X),
    ("several right-hand sides", lambda s: s.dgesv(A, np.eye(2)).b, np.linalg.inv(A)),
    ("a default overridden", lambda s: s.dlange(A, norm="M").value, 4.0),
    ("a function's result", lambda s: s.ddot(B, B).dot, 5.0),
    ("the only result", lambda s: s.ddot(B, B).value, 5.0),
    ("a character as bytes", lambda s: s.dlange(A, norm=b"M").value, 4.0),
    ("nothing at all", lambda s: s.dlange(np.zeros((0, 0))).value, 0.0),
    ("a name like a method", lambda s: s["call"](2).y, -2.0),
    ("a name like a method, in a module", lambda s: s.behaviour.call(2).y, -2.0),
    ("a name like a builtin", lambda s: s["map"](2).value, 2.0),
    ("a routine called like its module", lambda s: s.behaviour(3).y, 1.5),
    ("the same in full", lambda s: s.behaviour.behaviour(3).y, 1.5),
    ("parameters called like options", lambda s: list(s.clash(1, 2, 3)), [3.0, 3.0]),
    (
        "the same by name",
        lambda s: list(s.clash(out=1, timeout=2, lambda_=3, timeout_=9)),
        [3.0, 3.0],
    ),
    (
        "results called like methods",
        lambda s: (s.clash(1, 2, 4)["keys"], s.clash(1, 2, 4).times),
        (3.0, 4.0),
    ),
    ("a string", lambda s: s.greet("Ada").value, "hello, Ada"),
    ("a string beyond ASCII", lambda s: s.greet("Émilie").value, "hello, Émilie"),
    ("an empty string", lambda s: s.greet("").value, "hello, "),
    ("no string", lambda s: s.greet(None).value, "hello, nobody"),
    ("strings", lambda s: s.lengths(["one", b"three", None, ""]).bytes, [3, 5, -1, 0]),
    ("characters", lambda s: s.shout(b"abc").word, "ABC"),
    ("a text as characters", lambda s: s.shout("abc").word, "ABC"),
    ("characters as an array", lambda s: s.shout(np.frombuffer(b"abc", "S1")).word, "ABC"),
    ("INOUT scalars", lambda s: list(s.grow(41, 0.5)), [42, 1.5]),
    ("as many as the routine says", lambda s: s.prefix([1.0, 2.0, -1.0, 3.0]).y, [1.0, 2.0]),
    ("none at all", lambda s: s.prefix([-1.0]).y, []),
    ("a result that is wanted", lambda s: s.perhaps("Y", B).y, 2 * B),
    ("a result that is not referenced", lambda s: s.perhaps("N", B).y, None),
    ("None for what is inferred", lambda s: s.dgesv(A, B, n=None).b, X),
    ("None for what is not referenced", lambda s: s.perhaps("N", B, n=None).y, None),
    ("a large whole number that is exact", lambda s: s.square(2**60).y, 2.0**120),
    ("zeros for no dimensions", lambda s: s.square(np.array(3.0)).y, 9.0),
]


@pytest.mark.parametrize(
    "call, wanted", [case[1:] for case in CALLS], ids=[case[0] for case in CALLS]
)
def test_call(server, call, wanted):
    found = call(server)
    if isinstance(wanted, (str, bytes)) or wanted is None:
        assert found == wanted and type(found) is type(wanted)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_arguments_stay_as_they_are(server):
    a, b = A.copy(), B.copy()
    r = server.dgesv(a, b)
    assert (a == A).all() and (b == B).all()
    assert not np.shares_memory(r.b, b)


def test_results_go_where_out_says(server):
    b, pivots = np.empty(2), np.empty(2, np.int32)
    r = server.dgesv(A, B, out={"b": b, "ipiv": pivots})
    assert r.b is b and r.ipiv is pivots
    np.testing.assert_allclose(b, X)
    assert list(pivots) == [1, 2]
    # A tuple in the order of the results, and an OUT parameter by name.
    assert server.dgesv(A, B, out=(None, pivots, b, None)).b is b
    assert server.dgesv(A, B, ipiv=pivots).ipiv is pivots
    # One array for the only array result.
    y = np.empty(2)
    assert server.daxpy(B, y, alpha=2.0, out=y).y is y


def test_out_may_have_any_strides(server):
    wide = np.zeros((2, 6))
    server.dgesv(A, np.eye(2), out={"b": wide[::-1, ::3]})
    np.testing.assert_allclose(wide[::-1, ::3], np.linalg.inv(A))
    assert not wide[:, 1:3].any() and not wide[:, 4:].any()


def test_inplace_overwrites_inout_arrays(server):
    a, b = A.copy(), B.copy()
    r = server.dgesv(a, b, inplace=True)
    assert r.a is a and r.b is b
    np.testing.assert_allclose(b, X)
    assert (a != A).any()


def test_a_written_part_is_a_view(server):
    y = np.full(4, 7.0)
    r = server.prefix([1.0, 2.0, -1.0, 3.0], out={"y": y})
    assert list(r.y) == [1.0, 2.0] and np.shares_memory(r.y, y) and list(y[2:]) == [7.0, 7.0]


def test_results_are_a_sequence_and_a_mapping(server):
    r = server.dgesv(A, B)
    a, ipiv, b, info = r
    assert a is r.a is r["A"] is r[0] and ipiv is r.ipiv and b is r["b"] and info == r[-1] == 0
    assert r.keys() == ["a", "ipiv", "b", "info"] and len(r) == 4 and "ipiv" in r
    assert dict(r)["b"] is b and dict(r.items()).keys() == dict(r).keys() and r.values()[2] is b
    assert repr(r) == "Results(a=float64[2, 2], ipiv=[1, 2], b=[0.090909, 0.636364], info=0)"
    assert "ipiv" in dir(r)
    assert 0 <= r.times.queued <= r.times.started <= r.times.finished
    assert not hasattr(r, "value") and not hasattr(r, "nosuch")


def test_every_kind_of_number_is_pythons(server):
    given = ("Q", -5, 2**31 - 1, -(2**63), 2**64 - 1, 0.5, 0.1, 1 + 2j, 3 - 4j)
    found = list(server.scalars(*given))
    assert found == list(given)
    assert [type(one) for one in found] == [str, int, int, int, int, float, float, complex, complex]
    # NumPy's scalars too.
    numpy_given = [given[0], np.int16(-5), np.int64(7), np.int64(9), np.uint64(2**64 - 1),
                   np.float32(0.5), np.float64(0.1), np.complex64(1 + 2j),
                   np.complex128(3 - 4j)]  # fmt: skip
    assert list(server.scalars(*numpy_given)) == [
        "Q",
        -5,
        7,
        9,
        2**64 - 1,
        0.5,
        0.1,
        1 + 2j,
        3 - 4j,
    ]


def test_a_routine_shows_itself(server):
    dgesv = server.dgesv
    assert (
        repr(dgesv) == "dgesv(a, b, *, n=None, nrhs=None, lda=None, ldb=None) -> (a, ipiv, b, info)"
    )
    assert (
        dgesv.__name__ == "dgesv"
        and dgesv.name == "lapack/dgesv"
        and dgesv.interface["module"] == "lapack"
    )
    signature = inspect.signature(dgesv)
    options = ["timeout", "run_timeout", "out", "inplace", "on_output", "progress", "keep"]
    options += ["label", "ranks", "at", "cores", "memory", "gpus", "wall_time", "stay", "lease"]
    assert list(signature.parameters) == ["a", "b", "n", "nrhs", "lda", "ldb", *options]
    assert inspect.signature(server.dlange).parameters["norm"].default == "F"
    assert "lambda_" in inspect.signature(server.clash).parameters
    assert "timeout_" in inspect.signature(server.clash).parameters


def test_help_is_a_page(server):
    page = pydoc.render_doc(server.dgesv, renderer=pydoc.plaintext)
    assert "Solves A*X = B for a general matrix" in page
    assert re.search(r"ipiv +out +int\[n\] +row i was interchanged", page)
    output = io.StringIO()
    pydoc.Helper(output=output).help(server.dgesv)
    assert "Example\n" in output.getvalue() and "server.dgesv(a, b)" in output.getvalue()


def test_names_complete(server):
    assert {"dgesv", "lapack", "ep", "call", "close", "address"} <= set(dir(server))
    assert "dgesv" in dir(server.lapack) and "ddot" not in dir(server.lapack)
    assert "lapack" in server._ipython_key_completions_()
    assert "lapack/dgesv" in server.routines()
    assert repr(server).startswith("<farcall.Server at unix:")
    assert "dgesv" in repr(server.lapack)


def test_names_that_are_not_there(server, farcall):
    assert not hasattr(server, "nosuch_routine") and not hasattr(server, "_private")
    with pytest.raises(farcall.NotFound, match="did you mean dgesv"):
        server.dgesw(A, B)
    with pytest.raises(LookupError, match="dgesv"):
        server["lapack/dgesw"]
    with pytest.raises(AttributeError):
        server.lapack.ddot(B, B)
    with pytest.raises(farcall.WrongType, match='the module "lapack" is not a routine'):
        server.lapack(A, B)
    with pytest.raises(TypeError):
        server[3]


def test_names_that_are_not_unique(farcall, tmp_path):
    for module in ("first", "second"):
        (tmp_path / f"{module}.idl").write_text(
            f"Module {module};\nDefine same(OUT int n) {{ *n = 1; }}\n"
        )
    with farcall.connect(files=sorted(tmp_path.glob("*.idl"))) as server:
        with pytest.raises(farcall.Ambiguous, match="first/same"):
            server.same()
        assert server.first.same().n == 1
        assert "same" not in dir(server)


def test_structs(server):
    dtype = [("x", "f8"), ("tag", "i4", 2), ("mark", "S1")]
    given = np.array([(1.0, (2, 3), b"a"), (4.0, (5, 6), b"b")], dtype)
    r = server.points([(1.0, (2, 3), b"a"), (4.0, (5, 6), b"b")], (10.0, (0, 100), b"z"))
    assert r.p["x"].tolist() == [11.0, 14.0] and r.p["tag"].tolist() == [[2, 103], [5, 106]]
    assert r.p["mark"].tolist() == [b"z", b"z"]
    assert r.first["x"] == 11.0 and r.first["tag"].tolist() == [2, 103]
    # The same from NumPy's structs, and by the names of the fields.
    again = server.points(given, {"mark": b"z", "x": 10.0, "tag": (0, 100)})
    assert again.p.tobytes() == r.p.tobytes()
    many = server.points(np.repeat(given, 1000), (10.0, (0, 100), b"z")).p
    assert many.shape == (2000,) and (many["x"][::1000] == [11.0, 14.0]).all()


def test_the_readme_program(farcall, server):
    f = server.dgesv.submit(A, np.ones(2))
    np.testing.assert_allclose(f.result().b, np.linalg.solve(A, np.ones(2)))
    assert farcall.__version__
