"""What is made of spec/numbers.txt is what is committed, and the table has no number twice."""

import pathlib
import runpy
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
TOOL = runpy.run_path(str(ROOT / "tools/make-numbers.py"))
MADE = TOOL["made"]()
GROUPS = TOOL["read"](TOOL["TABLE"].read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", MADE)
def test_what_is_made_is_committed(path):
    assert (ROOT / path).read_text(encoding="utf-8") == MADE[path], "run tools/make-numbers.py"


def test_the_first_line_says_of_what_it_is_made():
    for path, text in MADE.items():
        assert TOOL["MADE"] in text.splitlines()[0], path


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_each_number_of_a_group_has_one_name(group):
    numbers = [int(row.number, 0) for row in group.rows]
    assert len(set(numbers)) == len(numbers) > 0


def test_each_name_stands_for_one_number():
    names = [row.c_name for group in GROUPS for row in group.rows]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("line", ["UNKNOWN", "enum farcall_status", "OK zero", "ok 0"])
def test_a_line_of_no_known_form_is_refused(line):
    with pytest.raises(ValueError):
        TOOL["read"](f"enum farcall_status FARCALL_ i32\n{line}\n")
