"""Files as arguments and results: a path is a file, bytes are a content."""

import os
import pathlib

import numpy as np
import pytest


def test_a_path_is_a_file_and_bytes_are_a_content(server, tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"\0" * 5000)
    for given in (
        path,
        str(path),
        os.fspath(path),
        bytes(5000),
        bytearray(5000),
        memoryview(bytes(5000)),
        np.zeros(625),
    ):
        assert server.size_of_file(given).size == 5000, given
    assert server.size_of_file(b"").size == 0
    assert server.size_of_file(None).size == -1


def test_files_that_the_kernel_makes_up_arrive_whole(server):
    # Those of /proc say that they are empty, those of /sys that they have a page.
    shorter = [
        one
        for one in pathlib.Path("/sys/kernel").iterdir()
        if one.is_file() and one.stat().st_size == 4096
    ]
    for path in [pathlib.Path("/proc/version"), pathlib.Path("/proc/cpuinfo"), *shorter[:3]]:
        try:
            content = path.read_bytes()
        except OSError:
            continue
        assert server.reverse(path).result == content[::-1], path


def test_results_are_bytes_or_go_where_they_are_told(server, tmp_path):
    content = bytes(range(256)) * 100
    assert server.reverse(content).result == content[::-1]
    for place in (tmp_path / "one", str(tmp_path / "two")):
        r = server.reverse(content, result=place)
        assert r.result == pathlib.Path(place) and r.result.read_bytes() == content[::-1]
    r = server.reverse(content, out={"result": tmp_path / "three"})
    assert r.result.read_bytes() == content[::-1]
    assert sorted(os.listdir(tmp_path)) == ["one", "three", "two"]


def test_an_inout_file_is_replaced_and_a_content_stays(server, tmp_path):
    path = tmp_path / "log"
    path.write_text("a")
    path.chmod(0o640)
    assert server.append(path, "b").log == path
    assert path.read_text() == "ab" and path.stat().st_mode & 0o777 == 0o640
    content = b"a"
    assert server.append(content, "b").log == b"ab" and content == b"a"


def test_a_file_stays_when_its_call_fails(farcall, server, tmp_path):
    path = tmp_path / "result"
    path.write_text("old")
    with pytest.raises(farcall.RoutineCrashed):
        server.spoil(b"", result=path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["result"]


def test_what_a_routine_leaves_out_is_none(server, tmp_path):
    path = tmp_path / "result"
    path.write_text("old")
    assert server.behaviour.forget(result=path).result is None and path.read_text() == "old"
    assert server.behaviour.forget().result is None


def test_paths_are_those_of_the_caller(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("näme").write_text("abc")
    assert server.size_of_file("näme").size == 3
    assert server.reverse("näme", result="made").result.read_text() == "cba"


def test_mistakes_name_the_file_and_say_what_to_do(farcall, server, tmp_path):
    cases = [
        (
            farcall.NotFound,
            lambda: server.size_of_file(tmp_path / "missing"),
            "missing.*check that it exists",
        ),
        (farcall.InvalidArgument, lambda: server.size_of_file(tmp_path), "it is a folder"),
        (farcall.InvalidArgument, lambda: server.size_of_file("a\0b"), "NUL"),
        (
            farcall.WrongType,
            lambda: server.size_of_file(5),
            "wants a file, not a int.*pass its path, or its content",
        ),
        (
            farcall.NotFound,
            lambda: server.reverse(b"", result=tmp_path / "no" / "where"),
            "create its directory first",
        ),
        (
            farcall.WrongType,
            lambda: server.reverse(b"", result=np.zeros(3)),
            "named by its path, not by a ndarray",
        ),
        (
            farcall.WrongType,
            lambda: server.append(b"", "", out={"log": "log"}),
            "replaced where it lies",
        ),
    ]
    for kind, call, words in cases:
        with pytest.raises(kind, match=words):
            call()
