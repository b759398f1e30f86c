"""Programs as owners of Ninf-G and the first Ninf have them: interface files and clients are read,
built and run as they are."""

import os
import pathlib
import shutil
import socket
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
NG = STAGE / "ng"

# A client that makes one call of m/f, with these declarations, arguments and results to print.
CLIENT = """
#include "grpc.h"
%s
int main(int argc, char **argv)
{
    grpc_function_handle_t f;
    grpc_error_t e = grpc_initialize(argv[1]);
    %s
    if (!e) e = grpc_function_handle_default(&f, "m/f");
    if (!e) e = grpc_call(&f, %s);
    if (e) printf("%%s\\n", grpc_error_string(e));
    else printf(%s);
    grpc_finalize();
    return 0;
}
"""

# What each is, the rest of its interface file, what stands before main and in it, the arguments,
# what is printed, and the words for it.
PROGRAMS = {
    "a callback's size is the routine's parameter, which wins over the callback's own": (
        "Define f(IN int n, IN int k, IN double a[n], OUT double *s,"
        " g(IN int n, IN double part[n - k], OUT double sum[1]))"
        "{ double sum; g(0, a, &sum); *s = sum; }",
        "static void g(int n, double *part, double *sum) { *sum = part[0] + part[1] + n; }",
        "double a[3] = { 1, 2, 4 }, s = 0;",
        "3, 1, a, &s, g",
        r'"%.1f\n", s',
        "3.0",
    ),
    "brackets without a size are one element": (
        "Define f(IN long k, OUT int r[], INOUT float x[]) { r[0] = k + 1; x[0] *= 2; }",
        "",
        "int r = 0; float x = 1.5;",
        "41L, &r, &x",
        r'"%d %.1f\n", r, x',
        "42 3.0",
    ),
    "an end of 0 or none is the whole size, in every dimension": (
        "Define f(IN int n, IN int e, INOUT int v[n:0,e][n:0,e,0], INOUT int w[n:1,n])"
        "{ int i; for (i = 0; i < n * n; i++) v[i] *= 2; for (i = 0; i < n; i++) w[i] *= 2; }",
        "",
        "int v[4] = { 1, 2, 3, 4 }, w[2] = { 5, 6 };",
        "2, 0, v, w",
        r'"%d %d %d %d %d %d\n", v[0], v[1], v[2], v[3], w[0], w[1]',
        "2 4 6 8 5 12",
    ),
    "a body is C whatever its language": (
        'Define f(OUT int *r) "C" Language "Fortran" { int k = 6; *r = 7 * k; }',
        "",
        "int r = 0;",
        "&r",
        r'"%d\n", r',
        "42",
    ),
    "bodies find the error, the codes and the polls of the generated code": (
        "Globals {\nextern int ngexIsCanceled(int *);\n}\n"
        "Define f(OUT int *r) { int gone = grpc_is_canceled_np(&error);"
        " *r = gone == 0 && error == GRPC_NO_ERROR && !ngexIsCanceled(&error) ? 1 : 0; }",
        "",
        "int r = 0;",
        "&r",
        r'"%d\n", r',
        "1",
    ),
    "power binds looser than products and sums in sizes, and conditions group to the left": (
        "Define f(IN int n, IN short a[2*n^2], IN short b[n > 9 ? 9 : n ? 2*n : n], OUT int *r)"
        "{ *r = a[4 * n * n - 1] + b[2 * n - 1]; }",
        "",
        "short a[16] = { 0 }, b[4] = { 0 }; int r = 0; a[15] = 40; b[3] = 2;",
        "2, a, b, &r",
        r'"%d\n", r',
        "42",
    ),
    "bodies find the rank and the labels behind them": (
        "Define f(OUT int *r) { *r = 5; if (ng_stub_rank == 0) goto ng_stub_end; *r = 6; }",
        "",
        "int r = 0;",
        "&r",
        r'"%d\n", r',
        "5",
    ),
    "Globals may have the short names of math.h": (
        "Globals { static double y1[2] = { 1, 2 }; static int gamma; }"
        "Define f(OUT int *r) { *r = y1[1] + gamma + sqrt(16.0); }",
        "",
        "int r = 0;",
        "&r",
        r'"%d\n", r',
        "6",
    ),
    "bodies find the clock": (
        "Define f(IN int x, OUT int *r) { struct timeval now; gettimeofday(&now, 0);"
        " *r = x + (now.tv_sec > 0); }",
        "",
        "int r = 0;",
        "1, &r",
        r'"%d\n", r',
        "2",
    ),
    "arguments behind the last one are not looked at": (
        "Define f(IN int x, OUT int *r) { *r = x + 1; }",
        "",
        "int r = 0;",
        '1, &r, 7, "more"',
        r'"%d\n", r',
        "2",
    ),
    "a parameter may be called error": (
        "Define f(IN int error, OUT int *r) { *r = error + 1; }",
        "",
        "int r = 0;",
        "1, &r",
        r'"%d\n", r',
        "2",
    ),
    "complex numbers are structs of r and i on both sides, also by value": (
        "Define f(IN dcomplex z, IN int n, INOUT scomplex a[n])"
        "{ int i; for (i = 0; i < n; i++) { a[i].r += z.r; a[i].i = -a[i].i + z.i; } }",
        "",
        "dcomplex z = { 10, 20 }; scomplex a[2] = { { 1, 2 }, { 3, 4 } };",
        "z, 2, a",
        r'"%.0f%+.0fi %.0f%+.0fi\n", a[0].r, a[0].i, a[1].r, a[1].i',
        "11+18i 13+16i",
    ),
    "arrays of no strings and of no numbers are NULL": (
        "Define f(IN int n, IN string a[n], OUT string b[n], INOUT short c[n], OUT int *r)"
        "{ *r = (a == 0) + (b == 0) + (c == 0); }",
        "",
        'char *a[1] = { "x" }, *b[1] = { 0 }; short c[1]; int r = 9;',
        "0, a, b, c, &r",
        r'"%d\n", r',
        "3",
    ),
    "a file without a name is empty, and is left out as a result": (
        "Globals { static int size(char *f) { FILE *in = f ? fopen(f, \"r\") : 0; int n = 0;"
        " while (in && getc(in) != EOF) n++; return in ? n : -1; } }"
        "Define f(IN filename a, IN filename all[2], OUT filename b, OUT int *r) {"
        ' FILE *out = fopen(b, "w"); fputs("gone", out); fclose(out);'
        " *r = size(a) + size(all[0]) + size(all[1]); }",
        "",
        'char *all[2] = { "", "" }; int r = 9;',
        '"", all, "", &r',
        r'"%d\n", r',
        "0",
    ),
    "a callback's text stays until the program frees it": (
        "Define f(IN string a[2], g(IN string b[1])) { g(a + 1); }",
        "static char *kept; static void g(char **b) { kept = *b; }",
        'char *texts[2] = { "first", "second" };',
        "texts, g",
        r'"%s\n", kept); free(kept',
        "second",
    ),
    "attributes have members": (
        "Define f(IN int x, OUT int *r) { *r = x + 1; }",
        "",
        "int r = 0; grpc_handle_attr_t_np attr; char *name = 0;"
        " if (!e) e = grpc_handle_attr_initialize_np(&attr);"
        ' attr.gha_remoteHostName = "localhost"; attr.gha_functionName = "m/f";'
        " if (!e) e = grpc_handle_attr_get_np(&attr, GRPC_HANDLE_ATTR_FUNCNAME, (void **)&name);"
        ' if (!e) e = strcmp(name, "m/f"); grpc_handle_attr_release_np(name);'
        " if (!e) e = grpc_function_handle_init_with_attr_np(&f, &attr);",
        "1, &r",
        r'"%d\n", r',
        "2",
    ),
}


