"""Wrong arguments, each with what the user is told."""

import fractions
import pathlib

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

A = np.array([[4.0, 1.0], [1.0, 3.0]])
B = np.array([1.0, 2.0])
READ_ONLY = np.empty(2)
READ_ONLY.flags.writeable = False
SHARED = np.zeros(6, np.float64)


class Sparse:
    """As SciPy's matrices are: NumPy makes nothing of them."""

    def __iter__(self):
        return iter(A)

    def toarray(self):
        return A


async def nobody_awaits(printed):
    """What on_output is not."""


# What is wrong -> the call, the class of the error, and what its text says: what, where, and the
# fix.
WRONG = [
    ("too many by position", lambda s: s.dgesv(A, B, 2), "WrongType",
     "takes 2 arguments by position (a, b), not 3", "n=, nrhs="),
    ("an unknown name", lambda s: s.dgesv(A, B, m=2), "WrongType", 'takes no argument "m"',
     "it takes n, nrhs, a"),
    ("a work array", lambda s: s.dgels(A, B, work=B), "WrongType", 'takes no argument "work"'),
    ("given twice", lambda s: s.dgesv(A, B, b=B), "WrongType", "b was passed twice"),
    ("an array missing", lambda s: s.dgesv(A), "InvalidArgument", "b: not given"),
    ("a scalar missing", lambda s: s.dpptrf(ap=np.ones(3)), "InvalidArgument", "n: not passed",
     "pass n="),
    ("extents that disagree", lambda s: s.dgesv(A, np.ones(3)), "InvalidArgument",
     "n = 2 from a axis 0, n = 3 from b axis 0"),
    ("a matrix that is not square", lambda s: s.dgesv(np.ones((2, 3)), B), "InvalidArgument",
     "a is 2 x 3, and both extents are n", "a must be square"),
    ("a leading dimension that is too small", lambda s: s.dgesv(A, B, lda=1), "InvalidArgument",
     "lda = 1 is less than n = 2", "omit it"),
    ("a norm that LAPACK does not know", lambda s: s.dlange(A, norm="2"), "InvalidArgument",
     "norm = '2' is not one of M, 1, O, I, F, E", "routine: lapack/dlange"),
    ("an option that BLAS does not know", lambda s: s.dgemm(A, A, A, transa="X"), "InvalidArgument",
     "transa = 'X' is not one of N, T, C"),
    ("more reflectors than columns", lambda s: s.dorgqr(A, np.ones(3)), "InvalidArgument",
     "k = 3, but k <= n must hold (n = 2)"),
    ("too many dimensions", lambda s: s.dgesv(np.ones((2, 2, 2)), B), "InvalidArgument", "a",
     "dimensions"),
    ("a size that does not fit", lambda s: s.dgesv(A, B, n=3), "InvalidArgument", "n = 3"),
    ("a leading dimension that is too small", lambda s: s.dgesv(A, B, lda=1), "InvalidArgument",
     "a", "1"),
    ("a negative dimension", lambda s: s.ddot(np.ones(0), np.ones(0), n=-5), "InvalidArgument",
     "n"),
    ("narrowing to real", lambda s: s.dgesv(A + 0j, B), "WrongType",
     "an array of complex128, the interface wants float64 (parameter: a, routine: lapack/dgesv)",
     "pass its real part: a.real"),
    ("narrowing a complex list", lambda s: s.dgesv([[1j, 0], [0, 1]], B), "WrongType",
     "a list of complex128, the interface wants float64", "pass real numbers, or np.real(a)"),
    ("narrowing to single what does not fit", lambda s: s.rows_float32(A * 1e300, A), "WrongType",
     "float64, the interface wants float32", "it has values that do not fit"),
    ("narrowing of integers that do not fit", lambda s: s.rows_int8(np.array([[300]]), [[1]]),
     "WrongType", "int64, the interface wants int8", "it has values that do not fit"),
    ("narrowing to single", lambda s: s.rows_float32(A, A), "WrongType",
     "an array of float64, the interface wants float32", "a.astype('float32')"),
    ("narrowing of integers", lambda s: s.rows_int32(A.astype(int), A.astype(int)), "WrongType",
     "an array of int64, the interface wants int32", "a.astype('int32')"),
    ("reals for integers", lambda s: s.rows_int32(A, A), "WrongType",
     "an array of float64, the interface wants int32", "pass whole numbers"),
    ("integers for bytes", lambda s: s.rows_uint8(A.astype(int), A.astype(int)), "WrongType",
     "an array of int64, the interface wants uint8",
     "convert it: a.astype('uint8') for its values, or a.view('uint8') for its bytes"),
    ("integers that fit no byte", lambda s: s.rows_uint8(np.array([[300]]), [[1]]), "WrongType",
     "it has values that do not fit, or a.view('uint8') for its bytes"),
    ("reals for bytes", lambda s: s.rows_uint8(A, A), "WrongType",
     "pass whole numbers, or a.view('uint8') for its bytes"),
    ("real lists for integers", lambda s: s.rows_int32([[1.5]], [[1]]), "WrongType",
     "float64, the interface wants int32"),
    ("signed for unsigned", lambda s: s.rows_uint32(A.astype("i4"), A.astype("i4")), "WrongType",
     "an array of int32, the interface wants uint32"),
    ("a list that does not fit", lambda s: s.rows_int8([[1000]], [[1]]), "InvalidArgument",
     "the element [0][0] is 1000, which does not fit int8 exactly", "parameter: "),
    ("a negative list for unsigned", lambda s: s.rows_uint16([[-1]], [[1]]), "InvalidArgument",
     "[0][0] is -1, which does not fit uint16"),
    ("a whole number beyond a double", lambda s: s.rows_float64(np.array([[2**53 + 1]]), [[1]]),
     "InvalidArgument", "9007199254740993"),
    ("a whole number beyond all", lambda s: s.rows_float64(np.array([[2**64 - 1]], "u8"), [[1]]),
     "InvalidArgument", "18446744073709551615, which does not fit float64 exactly"),
    ("one number beyond a double", lambda s: s.square(2**53 + 1), "InvalidArgument",
     "9007199254740993 is not exact as float64", "float(...)"),
    ("a list that overflows to infinity", lambda s: s.rows_float32([[1.0, -1e300]], [[1]]),
     "InvalidArgument",
     "the element [0][1] is -1e+300, which does not fit float32: it would become infinite",
     "parameter: "),
    ("a ragged list", lambda s: s.dgesv([[1, 2], [3]], B), "WrongType",
     "(parameter: a, routine: lapack/dgesv)"),
    ("objects", lambda s: s.dgesv([[object()]], B), "WrongType",
     "the element [0][0] is <object object", "and the interface wants float64"),
    ("a fraction", lambda s: s.dgesv([[4, 1], [1, fractions.Fraction(1, 3)]], B), "WrongType",
     "the element [1][1] is Fraction(1, 3) (Fraction)"),
    ("a whole number beyond all types", lambda s: s.dgesv(A, [1, 2**70]), "WrongType",
     "the element [1] is 1180591620717411303424 (int)"),
    ("a generator", lambda s: s.dgesv(A, (x for x in B)), "WrongType",
     "wants an array of float64, not a generator", "pass list(...)"),
    ("a set", lambda s: s.dgesv(A, {1.0, 2.0}), "WrongType", "wants an array of float64, not a set",
     "pass list(...)"),
    ("a sparse matrix", lambda s: s.dgesv(A, Sparse()), "WrongType", "not a Sparse",
     "pass its toarray()"),
    ("a dictionary", lambda s: s.dgesv(A, {1.0: 2.0}), "WrongType", "not a dict", "values()"),
    ("masked elements", lambda s: s.dgesv(A, np.ma.masked_greater(B, 1)), "InvalidArgument",
     "masked elements: 1,", "fill them: b.filled(...)"),
    ("a masked number", lambda s: s.square(np.ma.masked), "WrongType", "wants a real number"),
    ("out that is masked", lambda s: s.dgesv(A, B, out={"b": np.ma.masked_array(np.empty(2))}),
     "WrongType", "masked arrays", "pass a plain array"),
    ("out whose elements are one",
     lambda s: s.dgesv(A, B, out={"b": as_strided(SHARED, (2,), (0,))}), "InvalidArgument",
     "elements of the array for the result overlap", "lie apart"),
    ("out whose rows overlap",
     lambda s: s.dgesv(A, A, out={"b": as_strided(SHARED, (2, 2), (8, 8))}), "InvalidArgument",
     "overlap (strides (8, 8) bytes)"),
    ("in place of one element", lambda s: s.dgesv(A, as_strided(SHARED, (2,), (0,)), inplace=True),
     "InvalidArgument", "overlap"),
    ("a long double that is not exact", lambda s: s.square(np.longdouble("0.1")), "InvalidArgument",
     "is not exact as float64", "float(...)"),
    ("a text that is no UTF-8", lambda s: s.greet("\ud800"), "InvalidArgument",
     "cannot be written in UTF-8", "pass bytes", "parameter: name"),
    ("a path for a string", lambda s: s.greet(pathlib.Path("x")), "WrongType", "wants a string"),
    ("no flag", lambda s: s.dgesv(A.copy(), B.copy(), inplace="no"), "WrongType",
     "inplace='no' is neither True nor False"),
    ("an option misspelled", lambda s: s.dgesv(A, B, nrsh=1), "WrongType",
     'takes no argument "nrsh"', "did you mean nrhs? it takes n, nrhs, a"),
    ("no name", lambda s: s.call(None), "WrongType", "a routine is named by a str, not by None"),
    ("a number for a name", lambda s: s[5], "WrongType", "a routine is named by a str, not by 5"),
    ("extents without a routine", lambda s: s.dgesv(A, np.ones(3)), "InvalidArgument",
     "routine: lapack/dgesv"),
    ("out of another shape, where", lambda s: s.dgesv(A, B, out={"ipiv": np.empty(3, "i4")}),
     "InvalidArgument", "routine: lapack/dgesv"),
    ("a text for an array", lambda s: s.dgesv("matrix", B), "WrongType",
     "the interface wants float64, not an array of <U6"),
    ("None for an array", lambda s: s.dgesv(None, B, n=2), "InvalidArgument",
     "dgesv needs a: not given"),
    ("a real for a whole number", lambda s: s.dgesv(A, B, n=2.0), "WrongType",
     "wants a whole number (int), not 2.0 (float)", "pass int(...)"),
    ("a text for a number", lambda s: s.square("3"), "WrongType",
     "wants a real number (double), not '3' (str)"),
    ("an array for a number", lambda s: s.square(B), "WrongType",
     "not an array of float64 with shape (2,)"),
    ("a complex for a real", lambda s: s.square(1j), "WrongType", "wants a real number"),
    ("a number that does not fit", lambda s: s.ddot(B, B, n=2**31), "InvalidArgument",
     "2147483648 does not fit int"),
    ("a number of thousands of digits", lambda s: s.ddot(B, B, n=10**5000), "InvalidArgument",
     "a number of 16610 bits does not fit int"),
    ("one in a list", lambda s: s.dgesv([[10**5000]], B), "WrongType",
     "[0][0] is something with a very long number in it (int)"),
    ("a coroutine function as a listener", lambda s: s.square(3, on_output=nobody_awaits),
     "WrongType", "on_output is a coroutine function", "starts a task"),
    ("two characters", lambda s: s.dlange(A, norm="MM"), "WrongType",
     "wants one character, not 'MM'"),
    ("a character beyond ASCII", lambda s: s.dlange(A, norm="é"), "WrongType",
     "wants one character"),
    ("a number for a character", lambda s: s.dlange(A, norm=77), "WrongType",
     "wants one character, not 77 (int)"),
    ("a number for a string", lambda s: s.greet(3), "WrongType", "wants a string, not a int"),
    ("a NUL in a string", lambda s: s.greet("a\0b"), "InvalidArgument", "NUL"),
    ("a string for strings", lambda s: s.lengths("abc"), "WrongType", "wants strings, not a str"),
    ("a number among strings", lambda s: s.lengths(["a", 3]), "WrongType",
     "item 1 is a int and no string"),
    ("numbers for a struct", lambda s: s.points([1.0, 2.0], (1.0, (0, 0), b"x")), "WrongType",
     "no point can be made of it", "pass tuples of (x, tag, mark)"),
    ("a list for out", lambda s: s.dgesv(A, B, out={"b": [0, 0]}), "WrongType",
     "results go into NumPy arrays, not a list"),
    ("out of another type", lambda s: s.dgesv(A, B, out={"ipiv": np.empty(2)}), "WrongType",
     "the result is int32, the array for it float64", "dtype=int32"),
    ("out of another shape", lambda s: s.dgesv(A, B, out={"ipiv": np.empty(3, "i4")}),
     "InvalidArgument", "ipiv has shape (3,)"),
    ("out that is read-only", lambda s: s.dgesv(A, B, out={"b": READ_ONLY}), "InvalidArgument",
     "is read-only"),
    ("out for an argument", lambda s: s.dlange(A, out={"a": A}), "WrongType", "a is not a result"),
    ("out of an unknown name", lambda s: s.dgesv(A, B, out={"x": B}), "WrongType",
     'takes no argument "x"'),
    ("one out for several", lambda s: s.dgesv(A, B, out=B), "WrongType", "(a, ipiv, b)",
     "out={name: array"),
    ("a tuple that is too short", lambda s: s.dgesv(A, B, out=(B,)), "WrongType",
     "out has 1 items, and there are 4 results"),
    ("one memory for two results",
     lambda s: s.dgesv(A, np.eye(2), out={"a": SHARED[:4].reshape(2, 2),
                                          "b": SHARED[2:].reshape(2, 2)}),
     "WrongType", "a and b would be written to the same memory"),
    ("in place of a list", lambda s: s.dgesv([[4, 1], [1, 3]], B.copy(), inplace=True), "WrongType",
     "a was converted", "leave inplace out"),
    ("in place of another type", lambda s: s.dgesv(A.astype("f4"), B.copy(), inplace=True),
     "WrongType", "a was converted"),
    ("in place of what is read-only", lambda s: s.daxpy(B, READ_ONLY, inplace=True),
     "InvalidArgument", "is read-only"),
    ("no time", lambda s: s.dgesv(A, B, timeout=0), "InvalidArgument", "a timeout of 0",
     "give seconds above 0"),
    ("negative time", lambda s: s.dgesv(A, B, timeout=-1), "InvalidArgument", "a timeout of -1"),
    ("no number for time", lambda s: s.dgesv(A, B, timeout=float("nan")), "InvalidArgument",
     "a timeout of nan"),
    ("a truth for time", lambda s: s.dgesv(A, B, timeout=True), "WrongType", "a timeout of True"),
    ("no number of seconds", lambda s: s.dgesv(A, B, timeout="5"), "WrongType", "a timeout of '5'"),
]  # fmt: skip


