# The reference pages have every public name and no other, with the arguments and defaults of the
# real thing.
"""Needs the package, and what `make build` stages. FARCALL_REWRITE=1 renews the manifest in
farcall-toml.md."""

import inspect
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
REFERENCE = ROOT / "docs/reference"


def page(name):
    return (REFERENCE / name).read_text()


# ---- Python
# ----------------------------------------------------------------------------------------------------------


def test_python_names():
    import farcall

    named = set(re.findall(r"\bfarcall\.([A-Za-z]\w*)", page("python.md")))
    # `python -m farcall.stubs` is a module.
    assert named == {*farcall.__all__, "stubs"}


@pytest.mark.parametrize(
    "name", ["Server", "Module", "Routine", "Results", "Times", "CallFuture", "Executor", "Error"]
)
def test_python_members(name):
    import farcall

    kind = getattr(farcall, name)
    members = {*vars(kind), *vars(kind).get("__annotations__", {})}
    if name == "CallFuture":
        # The rest is between the futures and their thread.
        members &= {*dir(kind.__base__)}
    missing = [
        one
        for one in members
        if not one.startswith("_") and not re.search(rf"\b{one}\b", page("python.md"))
    ]
    assert missing == []


def test_python_signatures():
    import farcall

    plain = inspect.signature(farcall.connect)
    plain = plain.replace(
        parameters=[
            one.replace(annotation=inspect.Parameter.empty) for one in plain.parameters.values()
        ],
        return_annotation=inspect.Signature.empty,
    )
    assert f"\nfarcall.connect{plain}\n" in page("python.md")


def test_python_errors():
    import farcall

    rows = re.findall(
        r"^\| `farcall\.(\w+)` \|(.*?)\| `([\w-]+)` \|", page("python.md"), flags=re.M
    )
    shown = {name: (kind, set(re.findall(r"\w+", bases))) for name, bases, kind in rows}
    classes = [
        one
        for one in vars(farcall).values()
        if isinstance(one, type) and issubclass(one, farcall.Error)
    ]
    ours = {
        one: {base.__name__ for base in one.__bases__} - {"Error"}
        for one in classes
        if one is not farcall.Error
    }
    assert shown == {one.__name__: (one.kind, bases) for one, bases in ours.items()}


# ---- C
# ---------------------------------------------------------------------------------------------------------------


def declarations():
    """Functions of the headers that programs and routines use, with the number of their arguments;
    `...` counts as one."""
    found = {}
    for part in ("", "-data", "-transactions", "-native", "-map", "-places", "-executable"):
        header = f"farcall{part}.h"
        # Behind that line is what main programs of executables use.
        text = (
            (ROOT / "clients/c/include" / header).read_text().split("/* ---- For main programs")[0]
        )
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        # The C++ part stands at the end, and has the same functions as templates.
        text = re.split(r"^#(?:else|elif)\b", text, flags=re.M)[0]
        functions = re.findall(
            r"^(?!static|typedef|#|\s)[^;{}()#=]*?\b(farcall_\w+)\(([^;{}]*?)\);", text, flags=re.M
        )
        macros = re.findall(r"^#define (farcall_\w+)\((.*?)\)", text, flags=re.M)
        for name, arguments in functions + macros:
            found[name] = 0 if arguments == "void" else arguments.count(",") + 1
    # The macros of the native call take the routine's name by their `...`; the page shows it.
    return {
        name: count + (name in ("farcall_call", "farcall_start_call"))
        for name, count in found.items()
    }


def test_c_functions():
    shown = re.findall(r"`(farcall_\w+)\(([^`]*)\)`", page("c.md"))
    counts = {name: arguments.count(",") + 1 if arguments else 0 for name, arguments in shown}
    declared = declarations()
    assert len(declared) > 40, "the headers were not read"
    assert counts == declared


def test_c_kinds():
    header = (ROOT / "clients/c/include/farcall-numbers.h").read_text()
    header = header.split("enum farcall_element")[0]
    declared = set(re.findall(r"^    (FARCALL_\w+) = ([1-9]\d*)", header, flags=re.M))
    assert set(re.findall(r"`(FARCALL_\w+)` \| (\d+)", page("c.md"))) == declared


# ---- The manifest
# ----------------------------------------------------------------------------------------------------

PLUGINS = (
    ("directory", "directory"),
    ("spawner-local", "spawner"),
    ("spawner-jobs", "jobs"),
    ("rpc-server", "rpc"),
    ("fetcher", "fetcher"),
    ("store-file", "store"),
    ("store-etcd", "store"),
    ("metrics", "metrics"),
    ("metaserver", "metaserver"),
    ("transactions", "transactor"),
)


