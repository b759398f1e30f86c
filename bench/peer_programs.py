# The systems that Farcall is compared with: whether they are installed, how their programs are
# built and started.
"""The sources are under bench/peers, the programs go to build/bench/peers. A measurement never
installs anything; `run.py --install-peers` does."""

import contextlib
import os
import shutil
import subprocess
import sys

from processes import CONGESTION, ROOT, Child, Client

SOURCES = ROOT / "bench/peers"
# Where Dask and Ray are installed, whichever build is measured.
ENVIRONMENTS = ROOT / "build/bench"
# What brings each; Ray and a new Dask are no packages of Debian.
PACKAGES = {
    "ZeroMQ": "libzmq3-dev",
    "gRPC C++": (
        "libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc pkg-config"
    ),
    "OpenMPI": "openmpi-bin libopenmpi-dev",
    "SimGrid": "python3-simgrid",
}
MISSING = {
    **{name: f"apt-get install {packages}" for name, packages in PACKAGES.items()},
    "Ray": "make bench-peers",
    "Dask": "make bench-peers",
}


def install():
    """Debian's packages by apt, Dask and Ray into environments of their own: their dependencies are
    no business of ours."""
    packages = " ".join(PACKAGES.values()).split()
    if shutil.which("apt-get") is None:
        raise SystemExit(
            "bench: no Debian-like system; install what these packages of Debian hold: "
            f"{' '.join(packages)}"
        )
    as_root = ["sudo"] if os.geteuid() != 0 else []
    run(*as_root, "apt-get", "update", "-qq")
    run(*as_root, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages)
    for name, package in (("dask", "distributed"), ("ray", "ray")):
        run(sys.executable, "-m", "venv", ENVIRONMENTS / name)
        pip = [ENVIRONMENTS / name / "bin/python", "-m", "pip", "install", "--quiet"]
        run(*pip, "--disable-pip-version-check", package, "numpy")


def can_include(header, language):
    probe = subprocess.run(
        ["cc", "-E", "-x", language, "-o", os.devnull, "-"],
        text=True,
        input=f"#include <{header}>\n",
        stderr=subprocess.DEVNULL,
    )
    return probe.returncode == 0


class Zeromq:
    name, program = "ZeroMQ", "zeromq"

    @staticmethod
    def is_installed():
        return can_include("zmq.h", "c")

    @staticmethod
    def build(folder):
        run("cc", "-O2", "-Wall", SOURCES / "zeromq.c", "-o", folder / "zeromq", "-lzmq")


class Grpc:
    name, program = "gRPC C++", "grpc"

    @staticmethod
    def is_installed():
        programs = ("protoc", "grpc_cpp_plugin", "pkg-config")
        headers = ("grpcpp/grpcpp.h", "google/protobuf/message.h")
        return all(map(shutil.which, programs)) and all(
            can_include(header, "c++") for header in headers
        )

    @staticmethod
    def build(folder):
        plugin = shutil.which("grpc_cpp_plugin")
        run(
            "protoc",
            f"-I{SOURCES}",
            f"--cpp_out={folder}",
            f"--grpc_out={folder}",
            f"--plugin=protoc-gen-grpc={plugin}",
            SOURCES / "grpc.proto",
        )
        libraries = subprocess.run(
            ["pkg-config", "--libs", "grpc++", "protobuf"],
            check=True,
            text=True,
            stdout=subprocess.PIPE,
        ).stdout.split()
        run(
            "c++",
            "-std=c++17",
            "-O2",
            f"-I{folder}",
            f"-I{SOURCES}",
            SOURCES / "grpc.cc",
            folder / "grpc.pb.cc",
            folder / "grpc.grpc.pb.cc",
            "-o",
            folder / "grpc",
            *libraries,
        )


class Openmpi:
    name, program = "OpenMPI", "openmpi"

    @staticmethod
    def is_installed():
        return all(map(shutil.which, ("mpicc", "mpirun")))

    @staticmethod
    def build(folder):
        run("mpicc", "-O2", "-Wall", SOURCES / "openmpi.c", "-o", folder / "openmpi")


