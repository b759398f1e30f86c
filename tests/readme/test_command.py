# What shells and programs get of the command: completions, manual pages, and JSON with the keys of
# the reference page.
"""Needs what `make build` stages."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
FARCALL = STAGE / "bin/farcall"


def run(*arguments, status=0, **options):
    done = subprocess.run(
        [FARCALL, *arguments], capture_output=True, text=True, timeout=60, **options
    )
    assert done.returncode == status, done.stderr
    return done.stdout


def commands():
    """The commands that the program's help shows."""
    listed = run("--help").split("Commands:\n")[1].split("\n\n")[0]
    return set(re.findall(r"^  (\w+)", listed, flags=re.M)) - {"help"}


def completed(*words, env=None):
    """What bash offers for the last word."""
    line = " ".join(f"'{word}'" for word in ("farcall", *words))
    script = (
        f". {STAGE}/share/bash-completion/completions/farcall; COMP_WORDS=({line}); "
        f"COMP_CWORD={len(words)}; "
    )
    script += (
        f'_farcall_ids farcall "{words[-1]}" "{("farcall", *words)[-2]}"; printf "%s\\n" '
        f'"${{COMPREPLY[@]}}"'
    )
    return set(
        subprocess.run(
            ["bash", "-c", script], env=env, capture_output=True, text=True, check=True
        ).stdout.split()
    )


def test_bash_completes_commands_and_options():
    assert completed("pub") == {"publish"}
    assert commands() <= completed("")
    assert "host" not in completed(""), "a server's own command is offered"
    assert {"init", "server", "user", "renew", "revoke", "list"} <= completed("ca", "")
    assert completed("call", "--js") == {"--json"}
    assert completed("serve", "--log-format", "") == {"text", "json"}


@pytest.mark.parametrize(
    "shell, place",
    [("zsh", "zsh/site-functions/_farcall"), ("fish", "fish/vendor_completions.d/farcall.fish")],
)
def test_other_shells_read_their_completions(shell, place):
    text = (STAGE / "share" / place).read_text()
    assert all(command in text for command in commands())
    if shutil.which(shell):
        subprocess.run([shell, "-n", STAGE / "share" / place], check=True)


def test_every_command_has_a_manual_page(tmp_path):
    run("man", tmp_path / "new/man1")
    pages = {page.name for page in (tmp_path / "new/man1").iterdir()}
    assert {
        "farcall.1",
        "farcall-ca-init.1",
        *(f"farcall-{command}.1" for command in commands()),
    } <= pages
    assert "farcall-host.1" not in pages
    assert pages == {page.name for page in (STAGE / "share/man/man1").iterdir()}


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
@pytest.mark.parametrize("page", ["farcall.1", "farcall-call.1", "farcall-ca-init.1"])
def test_manual_pages_render(page):
    command = ["groff", "-man", "-Tutf8", "-P-c", "-ww", STAGE / "share/man/man1" / page]
    rendered = subprocess.run(command, capture_output=True, text=True, check=True)
    assert rendered.stderr == "" and "SYNOPSIS" in re.sub(".\b", "", rendered.stdout)


@pytest.fixture
def server(tmp_path):
    """A server of one module, and the address that the commands find it by."""
    (tmp_path / "one.idl").write_text(
        'Module one;\nLibrary "libm.so.6";\n'
        'Define cosine(IN double x, OUT double y) Calls "C" y = cos(x);\n'
    )
    environment = dict(os.environ, FARCALL_SERVER=f"unix:{tmp_path}/socket")
    process = subprocess.Popen(
        [FARCALL, "serve", "--listen", f"unix:{tmp_path}/socket", tmp_path / "one.idl"],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout.readline()
    yield environment
    process.kill()
    process.wait()
    process.stdout.close()


def put(server):
    """Has the server keep data, and returns its id."""
    import farcall

    with farcall.connect(server["FARCALL_SERVER"]) as connection:
        return connection.put([1.0], lease=60).leave()


def begin(server):
    """Begins a transaction that is kept, and returns its id."""
    import farcall

    with farcall.connect(server["FARCALL_SERVER"]) as connection:
        with connection.transaction(keep=60) as transaction:
            result = transaction.cosine(1.0)
        transaction.wait()
        assert result.y > 0
        return transaction.id


def test_bash_completes_ids_of_what_the_server_keeps(server):
    first, second = (
        run("submit", "cosine", "1", "--volatile", env=server).strip() for _ in range(2)
    )
    reached = dict(server, PATH=f"{STAGE}/bin:{os.environ['PATH']}")
    assert (
        completed("fetch", "", env=reached)
        == completed("kept", "--forget", "", env=reached)
        == {first, second}
    )
    assert completed("fetch", first[:8], env=reached) == {first}
    assert completed("objects", "--delete", "", env=reached) == set()
    data = put(server)
    assert completed("data", "--delete", "", env=reached) == {data}
    transaction = begin(server)
    assert completed("transactions", "--end", "", env=reached) == {transaction}
    assert completed("transactions", transaction[:8], env=reached) == {transaction}
    assert "--timeout" in completed("fetch", "--", env=reached)


def documented(command):
    """The keys of a command's objects, as the reference page lists them."""
    page = (ROOT / "docs/reference/cli.md").read_text()
    return set(
        re.findall(
            r'"(\w+)"', re.search(rf"^- `{command}`: .*?`\{{(.*?)\}}`", page, flags=re.M | re.S)[1]
        )
    )


def keys(answer):
    """The keys of an object, or of all objects of a list."""
    objects = [answer] if isinstance(answer, dict) else answer
    assert objects and all(one.keys() == objects[0].keys() for one in objects)
    return set(objects[0])


def test_json_has_the_documented_keys(server, tmp_path):
    def answer(*arguments, status=0):
        return json.loads(run(*arguments, "--json", env=server, status=status))

    file = str(tmp_path / "one.idl")
    assert keys(answer("ls")) == documented("ls")
    put(server)
    assert keys(answer("data")) == documented("data")
    transaction = begin(server)
    assert keys(answer("transactions")) == documented("transactions")
    assert keys(answer("transactions", transaction)) == documented("transactions ID")
    results = answer("transactions", transaction, "--results")
    assert keys(results) == documented("transactions ID --results")
    published = answer("publish", file)
    assert keys(published) == documented("publish")
    assert published == [{"module": "one", "routines": 1, "warnings": "", "failure": None}]
    assert keys(answer("reload")) == documented("reload")
    assert keys(answer("withdraw", "one")) == documented("withdraw")
    # What was done before a mistake is said.
    assert answer("publish", file, str(tmp_path / "none.idl"), status=3) == published
    (tmp_path / "one.idl").write_text("Module one;\nDefine wrong(")
    (failed,) = answer("reload", status=1)
    assert failed["module"] == "one" and "expected" in failed["failure"]
    assert keys(answer("check", file, status=2)) == documented("check")
    assert keys(answer("drain")) == documented("drain")


def test_a_server_without_routines_is_no_silence(tmp_path):
    (tmp_path / "one.idl").write_text("Module one; Define f(OUT int n) { *n = 1; }")
    address = f"unix:{tmp_path}/s"
    server = subprocess.Popen(
        [FARCALL, "serve", "--listen", address, tmp_path / "one.idl"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout.readline().strip() == address
        run("withdraw", "one", "--server", address)
        listed = subprocess.run(
            [FARCALL, "ls", "--server", address], capture_output=True, text=True, timeout=60
        )
        assert (listed.returncode, listed.stdout) == (0, "")
        assert "publishes no routines that you may call" in listed.stderr
    finally:
        server.terminate()
        server.communicate()
