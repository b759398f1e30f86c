"""What `progress=True` shows: a line of a terminal, a bar in a notebook, nothing where nobody
looks."""

import io
import os
import pathlib
import pty
import subprocess
import sys
import types

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples/progress/anneal.idl"


@pytest.fixture(scope="module")
def anneal(farcall):
    with farcall.connect(files=[EXAMPLE], timeout=60) as server:
        yield server.anneal.anneal


def test_a_terminal_has_a_line_that_changes():
    here, there = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key != "FARCALL_SERVER"}
    program = subprocess.Popen(
        [sys.executable, ROOT / "examples/progress/anneal.py", "20"],
        stdout=subprocess.PIPE,
        stderr=there,
        env=environment,
    )
    os.close(there)
    said = b""
    try:
        while True:
            said += os.read(here, 4096)
    except OSError:
        # Nobody has the other end any more.
        pass
    out, _ = program.communicate(timeout=60)
    os.close(here)
    lines = said.decode().split("\r")
    assert b"Results(energy=" in out
    assert any("of 20" in line and "[" in line and "%" in line for line in lines), said
    assert "anneal 100 %" in said.decode() and said.endswith(b"\n")
    assert max(map(len, lines)) <= 80


def test_nobody_looks_at_a_file(anneal, capfd):
    assert anneal(3, progress=True).energy < 1
    assert capfd.readouterr().err == ""


def test_it_may_be_forced_and_forbidden(anneal, monkeypatch):
    heard = io.StringIO()
    monkeypatch.setattr(sys, "stderr", heard)
    monkeypatch.setenv("FARCALL_PROGRESS", "1")
    anneal(5, progress=True)
    assert "step 1 of 5" in heard.getvalue() and "100 %" in heard.getvalue()
    call = anneal.submit(5, progress=True)
    call.result(30)
    assert heard.getvalue().count("100 %") == 2
    heard.truncate(0)
    monkeypatch.setenv("FARCALL_PROGRESS", "0")
    anneal(2, progress=True)
    anneal(2, progress=False)
    assert heard.getvalue() == ""


def test_a_notebook_has_a_bar_in_its_cell(anneal, monkeypatch):
    shown = []

    class Handle:
        def update(self, what):
            shown.append(("update", what))

    def display(what, display_id):
        assert display_id is True
        shown.append(("display", what))
        return Handle()

    ipython, place = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    place.display, place.HTML = display, str
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", place)
    anneal(10, progress=True)
    kinds = [kind for kind, _ in shown]
    assert kinds[0] == "display" and set(kinds[1:]) == {"update"} and len(kinds) > 3
    assert (
        shown[-1][1].startswith('<progress value="1.0000" max="1"')
        and "step 1 of 10" in shown[0][1]
    )


def test_a_bar_says_what_a_call_waits_for_until_it_begins(farcall, monkeypatch):
    from farcall import _bars

    heard = io.StringIO()
    monkeypatch.setattr(sys, "stderr", heard)
    monkeypatch.setattr(_bars, "_DRAW_EVERY_SECONDS", 0)
    monkeypatch.setenv("FARCALL_PROGRESS", "1")
    bar = _bars.Bar("far/rest")
    bar(farcall.Progress("queued", before=3))
    assert heard.getvalue() == ""
    bar(farcall.Progress("queued", text="waits for job 7 of slurm"))
    bar(farcall.Progress("running"))
    bar(farcall.Progress("running", done=0.5, text="half"))
    _, waits, begins, half = heard.getvalue().split("\r")
    assert "waits for job 7 of slurm" in waits and "waits" not in begins and "half" in half


def test_lines_never_wrap_and_words_are_words():
    from farcall._bars import line_of, page

    for columns in range(120):
        assert len(line_of("name", 0.3, "some words", 7.0, columns)) <= columns
    assert line_of("f", 0.5, "words", 4.0, 79).endswith("] 4 s left, words")
    assert "&lt;b&gt;" in page("f", 0.5, "<b>")


def test_real_ipython(anneal):
    pytest.importorskip("ipykernel")
    program = (
        f"import farcall; farcall.connect(files=[{str(EXAMPLE)!r}]).anneal.anneal(10, "
        "progress=True)"
    )
    client = pytest.importorskip("jupyter_client")
    manager, kernel = client.manager.start_new_kernel()
    heard, errors, interrupted = [], [], []

    def interrupt(one):
        if one["msg_type"] == "update_display_data" and not interrupted:
            interrupted.append(manager.interrupt_kernel())
        elif one["msg_type"] == "error":
            errors.append(one["content"]["ename"])

    try:
        kernel.execute_interactive(program, timeout=60, output_hook=heard.append)
        kernel.execute_interactive(
            program.replace("(10,", "(10_000,"), timeout=60, output_hook=interrupt
        )
    finally:
        kernel.stop_channels()
        manager.shutdown_kernel(now=True)
    assert errors == ["KeyboardInterrupt"]
    assert any(
        one["msg_type"] == "update_display_data"
        and "<progress" in one["content"]["data"]["text/html"]
        for one in heard
    )
