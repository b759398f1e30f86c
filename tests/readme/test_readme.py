# Runs what the README shows: every snippet with a file is that file, every other one is run.
"""Needs what `make build` stages; FARCALL_STAGE names it."""

import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
SNIPPET = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```", re.S | re.M)
README = SNIPPET.findall((ROOT / "README.md").read_text())


def snippets(language):
    return [body for kind, file, body in README if kind == language and not file]


def test_every_file_snippet_is_that_file():
    files = [(file, body) for _, file, body in README if file]
    assert len(files) >= 7
    for file, body in files:
        assert (ROOT / file).read_text() == body, f"README.md shows another {file}"


@pytest.fixture
def environment(tmp_path):
    """A copy of the examples, and the staged programs first on the path."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "build").symlink_to(STAGE)
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    path = f"{STAGE}/bin:{STAGE}/venv/bin:{os.environ['PATH']}"
    return tmp_path, dict(os.environ, PATH=path, XDG_RUNTIME_DIR=str(run), PYTHONUNBUFFERED="1")


def shell(folder, environment, script, timeout=120):
    """Runs a script as a reader would type it; servers that it leaves are ended with their group."""
    process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=environment,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=timeout)
        return process.returncode, output
    finally:
        subprocess.run(["pkill", "-TERM", "-g", str(process.pid)], check=False)


# A reader's pauses are long enough for a server to come up; a script has to wait.
WAIT = "for i in $(seq 100); do farcall ls >/dev/null 2>&1 && break; sleep 0.1; done\n"


def test_five_minutes_in_the_shell(environment):
    folder, variables = environment
    start = next(body for body in snippets("sh") if "farcall serve &" in body)
    start = start.replace("farcall serve &", "farcall serve >/dev/null 2>&1 &").replace("farcall ls ", WAIT + "farcall ls ", 1)
    status, output = shell(folder, variables, start + "\nkill %1\n")
    assert status == 0, output
    assert "lapack/dgesv" in output and "0.0909" in output and "0.636" in output


def test_python_snippet(environment):
    folder, variables = environment
    (folder / "snippet.py").write_text(snippets("python")[0])
    status, output = shell(folder, variables, "python snippet.py")
    assert status == 0, output
    assert "[0.09090909 0.63636364]" in output and "dgesv" in output


def test_own_routines_from_every_language(environment):
    folder, variables = environment
    serve = next(body for body in snippets("sh") if "libheat.so" in body)
    calls = next(body for body in snippets("sh") if "farcall call heat" in body)
    compile_c = next(body for body in snippets("sh") if body.startswith("cc own.c"))
    socket = folder / "run/own.sock"
    serve = serve.replace("/tmp/own.sock", str(socket)).replace("area.idl &", "area.idl >/dev/null 2>&1 &")
    rust = os.environ.get("FARCALL_EXAMPLE", str(STAGE / "libexec/farcall-example"))
    script = serve + WAIT + calls + f"""
python own.py
{compile_c}
{rust}
kill %1
"""
    began = time.monotonic()
    status, output = shell(folder, variables, script)
    assert status == 0, output
    for answer in ("31.25", "6.25"):
        assert output.count(answer) >= 4, f"{answer} must come from four languages:\n{output}"
    assert "2.0" in output and time.monotonic() - began < 110
