"""The notebook user: the page's cells from top to bottom in a real kernel, with Tab, tables, an
interrupt, mistakes and a restart."""

import pathlib
import re
import textwrap

import pytest
from walking import Page, eventually

pytest.importorskip("ipykernel")

from notebooks import Notebook  # noqa: E402  (it needs the package)

PAGE = Page("how-to/notebook.md")
# The lines of a traceback that a user reads without scrolling.
LINES_MAX = 25


@pytest.fixture
def notebook(place):
    notebook = Notebook(place)
    yield notebook
    notebook.close()


def cells():
    """The page's cells in their order, each with what stands below it."""
    for block in PAGE.blocks:
        if block.language == "pycon":
            lines = block.body.splitlines()
            code = [line[4:] for line in lines if line.startswith((">>> ", "... "))]
            shown = [line for line in lines if not line.startswith((">>>", "..."))]
            yield "\n".join(code), "\n".join(shown)
        elif block.language == "python":
            # As the page says: the function's lines directly.
            imports, body = re.search(
                r"(.*?)\n\n\nasync def cell\(\):.*?\n(.*?)\n\n", block.body, flags=re.S
            ).groups()
            yield f"{imports}\n{textwrap.dedent(body)}", None


def descendants(pid):
    """All processes that came from one."""
    parents = {}
    for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            number, rest = file.parent.name, file.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if rest[0] != "Z":
            parents.setdefault(rest[1], []).append(number)
    found, new = set(), {str(pid)}
    while new:
        new = {child for one in new for child in parents.get(one, ())} - found
        found |= new
    return found


def runs(pids):
    """Those that are there, and no zombies."""
    return {pid for pid in pids if pathlib.Path(f"/proc/{pid}/exe").exists()}


def connect(notebook):
    """The page's first cells."""
    for code, _ in list(cells())[:2]:
        assert notebook.run(code).error is None


def test_the_cells_of_the_page_from_top_to_bottom(notebook):
    for code, shown in cells():
        cell = notebook.run(code)
        assert cell.error is None, cell.traceback
        if shown is None:
            assert re.fullmatch(r"\[(\[.*?\](, )?){4}\]\n", cell.printed), cell.printed
        else:
            assert cell.text() == shown, code


def test_tab_and_tables(notebook):
    connect(notebook)
    assert {"server.lapack", "server.blas", "server.dgesv"} <= {
        "server." + one.rpartition(".")[2] for one in notebook.tab("server.")
    }
    assert any(one.endswith("dgesv") for one in notebook.tab("server.lapack.dge"))
    assert any("lapack/dgesv" in one for one in notebook.tab('server["lapack/'))
    catalog = notebook.run("server").html()
    assert "<table" in catalog and "dgesv" in catalog and "<details" in catalog
    module = notebook.run("server.lapack").html()
    assert "dgesv" in module and "daxpy" not in module
    routine = notebook.run("server.dgesv").html()
    assert "<table" in routine and "float64" in routine
    shown = notebook.help("server.dgesv")
    assert "A call takes about" in shown and "ipiv" in shown, shown
    assert "ipiv" in notebook.run("help(server.dgesv)").printed
    future = notebook.run("server.dgesv.submit(A, b)").text()
    assert "dgesv" in future


def lines_shown(cell):
    """The line of each frame of a traceback."""
    return re.findall(r"^-+> \d+ (.*)$", cell.traceback, flags=re.M)


SLEEPER = """
import time


def doze(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


doze = server.publish(doze)
doze(0.01)
"""


def test_an_interrupt_cancels_the_call_and_keeps_the_connection(place, notebook):
    connect(notebook)
    assert notebook.run(SLEEPER).error is None
    address = notebook.run("print(server.address)").printed.strip()

    status = f"farcall top --once --json --server {address}"
    waits = notebook.begin("before = 1\ndoze(1000.0)\nafter = 1")
    eventually(lambda: '"stage":"running"' in place.run(status))
    notebook.interrupt()
    cell = notebook.end(waits)
    assert cell.error == "KeyboardInterrupt"
    assert cell.traceback.count("\n") < LINES_MAX, cell.traceback
    assert lines_shown(cell) == ["doze(1000.0)"], cell.traceback
    eventually(lambda: '"calls_open":0' in place.run(status))
    assert notebook.run("float(doze(0.02))").text() == "0.02"
    # A call that a future stands for is one's own to cancel.
    notebook.run("call = doze.submit(1000.0)")
    waits = notebook.begin("call.result()")
    eventually(lambda: '"stage":"running"' in place.run(status))
    notebook.interrupt()
    cell = notebook.end(waits)
    assert cell.error == "KeyboardInterrupt" and lines_shown(cell) == ["call.result()"]
    assert notebook.run("call.cancel()").text() == "True"
    eventually(lambda: '"calls_open":0' in place.run(status))


# What a user types, and the error that it gives.
MISTAKES = [
    ("server.dgesv('no matrix', b)", "WrongType"),
    ("server.dgesv(A)", "InvalidArgument"),
    ("server.dgsev(A, b)", "NotFound"),
    ("server.dgesv(A, np.ones(3))", "InvalidArgument"),
    ("server.dgesv.submit(A, 'x').result()", "WrongType"),
    ("await server.dgesv.aio(A, 'x')", "WrongType"),
    ("server['nowhere/dgesv']", "NotFound"),
    ("server.publish(3)", "WrongType"),
    ("fails(1.0)", "RoutineFailed"),
    ("farcall.connect('unix:nowhere')", "Unreachable"),
]


def test_a_mistake_ends_in_the_line_that_made_it(notebook):
    connect(notebook)
    notebook.run(
        "def fails(x: float) -> float:\n    raise ValueError('no good')\n\n\n"
        "fails = server.publish(fails)"
    )
    for line, error in MISTAKES:
        cell = notebook.run(f"x = 1\n{line}\nx = 2")
        assert cell.error == error, cell.traceback
        assert cell.traceback.count("\n") < LINES_MAX, cell.traceback
        assert lines_shown(cell) == [line], cell.traceback


def test_a_restart_leaves_no_server(notebook):
    connect(notebook)
    notebook.run(SLEEPER)
    notebook.run("call = doze.submit(1000.0)")
    started = eventually(lambda: descendants(notebook.pid()))
    notebook.restart()
    eventually(lambda: not runs(started))
    connect(notebook)
    assert notebook.run("server.dgesv(A, b).info").text() == "0"