@pytest.mark.parametrize(
    "call, kind, parts", [(one[1], one[2], one[3:]) for one in WRONG], ids=[one[0] for one in WRONG]
)
def test_wrong(server, farcall, call, kind, parts):
    with pytest.raises(farcall.Error) as caught:
        call(server)
    error = caught.value
    assert type(error) is getattr(farcall, kind)
    assert (
        error.kind == "invalid-argument" and not error.retryable and isinstance(error, ValueError)
    )
    for part in parts:
        assert part in str(error)
    # The server is as well as before.
    assert server.square(3).y == 9


def test_submit_delivers_what_is_wrong_by_the_future(server, farcall):
    future = server.dgesv.submit(A)
    assert isinstance(future.exception(5), farcall.InvalidArgument)
    with pytest.raises(farcall.InvalidArgument, match="b: not given"):
        future.result()


def test_wrong_addresses(farcall, tmp_path):
    with pytest.raises(farcall.InvalidArgument, match="write unix:PATH"):
        farcall.connect("local host")
    with pytest.raises(farcall.Unreachable) as caught:
        farcall.connect(f"unix:{tmp_path}/nobody")
    assert isinstance(caught.value, ConnectionError)
    with pytest.raises(farcall.Unreachable):
        farcall.connect("farcall://127.0.0.1:1", timeout=5)
    with pytest.raises(farcall.InvalidArgument, match="private server"):
        farcall.connect("unix:/nowhere", arguments=["--quiet"])
    with pytest.raises(farcall.InvalidArgument, match="timeout"):
        farcall.connect("unix:/nowhere", timeout=0)


