"""Python files that are published: their functions are called from this process as any other
routine."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
PHYSICS = HERE / "routines/physics.py"


@pytest.fixture(scope="module")
def physics(farcall):
    with farcall.connect(files=[PHYSICS], timeout=60) as server:
        yield server


def publish(farcall, folder, text, name="mine.py", **more):
    """A private server with one file."""
    file = folder / name
    file.write_text(
        "import numpy as np\nfrom typing import Annotated\nfrom numpy.typing import NDArray\n"
        + textwrap.dedent(text)
    )
    return farcall.connect(files=[file], timeout=60, **more)


def test_arrays_and_scalars_come_and_go(physics):
    plate = np.zeros((5, 6))
    plate[2, 2] = 1.0
    after = physics.heat(plate, 1).result
    assert after.shape == (5, 6) and after[2, 2] == 0 and after[2, 3] == 0.25
    assert plate[2, 2] == 1.0
    assert physics.heat(plate, 1, kappa=0.125).result[2, 2] == 0.5
    r = physics.scalars(41, 1.5, 1 + 2j, True, "abc")
    assert tuple(r) == (42, 3.0, 1 - 2j, 0, "cba")


def test_results_have_the_names_of_a_named_tuple(physics):
    r = physics.fit(np.arange(3.0), np.ones(3))
    assert r.slope == 3.0 and r.line.dtype == np.float32 and r.line.shape == (4,)


def test_extents_come_with_the_results_up_to_a_bound(farcall, physics):
    x = np.array([0.0, 3.0, 1.0, 2.0])
    r = physics.peaks(x)
    assert r.result1.tolist() == [3.0, 2.0] and r.result2.tolist() == [1, 3] and r.found == 2
    assert physics.peaks(np.zeros(5)).result1.shape == (0,)
    assert physics.peaks(np.full(3000, 2.0)).result2.tolist() == list(range(3000))
    plate = np.arange(20.0).reshape(4, 5)
    assert np.array_equal(physics.corner(plate, 3, 2).result, plate[:3, :2])
    large = np.random.default_rng(2).random((400, 300))
    assert np.array_equal(physics.corner(large, 399, 1).result, large[:399, :1])
    with pytest.raises(farcall.RoutineFailed, match="both are found"):
        physics.uneven(x)


def test_the_first_line_of_the_docstring_describes(physics):
    assert "Explicit steps of the heat equation." in physics.heat.__doc__


@pytest.mark.skipif(sys.version_info < (3, 12), reason="there is no `type` statement")
def test_aliases_are_followed(farcall, tmp_path):
    text = (
        "type Of[T: np.generic] = np.ndarray[tuple[int], np.dtype[T]]\n"
        'type Vector = Annotated[Of[np.float64], "n"]\n'
    )
    with publish(
        farcall, tmp_path, text + "def double(x: Vector) -> Vector:\n    return 2 * x\n"
    ) as server:
        assert server.double(np.ones(2)).result.tolist() == [2.0, 2.0]


def test_an_interface_line_gives_names_and_modes(physics):
    x = np.arange(3.0)
    r = physics.scale(x, 2.0)
    assert r.before == 3.0 and list(r.x) == [0.0, 2.0, 4.0] and list(x) == [0.0, 1.0, 2.0]
    assert "Scales in place." in physics.scale.__doc__


def test_arguments_cannot_be_written_to(physics):
    assert physics.writable(np.ones(3)).result == 0


def test_an_argument_that_is_kept_ends_the_process_and_not_later_results(farcall, physics):
    with pytest.raises(farcall.RoutineExited) as ended:
        physics.keep(np.ones(3))
    assert "keeps its argument x" in str(ended.value) and "x.copy()" in str(ended.value)
    x = np.random.default_rng(3).random(5000)
    assert np.array_equal(physics.give_back(x).result, x)


def test_large_arrays_are_whole(physics):
    plate = np.random.default_rng(1).random((700, 900))
    assert np.array_equal(physics.heat(plate, 0).result, plate)
    assert np.array_equal(physics.heat(np.asfortranarray(plate), 0).result, plate)
    assert physics.heat(np.zeros((0, 3)), 0).result.shape == (0, 3)


@pytest.mark.parametrize(
    "name, argument, words",
    [
        (
            "wrong_shape",
            np.ones(3),
            ("result", "float64 of shape (2,)", "declared float64 of shape (3,)"),
        ),
        ("wrong_type", np.ones(3), ("result", "float32 of shape (3,)", "declared float64")),
        ("wrong_number", 1, ("'seven' (str)", "declared float64")),
        ("too_few", 1, ("a tuple of 1", "a tuple of 2 results")),
    ],
)
def test_results_that_differ_from_what_is_declared_are_named(
    farcall, physics, name, argument, words
):
    with pytest.raises(farcall.RoutineFailed) as failed:
        getattr(physics, name)(argument)
    assert all(word in str(failed.value) for word in (*words, f"physics/{name}"))


def test_an_exception_says_where_and_leaves_the_process_alive(farcall, physics):
    before = physics.process(0.0).result
    with pytest.raises(farcall.RoutineFailed) as failed:
        physics.heat(np.ones((3, 3)), -1)
    line = next(
        number
        for number, text in enumerate(PHYSICS.read_text().splitlines(), 1)
        if "raise ValueError" in text
    )
    assert f"ValueError: steps must not be negative ({PHYSICS}, line {line})" in str(failed.value)
    assert physics.process(0.0).result == before


def test_what_a_routine_may_not_open_is_said_to_be_granted(farcall, tmp_path):
    file = tmp_path / "curious.py"
    file.write_text(
        "import socket\n"
        "def look(network: int) -> int:\n"
        "    return socket.socket().fileno() if network else len(open('/etc/farcall-curious', "
        "'w').name)\n"
    )
    # A private server lets its user's code do what the user may, unless it is told otherwise.
    with farcall.connect(files=[file]) as server:
        assert server.look(1).result > 2
    with farcall.connect(files=[file], arguments=confined(tmp_path)) as server:
        for network in (0, 1):
            with pytest.raises(
                farcall.RoutineFailed, match="PermissionError.*line 3.*modules.curious.readable"
            ) as failed:
                server.look(network)
            assert ".writable and .network" in str(failed.value)


def confined(folder, more=""):
    """Arguments of a server that confines also what its own user publishes."""
    manifest = folder / "confined.toml"
    plugin = (
        '[[plugin]]\nname = "spawner-local"\nslot = "spawner"\n[plugin.options]\n'
        "limits.confine = true\n"
    )
    manifest.write_text(plugin + more)
    return ["--manifest", str(manifest)]


@pytest.mark.parametrize(
    "how", ["raise Mute()", "sys.stderr.close(); raise ValueError", "os.close(2); raise ValueError"]
)
def test_a_failure_that_cannot_be_told_is_no_success(farcall, tmp_path, how):
    text = f"""
        import os, sys
        class Mute(Exception):
            def __str__(self):
                raise RuntimeError("no words")
        def fails(n: int) -> float:
            {how}
        """
    with publish(farcall, tmp_path, textwrap.dedent(text)) as server:
        for _ in range(2):
            with pytest.raises(farcall.RoutineFailed, match="Mute|ValueError|OSError"):
                server.fails(5)


def test_a_stream_that_cannot_be_flushed_is_no_success(farcall, tmp_path):
    text = """
        import sys
        class Broken:
            def write(self, text):
                pass
            def flush(self):
                raise KeyError("no flush")
        def replaces(n: int) -> float:
            sys.stdout = Broken()
            return 1.0
        """
    with publish(farcall, tmp_path, textwrap.dedent(text)) as server:
        with pytest.raises(farcall.RoutineExited, match="status 70"):
            server.replaces(5)


@pytest.mark.parametrize(
    "declared, returned, words",
    [
        ('Annotated[NDArray[np.float64], "n, n"]', "np.ones(n)", "float64 of shape (3,)"),
        ("str", "n", "3 (int)"),
        ("str", "'a' + chr(0)", "a text with a NUL inside"),
        ("float", "'5'", "'5' (str)"),
    ],
)
def test_results_of_another_kind_are_refused(farcall, tmp_path, declared, returned, words):
    # What the module prints while it is looked into is no part of what it publishes.
    with publish(
        farcall, tmp_path, f"print('{{')\ndef f(n: int) -> {declared}:\n    return {returned}\n"
    ) as server:
        with pytest.raises(farcall.RoutineFailed) as failed:
            server.f(3)
    assert words in str(failed.value)


def test_no_number_changes_without_a_word(farcall, tmp_path):
    with publish(farcall, tmp_path, "def same(n: int) -> float:\n    return n\n") as server:
        assert server.same(2**53).result == 2.0**53
        with pytest.raises(farcall.RoutineFailed, match="does not fit float64"):
            server.same(2**53 + 1)


def test_the_end_of_the_process_is_one_calls(farcall, physics):
    with pytest.raises(farcall.RoutineExited, match="status 3"):
        physics.leave(3)
    with pytest.raises(farcall.RoutineCrashed, match="SIGABRT"):
        physics.crash(1)
    assert physics.process(0.0).result > 0


def test_calls_at_a_time_have_processes_and_random_numbers_of_their_own(physics):
    futures = [physics.draw.submit(1) for _ in range(4)]
    drawn = [future.result() for future in futures]
    processes = {r.result1 for r in drawn}
    assert len(processes) > 1 and os.getpid() not in processes
    assert len({r.result2 for r in drawn}) == 4 and len({r.result3 for r in drawn}) == 4


def test_an_endless_loop_meets_the_modules_limit(farcall, tmp_path):
    manifest = tmp_path / "farcall.toml"
    manifest.write_text(
        '[[plugin]]\nname = "spawner-local"\nslot = "spawner"\n[plugin.options]\n'
        "modules.mine.call_seconds_max = 1\n"
    )
    text = "def spin(x: int) -> int:\n    while True:\n        x += 1\n"
    with publish(farcall, tmp_path, text, arguments=["--manifest", str(manifest)]) as server:
        with pytest.raises(farcall.Error, match="second"):
            server.spin(1)


@pytest.mark.parametrize(
    "text, words",
    [
        (
            "def f(x: float, y) -> float:\n    return x",
            ("f: the argument y has no type", "mine.py:4", "write `y: float`"),
        ),
        ("def f(x: float):\n    return x", ("does not say what it returns", "mine.py:4")),
        ("def f(x: list) -> float:\n    return 0", ("x has the type list, which does not travel",)),
        ("import datetime\ndef f(x: datetime.datetime) -> int: return 0", ("d.isoformat()",)),
        ("import enum\nclass E(enum.IntFlag): A = 1\ndef f(x: E) -> int: return 0", ("write int",)),
        ("def f(x: bytes) -> int: return 0", ("NDArray[np.uint8]", "callers may pass bytes")),
        ("from typing import Set\ndef f(x: Set[int]) -> int: return 0", ("write a list",)),
        (
            "from typing import Union\ndef f(x: Union[int, str]) -> int: return 0",
            ("choose one type",),
        ),
        ("from typing import Any\ndef f(x: Any) -> int: return 0", ("say which type",)),
        ("from typing import Literal\ndef f(x: Literal['a']) -> int: return 0", ("write str",)),
        (
            "class DataFrame: pass\nDataFrame.__module__ = 'pandas.core'\n"
            "def f(x: DataFrame) -> int: return 0",
            ("callers may pass a DataFrame",),
        ),
        (
            'def f(x: float) -> Annotated[NDArray[np.float64], "k"]:\n    return 0',
            ("no argument says what k is",),
        ),
        (
            "def f(x: float) -> Annotated[NDArray[np.float64], 1]:\n    return 0",
            ("result does not say how large", "found <= n"),
        ),
        (
            'def f(n: int) -> Annotated[NDArray[np.float64], "2 <= n"]:\n    return 0',
            ("has the extent '2 <= n'",),
        ),
        (
            'def f(n: int) -> Annotated[NDArray[np.float64], "n <= 5"]:\n    return 0',
            ("n is an argument and a result",),
        ),
        ("def f(*x: float) -> float:\n    return 0", ("any number of arguments",)),
        (
            "async def f(x: float) -> float:\n    return x",
            ("f: it does not return its results", "ordinary function", "mine.py:4"),
        ),
        (
            "def f(x: int = 10**30) -> float:\n    return 0",
            ("cannot be left out", "64 bits", "mine.py:4"),
        ),
        ("def f(x: float -> float:\n    return 0", ("SyntaxError", "mine.py:4")),
        (
            "\nimport nothing_of_that_name\n",
            ("ModuleNotFoundError", "mine.py:5", "pip install nothing_of_that_name"),
        ),
        ("\n1/0\n", ("ZeroDivisionError", "mine.py:5")),
        ("import os\nos._exit(7)\n", ("exit status: 7",)),
        (
            "def f(register: float, register_: int) -> float:\n    return 0\n"
            "def g(string: int) -> int:\n    return 0",
            ("string",),
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(farcall, tmp_path, text, words):
    with pytest.raises((farcall.InvalidSource, farcall.Unavailable)) as refused:
        publish(farcall, tmp_path, text)
    assert all(word in str(refused.value) for word in words), str(refused.value)


def test_a_file_may_import_what_lies_beside_it(farcall, tmp_path):
    (tmp_path / "beside.py").write_text("FACTOR = 3\n")
    with publish(
        farcall,
        tmp_path,
        "import beside\ndef times(x: int) -> int:\n    return beside.FACTOR * x\n",
    ) as server:
        assert server.times(4).result == 12


def test_a_file_that_reads_its_input_finds_the_end(farcall, tmp_path):
    text = (
        "import sys\nREAD = sys.stdin.read()\ndef length(x: int) -> int:\n"
        "    return len(READ) + len(sys.stdin.read())\n"
    )
    with publish(farcall, tmp_path, text) as server:
        assert server.length(1).result == 0


def command(*words, address=None, status=0):
    """Runs the program, and returns what it prints."""
    from farcall._library import find

    environment = dict(os.environ, FARCALL_PYTHON=sys.executable)
    if address:
        environment["FARCALL_SERVER"] = address
    done = subprocess.run(
        [find("FARCALL_PROGRAM", "bin", "farcall"), *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def test_the_shell_calls_and_checks(physics):
    assert "42" in command(
        "call", "scalars", "41", "1.5", "1+2j", "1", "abc", address=physics.address
    )
    said = command("check", str(PHYSICS))
    assert (
        "physics/heat" in said
        and "warning" in said
        and "without_hints is left out" in said
        and "_private" not in said
    )
    assert "with the warnings above" in said and "no mistakes" not in said


@pytest.mark.parametrize("link", [[], ["--link"]])
def test_a_file_that_publishes_nothing_is_not_called_good(tmp_path, link):
    for text, left_out in (("def double(x):\n    return 2 * x\n", 1), ("X = 1\n", 0)):
        (tmp_path / "plain.py").write_text(text)
        said = command("check", *link, str(tmp_path / "plain.py"))
        assert said.count("double is left out: it has no type hints\n") == left_out
        assert said.count("plain.py publishes nothing: no function of it has type hints\n") == 1
        assert "plain.py: module plain, with the warnings above\n" in said


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_c_calls(physics, tmp_path):
    from farcall._library import LIBRARY_NAME, find

    library = pathlib.Path(find("FARCALL_LIBRARY", "lib", LIBRARY_NAME)).parent
    (tmp_path / "call.c").write_text(C_PROGRAM)
    folders = [f"-I{library.parent}/include", f"-L{library}", f"-Wl,-rpath,{library}"]
    words = ["cc", "-o", tmp_path / "call", tmp_path / "call.c", *folders, f"-l:{LIBRARY_NAME}"]
    subprocess.run(words, check=True, timeout=60)
    done = subprocess.run(
        [tmp_path / "call", physics.address], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0.25\n2 of 4: 3 2\nroutine-failed\n"


C_PROGRAM = r"""
#include <farcall.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    farcall_client *client;
    farcall_error *error = NULL;
    double plate[9] = {0, 0, 0, 0, 1, 0, 0, 1, 0}, after[9], x[4] = {0, 3, 1, 2}, values[4];
    int64_t found, places[4];
    if (argc < 2 || farcall_connect(argv[1], &client, &error))
        return 1;
    if (farcall_call(client, &error, "heat", 3, 3, plate, 1, 0.25, after))
        return fprintf(stderr, "%s\n", farcall_error_message(error)), 2;
    printf("%g\n", after[4]);
    if (farcall_call(client, &error, "peaks", 4, x, &found, values, places))
        return fprintf(stderr, "%s\n", farcall_error_message(error)), 3;
    printf("%d of 4: %g %g\n", (int)found, values[0], values[1]);
    farcall_call(client, &error, "heat", 3, 3, plate, -1, 0.25, after);
    puts(farcall_error_kind(error) == FARCALL_ROUTINE_FAILED ? "routine-failed" : "another end");
    farcall_error_free(error);
    farcall_disconnect(client);
    return 0;
}
"""


def test_an_edit_shows_with_a_reload_and_drops_no_call(farcall, tmp_path):
    text = (
        "import time\ndef version(seconds: float) -> int:\n    time.sleep(seconds)\n    return {}\n"
    )
    with publish(farcall, tmp_path, text.format(1)) as server:
        assert server.version(0.0).result == 1
        (tmp_path / "mine.py").write_text(text.format(2))
        # Not yet, in no process.
        running = [server.version.submit(0.5) for _ in range(3)]
        assert [one.result().result for one in running[:1]] == [1]
        running = [server.version.submit(1.0) for _ in range(3)]
        command("reload", "mine", address=server.address)
        assert server.version(0.0).result == 2
        assert [one.result().result for one in running] == [1, 1, 1]
        (tmp_path / "mine.py").write_text("def version(:\n")
        assert "SyntaxError" in command("reload", address=server.address, status=1)
        assert server.version(0.0).result == 2


def test_an_interpreter_that_cannot_serve_is_named(farcall, tmp_path):
    for python, words in [
        (tmp_path / "none", "no such program"),
        (bare(tmp_path), "has no farcall"),
    ]:
        with pytest.raises(farcall.Unavailable) as refused:
            publish(
                farcall,
                tmp_path,
                "def f(x: int) -> int:\n    return x\n",
                arguments=["--python", str(python)],
            )
        assert (
            words in str(refused.value)
            and str(python) in str(refused.value)
            and "pip install" in str(refused.value)
        )


def bare(folder):
    """An interpreter without packages."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", folder / "bare"], check=True, timeout=60
    )
    return folder / "bare/bin/python"


