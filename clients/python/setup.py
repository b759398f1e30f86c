"""Builds the wheel: one for all Pythons of a platform, with library, program, headers and default
routines inside.

They are taken from $FARCALL_STAGE, by default build/ of the checkout, and lie in the package like
in a prefix.
"""

import os
import pathlib
import runpy
import shutil
import sys

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE") or ROOT / "build").resolve()
BUNDLE = "farcall/_bundle"
LIBRARY, PROGRAM = "lib/libfarcall.so.0", "bin/farcall"
# Modules that are served when they are named.
PYTHON_MODULES = ("gallery", "tables")
# The oldest glibc that wheels for all Linux systems are made for (manylinux2014).
PORTABLE_GLIBC = (2, 17)


def staged():
    """What goes into the bundle: (file, place below it)."""
    for name in (PROGRAM, LIBRARY):
        if not (STAGE / name).is_file():
            sys.exit(
                f"farcall: {STAGE / name} is missing; run `make build`, or name the folder in "
                "FARCALL_STAGE"
            )
        yield lean(name), name
    for header in sorted((STAGE / "include").glob("*.h")):
        yield header, f"include/{header.name}"
    yield from ((file, f"share/farcall/routines/{file.name}") for file in routines())
    for file in sorted((ROOT / "platforms").glob("*.toml")):
        yield file, f"share/farcall/platforms/{file.name}"
    for module in PYTHON_MODULES:
        for file in sorted((ROOT / "routines" / module).rglob("*")):
            own = not file.name.startswith(("test_", "conftest")) and file.suffix != ".pyc"
            if file.is_file() and own:
                place = file.relative_to(ROOT / "routines" / module)
                yield file, f"share/farcall/routines/by-name/{place}"


def lean(name):
    """The file without what debuggers read, where there is one: it is what is brought to hosts that
    lack it, too."""
    found = STAGE / "libexec/farcall-lean"
    return found if name == PROGRAM and found.is_file() else STAGE / name


def routines():
    """The routines published by default; a stage for other systems has none of its own, and they
    are text anyway."""
    found = sorted(file for file in (STAGE / "share/farcall/routines").glob("*") if file.is_file())
    return found or sorted(
        file
        for file in (ROOT / "routines").glob("*/*")
        if file.is_file()
        and not file.name.startswith("test_")
        and file.parent.name not in PYTHON_MODULES
    )


def platform_tag():
    """manylinux only if the files prove it: a build on this machine needs this machine's glibc."""
    highest = runpy.run_path(str(ROOT / "tools/highest-glibc.py"))["highest_glibc"]
    needed = [highest(STAGE / name) or (2, 0) for name in (PROGRAM, LIBRARY)]
    portable = max(needed)[:2] <= PORTABLE_GLIBC
    return "manylinux_2_17_x86_64.manylinux2014_x86_64" if portable else "linux_x86_64"


class BuildWithBundle(build_py):
    """Copies what is staged into the package."""

    def run(self):
        super().run()
        bundle = pathlib.Path(self.build_lib) / BUNDLE
        shutil.rmtree(bundle, ignore_errors=True)
        for file, name in staged():
            (bundle / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, bundle / name)
        # Wheels hold no symbolic links; this is what `ld -lfarcall` reads instead of one.
        (bundle / "lib/libfarcall.so").write_text("INPUT(-l:libfarcall.so.0)\n")


class PlatformDistribution(Distribution):
    """Holds programs of one platform, though setuptools compiles none of them."""

    def has_ext_modules(self):
        return True


class PlatformWheel(bdist_wheel):
    """Any Python 3 of this platform: nothing is compiled against Python."""

    def get_tag(self):
        return "py3", "none", platform_tag()


# Whatever the build leaves behind goes to the stage, and not beside the sources.
SCRATCH = STAGE / "python"
SCRATCH.mkdir(parents=True, exist_ok=True)

setup(
    distclass=PlatformDistribution,
    cmdclass={"build_py": BuildWithBundle, "bdist_wheel": PlatformWheel},
    options={
        "build": {"build_base": str(SCRATCH / "build")},
        "egg_info": {"egg_base": str(SCRATCH)},
    },
)
