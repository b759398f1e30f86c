"""Each error that the headers name is provoked by a test, or one that nothing can provoke and whose page says why."""

import pathlib
import re

import pytest

TESTS = pathlib.Path(__file__).resolve().parent
INCLUDE = TESTS.parent / "include"
REFERENCE = TESTS.parents[2] / "docs/reference"

# Never returned, each with the words of its page that say so.
NEVER = {
    "ninf.h": {"STUBALREADY": "never", "CIM_OK": "no error", "NINF_INTERNAL_ERROR": "mistake of Farcall"},
}


def codes(header):
    text = re.sub(r"/\*.*?\*/", "", (INCLUDE / header).read_text(), flags=re.S)
    if header == "ninf.h":
        body = re.search(r"enum ninf_error \{(.*?)\}", text, flags=re.S)[1]
        return set(re.findall(r"^\s*(\w+) =", body, flags=re.M)) - {"NINF_NO_ERROR"}
    return set(re.findall(r"#define (GRPC_\w+) \d+", text))


def provoked(header):
    pattern = "test_ninf_*.c" if header == "ninf.h" else "test_grpc_*.c"
    return {code for file in TESTS.glob(pattern) for code in re.findall(r"\bPROVOKE\(([A-Z]\w+),", file.read_text())}


@pytest.mark.parametrize("header", sorted(NEVER))
def test_every_error_is_provoked(header):
    assert len(codes(header)) > 15
    assert codes(header) == provoked(header) | set(NEVER[header])
    assert not provoked(header) & set(NEVER[header])