def run(folder, *command, **variables):
    environment = {
        **os.environ,
        "NG_DIR": str(NG),
        "XDG_RUNTIME_DIR": str(folder),
        "PATH": f"{NG / 'bin'}:{STAGE / 'bin'}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": str(STAGE / "lib"),
        **variables,
    }
    environment.pop("FARCALL_SERVER", None)
    return subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def made(folder, *commands):
    said = ""
    for command in commands:
        done = run(folder, *command)
        assert done.returncode == 0, done.stdout + done.stderr
        said += done.stderr
    return said


def configuration(folder, *modules):
    host = run(folder, "ng_gen_nrf", "--hostname").stdout.strip()
    sources = "".join(f"source {module}.{host}.nrf\n" for module in modules)
    text = "<SERVER>\nhostname localhost\n</SERVER>\n<INFORMATION_SOURCE>\ntype NRF\ntag nrf\n"
    (folder / "client.conf").write_text(f"{text}{sources}</INFORMATION_SOURCE>\n")


@pytest.mark.parametrize("what", PROGRAMS)
def test_of_ninf_g(what, tmp_path):
    interface, before, inside, arguments, printed, words = PROGRAMS[what]
    (tmp_path / "m.idl").write_text(f"Module m;\n{interface}\n")
    (tmp_path / "client.c").write_text(CLIENT % (before, inside, arguments, printed))
    made(
        tmp_path,
        ["ng_gen", "m.idl"],
        ["make", "-s", "-f", "m.mak"],
        ["ng_cc", "-o", "client", "client.c"],
    )
    configuration(tmp_path, "m")
    done = run(tmp_path, "./client", "client.conf")
    assert done.stdout.strip() == words, done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("valgrind"), reason="not installed: valgrind")