def test_the_environment_beside_the_file_comes_first(farcall, tmp_path):
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True, timeout=60
    )
    link = (
        tmp_path
        / ".venv/lib"
        / f"python{sys.version_info[0]}.{sys.version_info[1]}/site-packages/here.pth"
    )
    # What this interpreter has, the other one has, too: elsewhere, so it must be granted.
    elsewhere = [path for path in sys.path if path.endswith("site-packages")]
    link.write_text("\n".join(elsewhere) + "\n")
    text = "import sys\ndef where(x: int) -> str:\n    return sys.prefix\n"
    with pytest.raises(farcall.Unavailable, match="modules.NAME.readable"):
        publish(farcall, tmp_path, text, arguments=confined(tmp_path))
    granted = confined(tmp_path, f"modules.mine.readable = {json.dumps(elsewhere)}\n")
    with publish(farcall, tmp_path, text, arguments=granted) as server:
        assert server.where(1).result == str(tmp_path / ".venv")
    # On a private server nothing has to be granted.
    with publish(farcall, tmp_path, text) as server:
        assert server.where(1).result == str(tmp_path / ".venv")


def test_paths_are_files_there_and_back(farcall, physics, tmp_path):
    (tmp_path / "text").write_text("abc")
    r = physics.upper(tmp_path / "text", 2)
    assert (r.result1, r.result2) == (b"ABCABC", 3)
    r = physics.upper(b"x" * 100_000, 3, result1=tmp_path / "made")
    assert r.result1 == tmp_path / "made" and r.result1.read_bytes() == b"X" * 300_000
    log = tmp_path / "log"
    log.write_text("one\n")
    assert physics.append(log, "two").log == log and log.read_text() == "one\ntwo\n"
    with pytest.raises(farcall.RoutineFailed, match="/nowhere.* which is not the path of a file"):
        physics.nowhere()


