"""The Fortran module with other compiler options, without `stat`, by pkg-config and from its
sources; needs the stage."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
LINK = [f"-L{STAGE}/lib", f"-Wl,-rpath,{STAGE}/lib", "-lfarcall_fortran", "-lfarcall"]
ROUTINES = "clients/fortran/tests/fortran.idl"


def compiled(tmp_path, text, *options, link=LINK):
    (tmp_path / "program.f90").write_text(text)
    command = [
        "gfortran",
        *options,
        "-o",
        tmp_path / "program",
        "program.f90",
        f"-I{STAGE}/include",
        *link,
    ]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)


def run(tmp_path):
    return subprocess.run(
        [tmp_path / "program"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )


def program(body):
    return f"""
program p
  use farcall
  implicit none
  type(farcall_server) :: server
  integer :: n, stat
  real(8) :: x(4)
  n = 4
  x = 1
  call farcall_serve(server, '{ROUTINES}')
  {body}
  print '(4f4.1)', x
  call farcall_close(server)
end program
"""


def test_eight_byte_integers_are_values_like_any(tmp_path):
    done = compiled(
        tmp_path, program("call farcall_call(server, 'scale', n, 1, x, 3d0)"), "-fdefault-integer-8"
    )
    assert done.returncode == 0, done.stderr
    assert run(tmp_path).stdout == " 3.0 3.0 3.0 3.0\n"


def test_eight_byte_integers_are_refused_for_stat_when_compiling(tmp_path):
    done = compiled(
        tmp_path,
        program("call farcall_call(server, 'scale', n, 1, x, stat=stat)"),
        "-fdefault-integer-8",
    )
    assert done.returncode != 0 and "stat" in done.stderr


def test_without_stat_an_error_ends_the_program(tmp_path):
    done = compiled(
        tmp_path, program("call farcall_call(server, 'scale', 5, 1, x)\n print *, 'went on'"), "-g0"
    )
    assert done.returncode == 0, done.stderr
    ended = run(tmp_path)
    assert ended.returncode == 1 and "went on" not in ended.stdout
    assert (
        "ERROR STOP" in ended.stderr
        and "a has shape (4,) but the interface wants a[m][n]" in ended.stderr
    )


def test_the_sources_make_the_library_of_another_compiler(tmp_path):
    sources = STAGE / "share/farcall/fortran"
    shutil.copytree(sources, tmp_path / "farcall")
    files = ["farcall/farcall.f90", *(f"farcall/{one.name}" for one in sorted(sources.glob("*.c")))]
    text = program("call farcall_call(server, 'scale', n, 1, x)")
    done = compiled(tmp_path, text, link=[])
    assert done.returncode != 0, "nothing was linked"
    command = [
        "gfortran",
        "-std=f2018",
        f"-I{STAGE}/include",
        *files,
        "program.f90",
        "-o",
        "program",
        *LINK[:2],
        "-lfarcall",
    ]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert run(tmp_path).stdout == " 2.0 2.0 2.0 2.0\n"


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="no pkg-config on this machine")
def test_pkg_config_knows_the_options(tmp_path):
    environment = {**os.environ, "PKG_CONFIG_PATH": f"{STAGE}/lib/pkgconfig"}
    command = ["pkg-config", "--cflags", "--libs", "farcall-fortran"]
    options = subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout.split()
    done = compiled(tmp_path, program("call farcall_call(server, 'scale', n, 1, x)"), link=options)
    assert done.returncode == 0, done.stderr
    assert run(tmp_path).stdout == " 2.0 2.0 2.0 2.0\n"


def test_a_constant_of_a_library_is_no_place_for_a_result(tmp_path):
    library = """
subroutine solve(server)
  use farcall
  implicit none
  type(farcall_server), intent(inout) :: server
  real(8), parameter :: fixed(4) = [1d0, 2d0, 3d0, 4d0]
  integer :: stat
  character(200) :: errmsg
  call farcall_call(server, 'scale', 4, 1, fixed, 3d0, stat=stat, errmsg=errmsg)
  print '(a)', trim(errmsg)
end subroutine
"""
    (tmp_path / "solve.f90").write_text(library)
    make = ["gfortran", "-shared", "-fPIC", "-o", "libsolve.so", "solve.f90", f"-I{STAGE}/include"]
    subprocess.run(make, cwd=tmp_path, check=True, timeout=120)
    linked = [f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path}", "-lsolve", *LINK]
    done = compiled(tmp_path, program("call solve(server)"), link=linked)
    assert done.returncode == 0, done.stderr
    ended = run(tmp_path)
    assert "pass a variable, not a constant" in ended.stdout, ended.stdout + ended.stderr