@pytest.mark.parametrize("timeout", [None, "3", True, float("nan"), -1])
def test_wrong_times_to_connect(farcall, timeout):
    with pytest.raises(
        farcall.InvalidArgument, match="connect: a timeout of .*; give seconds above 0"
    ):
        farcall.connect("unix:/nowhere", timeout=timeout)


def test_more_wrong_addresses(farcall, tmp_path):
    with pytest.raises(farcall.InvalidArgument, match='"" is not a server address'):
        farcall.connect("")
    with pytest.raises(farcall.InvalidArgument, match="contains a NUL"):
        farcall.connect("unix:/tmp\0/x")
    with pytest.raises(farcall.InvalidArgument, match="contains a NUL"):
        farcall.connect(files=["x\0.idl"])
    with pytest.raises(farcall.Unreachable, match="this is a directory, not a server"):
        farcall.connect(f"unix:{tmp_path}")


def test_the_environments_address_is_named(farcall, tmp_path, monkeypatch):
    monkeypatch.setenv("FARCALL_SERVER", f"unix:{tmp_path}/gone")
    with pytest.raises(
        farcall.Unreachable, match=r"address from: \$FARCALL_SERVER.*unset FARCALL_SERVER"
    ):
        farcall.connect()
    with pytest.raises(farcall.InvalidArgument, match="unset FARCALL_SERVER"):
        farcall.connect(program="/bin/true")
    monkeypatch.setenv("FARCALL_SERVER", "nonsense")
    with pytest.raises(farcall.InvalidArgument, match=r"not a server address.*\$FARCALL_SERVER"):
        farcall.connect()


