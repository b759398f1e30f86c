"""LOGICALs of Fortran, and bool of published Python functions."""

import subprocess
import sys

import numpy as np
import pytest

LOGICALS = """
Module logicals;
Define evens(IN int n, OUT logical on[n]) { for (int i = 0; i < n; i++) on[i] = i % 2 ? 1 : 0; }
Define flip(INOUT logical on, OUT logical was[1]) { *was = *on; *on = !*on; }
Define inverted(IN int n, INOUT logical on[n])
{ for (int i = 0; i < n; i++) on[i] = 1 - (on[i] & 1); }
Define bits(IN logical one, IN int n, IN logical many[n], OUT int first, OUT int sum)
{ *first = one; *sum = 0; for (int i = 0; i < n; i++) *sum += many[i]; }
Define all_bits(OUT logical on) { *on = -1; }
Define plain(IN int n, OUT int same) { *same = n; }
"""
TRUTHS = """
def turned(on: bool, many: list[bool]) -> tuple[bool, list[bool]]:
    return not on, [not one for one in many]
"""


@pytest.fixture(scope="module")
def logicals(farcall, tmp_path_factory):
    folder = tmp_path_factory.mktemp("logicals")
    (folder / "logicals.idl").write_text(LOGICALS)
    (folder / "truths.py").write_text(TRUTHS)
    with farcall.connect(files=[folder / "logicals.idl", folder / "truths.py"]) as server:
        yield server


def test_results_are_truths(logicals):
    x = np.arange(5.0)
    on = logicals.evens(5).on
    assert on.dtype == bool and x[on].tolist() == [1.0, 3.0] and x[~on].tolist() == [0.0, 2.0, 4.0]
    r = logicals.flip(True)
    assert isinstance(r.on, np.bool_) and isinstance(r.was, np.bool_) and r.was and not r.on
    assert logicals.all_bits().on == True and not (~logicals.all_bits().on)  # noqa: E712
    assert logicals.inverted([True, False]).on.tolist() == [False, True]
    assert type(logicals.plain(1).same) is int


def test_what_is_not_zero_is_true_to_the_routine(logicals, farcall):
    for true in (True, 1, 2, -1, 256, np.bool_(True), np.int64(2**40)):
        r = logicals.bits(true, [true, 0, False])
        assert (r.first, r.sum) == (1, 1), true
    for many in (np.array([2, 0, -1], np.int32), np.array([2, 0, 256], np.int64), [True, False, 4]):
        assert logicals.bits(0, many).sum == 2
    assert logicals.bits(False, np.array([True, True])).sum == 2
    with pytest.raises(farcall.WrongType):
        logicals.bits(1.0, [1])
    with pytest.raises(farcall.WrongType):
        logicals.bits(1, [1.5])


def test_arrays_for_results_are_int32(logicals):
    out = np.empty(4, np.int32)
    assert logicals.evens(4, out=out).on is out and out.tolist() == [0, 1, 0, 1]
    given = np.array([1, 0], np.int32)
    assert logicals.inverted(given, inplace=True).on is given and given.tolist() == [0, 1]


def test_published_functions_give_truths(logicals):
    turned, many = logicals.turned(True, [True, False])
    assert isinstance(turned, np.bool_) and not turned and many == [False, True]
    assert all(type(one) is bool for one in many)


def test_the_command_line_takes_and_prints_words(tmp_path):
    file = tmp_path / "turning.py"
    file.write_text(
        "def turned(on: bool, more: list[bool], name: str = 'n') -> tuple[bool, list[bool], str]:\n"
        "    return not on, [not one for one in more], name\n"
    )
    program = [sys.executable, "-m", "farcall", "call", "--publish", str(file), "turned"]
    said = {}
    for words in (["true", "[false, TRUE, 0]"], ["1", "[]", "name=m", "--json"]):
        done = subprocess.run([*program, *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        said[words[0]] = done.stdout
    assert "result1 = false\n" in said["true"] and "  true  false  true\n" in said["true"]
    assert 'result3 = "n"' in said["true"]
    assert '"result1": false' in said["1"] and '"result3": "m"' in said["1"]