def test_programs_run_under_valgrind(tmp_path):
    """Calls and sessions read clocks; the kernel's own code for that is not there then."""
    (tmp_path / "m.idl").write_text("Module m;\nDefine f(IN int x, OUT int *r) { *r = x + 1; }\n")
    started = "(grpc_call_async(&f, &id, r, &r), grpc_wait(id), r)"
    (tmp_path / "client.c").write_text(
        CLIENT % ("", "int r = 0; grpc_sessionid_t id;", "1, &r", rf'"%d\n", {started}')
    )
    made(
        tmp_path,
        ["ng_gen", "m.idl"],
        ["make", "-s", "-f", "m.mak"],
        ["ng_cc", "-o", "client", "client.c"],
    )
    configuration(tmp_path, "m")
    done = run(tmp_path, "valgrind", "-q", "./client", "client.conf")
    assert (done.returncode, done.stdout.strip()) == (0, "3"), done.stdout + done.stderr


def test_macros_of_headers_and_conditions_of_bodies_count(tmp_path):
    """The reference preprocesses the whole file."""
    (tmp_path / "m.h").write_text("#define SIZE 3\nstatic int three(void) { return SIZE; }\n")
    (tmp_path / "m.idl").write_text(
        'Module m;\nGlobals {\n#include <stdio.h>\n#include "m.h"\n}\n'
        "Define f(IN int a[SIZE], OUT int *r) {\n#ifdef NINFG2\n if (a[2]) {\n#else\n if (1) {\n"
        "#endif\n *r = a[SIZE - 1] + three(); }\n}\n"
    )
    (tmp_path / "client.c").write_text(
        CLIENT % ("", "int a[3] = { 1, 2, 3 }, r = 0;", "a, &r", r'"%d\n", r')
    )
    made(
        tmp_path,
        ["ng_gen", "m.idl"],
        ["make", "-s", "-f", "m.mak"],
        ["ng_cc", "-o", "client", "client.c"],
    )
    configuration(tmp_path, "m")
    done = run(tmp_path, "./client", "client.conf")
    assert done.stdout.strip() == "6", done.stdout + done.stderr
    # Of a file that is wrong in any case, its own lines are told.
    wrong = 'Globals {\n#include "m.h"\n}\nDefine f(IN int a[SIZES]) { }\n'
    (tmp_path / "wrong.idl").write_text(wrong)
    done = run(tmp_path, "ng_gen", "wrong.idl")
    assert done.returncode != 0 and "wrong.idl:4:19" in done.stderr, done.stderr


