"""Addresses as `farcall connect` takes them, and servers that are about to listen."""

import subprocess
import threading
import time

import pytest

ONE = "Module one;\nDefine one(IN int n, OUT int m) { *m = n + 1; }\n"


@pytest.mark.parametrize(
    "given, meant",
    [
        ("cluster", "ssh://cluster"),
        ("me@cluster.example.org", "ssh://me@cluster.example.org"),
        ("cluster:2222", "ssh://cluster:2222"),
        ("me@[fe80::1]:22/slurm", "ssh://me@[fe80::1]:22/slurm"),
        ("unix:/run/farcall.sock", "unix:/run/farcall.sock"),
        ("unix:x", "unix:x"),
        ("tcp:127.0.0.1:5000", "tcp:127.0.0.1:5000"),
        ("tls://host:5000", "tls://host:5000"),
        ("farcall://host:5000", "farcall://host:5000"),
        ("ssh://me@host/slurm", "ssh://me@host/slurm"),
        ("/run/farcall.sock", "/run/farcall.sock"),
        ("", ""),
        ("two words", "two words"),
    ],
)
def test_a_host_alone_is_one_by_ssh(farcall, given, meant):
    from farcall._addresses import address_of

    assert address_of(given) == meant


def test_a_file_is_no_host(farcall, tmp_path, monkeypatch):
    from farcall._addresses import address_of

    monkeypatch.chdir(tmp_path)
    (tmp_path / "server.sock").touch()
    assert address_of("server.sock") == "server.sock"


def test_settings_of_a_server_elsewhere_are_lines(farcall):
    from farcall._connect import far_settings

    assert far_settings(config=None, load=()) is None
    given = far_settings(account="physics", time_limit=30, load=["gcc/12", "cuda"], memory="8G")
    assert given == "account=physics\ntime-limit=30\nload=gcc/12\nload=cuda\nmemory=8G"
    with pytest.raises(farcall.WrongType):
        far_settings(gpus=True)
    with pytest.raises(farcall.InvalidArgument):
        far_settings(source="a\nb")
    with pytest.raises(TypeError, match="'acount': did you mean account"):
        farcall.connect("host", acount="physics")


@pytest.mark.parametrize(
    "address, given, words",
    [
        ("unix:/nowhere", {"account": "a"}, "ssh reaches"),
        (None, {"partition": "short"}, "ssh reaches"),
        ("host/slurm", {"time_limit": "soon"}, "time limit"),
        ("host/slurm", {"account": "two words"}, "not a name"),
        ("host/slurm", {"config": "nowhere.toml"}, "configuration file"),
    ],
)
def test_settings_that_cannot_be_are_refused(farcall, monkeypatch, address, given, words):
    monkeypatch.delenv("FARCALL_SERVER", raising=False)
    monkeypatch.setenv("FARCALL_SSH", "true")
    with pytest.raises(farcall.Error, match=words):
        farcall.connect(address, timeout=20, **given)


def test_a_host_that_there_is_not_is_named(farcall):
    with pytest.raises(farcall.Error, match="nowhere.invalid"):
        farcall.connect("nowhere.invalid", timeout=20)


def test_a_server_that_is_about_to_listen_is_waited_for(farcall, tmp_path, monkeypatch):
    from farcall._library import find

    (tmp_path / "one.idl").write_text(ONE)
    address = f"unix:{tmp_path}/s.sock"
    command = [find("FARCALL_PROGRAM", "bin", "farcall"), "serve", "--listen", address]
    started = []

    def start():
        time.sleep(0.5)
        started.append(subprocess.Popen([*command, str(tmp_path / "one.idl")]))

    thread = threading.Thread(target=start)
    thread.start()
    try:
        with farcall.connect(address) as server:
            assert server.one.one(1) == 2
        monkeypatch.setenv("FARCALL_SERVER", address)
        with farcall.connect() as server:
            assert server.one.one(2) == 3
    finally:
        thread.join()
        started[0].terminate()
        started[0].wait(10)


def test_nobody_who_cannot_come_is_waited_for(farcall, tmp_path):
    begin = time.monotonic()
    with pytest.raises(farcall.Unreachable):
        farcall.connect(f"unix:{tmp_path}/no/such/folder/s.sock")
    assert time.monotonic() - begin < 1
    with pytest.raises(farcall.Unreachable):
        farcall.connect(f"unix:{tmp_path}/s.sock", timeout=0.3)
    assert time.monotonic() - begin < 2
