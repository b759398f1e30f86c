"""Each error that the headers name is provoked by a test, or one that nothing can provoke and whose
page says why."""

import pathlib
import re

import pytest

TESTS = pathlib.Path(__file__).resolve().parent
INCLUDE = TESTS.parent / "include"
REFERENCE = TESTS.parents[2] / "docs/reference"

# Never returned, each with the words of its row in the reference that say so.
NEVER = {
    "grpc.h": {
        "GRPC_UNKNOWN_ERROR_CODE": "what grpc_error_string calls a number",
        "GRPC_LAST_ERROR_CODE": "never returned",
    },
    "ninf.h": {
        "STUBALREADY": "never",
        "CIM_OK": "0 will do",
        "NINF_INTERNAL_ERROR": "mistake of Farcall",
    },
}
PAGES = {"grpc.h": "gridrpc.md", "ninf.h": "ninf.md"}


def codes(header):
    numbers = INCLUDE / header.replace(".h", "_numbers.h")
    text = re.sub(r"/\*.*?\*/", "", numbers.read_text(), flags=re.S)
    if header == "ninf.h":
        body = re.search(r"enum ninf_error \{(.*?)\}", text, flags=re.S)[1]
        return set(re.findall(r"^\s*(\w+) =", body, flags=re.M)) - {"NINF_NO_ERROR"}
    # Those of errors stand before the first status of a session; 0 is none.
    return set(
        re.findall(
            r"#define (GRPC_\w+) [1-9]\d*",
            text.split("#define GRPC_NO_ERROR")[1].split("#define GRPC_SESSION_DONE")[0],
        )
    )


def provoked(header):
    pattern = "test_ninf_*.c" if header == "ninf.h" else "test_grpc_*.c"
    return {
        code
        for file in TESTS.glob(pattern)
        for code in re.findall(r"\bPROVOKE\(\s*([A-Z]\w+),", file.read_text())
    }


@pytest.mark.parametrize("header", sorted(NEVER))
def test_every_error_is_provoked(header):
    assert len(codes(header)) > 15
    assert codes(header) == provoked(header) | set(NEVER[header])
    assert not provoked(header) & set(NEVER[header])


@pytest.mark.parametrize("header", sorted(NEVER))
def test_every_error_has_a_row(header):
    rows = dict(
        re.findall(
            r"^\| `(\w+)` \| \d+ \| (.*?) \|$", (REFERENCE / PAGES[header]).read_text(), flags=re.M
        )
    )
    assert codes(header) <= set(rows)
    assert all(words in rows[code] for code, words in NEVER[header].items())
