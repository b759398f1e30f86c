"""The line of a call that waits in the queue."""

import os
import pathlib
import pty
import subprocess
import sys
import textwrap

import pytest

BEHAVIOUR = pathlib.Path(__file__).parent / "routines/behaviour.idl"
PROGRAM = """
    import sys, farcall

    with farcall.connect(files=[sys.argv[1]], arguments=["--manifest", "farcall.toml"]) as server:
        first = server.pause.submit({first})
        {second}
        first.result()
"""
MANIFEST = """
[[plugin]]
name = "rpc-server"
slot = "rpc"
options = { executables_max = 1 }
"""


def said(folder, second, first=2.5, on_terminal=True, **environment):
    """What a program prints to its standard error, a terminal or a pipe."""
    (folder / "farcall.toml").write_text(MANIFEST)
    program = folder / "program.py"
    program.write_text(textwrap.dedent(PROGRAM.format(first=first, second=second)))
    ours, theirs = pty.openpty() if on_terminal else os.pipe()
    done = subprocess.run(
        [sys.executable, program, BEHAVIOUR],
        stderr=theirs,
        cwd=folder,
        timeout=60,
        env=dict(os.environ, **environment),
    )
    os.close(theirs)
    text = b""
    try:
        while more := os.read(ours, 65536):
            text += more
    except OSError:
        # A terminal without a program on its other side.
        pass
    os.close(ours)
    assert done.returncode == 0, text
    return text.decode().replace("\r", "")


def test_a_call_that_waits_says_so_once(tmp_path):
    line = said(tmp_path, "server.pause(0.1)")
    # The one before may not have begun when this one came.
    places = ("it is the next", "1 call before it")
    assert line in [f"farcall: behaviour/pause waits in the queue: {one}\n" for one in places]


def test_calls_that_run_in_the_background_say_so_together(tmp_path):
    second = "[one.result() for one in [server.pause.submit(0.01) for _ in range(5)]]"
    line = said(tmp_path, second)
    assert line.startswith("farcall: behaviour/pause waits in the queue") and line.count("\n") == 1
    assert "more of this program wait" in line


@pytest.mark.parametrize(
    ("second", "options"),
    [
        ("server.pause(0.1)", {"on_terminal": False}),
        ("server.pause(0.1)", {"FARCALL_PROGRESS": "0"}),
        ("server.pause(0.1, progress=False)", {}),
        ("server.pause(0.1)", {"first": 0.3}),
    ],
)
def test_nothing_is_said_where_nobody_looks_or_it_is_soon_over(tmp_path, second, options):
    assert said(tmp_path, second, **options) == ""
