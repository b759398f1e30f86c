"""The pages of GridRPC's and Ninf's functions are those that are made of their description."""

import pathlib
import runpy
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
TOOL = runpy.run_path(str(ROOT / "tools/make-pages.py"))
MADE = TOOL["made"]()
DESCRIPTION = TOOL["read"](TOOL["DESCRIPTION"].read_text(encoding="utf-8"))


@pytest.mark.parametrize("folder", ["gridrpc", "ninf"])
def test_the_pages_are_those_that_are_made(folder):
    committed = {
        f"{folder}/{file.name}": file.read_text(encoding="utf-8")
        for file in (ROOT / "docs/reference" / folder).glob("*.md")
    }
    wanted = {path: text for path, text in MADE.items() if path.startswith(folder)}
    different = [path for path in wanted | committed if committed.get(path) != wanted.get(path)]
    assert not different, "run tools/make-pages.py, and delete pages that it does not make"


def test_each_code_and_each_list_is_used():
    listed = " ".join(one.said.get("errors", "") for one in DESCRIPTION.pages).split()
    used = {*listed, *" ".join(DESCRIPTION.lists.values()).split()}
    assert used == {*DESCRIPTION.codes, *DESCRIPTION.lists}


@pytest.mark.parametrize(
    "line", ["cod GRPC_TIMEOUT_NP: late", "threads: any", "== f: does.\nsee g"]
)
def test_a_line_of_no_known_form_is_refused(line):
    with pytest.raises(ValueError):
        TOOL["read"](f"# A description.\n{line}\n\nText.\n")
