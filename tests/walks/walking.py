"""What a user of a walk has: pages to follow, a folder to work in, and the commands that they
show."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from pages import ROOT, blocks

STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
FARCALL = STAGE / "bin/farcall"
PYTHON = STAGE / "venv/bin/python"
# Seconds that anything may take here: the machine may be busy.
PATIENCE = 60


def eventually(condition, seconds=PATIENCE):
    """What a condition gives as soon as it holds."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, f"this does not happen: {condition}"
        time.sleep(0.05)
    return found


class Page:
    """A page under docs/: what it shows is what a walk does."""

    def __init__(self, document):
        self.document = document
        self.blocks = blocks(f"docs/{document}")

    def file(self, name):
        """A file that the page has its reader save."""
        parts = [one.body for one in self.blocks if one.origin == "name" and one.path == name]
        assert parts, f"{self.document} has no file {name}"
        return "".join(parts)

    def command(self, beginning):
        """The command that begins so, as the page shows it to its reader."""
        shown = [one.body for one in self.blocks if not one.hidden and not one.origin]
        text = "\n".join(shown).replace("\\\n", " ")
        lines = [" ".join(line.removeprefix("$ ").split()) for line in text.splitlines()]
        found = [line for line in lines if line.startswith(beginning)]
        assert found, f"{self.document} shows no command that begins with {beginning!r}"
        return found[0].partition("  #")[0]


def changed(text, *changes):
    """A program of a page with other sizes; each place is there once."""
    for old, new in changes:
        assert text.count(old) == 1, f"the page says {text.count(old)} times {old!r}"
        text = text.replace(old, new)
    return text


class Place:
    """A user's own folder; what was started in it is ended, and the folder removed, at the end."""

    def __enter__(self):
        # Short: sockets have short paths.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="walk"))
        self.started = []
        (self.folder / "run").mkdir(mode=0o700)
        # What a shell of a user has, and nothing of Farcall's own variables.
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith("FARCALL_")
        }
        self.environment.update(
            HOME=str(self.folder),
            XDG_RUNTIME_DIR=str(self.folder / "run"),
            PYTHONUNBUFFERED="1",
            PATH=f"{STAGE}/bin:{STAGE}/venv/bin:{os.environ['PATH']}",
        )
        for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
            self.environment.pop(name, None)
        return self

    def __exit__(self, *_):
        for process in self.started:
            if process.poll() is None:
                process.terminate()
        for process in self.started:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        shutil.rmtree(self.folder)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def begin(self, command, **options):
        """Starts a command of a shell, which is replaced by it, in a process group of its own."""
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            **options,
        )
        self.started.append(process)
        return process

    def run(self, command, status=0, timeout=PATIENCE):
        """What a command of a shell prints on both streams."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == status, f"$ {command}\n{done.stdout}"
        return done.stdout

    def serve(self, command, log="server.log"):
        """Starts `farcall serve …` of a page, without its `&`; waits until it serves."""
        with open(self.folder / log, "w") as said:
            process = self.begin(command.rstrip(" &"), stdout=said, stderr=subprocess.STDOUT)
        said = self.folder / log
        eventually(lambda: "end with Ctrl-C" in said.read_text() or process.poll() is not None)
        assert process.poll() is None, said.read_text()
        return process