def test_what_is_declared_bool_is_true_or_false(farcall, tmp_path):
    file = tmp_path / "truth.py"
    file.write_text(
        "import numpy as np\n"
        "def said(n: int) -> bool:\n"
        "    return [True, False, 1, 0, np.True_, np.False_, np.int32(1), 5, -1, 1.0, 'yes', "
        "None][n]\n"
    )
    with farcall.connect(files=[file]) as server:
        assert [server.said(n).result for n in range(7)] == [1, 0, 1, 0, 1, 0, 1]
        for n, wrong in enumerate(
            ("5 (int)", "-1 (int)", "1.0 (float)", "'yes' (str)", "None (NoneType)"), 7
        ):
            with pytest.raises(farcall.RoutineFailed) as failed:
                server.said(n)
            assert (
                f"it returned {wrong} as result, which is declared bool; return True or False"
                in str(failed.value)
            )


def test_what_an_exception_says_commands_no_terminal(farcall, tmp_path):
    file = tmp_path / "red.py"
    file.write_text(
        "def red(n: int) -> int:\n    raise ValueError('\\x1b[31mred\\x07\\nand more')\n"
    )
    with farcall.connect(files=[file]) as server, pytest.raises(farcall.RoutineFailed) as failed:
        server.red(1)
    assert "\x1b" not in str(failed.value) and "\\x1b[31mred\\x07\nand more" in str(failed.value)