def manifest():
    """The default manifest, from the texts that the kernel and the plugins have theirs from."""
    text = (ROOT / "kernel/src/manifest/kernel.toml").read_text()
    first = {}
    for name, slot in PLUGINS:
        options = (ROOT / "plugins" / name / "src/options.toml").read_text()
        of_plugin = (
            f'[[plugin]]\nname = "{name}"\nslot = "{slot}"\nhost = "in-thread"\n'
            f"[plugin.options]\n{options}"
        )
        if slot in first:
            text += f"\n# In place of {first[slot]}:\n#\n"
            text += "".join(f"# {line}\n" for line in of_plugin.splitlines())
        else:
            first[slot] = name
            text += f"\n{of_plugin}"
    return text


def test_manifest_keys():
    folders = {
        folder.name
        for folder in (ROOT / "plugins").iterdir()
        if not folder.name.startswith("example-")
    }
    assert {name for name, _ in PLUGINS} == folders
    block = re.compile(r"(^```toml name=default.toml\n)(.*?)(^```$)", re.S | re.M)
    shown = page("farcall-toml.md")
    renewed = block.sub(lambda parts: parts[1] + manifest() + parts[3], shown)
    if os.environ.get("FARCALL_REWRITE"):
        (REFERENCE / "farcall-toml.md").write_text(renewed)
    assert page("farcall-toml.md") == renewed, (
        "FARCALL_REWRITE=1 puts the manifest of the sources there"
    )


# ---- The command line
# ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "show",
        "call",
        "submit",
        "fetch",
        "kept",
        "data",
        "transactions",
        "check",
        "fmt",
        "scan",
        "completions",
        "man",
        "serve",
        "publish",
        "withdraw",
        "reload",
        "drain",
        "top",
        "jobs",
        "launch",
        "config show",
        "doctor",
        "service",
        "run",
        "ng gen",
        "ng cc",
        "ng gen-nrf",
        "ng gen-dif",
        "ng config",
        "ng version",
        *(f"ca {verb}" for verb in "init server user renew revoke list".split()),
    ],
)
def test_command_line_options(command):
    shown = subprocess.run(
        [STAGE / "bin/farcall", *command.split(), "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    options = set(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", shown.stdout, flags=re.M)) - {"--help"}
    assert [option for option in options if option not in page("cli.md")] == []


def test_environment_variables():
    rooms = (
        "bins",
        "programs",
        "publishing",
        "protocol/peer/src",
        "clients/rust/src",
        "clients/python/src",
        "transports/tls/src",
        "plugins/spawner-jobs/src",
    )
    sources = [file for room in rooms for file in (ROOT / room).rglob("*")]
    text = "".join(file.read_text() for file in sources if file.suffix in (".rs", ".py"))
    read = set(re.findall(r'"(FARCALL_[A-Z_]+|XDG_[A-Z_]+)"', text, flags=re.M))
    assert set(re.findall(r"^\| `\$(\w+)`", page("cli.md"), flags=re.M)) == read


# ---- GridRPC
# ---------------------------------------------------------------------------------------------------------


def gridrpc_declarations(header):
    """Name and declaration of each function, without the names of symbols and with what programs
    call its types."""
    text = (ROOT / "clients/gridrpc/include" / header).read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S).replace("farcall_grpc_char", "char")
    found = re.findall(
        r"^((?:const )?\w+[ *]+)(\w+)\(([^;{]*?)\)\s*FARCALL_\w+_SYMBOL\(\w+\);", text, flags=re.M
    )
    return {name: plain(f"{kind}{name}({arguments});") for kind, name, arguments in found}


def plain(code):
    return re.sub(r"(?<=[(*]) | (?=[,);])", "", re.sub(r"\s+", " ", code))


HEADERS = {"gridrpc": ["grpc.h", "netsolve_grpc.h"], "ninf": ["ninf.h"]}


@pytest.mark.parametrize("folder", HEADERS)
def test_every_function_of_gridrpc_has_a_page(folder):
    of = {
        name: (header, code)
        for header in HEADERS[folder]
        for name, code in gridrpc_declarations(header).items()
    }
    assert len(of) > 50
    shown = {one.stem: one.read_text() for one in (REFERENCE / folder).glob("*.md")}
    assert set(of) == set(shown)
    for name, text in shown.items():
        synopsis = re.search(r"```text\n#include <(\S+)>\n\n(.*?)```", text, flags=re.S)
        assert synopsis and (synopsis[1], plain(synopsis[2]).strip()) == of[name], name
        assert "\n## Threads\n" in text and "\n## Source\n" in text and "\n## See also\n" in text, (
            name
        )
        assert f"({folder}/{name}.md)" in page(f"{folder}.md"), name
        codes = set(re.findall(r"^\| `(\w+)` \|", text, flags=re.M))
        numbers = {"gridrpc": "grpc_numbers.h", "ninf": "ninf_numbers.h"}[folder]
        known = (ROOT / "clients/gridrpc/include" / numbers).read_text()
        assert all(
            re.search(rf"(#define {code}|^    {code} =) \d", known, flags=re.M) for code in codes
        ), (name, codes)
