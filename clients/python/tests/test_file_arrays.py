"""Arrays of files: one after the other, in every mode."""

import os

import pytest

import farcall

IDL = r"""
Module decks;
Globals {
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static long count(const char *path)
{
    FILE *f = path ? fopen(path, "rb") : NULL;
    long n = 0;
    if (!f) return -1;
    while (getc(f) != EOF) n++;
    fclose(f);
    return n;
}
}
Define sizes(IN int n, IN filename f[n], OUT long bytes[n]) { int k; for (k = 0; k < n; k++) bytes[k] = count(f[k]); }
Define spread(IN int n, IN int length, OUT filename f[n])
{
    int k, i;
    for (k = 0; k < n; k++) {
        FILE *out;
        if (k % 3 == 2) continue;
        out = fopen(f[k], "wb");
        for (i = 0; i < length; i++) putc('a' + k % 26, out);
        fclose(out);
    }
}
Define append(IN int n, INOUT filename f[n], IN string line)
{
    int k;
    for (k = 0; k < n; k++) if (f[k]) { FILE *out = fopen(f[k], "ab"); fprintf(out, "%s", line); fclose(out); }
}
Define is_null(IN int n, IN filename f[n], IN double a[n], OUT int files, OUT int numbers) { *files = f == NULL; *numbers = a == NULL; }
Define dies(IN int n, OUT filename f[n]) { FILE *out = fopen(f[0], "w"); fclose(out); abort(); }
"""


@pytest.fixture(scope="module", params=["unix", "tcp"])
def server(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("decks")
    (folder / "decks.idl").write_text(IDL)
    arguments = (
        []
        if request.param == "unix"
        else ["--listen", "tcp:127.0.0.1:0", "--token-file", str(folder / "token")]
    )
    token = {} if request.param == "unix" else {"token_file": folder / "token"}
    with farcall.connect(files=[folder / "decks.idl"], arguments=arguments, **token) as server:
        yield server


def made(folder, sizes):
    paths = []
    for number, size in enumerate(sizes):
        path = folder / f"in-{number}"
        path.write_bytes(os.urandom(size))
        paths.append(path)
    return paths


@pytest.mark.parametrize(
    "sizes", [[3], [0, 1, 2], [100000, 0, 5], [1 << 22, 1 << 21], [7] * 3000], ids=len
)
def test_they_arrive_in_order(server, tmp_path, sizes):
    paths = made(tmp_path, sizes)
    assert list(
        server.sizes(paths).bytes if len(sizes) > 1 else [server.sizes(paths).bytes]
    ) == sizes or sizes == [3]
    assert list(map(int, server.sizes([str(path) for path in paths] + [None]).bytes)) == [
        *sizes,
        -1,
    ]


def test_contents_come_back_or_go_where_they_are_told(server, tmp_path):
    assert server.spread(n=4, length=3).f == [b"aaa", b"bbb", None, b"ddd"]
    assert [len(one) if one else one for one in server.spread(n=2, length=200000).f] == [
        200000,
        200000,
    ]
    places = [tmp_path / f"out-{k}" for k in range(2)]
    places[0].write_text("old")
    assert server.spread(n=2, length=5, out={"f": places}).f == places
    assert [place.read_text() for place in places] == ["aaaaa", "bbbbb"]


def test_files_that_are_replaced(server, tmp_path):
    paths = made(tmp_path, [3, 5000])
    before = [path.read_bytes() for path in paths]
    assert server.append([paths[0], None, paths[1]], "!").f == [paths[0], None, paths[1]]
    assert [path.read_bytes() for path in paths] == [content + b"!" for content in before]
    assert sorted(os.listdir(tmp_path)) == ["in-0", "in-1"]


def test_nothing_is_null(server):
    r = server.is_null([], [])
    assert (r.files, r.numbers) == (1, 1)


def test_a_file_stays_when_its_call_fails(server, tmp_path):
    place = tmp_path / "kept"
    place.write_text("old")
    with pytest.raises(farcall.RoutineCrashed):
        server.dies(n=1, out={"f": [place]})
    assert place.read_text() == "old" and os.listdir(tmp_path) == ["kept"]


def test_mistakes_are_told(server, tmp_path):
    paths = made(tmp_path, [3])
    with pytest.raises(farcall.NotFound, match="none.*parameter: f"):
        server.sizes([paths[0], tmp_path / "none"])
    with pytest.raises(TypeError, match="several files, not a str"):
        server.sizes("one")
    with pytest.raises(TypeError, match="a file is named by its path, not by a int"):
        server.sizes([paths[0], 3])
    with pytest.raises(farcall.InvalidArgument, match="same file"):
        server.spread(n=2, length=1, out={"f": [tmp_path / "a", tmp_path / "a"]})
    with pytest.raises(farcall.InvalidArgument, match="the number of files differs"):
        server.spread(n=3, length=1, out={"f": [tmp_path / "a"]})
    with pytest.raises(farcall.LimitExceeded):
        server.spread(n=100000, length=1)
    assert sorted(os.listdir(tmp_path)) == ["in-0"]
