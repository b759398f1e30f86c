"""A tree written for Ninf-G: its stub executables on this host serve its client, which its
configuration file tells of them."""

import os
import pathlib
import shutil
import subprocess

import pytest

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
    if ((status = grpc_initialize(argc > 1 ? argv[1] : NULL)) ||
        (status = argc > 2 ? grpc_function_handle_init(&handle, argv[2], "sample/inc") : grpc_function_handle_default(&handle, "sample/inc")) ||
        (status = grpc_call(&handle, 41, &y))) {
        printf("%s\n", grpc_error_string(status));
        return 1;
    }
    printf("%d\n", y);
    grpc_function_handle_destruct(&handle);
    return grpc_finalize();
}
"""

WHERE = """
#include "grpc.h"
int main(int argc, char **argv)
{
    grpc_function_handle_t handle;
    char *folder = NULL;
    if (grpc_initialize(argv[1]) || grpc_function_handle_default(&handle, "places/where") || grpc_call(&handle, &folder))
        return 1;
    puts(folder);
    free(folder);
    return grpc_finalize();
}
"""


def run(folder, *command):
    paths = f"{STAGE / 'bin'}:{os.environ['PATH']}"
    environment = {
        **os.environ,
        "NG_DIR": str(STAGE / "ng"),
        "PATH": paths,
        "FARCALL_SERVER": "unix:/nonexistent/socket",
    }
    environment |= {"LD_LIBRARY_PATH": str(STAGE / "lib"), "NG_HOSTNAME": "here.example"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


def test_stub_executables_of_this_host_serve_its_clients(tmp_path):
    (tmp_path / "sample.idl").write_text(IDL)
    (tmp_path / "client.c").write_text(CLIENT)
    section = (
        "<FUNCTION_INFO>\nhostname localhost\nfuncname sample/inc\npath {}\n</FUNCTION_INFO>\n"
    )
    server = "<SERVER>\nhostname localhost\ninvoke_server SSH\n</SERVER>\n"
    (tmp_path / "info.conf").write_text(server + section.format(tmp_path / "_stub_inc"))
    (tmp_path / "gone.conf").write_text(server + section.format(tmp_path / "_stub_gone"))
    source = (
        "<INFORMATION_SOURCE>\ntype NRF\ntag files\nsource sample.here.example.nrf\n"
        "</INFORMATION_SOURCE>\n"
    )
    (tmp_path / "file.conf").write_text(server + source)
    for command in (
        [STAGE / "ng/bin/ng_gen", "sample.idl"],
        ["make", "-f", "sample.mak"],
        [STAGE / "ng/bin/ng_cc", "-o", "client", "client.c"],
    ):
        done = run(tmp_path, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    # Without a section SERVER, the files tell of this host's executables all the same; and this
    # host has several names.
    (tmp_path / "alone.conf").write_text(source)
    (tmp_path / "ldif.conf").write_text(
        "<LOCAL_LDIF>\nfilename sample.here.example.ngdef\n</LOCAL_LDIF>\n"
    )
    for configuration in ("info.conf", "file.conf", "alone.conf", "ldif.conf"):
        for host in ([], ["localhost"], ["127.0.0.1"], ["here.example"], ["here"]):
            done = run(tmp_path, "./client", configuration, *host)
            assert (done.returncode, done.stdout) == (0, "42\n"), (
                configuration,
                host,
                done.stdout + done.stderr,
            )
    gone = run(tmp_path, "./client", "gone.conf")
    assert (
        gone.returncode != 0
        and "gone.conf:5:1: the executable of sample/inc does not exist" in gone.stderr
    ), gone.stderr
    # The private server's lists lie in the folder for temporary files, which is empty again
    # afterwards.
    place = tmp_path / "temporary"
    (tmp_path / "place.conf").write_text(
        (tmp_path / "info.conf").read_text() + f"<CLIENT>\ntmp_dir {place}\n</CLIENT>\n"
    )
    assert run(tmp_path, "./client", "place.conf").returncode != 0
    place.mkdir()
    assert run(tmp_path, "./client", "place.conf").stdout == "42\n" and not list(place.iterdir())


def test_routines_work_where_the_configuration_says_or_where_they_lie(tmp_path):
    body = "static char folder[4096];\n*o = getcwd(folder, sizeof folder);"
    (tmp_path / "places.idl").write_text(
        f"Module places;\nDefine where(OUT string *o) {{ {body} }}\n"
    )
    (tmp_path / "where.c").write_text(WHERE)
    (tmp_path / "data").mkdir()
    for command in (
        [STAGE / "ng/bin/ng_gen", "places.idl"],
        ["make", "-f", "places.mak"],
        [STAGE / "ng/bin/ng_cc", "-o", "where", "where.c"],
    ):
        done = run(tmp_path, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    function = (
        f"<FUNCTION_INFO>\nhostname localhost\nfuncname places/where\npath {tmp_path}/_stub_where\n"
        "</FUNCTION_INFO>\n"
    )

    def where(line):
        (tmp_path / "where.conf").write_text(
            f"<SERVER>\nhostname localhost\n{line}</SERVER>\n{function}"
        )
        return run(tmp_path, "./where", "where.conf")

    assert where("").stdout == f"{tmp_path}\n"
    for named in (tmp_path / "data", "data"):
        assert where(f"workDirectory {named}\n").stdout == f"{tmp_path}/data\n"
    nowhere = where("workDirectory /nonexistent\n")
    assert nowhere.returncode == 1 and "workDirectory is not a directory" in nowhere.stderr, (
        nowhere.stderr
    )


def test_a_server_of_another_installation_finds_the_library_of_stub_executables(tmp_path):
    """The farcall of a wheel serves what was linked with the library of the prefix."""
    (tmp_path / "sample.idl").write_text(IDL)
    for command in ([STAGE / "ng/bin/ng_gen", "sample.idl"], ["make", "-f", "sample.mak"]):
        done = run(tmp_path, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FARCALL_", "LD_LIBRARY"))
    }
    command = [
        STAGE / "venv/bin/farcall",
        "serve",
        "--listen",
        f"unix:{tmp_path}/socket",
        tmp_path / "sample.here.example.nrf",
    ]
    server = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout.readline() == f"unix:{tmp_path}/socket\n", server.stderr.read()
        command = [
            STAGE / "bin/farcall",
            "call",
            "--server",
            f"unix:{tmp_path}/socket",
            "inc",
            "41",
        ]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout) == (0, "y = 42\n"), done.stdout + done.stderr
    finally:
        server.terminate()
        server.communicate()


MPI_IDL = r"""
Module ranks;
Define total(IN int n, broadcast IN double x[n], OUT double *sum, OUT int *size)
"the sum over all ranks of what each has"
Backend "MPI"
{
    double own = 0;
    for (int i = 0; i < n; i++)
        own += x[i];
    MPI_Comm_size(MPI_COMM_WORLD, size);
    MPI_Reduce(&own, sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}
"""
MPI_CLIENT = r"""
#include "grpc.h"
int main(int argc, char **argv)
{
    grpc_function_handle_t handle;
    grpc_handle_attr_t_np attributes;
    grpc_error_t status;
    double x[3] = {1, 2, 3}, sum = 0;
    int size = 0, ranks = argc > 2 ? atoi(argv[2]) : 0;
    if (grpc_initialize(argv[1]) || grpc_handle_attr_initialize_np(&attributes) ||
        grpc_handle_attr_set_np(&attributes, GRPC_HANDLE_ATTR_FUNCNAME, "ranks/total") ||
        (ranks && grpc_handle_attr_set_np(&attributes, GRPC_HANDLE_ATTR_MPI_NCPUS, &ranks)) ||
        grpc_function_handle_init_with_attr_np(&handle, &attributes))
        return 2;
    if ((status = grpc_call(&handle, 3, x, &sum, &size))) {
        printf("%s\n", grpc_error_string(status));
        return 1;
    }
    printf("%d %g\n", size, sum);
    return grpc_finalize();
}
"""


@pytest.mark.skipif(
    shutil.which("mpirun") is None or shutil.which("mpicc") is None, reason="no MPI on this machine"
)
def test_mpi_starts_as_many_processes_as_the_configuration_or_the_handle_says(tmp_path):
    (tmp_path / "ranks.idl").write_text(MPI_IDL)
    (tmp_path / "client.c").write_text(MPI_CLIENT)
    for command in (
        [STAGE / "ng/bin/ng_gen", "ranks.idl"],
        ["make", "-f", "ranks.mak"],
        [STAGE / "ng/bin/ng_cc", "-o", "client", "client.c"],
    ):
        done = run(tmp_path, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    assert run(tmp_path, "./_stub_total", "-i", "total.inf").returncode == 0

    def call(lines, *ranks):
        source = (
            "<INFORMATION_SOURCE>\ntype NRF\ntag files\nsource ranks.here.example.nrf\n"
            "</INFORMATION_SOURCE>\n"
        )
        (tmp_path / "c.conf").write_text(
            f"<SERVER>\nhostname localhost\n{lines}</SERVER>\n{source}"
        )
        return run(tmp_path, "./client", "c.conf", *ranks)

    assert call("mpi_runNoOfCPUs 9\nmpi_runNoOfCPUs total=2\n").stdout == "2 12\n"
    assert call("mpi_runNoOfCPUs 9\n", "3").stdout == "3 18\n"
    nobody = call("")
    assert nobody.returncode == 1 and "mpi_runNoOfCPUs" in nobody.stderr, (
        nobody.stdout + nobody.stderr
    )