def test_names_are_looked_for_as_they_are(server, farcall):
    for name in ("dge\0sv", "\ud800", "", "lapack/dgesv\0"):
        with pytest.raises(farcall.NotFound):
            server[name]
        assert name not in server
    with pytest.raises(farcall.NotFound, match="did you mean the module lapack?"):
        server.lapac


def test_a_timeout_says_how_long_and_for_what(server, farcall):
    for call in (
        lambda: server.pause(5, timeout=0.25),
        lambda: server.pause.submit(5, timeout=0.25).result(10),
    ):
        with pytest.raises(farcall.TimedOut, match=r"routine: behaviour/pause.*timeout: 0\.25 s"):
            call()


def test_private_servers_that_do_not_start(farcall, tmp_path):
    wrong = tmp_path / "wrong.idl"
    wrong.write_text("Module wrong;\nDefine f(IN int n OUT double x[n]) { }\n")
    with pytest.raises(farcall.Error, match="wrong.idl"):
        farcall.connect(files=wrong)
    with pytest.raises(farcall.Error, match="nosuch.idl"):
        farcall.connect(files=[tmp_path / "nosuch.idl"])
    with pytest.raises(farcall.Unavailable, match="FARCALL_PROGRAM"):
        farcall.connect(files=[wrong], program=tmp_path / "nosuch")
    with pytest.raises(
        farcall.Unavailable,
        match=(
            "neither an address nor an error .*program: /bin/true, ended by: exit status: "
            "0.*FARCALL_PROGRAM"
        ),
    ):
        farcall.connect(files=[wrong], program="/bin/true")


