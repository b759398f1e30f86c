"""The keeper of a library of the 1980s: COMMON blocks, a procedure as an argument, CHARACTER*8.
From its sources to right numbers under four workers, with no word of Fortran or of an interface
file written by hand."""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess

import farcall
import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", HERE.parent.parent / "build"))
WORKERS = """
[[plugin]]
name = "rpc-server"
slot = "rpc"
options = { executables_max = 4 }
"""
# Of each material a density and a capacity, of which no product is another's.
MATERIALS = {"iron": (7.0, 3.0), "copper": (9.0, 2.0), "aluminum": (2.5, 4.5), "lead": (11.0, 1.5)}
STEPS, DT = 50, 0.25

pytestmark = pytest.mark.skipif(shutil.which("gfortran") is None, reason="no gfortran")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The library, drafted and compiled; what `farcall scan` said."""
    folder = tmp_path_factory.mktemp("library")
    for source in (HERE / "library").glob("*.f"):
        shutil.copy(source, folder)
    done = subprocess.run(
        [STAGE / "bin/farcall", "scan", ".", "-o", "heat.idl", "--build"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (folder / "farcall.toml").write_text(WORKERS)
    return folder, done.stderr


def test_scan_says_what_the_routines_share(library):
    folder, said = library
    assert "warm, energy, setmat, getmat share COMMON /MAT/" in said, said
    text = (folder / "heat.idl").read_text()
    assert "DefClass mat {" in text and "?" not in text, text
    assert "IN char name[8]" in text and "OUT char name[8]" in text, text
    checked = subprocess.run(
        [STAGE / "bin/farcall", "check", "--link", "heat.idl"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert checked.returncode == 0, checked.stderr


def test_four_workers_give_right_numbers(library):
    folder, _ = library
    manifest = ["--manifest", str(folder / "farcall.toml")]
    with farcall.connect(files=[folder / "heat.idl"], arguments=manifest) as server:

        def one(material):
            density, capacity = MATERIALS[material]
            rod = server.mat()
            rod.setmat(material, density, capacity)
            temperatures = np.linspace(0.0, 1.0, 9)

            def source(_, q):
                q[:] = density

            for _ in range(5):
                temperatures = rod.warm(STEPS, DT, temperatures, np.zeros(9), source).t
            energy = float(rod.energy(temperatures))
            return rod.getmat().name, temperatures, energy

        names = [name for name in MATERIALS for _ in range(5)]
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            found = list(threads.map(one, names))
    for material, (name, temperatures, energy) in zip(names, found):
        density, capacity = MATERIALS[material]
        wanted = np.linspace(0.0, 1.0, 9) + 5 * STEPS * DT / capacity
        assert name.rstrip() == material
        np.testing.assert_allclose(temperatures, wanted, rtol=1e-12)
        assert energy == pytest.approx(density * capacity * wanted.sum())
