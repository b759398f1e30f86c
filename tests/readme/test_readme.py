# Runs what the README and the pages under docs/ show: nobody else notices when it breaks.
"""Each document is read in one folder and one shell, from top to bottom. Needs what `make build`
stages.

pages.py says what a fenced block is.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from pages import ROOT, Step, blocks, steps_of_console  # noqa: E402  (it stands beside this file)

STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
# The port that a server listens at on the pages.
PORT = "7070"
DOCUMENTS = [
    "README.md",
    "clients/python/README.md",
    *sorted(str(page.relative_to(ROOT)) for page in ROOT.glob("apps/*/README.md")),
]
DOCUMENTS += sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))
RUN = {"sh", "console", "python", "pycon"}

# A reader's pause is long enough for a server to come up; a script has to wait. What the server
# says is shown then.
PRELUDE = """
failures=0
trap 'failures=$((failures + 1))' ERR
shown() {
    for attempt in $(seq 600); do
        grep -qs 'end with Ctrl-C' "$1" && break
        kill -0 $! 2>/dev/null || break
        sleep 0.05
    done
    cat "$1"
}
"""
SERVER = re.compile(r"^(farcall serve\b[^&#\n]*)&.*$", re.M)


def java():
    """The folder of a Java that can run the client; None where there is none, or nobody has built
    the client (`make build`)."""
    home = subprocess.run(
        [ROOT / "tools/find-jdk.sh"], capture_output=True, text=True
    ).stdout.strip()
    return f"{home}/bin" if home and (STAGE / "share/java/farcall.jar").exists() else None


def steps(page):
    """What is to be run, in order. Programs become files first; one session stands for all
    interactive ones."""
    sessions = [block.body for block in page if block.language == "pycon"]
    for number, block in enumerate(page):
        if block.origin or block.language not in RUN:
            continue
        if block.language == "console":
            yield from steps_of_console(block.body)
        elif block.language == "python":
            yield Step(f"python - <<'END_OF_PROGRAM'\n{block.body}END_OF_PROGRAM", None)
        elif block.language == "sh":
            # `make demo` and its like come before every test.
            yield Step(re.sub(r"^make .*\n", "", block.body, flags=re.M), None)
        elif sessions:
            session = "\n".join(sessions)
            sessions = []
            yield Step(
                f"cat >session.txt <<'END_OF_SESSION'\n{session}END_OF_SESSION\n"
                "python -m doctest -o ELLIPSIS session.txt",
                None,
            )


class Reader:
    """A copy of the examples and of old programs, the staged programs, and a shell."""

    def __init__(self, folder):
        self.folder = folder
        for room in ("examples", "apps"):
            shutil.copytree(
                ROOT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__")
            )
        shutil.copytree(ROOT / "clients/gridrpc/tests/old", folder / "old")
        (folder / "build").symlink_to(STAGE)
        (folder / "run").mkdir(mode=0o700)
        shutil.copy(ROOT / "tests/readme/cluster.sh", folder / "run")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = str(free.getsockname()[1])
        ours = {
            name: value for name, value in os.environ.items() if not name.startswith("FARCALL_")
        }
        self.environment = dict(
            ours,
            XDG_RUNTIME_DIR=str(folder / "run"),
            XDG_CACHE_HOME=str(folder / "cache"),
            XDG_STATE_HOME=str(folder / "state"),
            PYTHONUNBUFFERED="1",
            PYTHON_COLORS="0",
            PATH=f"{java() or STAGE / 'bin'}:{STAGE}/bin:{STAGE}/venv/bin:{os.environ['PATH']}",
        )

    def here(self, text):
        """What a page says, in this folder: the reader's /tmp is the test's own, and the example in
        Rust is built."""
        text = text.replace("/tmp/", f"{self.folder}/run/").replace(PORT, self.port)
        return text.replace("cargo run -q -p farcall-example", f"{STAGE}/libexec/farcall-example")

    def write(self, page):
        """Writes the reader's own files."""
        for block in page:
            if block.origin == "name":
                with open(self.folder / block.path, "a") as file:
                    file.write(self.here(block.body))

    def run(self, wanted, timeout=300):
        """Runs steps in one shell; the output and the failures of each. What is left running is
        ended."""
        script = PRELUDE
        for number, step in enumerate(wanted):
            said = self.folder / f"run/server-{number}.log"
            commands = SERVER.sub(rf"\1 >{said} 2>&1 & shown {said}", self.here(step.commands))
            # Each step ends with its number of failures between two record separators, which no
            # output holds.
            script += f"{commands.rstrip()}\nprintf '\\036%d\\036' $failures\nfailures=0\n"
        file, log = self.folder / "run/script.sh", self.folder / "run/output"
        file.write_text(script)
        with open(log, "w") as output:
            process = subprocess.Popen(
                ["bash", file],
                cwd=self.folder,
                env=self.environment,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            # The steps that are missing say where it hangs.
            pass
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        parts = log.read_text(errors="replace").split("\x1e")
        return list(zip(parts[0::2], map(int, parts[1::2])))


@pytest.fixture
def reader(tmp_path):
    return Reader(tmp_path)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_snippet_is_a_file_or_runs(document):
    fences = re.findall(r"^```", (ROOT / document).read_text(), flags=re.M)
    shown = [block for block in blocks(document) if not block.hidden]
    assert len(fences) == 2 * len(shown), f"{document}: a block begins with a line of no known form"
    for block in shown:
        if block.origin == "file":
            assert (ROOT / block.path).read_text() == block.body, (
                f"{document} shows another {block.path}"
            )
        else:
            known = block.origin == "name" or block.language in RUN | {"text"}
            assert known, (
                f"{document}: nothing tests this {block.language or 'block'}:\n{block.body}"
            )


def matches(shown, output):
    """Whether a page shows an output; `…` stands for any text. What a server says to root alone is
    on no page but that on safety."""
    output = re.sub(r"^farcall: this server runs as root, .*\n", "", output, flags=re.M)
    pattern = ".*?".join(re.escape(part) for part in shown.split("…"))
    return (
        re.fullmatch(pattern, output.rstrip("\n") + "\n" if output.strip() else "", re.S)
        is not None
    )


@pytest.mark.parametrize(
    "document", [document for document in DOCUMENTS if list(steps(blocks(document)))]
)
def test_snippets_do_what_they_show(document, reader):
    page = blocks(document)
    if any(block.language == "java" for block in page) and java() is None:
        pytest.skip("no Java that is new enough, or no farcall.jar (make build)")
    reader.write(page)
    wanted = list(steps(page))
    done = reader.run(wanted)
    wrong = []
    for step, (output, failures) in zip(wanted, done):
        shown = None if step.output is None else reader.here(step.output)
        if shown is None and failures:
            wrong.append(f"this fails:\n{step.commands}\n{output}")
        elif shown is not None and not matches(shown, output):
            wrong.append(f"$ {step.commands}\nprints\n{output}and is shown with\n{shown}")
    assert not wrong, f"{document}:\n" + "\n".join(wrong)
    assert len(done) == len(wanted), (
        f"{document}: the shell came no further than\n$ {wanted[len(done)].commands}"
    )


def test_every_page_is_listed_and_every_kind_of_user_has_one():
    pages = {
        page
        for page in DOCUMENTS
        if page.startswith("docs/") and not page.startswith("docs/decisions/")
    }
    listed = set(re.findall(r"\]\(([^)#:]+\.md)", (ROOT / "docs/README.md").read_text()))
    # The pages of a folder are listed by the page beside it that has its name.
    for beside in [page for page in listed if (ROOT / "docs" / page).with_suffix("").is_dir()]:
        names = re.findall(r"\]\(([^)#:]+\.md)", (ROOT / "docs" / beside).read_text())
        listed |= {str(pathlib.PurePath(beside).parent / name) for name in names}
    assert {page.removeprefix("docs/") for page in pages - {"docs/README.md"}} <= listed
    users = re.search(r"^\| You \|.*?\n\n", (ROOT / "README.md").read_text(), flags=re.S | re.M)[0]
    assert re.findall(r"\]\(docs/([\w/-]+)\.md\)", users) == [
        "tutorial/first-call",
        "how-to/from-a-laptop-to-a-cluster",
        "how-to/slurm",
        "tutorial/fortran",
        "tutorial/java",
        "how-to/publish-a-library",
        "how-to/many-calls",
        "tutorial/ensemble-forecast",
        "how-to/migrate-from-ninf-g",
        "how-to/run-a-server",
        "how-to/serve-on-a-network",
    ]


def test_the_readme_shows_two_commands_and_a_mistake():
    page = blocks("README.md")
    assert [line.split("#")[0].strip() for line in page[0].body.splitlines()] == [
        "make demo",
        "make test",
    ]
    assert any(
        re.search(r"^farcall: .*; ", block.body, flags=re.M)
        for block in page
        if block.language == "console"
    )
