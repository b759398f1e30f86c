"""A notebook without a browser: cells run in a real kernel, where one is installed."""

import os
import pathlib
import sys

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

HERE = pathlib.Path(__file__).resolve().parent
BEHAVIOUR = HERE / "routines/behaviour.idl"


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """Runs cells, and gives what each has put out: texts, and the last line of errors."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    kernels = tmp_path / "data/kernels/python3"
    kernels.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    text = '{"argv": [%s], "display_name": "Python 3", "language": "python"}'
    (kernels / "kernel.json").write_text(text % ", ".join(f'"{word}"' for word in argv))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "data"))
    monkeypatch.delenv("FARCALL_SERVER", raising=False)

    def run(*cells):
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in cells])
        client = nbclient.NotebookClient(
            book, timeout=60, kernel_name="python3", allow_errors=True,
            resources={"metadata": {"path": str(tmp_path)}},
        )  # fmt: skip
        client.execute()
        return [cell.outputs for cell in book.cells]

    return run


def shown(outputs):
    """What a cell shows as text."""
    data = [one["data"] for one in outputs if "data" in one]
    return data[-1]["text/plain"]


CONNECT = f"import farcall\nserver = farcall.connect(files=[{os.fspath(BEHAVIOUR)!r}])"


def test_results_futures_and_servers_show_what_they_are(notebook):
    connected, routine, result, future, html = notebook(
        CONNECT,
        "server.square",
        "server.square(3.0)",
        "server.square.submit(3.0)",
        "server",
    )
    assert connected == []
    assert shown(routine).startswith("square(x")
    assert shown(result) == "Results(y=9.0)"
    assert "CallFuture of behaviour/square" in shown(future)
    assert "square" in html[-1]["data"]["text/html"]


def test_tab_offers_routines(notebook):
    _, names, keys = notebook(
        CONNECT,
        "get_ipython().Completer.use_jedi = False\n"
        "get_ipython().complete('server.squ', 'server.squ')[1]",
        "get_ipython().complete('server[\"behaviour/sq', 'server[\"behaviour/sq')[1]",
    )
    assert "square" in shown(names)
    assert "behaviour/square" in shown(keys)


def test_a_traceback_ends_in_the_callers_line(notebook):
    _, failed = notebook(CONNECT, "x = 1\nserver.square('no number')\nx = 2")
    (error,) = failed
    assert error["output_type"] == "error" and error["ename"] == "WrongType"
    assert "site-packages" not in "".join(error["traceback"])
    assert len("\n".join(error["traceback"]).splitlines()) < 10


def test_a_function_of_a_cell_is_published(notebook):
    *_, result, again, within = notebook(
        CONNECT,
        "import math\nSCALE = 10",
        "def scaled(x: float) -> float:\n    return math.floor(x) * SCALE",
        "scaled = server.publish(scaled)\nscaled(2.5)",
        "SCALE = 100\ndef scaled(x: float) -> float:\n    return x * SCALE\n"
        "scaled = server.publish(scaled)\nscaled(2.0).result",
        "def twice(x: float) -> float:\n    return 2 * scaled(x)\n"
        "twice = server.publish(twice)\ntwice(2.0).result",
    )
    assert shown(result) == "Results(result=20.0)"
    # The newest definition counts, also of what it needs.
    assert shown(again) == "200.0"
    # Names that stand for what was published are those of the functions to others.
    assert shown(within) == "400.0"


def test_a_call_that_waits_says_so_below_its_cell(notebook, tmp_path):
    (tmp_path / "farcall.toml").write_text(
        '[[plugin]]\nname = "rpc-server"\nslot = "rpc"\noptions = { executables_max = 1 }\n'
    )
    connect = CONNECT.replace("])", "], arguments=['--manifest', 'farcall.toml'])")
    _, waited = notebook(connect, "first = server.pause.submit(2.5)\nserver.pause(0.1).slept")
    said = "".join(one["text"] for one in waited if one["output_type"] == "stream")
    assert said.startswith("farcall: behaviour/pause waits in the queue: ")
    assert said.count("\n") == 1