class Ray:
    """A Python program; there is nothing to build."""

    name, program = "Ray", None

    @staticmethod
    def is_installed():
        return any((ENVIRONMENTS / "ray").glob("lib/python*/site-packages/ray"))


class Dask:
    """A Python program, too."""

    name, program = "Dask", None

    @staticmethod
    def is_installed():
        return any((ENVIRONMENTS / "dask").glob("lib/python*/site-packages/distributed"))


# Those of the part `peers`; Dask has rows among those of transactions.
PEERS = (Zeromq, Grpc, Openmpi, Ray)


def found(bench):
    """The peers to measure. One that is not installed, or cannot be built, costs its own rows
    alone, and says so."""
    return [peer for peer in PEERS if is_ready(peer, bench)]


def is_ready(peer, bench):
    if not peer.is_installed():
        print(f"{peer.name}: not installed: {MISSING[peer.name]}")
        return False
    try:
        if peer.program is not None:
            built(peer, bench)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"{peer.name}: not measured: its program cannot be built: {error}")
        return False
    return True


def run(*command):
    subprocess.run(list(map(str, command)), check=True)


def built(peer, bench):
    """The folder with the peer's program, compiled again when a source has changed."""
    folder = bench.output / "peers"
    folder.mkdir(exist_ok=True)
    newest = max(source.stat().st_mtime for source in SOURCES.iterdir())
    program, shim = folder / peer.program, folder / "congestion.so"
    if not shim.exists() or shim.stat().st_mtime < newest:
        run("cc", "-O2", "-Wall", "-shared", "-fPIC", SOURCES / "congestion.c", "-o", shim)
    if not program.exists() or program.stat().st_mtime < newest:
        peer.build(folder)
    return folder


def same_congestion(folder):
    return {"LD_PRELOAD": str(folder / "congestion.so"), "BENCH_CONGESTION": CONGESTION}


class PeerServer(Child):
    """It ends by SIGTERM: to look for another end would cost it time."""

    def __init__(self, folder, program, core):
        super().__init__([folder / program, "serve"], core, same_congestion(folder))
        self.port = int(self.line().split()[1])

    def __exit__(self, *error):
        self.process.terminate()
        super().__exit__(*error)


@contextlib.contextmanager
def over_sockets(peer, bench, cores=(0, 1)):
    """A client of ZeroMQ or gRPC, and its server."""
    folder = built(peer, bench)
    with (
        PeerServer(folder, peer.program, cores[1]) as server,
        Client(
            [folder / peer.program, "call", server.port], cores[0], same_congestion(folder)
        ) as client,
    ):
        yield client


def over_mpi(bench, path):
    """Both ranks of OpenMPI; `path` is `vader` (shared memory) or `tcp`."""
    folder = built(Openmpi, bench)
    command = [
        "mpirun",
        "--bind-to",
        "none",
        "--mca",
        "pml",
        "ob1",
        "--mca",
        "btl",
        f"self,{path}",
        "--mca",
        "btl_tcp_if_include",
        "lo",
        "--mca",
        "oob_tcp_if_include",
        "lo",
    ]
    environment = same_congestion(folder)
    for name, value in environment.items():
        command += ["-x", f"{name}={value}"]
    ranks = [
        "-np",
        "1",
        "taskset",
        "-c",
        "0",
        folder / "openmpi",
        ":",
        "-np",
        "1",
        "taskset",
        "-c",
        "1",
        folder / "openmpi",
    ]
    # It asks twice whether root may; a bench in a container is root.
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return Client([*command, *ranks], "0,1", as_root)


def over_plasma(bench, workers=None):
    """A client of Ray's: of one actor, or of so many workers for tasks."""
    where = (0, 1) if workers is None else ("any", "any", workers)
    return Client([ENVIRONMENTS / "ray/bin/python", SOURCES / "plasma.py", *where], "0,1")


def over_dask(bench, workers):
    """A client of a scheduler of Dask with so many workers."""
    program = [ENVIRONMENTS / "dask/bin/python", SOURCES / "daskgraphs.py", workers]
    return Client(program, "0,1")
