"""Arrays that the server fetches by itself: from files and pages that its manifest allows, and from
nowhere else."""

import http.server
import json
import subprocess
import threading

import numpy as np
import pytest

import farcall

IDL = """
Module urls;
Define total(IN int n, IN double a[n], OUT double s) { int k; *s = 0; for (k = 0; k < n; k++) *s += a[k]; }
Define twice(IN int m, IN int n, INOUT double a[m][n] column) { int k; for (k = 0; k < m * n; k++) a[k] *= 2; }
Define both(IN int n, IN double a[n], IN double b[n], OUT double s) { int k; *s = 0; for (k = 0; k < n; k++) *s += a[k] * b[k]; }
Define text(IN string s, OUT int n) { *n = 0; }
"""


class Pages(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("urls")
    (folder / "open").mkdir()
    (folder / "urls.idl").write_text(IDL)
    np.save(folder / "open/small.npy", np.arange(10.0))
    np.save(folder / "open/large.npy", np.arange(100000.0))
    np.save(folder / "open/whole.npy", np.arange(10))
    np.save(folder / "open/matrix.npy", np.arange(6.0).reshape(2, 3))
    np.save(folder / "secret.npy", np.arange(10.0))
    (folder / "open/cut.npy").write_bytes((folder / "open/small.npy").read_bytes()[:-8])
    (folder / "open/v.mtx").write_text(
        "%%MatrixMarket matrix array real general\n3 1\n1.5\n2.5\n3.5\n"
    )
    pages = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *a: Pages(*a, directory=str(folder))
    )
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    host = f"http://127.0.0.1:{pages.server_address[1]}"
    allowed = json.dumps([f"file:{folder}/open", f"{host}/open/"])
    (folder / "farcall.toml").write_text(
        '[[plugin]]\nname = "fetcher"\nslot = "fetcher"\n[plugin.options]\n'
        f'allow = [{{ from = {allowed} }}]\n'
    )
    environment = pytest.MonkeyPatch()
    environment.setenv("no_proxy", "*")
    with farcall.connect(
        files=[folder / "urls.idl"], arguments=["--manifest", str(folder / "farcall.toml")]
    ) as server:
        yield server, f"file:{folder}", host
    environment.undo()
    pages.shutdown()
    pages.server_close()


@pytest.mark.parametrize("place", [1, 2], ids=["file", "page"])
def test_arrays_come_from_where_they_lie(world, place):
    server, url = world[0], world[place]
    assert server.total(farcall.URL(f"{url}/open/small.npy"), n=10).s == 45
    assert server.total(farcall.URL(f"{url}/open/large.npy"), n=100000).s == 4999950000
    assert server.total(farcall.URL(f"{url}/open/whole.npy"), n=10).s == 45, (
        "whole numbers become doubles"
    )
    assert server.total(farcall.URL(f"{url}/open/v.mtx"), n=3).s == 7.5


def test_they_stand_beside_arrays_that_are_sent_and_tell_their_size(world):
    server, url, _ = world
    for name, n in [("small", 10), ("large", 100000)]:
        ones = np.ones(n)
        assert server.both(farcall.URL(f"{url}/open/{name}.npy"), ones).s == n * (n - 1) / 2
        assert server.both(ones, farcall.URL(f"{url}/open/{name}.npy")).s == n * (n - 1) / 2


def test_an_inout_array_comes_back_in_the_interface_s_order(world):
    server, url, _ = world
    result = server.twice(farcall.URL(f"{url}/open/matrix.npy"), m=2, n=3)
    assert np.array_equal(result.a, 2 * np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("/secret.npy", farcall.PermissionDenied, "may not fetch arrays from that address"),
        ("/open/../secret.npy", farcall.InvalidArgument, "cannot be used"),
        ("/open/%2e%2e/secret.npy", farcall.InvalidArgument, "cannot be used"),
        ("/open/none.npy", farcall.NotFound, "none.npy"),
        ("/open/cut.npy", farcall.InvalidArgument, "its length is not what its header says"),
        ("/open/matrix.npy", farcall.InvalidArgument, "its shape differs"),
        ("/open/a.txt", farcall.InvalidArgument, ".npy"),
    ],
)
@pytest.mark.parametrize("place", [1, 2], ids=["file", "page"])
def test_what_cannot_be_had_is_said(world, place, name, error, words):
    with pytest.raises(error, match=words) as told:
        world[0].total(farcall.URL(world[place] + name), n=10)
    assert "parameter: a" in str(told.value)
    assert world[0].total(np.ones(3)).s == 3


def test_sources_that_nobody_allowed(world):
    for url in ["https://example.org/a.npy", "http://127.0.0.1:9/a.npy", "file:/etc/passwd.npy"]:
        with pytest.raises(farcall.PermissionDenied, match="allow"):
            world[0].total(farcall.URL(url), n=10)


def test_only_arrays_of_numbers_are_fetched(world):
    with pytest.raises(TypeError, match="array of numbers"):
        world[0].text(farcall.URL("https://example.org/a.npy"))
    with pytest.raises(TypeError, match="array of numbers"):
        world[0].total(np.ones(3), n=farcall.URL("https://example.org/a.npy"))


def test_a_size_that_nothing_tells_is_asked_for(world):
    with pytest.raises(farcall.InvalidArgument, match="n"):
        world[0].total(farcall.URL(f"{world[1]}/open/small.npy"))


def test_the_command_takes_urls(world):
    server, url, _ = world
    command = [
        "farcall",
        "call",
        "--server",
        server.address,
        "total",
        f"a=@{url}/open/small.npy",
        "n=10",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "45" in done.stdout, done.stderr + done.stdout
    denied = subprocess.run(
        command[:-2] + [f"a=@{url}/secret.npy", "n=10"], capture_output=True, text=True, timeout=60
    )
    assert denied.returncode != 0 and "may not fetch" in denied.stderr


def test_an_empty_manifest_allows_nothing(tmp_path):
    (tmp_path / "urls.idl").write_text(IDL)
    with farcall.connect(files=[tmp_path / "urls.idl"]) as server:
        with pytest.raises(farcall.PermissionDenied):
            server.total(farcall.URL(f"file:{tmp_path}/a.npy"), n=1)


def test_a_table_with_mistakes_is_refused(tmp_path):
    (tmp_path / "farcall.toml").write_text(
        '[[plugin]]\nname = "fetcher"\nslot = "fetcher"\n[plugin.options]\n'
        'allow = [{ from = ["data.org"] }]\n'
    )
    done = subprocess.run(
        ["farcall", "serve", "--manifest", str(tmp_path / "farcall.toml")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0 and "is not a URL" in done.stderr and "allow" in done.stderr, (
        done.stderr
    )