def test_code_keeps_its_bytes(tmp_path):
    """Files in Japanese of that time are in EUC."""
    (tmp_path / "m.idl").write_bytes(
        b'Module m;\nDefine f(OUT string *s) "\xc6\xfc"\n'
        b'{ *s = "\xc6\xfc\xcb\xdc"; /* \xb8\xec */ }\n'
    )
    (tmp_path / "client.c").write_text(
        CLIENT % ("", "char *s = 0;", "&s", r'"%02x %d\n", (unsigned char)s[0], (int)strlen(s)')
    )
    made(
        tmp_path,
        ["ng_gen", "m.idl"],
        ["make", "-s", "-f", "m.mak"],
        ["ng_cc", "-o", "client", "client.c"],
    )
    configuration(tmp_path, "m")
    done = run(tmp_path, "./client", "client.conf")
    assert done.stdout.strip() == "c6 4", done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["stub", "client"])
def test_compilers_that_refuse_old_c_take_it(kind, tmp_path):
    """As the newest do of themselves."""
    strict = "cc -Werror=implicit-function-declaration -Werror=implicit-int"
    (tmp_path / "m.idl").write_text(
        "Module m;\nGlobals {\nstatic twice(x) { return 2 * x; }\n}\n"
        "Define f(IN int x, OUT int *r) { *r = twice(x) + abs(getppid() * 0); }\n"
    )
    (tmp_path / "client.c").write_text('#include "grpc.h"\nmain() { return unknown_here(0); }\n')
    (tmp_path / "unknown.c").write_text("int unknown_here(int x) { return x; }\n")
    if kind == "stub":
        made(
            tmp_path,
            ["ng_gen", "m.idl"],
            ["make", "-s", "-f", "m.mak", f"NG_COMPILER={strict}"],
        )
    else:
        done = run(tmp_path, "ng_cc", "-o", "client", "client.c", "unknown.c", NG_COMPILER=strict)
        assert done.returncode == 0, done.stderr


def test_what_is_read_leniently_is_said_once(tmp_path):
    (tmp_path / "m.idl").write_text(
        'Module m;\nDefine f(OUT int r[]) Language "Fortran" { r[0] = 1; }\n'
    )
    said = made(tmp_path, ["ng_gen", "-d", "-g", "--maxStubs=60", "m.idl"])
    assert "m.idl:2:19: warning: the size of 'r' is not given: it is one element" in said
    assert said.count("warning") == 2 and "without effect here: -d, -g, --maxStubs" in said
    # Farcall's own dialect is as strict as before.
    done = run(tmp_path, "farcall", "check", "m.idl")
    assert done.returncode != 0 and "the size of 'r' is not given" in done.stderr


def test_makefiles_have_the_names_of_file_and_module(tmp_path):
    (tmp_path / "solver.idl").write_text("Module heat;\nDefine warm(OUT int *y) { *y = 1; }\n")
    made(tmp_path, ["ng_gen", "solver.idl"], ["make", "-s", "-f", "heat.mak"])
    assert (tmp_path / "_stub_warm").exists() and (tmp_path / "solver.mak").exists()


def test_names_that_two_modules_of_a_folder_share_hide_nothing_else(tmp_path):
    for module, step in (("alpha", 1), ("beta", 2)):
        body = f"(IN int x, OUT int *r) {{ *r = x + {step}; }}"
        (tmp_path / f"{module}.idl").write_text(
            f"Module {module};\nDefine f{body}\nDefine {module[0]}{body}\n"
        )
        made(tmp_path, ["ng_gen", f"{module}.idl"], ["make", "-s", "-f", f"{module}.mak"])
    calls = (CLIENT % ("", "int r = 0;", "1, &r", r'"%d\n", r')).replace('"m/f"', "argv[2]")
    (tmp_path / "client.c").write_text(calls)
    made(tmp_path, ["ng_cc", "-o", "client", "client.c"])
    configuration(tmp_path, "alpha", "beta")
    for name, words in (("alpha/a", "2"), ("beta/b", "3"), ("beta/f", "3")):
        done = run(tmp_path, "./client", "client.conf", name)
        assert done.stdout.strip() == words, name + done.stdout + done.stderr


