"""The table of docs/explanation/what-a-routine-can-reach.md, tried: from a routine, while its
library is loaded, and from a Python import; on a server for others and on one of its owner's own;
by root, and by somebody else."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs/explanation/what-a-routine-can-reach.md"
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
PYTHON_PROGRAM = STAGE / "venv/bin/python"
NOBODY = 65534
WORDS = {"no": False, "yes": True}

PYTHON = '''
"""What an import can reach."""
import ctypes
import pathlib

_library = ctypes.CDLL(str(pathlib.Path("FOLDER") / "libreach.so"))
_names = NAMES
_at_import = {name: _library.reach(name.encode(), 0) for name in _names}


def imported(name: str) -> int:
    return _at_import[name]
'''


def rows():
    """Each row that is tried: its name, and what its cells say for a confined module and for the
    owner's own."""
    found = {}
    for line in PAGE.read_text().splitlines():
        match = re.match(r"\|[^|]*\| `([a-z-]+)` \| (\w+)[^|]*\| (\w+)[^|]*\|", line)
        if match:
            found[match[1]] = (WORDS[match[2]], WORDS[match[3]])
    return found


def test_the_page_and_the_program_name_the_same():
    names = set(
        re.findall(
            r'tried|"([a-z-]+)"',
            (HERE / "reach.c").read_text().split("static const char *names[]")[1].split("};")[0],
        )
    )
    assert set(rows()) == names - {""}


class Case:
    """A server of one kind, as one user, with both modules."""

    def __init__(self, folder, own, user):
        self.folder, self.user = folder, user
        # An interpreter of root's own cannot be run by others.
        self.imports = user == os.geteuid()
        self.prefix = (
            []
            if user == os.geteuid()
            else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        )
        self.environment = {
            **os.environ,
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XDG_STATE_HOME": str(folder / "state"),
            "TMPDIR": str(folder),
            "PATH": f"{STAGE}/venv/bin:{STAGE}/bin:/usr/bin:/bin",
        }
        self.environment.pop("FARCALL_SERVER", None)
        self.stranger = self.start(["sleep", "600"])
        self.prepare()
        self.server = self.serve(own)

    def start(self, command, **more):
        return subprocess.Popen(
            [*self.prefix, *command],
            env=self.environment,
            cwd=self.folder,
            stdin=more.pop("stdin", subprocess.DEVNULL),
            **more,
        )

    def prepare(self):
        home, key = self.folder / "home", self.folder / "config/farcall/ca/authority.pem"
        self.shared = pathlib.Path(f"/dev/shm/farcall-reach-{os.getpid()}-{self.user}")
        key.parent.mkdir(parents=True)
        for file in (home, key, self.shared):
            file.write_text("secret")
            file.chmod(0o600)
        self.socket = self.folder / "s"
        defines = {
            "HOME_FILE": home,
            "KEY_FILE": key,
            "SHARED_FILE": self.shared,
            "SERVER_SOCKET": self.socket,
        }
        options = [f'-D{name}="{path}"' for name, path in defines.items()] + [
            f"-DSTRANGER={self.stranger.pid}"
        ]
        modules = self.folder / "modules"
        modules.mkdir()
        subprocess.run(
            [
                "cc",
                "-shared",
                "-fPIC",
                "-O1",
                *options,
                "-o",
                modules / "libreach.so",
                HERE / "reach.c",
            ],
            check=True,
        )
        (modules / "reach.idl").write_text(
            'Module reach;\nLibrary "./libreach.so";\n'
            'Define reached(IN string name, IN int loaded, OUT int error)\n'
            '    Calls "C" reached(name, loaded, error);\n'
        )
        names = repr(sorted(rows()))
        (modules / "imports.py").write_text(
            PYTHON.replace("NAMES", names).replace("FOLDER", str(modules))
        )
        (self.folder / "farcall.toml").write_text(
            '[[plugin]]\nname = "spawner-local"\nslot = "spawner"\n[plugin.options]\n'
            f'modules.imports.readable = ["{modules / "libreach.so"}"]\n'
        )
        if self.user != os.geteuid():
            for path in [self.folder, *self.folder.rglob("*"), self.shared]:
                os.chown(path, self.user, self.user)

    def serve(self, own):
        listen = ["--private"] if own else []
        manifest = [] if own else ["--manifest", str(self.folder / "farcall.toml")]
        files = [str(self.folder / "modules/reach.idl"), str(self.folder / "modules/imports.py")]
        command = [
            str(STAGE / "bin/farcall"),
            "serve",
            *listen,
            *manifest,
            "--listen",
            f"unix:{self.socket}",
            files[0],
        ]
        if self.imports:
            command += ["--python", str(PYTHON_PROGRAM), files[1]]
        self.log = open(self.folder / "log", "w")
        server = self.start(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self.log
        )
        deadline = time.monotonic() + 60
        while not self.socket.exists() and server.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert self.socket.exists(), (self.folder / "log").read_text()
        # It listens a moment before its modules are there.
        show = [
            *self.prefix,
            str(STAGE / "bin/farcall"),
            "show",
            "reached",
            "--server",
            f"unix:{self.socket}",
        ]
        while (
            subprocess.run(
                show, env=self.environment, cwd=self.folder, capture_output=True
            ).returncode
            and time.monotonic() < deadline
        ):
            time.sleep(0.1)
        return server

    def errors(self):
        """What each way of each row gave: its error number."""
        ways = [
            ["reached", "{}", "0"],
            ["reached", "{}", "1"],
            *([["imported", "{}"]] if self.imports else []),
        ]
        return {
            name: [self.call(*(word.format(name) for word in way)) for way in ways]
            for name in rows()
        }

    def call(self, *words):
        command = [
            *self.prefix,
            str(STAGE / "bin/farcall"),
            "call",
            "--json",
            *words,
            "--server",
            f"unix:{self.socket}",
        ]
        done = subprocess.run(
            command,
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        results = json.loads(done.stdout)
        del results["server"]
        return int(results.popitem()[1])

    def end(self):
        self.server.terminate()
        self.server.wait(30)
        self.stranger.kill()
        self.stranger.wait()
        self.log.close()
        self.shared.unlink()


def users():
    own = os.geteuid()
    return [own, NOBODY] if own == 0 and shutil.which("setpriv") else [own]


def new_folder(user):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="farcall-reach-", dir="/tmp"))
    return folder


@pytest.mark.parametrize("own", [False, True], ids=["confined", "own"])
@pytest.mark.parametrize("user", users())
def test_the_table_holds(own, user):
    if (
        user == NOBODY
        and subprocess.run(
            [
                "setpriv",
                f"--reuid={user}",
                f"--regid={user}",
                "--clear-groups",
                "test",
                "-x",
                str(STAGE / "bin/farcall"),
            ]
        ).returncode
    ):
        pytest.skip(f"user {user} cannot reach {STAGE}")
    doctor = subprocess.run(
        [STAGE / "bin/farcall", "doctor"], capture_output=True, text=True
    ).stdout
    if not own and not re.search(r"^good +landlock", doctor, re.M):
        pytest.skip("this kernel does not hold all of the table, as farcall doctor says")
    folder = new_folder(user)
    case = Case(folder, own, user)
    try:
        wrong = []
        for name, errors in case.errors().items():
            expected = rows()[name][own]
            # Root's other processes have capabilities, and a routine has none.
            expected = expected and not (name == "processors" and user == 0 and not own)
            wrong += [
                (name, way, error)
                for way, error in zip(["routine", "load", "import"], errors)
                if (error == 0) != expected
            ]
        assert not wrong, (wrong, (folder / "log").read_text())
    finally:
        case.end()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