def test_a_function_that_cannot_be_published_costs_itself(farcall, tmp_path):
    text = (
        "def square(x: float) -> float:\n    return x * x\n"
        "def plot(axes: object, x: float) -> None:\n    axes.plot([x])\n"
        "def untyped(x, y: float) -> float:\n    return x\n"
        "@farcall.routine('scale(IN int n)')\ndef scale(n):\n    pass\n"
    )
    with publish(farcall, tmp_path, "import farcall\n" + text) as server:
        assert server.square(3.0) == 9.0 and server.routines() == ["mine/square"]
    said = command("check", str(tmp_path / "mine.py"))
    for name, why in {
        "plot": "axes has the type object, which does not travel (line 7); say which type",
        "untyped": "the argument x has no type (line 9)",
        "scale": "its interface does not begin with Define (line 1",
    }.items():
        assert said.count(f"{name} is left out: {why}") == 1, said


def test_a_line_of_its_own_with_results_of_any_size(farcall, tmp_path):
    text = """import farcall
import numpy as np

LINE = "Define few(IN int64 n, IN int64 said, OUT int64 k, OUT double x[n : k][2 : k] column)"


@farcall.routine(LINE)
def few(n, said):
    return said, np.ones((min(n, 2), min(n, 2)), order="F")
"""
    with publish(farcall, tmp_path, text) as server:
        r = server.few(n=5, said=2)
        assert r.k == 2 and r.x.tolist() == [[1, 1], [1, 1]]
        with pytest.raises(farcall.RoutineFailed, match="returned 3 as k.* has 2 elements"):
            server.few(n=5, said=3)


def test_a_routine_that_a_method_of_the_server_hides(farcall, tmp_path):
    with publish(farcall, tmp_path, "def query(x: float) -> float:\n    return 2 * x\n") as server:
        assert server["query"](2.0).result == 4.0 and server.mine.query(3.0).result == 6.0