def test_a_wrong_token(farcall, tcp, tmp_path):
    token = tmp_path / "token"
    token.write_text("0" * 64 + "\n")
    token.chmod(0o600)
    with pytest.raises(farcall.PermissionDenied):
        farcall.connect(tcp.address, token_file=token)


def test_names_of_results_are_texts(farcall, server):
    with pytest.raises(farcall.Error, match='dgesv takes no argument "1"'):
        server.dgesv([[2.0]], [1.0], out={1: None})


def test_a_size_that_does_not_fit_names_its_array(farcall, tmp_path):
    (tmp_path / "short.idl").write_text(
        "Module short_;\nDefine total(IN short n, IN double x[n], OUT double t) { *t = n; }\n"
        "Define wide(IN int m, IN int8 n, IN double a[m][n], OUT double t) { *t = n; }\n"
    )
    with farcall.connect(files=[tmp_path / "short.idl"]) as server:
        with pytest.raises(farcall.InvalidArgument) as caught:
            server.total(np.zeros(40000))
        assert "40000 does not fit short" in str(caught.value)
        assert "axis 0 of x, which has 40000 elements" in str(caught.value)
        with pytest.raises(farcall.InvalidArgument, match="axis 1 of a, which is 2 x 200"):
            server.wide(np.zeros((2, 200)))
        assert server.total(np.zeros(4)) == 4.0