NINF_MAKEFILE = """include $(NINF_DIR)/template
all: m.mak client plain plain2 fortran fortran2
m.mak: m.idl
\t$(NINF_GEN) m.idl
\t$(MAKE) -f m.mak
client: client.c
\t$(CC) $(NINF_CFLAGS) -o $@ client.c $(NINF_LDFLAGS) -lNinfClient
plain.o: plain.c
\t$(CC) -std=gnu89 -w -c plain.c
plain: plain.o
\t$(CC) -o $@ plain.o -L$(NINF_DIR)/lib -lNinf -lm -Wl,-rpath,$(NINF_DIR)/lib
plain2: plain.o
\t$(NINFCC) -o $@ plain.o
fortran: calls.f
\tgfortran -std=legacy -o $@ calls.f -L$(NINF_DIR)/lib -lninf -Wl,-rpath,$(NINF_DIR)/lib
fortran2: calls.f
\t$(NINF_DIR)/bin/ninff77 -o $@ calls.f
"""
# As programs were written before there were prototypes, and by the tools for FORTRAN 77.
NINF_PLAIN_CLIENT = """
extern int ninf_error_code;
main(argc, argv)
int argc; char **argv;
{
    double a[4], s = 0; int id, i;
    for (i = 0; i < 4; i++) a[i] = 10 * i;
    if (Ninf_call("total", 4, a, &s) == -1) { Ninf_perror("total"); exit(1); }
    id = Ninf_call_async("rest()", 10);
    if (Ninf_wait(id) != 0 || Ninf_call("none") != -1) exit(2);
    printf("%.0f %d", s, ninf_error_code);
    if (Ninf_call("site", &i) == -1) exit(3);
    printf(" %d\\n", i);
    exit(0);
}
"""
NINF_FORTRAN_CLIENT = """      PROGRAM CALLS
      INTEGER NINF_CALL, NINF_CALL_ASYNC, NINF_WAIT, ID
      DOUBLE PRECISION S
      COMPLEX*16 A(2)
      COMPLEX Z
      DATA A / (1D0, 2D0), (3D0, 4D0) /
      Z = (10.0, 20.0)
      IF (NINF_CALL('m/norm()', 2, A, Z, S) .NE. 0) STOP 1
      ID = NINF_CALL_ASYNC('rest()', 10)
      IF (NINF_WAIT(ID) .NE. 0) STOP 2
      PRINT '(F4.0)', S
      END
"""
NINF_INTERFACE = """Module m;
Library "$(NINF_LDFLAGS) $(NINF_LIBS)";
Globals {
#include <fcntl.h>
static int first(char *mark) { int f = open(mark, O_CREAT | O_EXCL, 0600); return f >= 0; }
}
Define rest(IN int ms) { usleep(1000 * ms); }
Define norm(IN int n, IN dcomplex a[n], IN scomplex z, OUT double *s)
{ int i; *s = z[0] + z[1]; for (i = 0; i < 2 * n; i++) *s += a[i]; }
Define shaky(IN string mark, IN int k, OUT int *r) { if (first(mark)) abort(); *r = k + 10; }
Define total(IN int n, IN double a[n], OUT double *s) { *s = 0; while (n--) *s += a[n]; }
Define site(OUT int *r)
{ char *s = getenv("SITE"); *r = !access("ninf.conf", R_OK) + 2 * (s && !strcmp(s, "a 'b c")); }
Define tell(IN string a[2], hear(IN string b[1])) { char *p = strdup(a[1]); hear(&p); free(p); }
"""
NINF_CLIENT = r"""
#include "ninf_stub.h"
#include "ninf_cim.h"
extern int ninf_error_code, ninf_debug_flag;
static char *kept;
static void hear(char **b) { kept = *b; }
int main(int argc, char **argv)
{
    double a[4] = { 1, 2, 3, 4 }, s = 0;
    scomplex z = { 10, 20 };
    char *texts[2] = { "first", "second" };
    int id, r[3] = { 0 }, i, first, second, rounds = 0;
    Ninf_group_t *group;
    ninf_debug_flag = TRUE;
    Ninf_parse_arg(argc, argv);
    i = Ninf_call("m/norm", 2, a, z, &s);
    printf("%d %.0f\n", i, s);
    first = Ninf_call_async("m/rest", 50);
    second = Ninf_call_async("m/rest", 5000);
    printf("%d", Ninf_session_probe(second));
    printf(" %d", Ninf_wait_any(&id) == first && id == first);
    printf(" %d\n", Ninf_session_probe(first));
    Ninf_session_cancel(second);
    while (Ninf_wait_any(&id) != NINF_OK && rounds < 5) rounds++;
    printf("%d\n", rounds);
    group = Ninf_group_init("m/shaky");
    for (i = 0; i < 3; i++) Ninf_group_call_async(group, argv[1 + i], i, &r[i]);
    i = Ninf_group_wait_all(group);
    printf("%d %d %d %d\n", i, r[0], r[1], r[2]);
    i = Ninf_call("m/tell", texts, hear);
    printf("%d %s\n", i, kept);
    free(kept);
    i = Ninf_call("m/norm", 100, "storage://localhost:3001/a", z, &s);
    printf("%d %d\n", i, ninf_error_code > 0);
    return 0;
}
"""
PLAIN_CLIENTS = {"plain": "60 1 3", "plain2": "60 1 3", "fortran": "40.", "fortran2": "40."}


