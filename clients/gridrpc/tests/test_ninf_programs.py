"""Stub executables for programs of the first Ninf: called without a server, and served by its old
start-up programs."""

import os
import pathlib
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
NG = STAGE / "ng"
IDLS = {
    "alpha": 'Module alpha;\nDefine inc(IN int x, OUT int *y) "y = x + 1" { *y = x + 1; }\n'
    'Define dec(IN int x, OUT int *y) "y = x - 1" { *y = x - 1; }\n',
    "beta": 'Module beta;\nDefine twice(IN int x, OUT int *y) "y = 2 x" { *y = 2 * x; }\n',
}
CLIENT = r"""
#include "ninf.h"
int main(int argc, char **argv)
{
    int y = 0, before = 0;
    if (argc > 2) {
        before = Ninf_local_exec(argv[2], 41, &y) == NINF_OK && Ninf_call_exec(argv[2], y, &y) == NINF_OK;
        printf("%d %d\n", before, y);
        return Ninf_local_exec(argv[2], 41) == NINF_ERROR ? 0 : 1;
    }
    if (Ninf_call(argv[1], 20, &y) == NINF_ERROR) {
        Ninf_perror(argv[1]);
        return Ninf_error_code();
    }
    printf("%d\n", y);
    return 0;
}
"""


def run(folder, *command, **variables):
    environment = {
        **os.environ,
        "NG_DIR": str(NG),
        "FARCALL_SERVER": "unix:/nonexistent/socket",
        **variables,
    }
    environment |= {
        "PATH": f"{STAGE / 'bin'}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": str(STAGE / "lib"),
    }
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("a tree")
    (folder / "client.c").write_text(CLIENT)
    commands = [[NG / "bin/ninfcc", "-o", "client", "client.c"]]
    for name, text in IDLS.items():
        (folder / f"{name}.idl").write_text(text)
        commands += [[NG / "bin/ninf_gen", f"{name}.idl"], ["make", "-f", f"{name}.mak"]]
    for command in commands:
        done = run(folder, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_a_stub_is_called_without_a_server(tree):
    done = run(tree, "./client", "-", "_stub_inc")
    assert (done.returncode, done.stdout) == (0, "1 43\n"), done.stderr


def test_the_old_server_starts_takes_stubs_and_ends(tree):
    (tree / "ninf.conf").write_text(
        "# of a server\nstubs _stub_inc _stub_dec\nhttpd yes\nport 3000\n"
    )
    # Programs of that time are told a host and a port, and know of no token.
    variables = {"XDG_RUNTIME_DIR": str(tree / "run"), "FARCALL_TOKEN_FILE": ""}
    environment = {**os.environ, **variables, "PATH": f"{STAGE / 'bin'}:{os.environ['PATH']}"}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    command = [NG / "bin/ninf_serv_tcp", "-port", port, "ninf.conf"]
    server = subprocess.Popen(
        command,
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout.readline().strip().endswith(f":{port}")

        def call(name, host="127.0.0.1"):
            done = run(tree, "./client", f"ninf://{host}:{port}/{name}", **variables)
            return done.returncode, done.stdout

        def register(*arguments):
            return run(tree, NG / "bin/ninf_register", "-port", port, *arguments, **variables)

        assert call("alpha/inc") == (0, "21\n") and call("dec", socket.gethostname()) == (0, "19\n")
        assert call("twice")[0] == 1  # CANTFINDSTUB
        done = register("-register", "_stub_twice")
        assert done.returncode == 0, done.stderr
        assert call("beta/twice") == (0, "40\n")
        listed = register("-dump").stdout
        assert "alpha/inc" in listed and "beta/twice" in listed
        assert register("-remove", "alpha").returncode == 0 and call("inc")[0] == 1
        assert register("-what").returncode == 2
        none = run(tree, NG / "bin/ninf_register", "-port", "1", "-dump", **variables)
        assert none.returncode == 2 and "no ninf_serv_tcp of yours runs on port 1" in none.stderr
        assert register("-stop").returncode == 0
        assert server.wait(20) == 0
        said = server.stderr.read()
        assert "line 3: httpd has no effect" in said and "FARCALL_TOKEN_FILE=" in said
    finally:
        server.kill()
        server.communicate()


def test_what_is_no_configuration_is_refused(tree):
    (tree / "empty.conf").write_text("port 3000\n")
    variables = {"XDG_RUNTIME_DIR": str(tree / "run")}
    for arguments, words in (
        (["empty.conf"], "no stub executable"),
        (["-port", "many", "ninf.conf"], "is no port"),
        (["nothing.conf"], "nothing.conf"),
    ):
        (tree / "ninf.conf").write_text("stubs _stub_inc\n")
        done = run(tree, NG / "bin/ninf_serv_tcp", *arguments, **variables)
        assert done.returncode == 2 and words in done.stderr


def test_programs_find_the_old_server_by_its_port(tree):
    (tree / "plain.conf").write_text("stubs _stub_inc\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    variables = {"XDG_RUNTIME_DIR": str(tree / "run"), "FARCALL_TOKEN_FILE": ""}
    environment = {**os.environ, **variables, "PATH": f"{STAGE / 'bin'}:{os.environ['PATH']}"}
    command = [NG / "bin/ninf_serv_tcp", "-port", port, "plain.conf"]
    with subprocess.Popen(
        command, cwd=tree, env=environment, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout.readline().strip().endswith(f":{port}")
            named = {"NINF_SERVER": "localhost", "NINF_SERVER_PORT": port}
            done = run(tree, "./client", "alpha/inc", **named, **variables)
            assert (done.returncode, done.stdout) == (0, "21\n"), done.stderr
            again = run(tree, *command, **variables)
            assert again.returncode == 2 and "ninf_register" in again.stderr
            # One more of a module leaves the others there, and one less, too.
            register = [NG / "bin/ninf_register", "-port", port]
            for order, stub, names in [
                ("-register", "_stub_dec", "inc dec"),
                ("-remove", "_stub_dec", "inc"),
            ]:
                done = run(tree, *register, order, stub, **variables)
                assert done.returncode == 0, done.stderr
                dumped = run(tree, *register, "-dump", **variables).stdout
                assert {line.split()[0] for line in dumped.splitlines()} == {
                    f"alpha/{name}" for name in names.split()
                }
            # It is found by who runs it alone.
            done = run(
                tree,
                "./client",
                "alpha/inc",
                **named,
                **{**variables, "XDG_RUNTIME_DIR": str(tree)},
            )
            assert done.returncode == 20 and "FARCALL_TOKEN_FILE" in done.stderr
        finally:
            server.terminate()


def test_the_token_of_the_old_server_is_shown_to_no_other_host(tree):
    with socket.create_server(("127.0.0.2", 0)) as elsewhere:
        host, port = elsewhere.getsockname()
        token = tree / f"run/farcall/ninf-{port}/token"
        token.parent.mkdir(parents=True)
        token.write_text("ab" * 32 + "\n")
        token.chmod(0o600)
        variables = {
            "XDG_RUNTIME_DIR": str(tree / "run"),
            "FARCALL_TOKEN_FILE": "",
            "FARCALL_SERVER": f"farcall://{host}:{port}",
        }
        with ThreadPoolExecutor(1) as pool:
            heard = pool.submit(hear, elsewhere)
            assert run(tree, "./client", "alpha/inc", **variables).returncode != 0
            assert b"farcall" in heard.result(20) and bytes.fromhex("ab" * 32) not in heard.result()


def hear(listener):
    """What a client says first."""
    listener.settimeout(20)
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(20)
        return connection.recv(4096)
