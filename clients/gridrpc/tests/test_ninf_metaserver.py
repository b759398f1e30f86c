"""Programs with transactions of the first Ninf, in C and FORTRAN 77: built once, and run as they are at
a server alone and at a metaserver that others have joined. Both have the same results."""

import contextlib
import operator
import os
import pathlib
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
NG = STAGE / "ng"
OLD = pathlib.Path(__file__).with_name("old") / "ninf-1/client"
# What the programs call.
LINALG = """Module linalg;
Define dmmul(IN int n, IN double A[n][n], IN double B[n][n], OUT double C[n][n])
{
    int i, j, k;
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            for (C[i * n + j] = 0, k = 0; k < n; k++)
                C[i * n + j] += A[i * n + k] * B[k * n + j];
}
Define dscale(IN int n, IN double f, INOUT double A[n][n])
{
    int i;
    for (i = 0; i < n * n; i++)
        A[i] *= f;
}
Define ep(IN int n, IN int seed, OUT int *inside)
{
    int i;
    srand48(seed);
    for (*inside = 0, i = 0; i < n; i++) {
        double x = drand48(), y = drand48();
        *inside += x * x + y * y < 1;
    }
}
"""
FORTRAN = """      PROGRAM TRANS
      INTEGER NINF_CALL, NINF_TRANSACTION_BEGIN, NINF_TRANSACTION_END
      INTEGER NINF_TRANSACTION_TEMPORARY, NINF_CHECK_IN, NINF_CHECK_OUT
      INTEGER N, I, J, K
      PARAMETER (N = 40)
      DOUBLE PRECISION A(N,N), B(N,N), C(N,N), D(N,N), E(N,N)
      INTEGER IN(6)
      COMMON /ARRAYS/ A, B, C, D, E, IN
      DO 20 J = 1, N
         DO 10 I = 1, N
            A(I,J) = I - J
            B(I,J) = MOD(I * J, 7)
            E(I,J) = 0
   10    CONTINUE
   20 CONTINUE
C     E needs both C and D, which do not come here.
      IF (NINF_TRANSACTION_BEGIN() .NE. 0) STOP 1
      K = NINF_CALL('dmmul()', N, A, B, C)
      K = NINF_CALL('dmmul()', N, B, A, D)
      K = NINF_CALL('dscale()', N, 0.25D0, D)
      K = NINF_CALL('dmmul()', N, C, D, E)
      K = NINF_CALL('dscale()', N, 2D0, E)
      K = NINF_TRANSACTION_TEMPORARY(C)
      K = NINF_TRANSACTION_TEMPORARY(D)
      IF (E(1,1) .NE. 0D0) STOP 2
      IF (NINF_TRANSACTION_END() .NE. 0) STOP 3
      PRINT '(5F16.2)', (E(I,I), I = 1, N)
C     Calls that need nothing of one another.
      IF (NINF_CHECK_IN() .NE. 0) STOP 4
      DO 30 I = 1, 6
         K = NINF_CALL('ep()', 1000, I, IN(I))
   30 CONTINUE
      IF (NINF_CHECK_OUT() .NE. 0) STOP 5
      PRINT '(6I6)', IN
C     One that fails: what needs nothing of it has run.
      IF (NINF_TRANSACTION_BEGIN() .NE. 0) STOP 6
      K = NINF_CALL('ep()', 2000, 1, IN(1))
      K = NINF_CALL('nowhere()', 1)
      PRINT '(2I6)', NINF_TRANSACTION_END(), IN(1)
      END
"""
MEMBERS = 2
# Of 1000 points, seeds 1 to 6; and of 2000, seed 1.
INSIDE = [776, 782, 793, 778, 803, 759]
INSIDE_OF_MORE = 1556


def variables(folder):
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FARCALL_", "NG_", "NINF_", "MAKE"))
    }
    return environment | {
        "PATH": f"{STAGE / 'bin'}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": str(STAGE / "lib"),
        "XDG_RUNTIME_DIR": str(folder),
        "HOME": str(folder),
        "LC_ALL": "C",
    }


def run(folder, *command, **more):
    return subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=variables(folder) | more,
        capture_output=True,
        text=True,
        timeout=120,
    )


@contextlib.contextmanager
def serving(folder, *words):
    """A server that ends with this; its address."""
    command = [STAGE / "bin/farcall", "serve", "--private", *words]
    with subprocess.Popen(
        list(map(str, command)),
        cwd=folder,
        env=variables(folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        yield server.stdout.readline().strip()
        server.stdin.close()
        server.wait(30)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A folder with both programs, and what they call."""
    folder = tmp_path_factory.mktemp("ninf")
    folder.chmod(0o700)
    (folder / "linalg.idl").write_text(LINALG)
    (folder / "trans.f").write_text(FORTRAN)
    for command in (
        ["ninfcc", "-o", "c", OLD / "trans.c"],
        ["ninff77", "-o", "fortran", "trans.f"],
    ):
        done = run(folder, NG / "bin" / command[0], *command[1:])
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module", params=["alone", "joined"])
def server(request, tree):
    """What programs of that time were told of a server: host and port."""
    with contextlib.ExitStack() as stack:

        def begin(name, file, *words):
            (tree / name).mkdir(exist_ok=True)
            return stack.enter_context(serving(tree / name, *words, "--", file))

        own = tree / f"{request.param}.socket"
        (tree / "nothing.idl").write_text(
            "Module nothing;\nDefine nothing(OUT int *r) { *r = 1; }\n"
        )
        is_alone = request.param == "alone"
        address = begin(
            request.param,
            tree / ("linalg.idl" if is_alone else "nothing.idl"),
            *("--listen", "tcp:127.0.0.1:0", "--token-file", tree / "token"),
            *("--listen", f"unix:{own}"),
        )
        for number in range(0 if is_alone else MEMBERS):
            begin(f"member-{number}", tree / "linalg.idl", "--join", f"unix:{own}")
        until = time.monotonic() + 60
        while "linalg/ep" not in (
            said := run(tree, "farcall", "ls", "--server", f"unix:{own}").stdout
        ):
            assert time.monotonic() < until, said
            time.sleep(0.1)
        host, port = address.removeprefix("farcall://").rsplit(":", 1)
        yield {"NINF_SERVER": host, "NINF_SERVER_PORT": port, "FARCALL_TOKEN_FILE": f"{tree}/token"}


def fortran_prints():
    """The diagonal of E, how many points of each seed are inside, and the status of the last one with
    what came of its first call."""
    n = 40
    # The memory of the Fortran program's arrays, as C sees it.
    a = [[j - i for j in range(n)] for i in range(n)]
    b = [[(i + 1) * (j + 1) % 7 for j in range(n)] for i in range(n)]
    e = times(times(a, b), times(b, a))
    return [0.25 * 2 * e[k][k] for k in range(n)] + INSIDE + [-1, INSIDE_OF_MORE]


def times(one, other):
    columns = list(zip(*other))
    return [[sum(map(operator.mul, row, column)) for column in columns] for row in one]


def test_of_c(tree, server):
    """It checks its results itself."""
    done = run(tree, "./c", **server)
    assert (done.returncode, done.stdout) == (0, "trans: OK\n"), done.stdout + done.stderr


def test_of_fortran(tree, server):
    done = run(tree, "./fortran", **server)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(map(float, done.stdout.split())) == fortran_prints(), done.stderr