def test_of_the_first_ninf(tmp_path):
    # Routines may write there, and not where the server has its token.
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "Makefile").write_text(NINF_MAKEFILE)
    (tree / "m.idl").write_text(NINF_INTERFACE)
    (tree / "client.c").write_text(NINF_CLIENT)
    (tree / "plain.c").write_text(NINF_PLAIN_CLIENT)
    (tree / "calls.f").write_text(NINF_FORTRAN_CLIENT)
    made(tree, ["make", "-s", f"NINF_DIR={NG}"])
    (tree / "ninf.conf").write_text("stubs .\n")
    variables = {"XDG_RUNTIME_DIR": str(tmp_path / "run"), "FARCALL_TOKEN_FILE": ""}
    environment = {**os.environ, **variables, "PATH": f"{STAGE / 'bin'}:{os.environ['PATH']}"}
    environment["SITE"] = "a 'b c"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    with open(tree / "log", "w", encoding="utf-8") as log:
        server = subprocess.Popen(
            [NG / "bin/ninf_serv_tcp", "-port", port, "ninf.conf"],
            cwd=tree,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            assert server.stdout.readline().strip().endswith(f":{port}")
            marks = [tree / f"mark-{k}" for k in range(3)]
            variables |= {"NINF_SERVER": "127.0.0.1", "NINF_SERVER_PORT": port}
            done = run(tree, "./client", *marks, **variables)
            lines = done.stdout.split("\n")
            assert lines[:4] == ["0 40", "1 1 0", "1", "0 10 11 12"], done.stdout + done.stderr
            assert lines[4:6] == ["0 second", "-1 1"], done.stdout + done.stderr
            assert all(mark.exists() for mark in marks)
            for program, words in PLAIN_CLIENTS.items():
                done = run(tree, f"./{program}", **variables)
                assert done.stdout.strip() == words, program + done.stdout + done.stderr
        finally:
            server.terminate()
            server.wait(30)
            server.stdout.close()
