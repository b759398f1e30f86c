"""A tree written for Ninf-G: its stub executables on this host serve its client, which its configuration file tells of them."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
IDL = 'Module sample;\nDefine inc(IN int x, OUT int *y) "y = x + 1" { *y = x + 1; }\n'
CLIENT = r"""
#include "grpc.h"
int main(int argc, char **argv)
{
    grpc_function_handle_t handle;
    grpc_error_t status;
    int y = 0;
    if ((status = grpc_initialize(argc > 1 ? argv[1] : NULL)) || (status = grpc_function_handle_default(&handle, "sample/inc")) ||
        (status = grpc_call(&handle, 41, &y))) {
        printf("%s\n", grpc_error_string(status));
        return 1;
    }
    printf("%d\n", y);
    grpc_function_handle_destruct(&handle);
    return grpc_finalize();
}
"""


def run(folder, *command):
    paths = f"{STAGE / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "NG_DIR": str(STAGE / "ng"), "PATH": paths, "FARCALL_SERVER": "unix:/nonexistent/socket"}
    environment |= {"LD_LIBRARY_PATH": str(STAGE / "lib"), "NG_HOSTNAME": "here.example"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def test_stub_executables_of_this_host_serve_its_clients(tmp_path):
    (tmp_path / "sample.idl").write_text(IDL)
    (tmp_path / "client.c").write_text(CLIENT)
    section = "<FUNCTION_INFO>\nhostname localhost\nfuncname sample/inc\npath {}\n</FUNCTION_INFO>\n"
    server = "<SERVER>\nhostname localhost\ninvoke_server SSH\n</SERVER>\n"
    (tmp_path / "info.conf").write_text(server + section.format(tmp_path / "_stub_inc"))
    (tmp_path / "gone.conf").write_text(server + section.format(tmp_path / "_stub_gone"))
    source = "<INFORMATION_SOURCE>\ntype NRF\ntag files\nsource sample.here.example.nrf\n</INFORMATION_SOURCE>\n"
    (tmp_path / "file.conf").write_text(server + source)
    for command in (
        [STAGE / "ng/bin/ng_gen", "sample.idl"],
        ["make", "-f", "sample.mak"],
        [STAGE / "ng/bin/ng_cc", "-o", "client", "client.c"],
    ):
        done = run(tmp_path, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    for configuration in ("info.conf", "file.conf"):
        done = run(tmp_path, "./client", configuration)
        assert (done.returncode, done.stdout) == (0, "42\n"), done.stdout + done.stderr
    assert run(tmp_path, "./client", "gone.conf").returncode != 0
    # The private server's lists lie in the folder for temporary files, which is empty again afterwards.
    place = tmp_path / "temporary"
    (tmp_path / "place.conf").write_text((tmp_path / "info.conf").read_text() + f"<CLIENT>\ntmp_dir {place}\n</CLIENT>\n")
    assert run(tmp_path, "./client", "place.conf").returncode != 0
    place.mkdir()
    assert run(tmp_path, "./client", "place.conf").stdout == "42\n" and not list(place.iterdir())
