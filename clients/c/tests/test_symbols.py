"""libfarcall.so exports what the headers declare, and nothing else (spec/c-abi.md, section 9)."""

import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
LIBRARY = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build")) / "lib/libfarcall.so.0"
COMMENT = re.compile(r"/\*.*?\*/", re.S)
# A declaration begins in the first column and has no body; inline functions begin with `static`,
# C++ ones have a body.
DECLARATION = re.compile(
    r"^(?!static|typedef|template|struct|#|\s)[^;{}#=]*?\b(farcall_\w+)\([^;{}]*\);", re.M
)
# Names of others' are declared with a label: `int grpc_call(...) __asm__("farcall_grpc_call");`.
LABEL = re.compile(r"__asm__\(\"(farcall_\w+)\"\)")
# … or by a macro that makes one: `FARCALL_GRPC_SYMBOL(grpc_call)`.
BOUND = re.compile(r"\bFARCALL_\w+_SYMBOL\(([a-zA-Z]\w*)\)(?=;|\s*\n\s*;)")


# What old programs declare themselves (clients/gridrpc/src/polls.c, ninf.h).
OLD = {"grpc_is_canceled_np", "ngexIsCanceled", "ngstb_is_canceled"}
OLD |= {"ninf_error_code", "ninf_debug_flag"}
# What programs have that were compiled when it was the search for functions (ninf.h).
OLD |= {"farcall_Ninf_query"}


def declared():
    names = set(OLD)
    for header in [*ROOT.glob("clients/c/include/*.h"), *ROOT.glob("clients/gridrpc/include/*.h")]:
        text = COMMENT.sub("", header.read_text())
        names |= set(DECLARATION.findall(text)) | set(LABEL.findall(text))
        names |= {f"farcall_{name}" for name in BOUND.findall(text)}
    return names


def exported():
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", LIBRARY], check=True, capture_output=True, text=True
    ).stdout
    names = [line.split()[-1] for line in listing.splitlines()]
    return {name for name in names if not name.startswith("FARCALL_")}


def test_the_library_exports_what_the_headers_declare():
    names = {name.split("@")[0] for name in exported()}
    assert "farcall_executable_main" in names, "linked executables begin there"
    assert len(names) > 40, "the headers were not read"
    assert names == declared()


def test_every_symbol_has_a_version():
    assert {name.partition("@@")[2] for name in exported()} == {"FARCALL_0"}


def test_the_library_has_its_name():
    header = subprocess.run(
        ["readelf", "-d", LIBRARY], check=True, capture_output=True, text=True
    ).stdout
    assert "soname: [libfarcall.so.0]" in header
