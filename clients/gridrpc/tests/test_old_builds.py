"""What makefiles and lists of old trees do beside their usual way: stubs that do not compile, several
modules in one list, scripts."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
NG = STAGE / "ng"
CLIENT = r"""
#include "grpc.h"
int main(int argc, char **argv)
{
    grpc_function_handle_t f;
    int r = 0;
    grpc_initialize(argv[1]);
    if (grpc_function_handle_default(&f, argv[2]) || grpc_call(&f, 41, &r)) grpc_perror_np(argv[2]);
    printf("%d\n", r);
    grpc_finalize();
    return 0;
}
"""


def run(folder, *command, **variables):
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FARCALL_", "NG_"))
    }
    environment |= {
        "NG_DIR": str(NG),
        "XDG_RUNTIME_DIR": str(folder),
        "PATH": f"{NG / 'bin'}:{STAGE / 'bin'}:{os.environ['PATH']}",
        "LC_ALL": "C",
        **variables,
    }
    return subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def made(folder, *commands, **variables):
    for command in commands:
        done = run(folder, *command, **variables)
        assert done.returncode == 0, done.stdout + done.stderr


def client(folder, configuration, function, **variables):
    """What a client prints."""
    (folder / "client.c").write_text(CLIENT)
    (folder / "client.conf").write_text(configuration)
    made(folder, ["ng_cc", "-o", "client", "client.c"])
    return run(folder, "./client", "client.conf", function, **variables).stdout.strip()


def test_a_stub_that_does_not_compile_costs_itself_alone(tmp_path):
    interface = "Module m;\nDefine f(IN int x, OUT int *r) { *r = x + 1; }\n"
    interface += "Define broken(IN int x) { no_such_type y; }\nDefine g(OUT int *r) { *r = 5; }\n"
    (tmp_path / "m.idl").write_text(interface)
    made(tmp_path, ["ng_gen", "m.idl"])
    done = run(tmp_path, "make", "-s", "-f", "m.mak")
    host = run(tmp_path, "ng_gen_nrf", "--hostname").stdout.strip()
    assert done.returncode != 0 and "m.idl:3" in done.stderr
    message = f"m.mak: could not be built, for the errors above: _stub_broken; m.{host}.nrf lists"
    assert done.stderr.count(message) == 1, done.stderr
    for ending in ("nrf", "ngdef"):
        assert (tmp_path / f"m.{host}.{ending}").exists()
    configuration = f"<LOCAL_LDIF>\nfilename m.{host}.ngdef\n</LOCAL_LDIF>\n"
    assert client(tmp_path, configuration, "m/f") == "42"
    # Mended, it is there; broken later, its old executable is not listed.
    stubs = {"m/f", "m/broken", "m/g"}
    for text, listed in [("int y;", stubs), ("no_such_type y;", stubs - {"m/broken"})]:
        (tmp_path / "m.idl").write_text(interface.replace("no_such_type y;", text))
        made(tmp_path, ["ng_gen", "m.idl"])
        done = run(tmp_path, "make", "-s", "-f", "m.mak")
        assert (done.returncode == 0) == (listed == stubs), done.stderr
        nrf = (tmp_path / f"m.{host}.nrf").read_text()
        assert {name for name in stubs if f'class name="{name}"' in nrf} == listed


def test_entries_of_a_list_stand_for_themselves(tmp_path):
    for module, step in (("alpha", 1), ("beta", 2)):
        body = f"(IN int x, OUT int *r) {{ *r = x + {step}; }}"
        (tmp_path / f"{module}.idl").write_text(f"Module {module};\nDefine {module[0]}{body}\n")
        made(tmp_path, ["ng_gen", f"{module}.idl"], ["make", "-s", "-f", f"{module}.mak"])
    made(tmp_path, ["ng_gen_nrf", "-o", "all.nrf", "_stub_a.inf", "_stub_b.inf"])
    nrf = (tmp_path / "all.nrf").read_text()
    gone = nrf.replace("_stub_b<", "_stub_gone<").replace('"beta/b"', '"gamma/b"')
    (tmp_path / "some.nrf").write_text(gone)
    address = f"unix:{tmp_path / 'socket'}"
    with subprocess.Popen(
        [STAGE / "bin/farcall", "serve", "--listen", address, "some.nrf"],
        cwd=tmp_path,
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout.readline().strip() == address
            server_is = ["--server", address]
            done = run(tmp_path, "farcall", "publish", *server_is, "all.nrf")
            assert done.returncode == 0 and done.stdout.split()[::3] == ["alpha", "beta"], done
            done = run(tmp_path, "farcall", "reload", *server_is, "beta")
            assert done.returncode == 0 and "beta" in done.stdout, done.stderr
            for name, result in (("alpha/a", "41"), ("beta/b", "42")):
                done = run(tmp_path, "farcall", "call", *server_is, name, "40")
                assert result in done.stdout, done.stdout + done.stderr
            done = run(tmp_path, "farcall", "withdraw", *server_is, "alpha")
            assert done.returncode == 0, done.stderr
            done = run(tmp_path, "farcall", "call", *server_is, "beta/b", "40")
            assert "42" in done.stdout, done.stderr
        finally:
            server.terminate()
        said = server.stderr.read()
        assert "gamma/b" in said and "no such program on this host" in said


def test_scripts_call_the_makefile_with_the_variable_set(tmp_path):
    (tmp_path / "m.idl").write_text("Module m;\nDefine f(OUT int *r) { *r = 1; }\n")
    script = "#!/bin/sh\nset -e\n$NG_DIR/bin/ng_gen m.idl\nmake -f m.mak NG_DIR=$NG_DIR all\n"
    (tmp_path / "build.sh").write_text(script + "make -f m.mak -n veryclean >/dev/null\n")
    made(tmp_path, ["sh", "build.sh"])
    # With a job for each processor, and one executable alone.
    made(tmp_path, ["make", "-f", "m.mak", "veryclean"], ["ng_gen", "m.idl"])
    made(tmp_path, ["make", "-j4", "-f", "m.mak"], ["make", "-f", "m.mak", "_stub_f"])
    assert (tmp_path / "_stub_f").exists() and list(tmp_path.glob("m.*.ngdef"))


def test_configurations_keep_the_names_of_their_hosts(tmp_path):
    (tmp_path / "m.idl").write_text("Module m;\nDefine f(IN int x, OUT int *r) { *r = x + 1; }\n")
    name = {"NG_HOSTNAME": "ume.example.org"}
    made(tmp_path, ["ng_gen", "m.idl"], ["make", "-s", "-f", "m.mak"], **name)
    # The client ran on one host, the executables on another; here both are this one.
    configuration = "<CLIENT>\nhostname koume.example.org\n</CLIENT>\n"
    configuration += "<SERVER>\nhostname ume.example.org\ninvoke_server GT4py\n</SERVER>\n"
    configuration += "<LOCAL_LDIF>\nfilename m.ume.example.org.ngdef\n</LOCAL_LDIF>\n"
    assert client(tmp_path, configuration, "m/f", **name) == "42"
