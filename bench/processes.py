# The processes that a measurement consists of: clients, servers and a slow link, each pinned to its
# core.
"""A client answers commands on its standard input line by line; a server prints where it listens,
and ends when its standard input does. Everything is a context: what a row started is gone when the
row is over, also when it fails."""

import contextlib
import dataclasses
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONGESTION = "reno"


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much of everything is measured."""

    rounds: int = 9
    # Bytes of the large array; of those of `farcall.empty`; and of the one that crosses the slow
    # link.
    large: int = 128 << 20
    shared: tuple = (64 << 10, 4 << 20, 128 << 20)
    linked: int = 8 << 20
    # Calls of one ping-pong; calls of one pipeline.
    small: int = 2000
    under_way: int = 20000
    # Calls of one map.
    mapped: int = 10_000
    # Sessions of a GridRPC program under way at once.
    sessions: tuple = (10_000, 100_000)
    # Executables that are started; clients that do nothing.
    crowd: int = 200
    # Bytes that an object keeps.
    state: int = 64 << 20
    # Rows of the matrices of a chain of products.
    chained: int = 1000
    # EP has 2^ep pairs (28 is class A); order of a matrix and of its tiles.
    ep: int = 28
    tiles: tuple = (4096, 256)
    audience: int = 1000
    # Calls of a sweep, and the workers that run them.
    sweep: tuple = (5000, 40)
    # Numbers of linear equations: of the row, and of the paper's figures.
    equations: tuple = (800, 1600)
    linpack: tuple = tuple(range(100, 1601, 100))
    # A Java client's heap, and the calls and arrays before its first answer: HotSpot's last compiler
    # takes a method after 15,000 runs at the latest (Tier4CompileThreshold).
    heap: str = "1g"
    java_warm: tuple = (20_000, 30)


FULL = Sizes()
QUICK = dataclasses.replace(FULL, rounds=3, ep=25, linpack=(100, 200, 400, 800, 1200, 1600))
# So little that it is over in a minute: shows that everything runs, and measures nothing.
SMOKE = Sizes(
    rounds=2,
    large=1 << 20,
    shared=(64 << 10,),
    linked=64 << 10,
    small=20,
    under_way=200,
    mapped=300,
    sessions=(300,),
    crowd=5,
    audience=5,
    sweep=(40, 4),
    state=1 << 20,
    equations=(50,),
    linpack=(50, 100),
    chained=50,
    ep=16,
    tiles=(128, 32),
    heap="64m",
    java_warm=(20, 1),
)


@dataclasses.dataclass(frozen=True)
class Bench:
    """What every row needs to know."""

    # Where Farcall was built; where this run may write; where figures and the peers' programs stay.
    stage: pathlib.Path
    folder: pathlib.Path
    output: pathlib.Path
    sizes: Sizes
    # The clients to measure, of `rust` and `c`.
    kinds: tuple

    def aside(self, name, stage=None):
        """The same with a folder of its own, and perhaps of another stage."""
        folder = self.folder / name
        folder.mkdir()
        return dataclasses.replace(self, stage=stage or self.stage, folder=folder)


class Child:
    """A process on one core, or several ("0,1"), which is spoken to by lines."""

    def __init__(self, command, core, environment=None, reads=True):
        self.process = subprocess.Popen(
            ["taskset", "-c", str(core), *map(str, command)],
            text=True,
            stdout=subprocess.PIPE,
            stdin=subprocess.PIPE if reads else subprocess.DEVNULL,
            env=dict(os.environ, **(environment or {})),
        )

    def line(self):
        """The next line that it prints; empty when it has ended."""
        return self.process.stdout.readline().strip()

    def pids(self):
        """This process and all that come from it."""
        found = [self.process.pid]
        for pid in found:
            for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
                try:
                    found += [int(child) for child in task.read_text().split()]
                except OSError:
                    pass
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process.stdout.close()


class Client(Child):
    """A program that answers commands line by line."""

    def ask(self, *words):
        # One that has ended reads nothing; its missing answer tells.
        with contextlib.suppress(BrokenPipeError):
            print(*words, file=self.process.stdin, flush=True)
        answer = self.line()
        if not answer:
            program = " ".join(map(str, self.process.args[3:]))
            raise SystemExit(f"bench: `{program}` ended while asked to {' '.join(map(str, words))}")
        return answer

    def does(self, *words):
        """A function that asks this again and again."""
        return lambda: float(self.ask(*words))


class RawServer(Child):
    """The raw C server."""

    def __init__(self, bench, core):
        super().__init__([bench.folder / "rawserver", CONGESTION], core)
        self.port = int(self.line().split()[1])


class RawClient(Client):
    def __init__(self, bench, server, core):
        library = bench.folder / "librawclient.so"
        super().__init__(
            [sys.executable, ROOT / "bench/clients/raw.py", library, server.port, CONGESTION], core
        )


class RawTlsServer(Child):
    """The bare rustls server; it ends with its client."""

    def __init__(self, bench, core):
        program = bench.stage / "libexec/farcall-bench-rawtls"
        super().__init__([program, "serve", certificates(bench) / "server.pem"], core, reads=False)
        self.port = int(self.line().split()[1])


class RawTlsClient(Client):
    def __init__(self, bench, server, core):
        program = bench.stage / "libexec/farcall-bench-rawtls"
        super().__init__(
            [program, "call", certificates(bench) / "users/bench.pem", server.port], core
        )


class RawSshClient(Client):
    """The raw client, joined to a raw server by an `ssh` (rows/ssh.py)."""

    def __init__(self, bench, ssh, core):
        library = bench.folder / "librawclient.so"
        super().__init__(
            [
                sys.executable,
                ROOT / "bench/clients/raw.py",
                library,
                f"exec {ssh} -T far {bench.folder / 'rawstdio'}",
                CONGESTION,
            ],
            core,
        )


class FarcallServer(Child):
    """A private `farcall serve`, with the bench's routines."""

    def __init__(self, bench, core, listen, files=("bench.idl",), options=()):
        self.environment = {}
        where = {
            "unix": [],
            "tcp": ["--listen", "tcp:127.0.0.1:0", "--token-file", bench.folder / "token"],
            "tls": [
                "--listen",
                "tls://127.0.0.1:0",
                "--credentials",
                bench.folder / "ca/server.pem",
            ],
        }[listen]
        if listen == "tcp":
            self.environment["FARCALL_TOKEN_FILE"] = str(bench.folder / "token")
        if listen == "tls":
            self.environment["FARCALL_CREDENTIALS"] = str(certificates(bench) / "users/bench.pem")
        routines = [ROOT / "bench/routines" / file for file in files]
        super().__init__(
            [bench.stage / "bin/farcall", "serve", "--private", *options, *where, "--", *routines],
            core,
            {"FARCALL_LIBRARY_DIRECTORY": str(bench.stage / "lib")},
        )
        self.address = self.line()
        if not self.address:
            raise SystemExit("bench: farcall serve did not start")

    def resident_mb(self):
        """Memory of the server alone, libraries included."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


class FarcallClient(Client):
    """A client under measurement: `python`, `rust`, `c`, `fortran`, or `grpc` in C."""

    def __init__(self, bench, kind, server, core, environment=None):
        command = client_command(kind, bench.stage)
        super().__init__(
            [*command, server.address],
            core,
            {**server.environment, **libraries_of(bench.stage), **(environment or {})},
        )


def java_home(stage):
    """A JDK that the Java client runs with, or None where there is none, or nobody has built the
    client."""
    found = subprocess.run(
        [ROOT / "tools/find-jdk.sh"], capture_output=True, text=True
    ).stdout.strip()
    return pathlib.Path(found) if found and (stage / "share/java/farcall.jar").exists() else None


class JavaClient(Client):
    """The Java client, compiled when it is first asked for. The heap's pages are touched at the
    start, as they are in any program that has run for a while."""

    def __init__(self, bench, server, core):
        home, jar, classes = (
            java_home(bench.stage),
            bench.stage / "share/java/farcall.jar",
            bench.folder / "java",
        )
        if not classes.exists():
            source = ROOT / "bench/clients/java/BenchClient.java"
            subprocess.run([home / "bin/javac", "-cp", jar, "-d", classes, source], check=True)
        options = [
            home / "bin/java",
            "--enable-native-access=ALL-UNNAMED",
            "-XX:+UseParallelGC",
            f"-Xms{bench.sizes.heap}",
            f"-Xmx{bench.sizes.heap}",
            "-XX:+AlwaysPreTouch",
        ]
        super().__init__(
            [
                *options,
                "-cp",
                f"{jar}:{classes}",
                "BenchClient",
                server.address,
                *bench.sizes.java_warm,
            ],
            core,
            server.environment,
        )


class SlowLink(Child):
    """A link of 100 Mbit/s and 20 ms to a server (link.py)."""

    def __init__(self, server):
        host, port = server.address.split("//")[1].rsplit(":", 1)
        super().__init__([sys.executable, ROOT / "bench/link.py", f"{host}:{port}"], "0,1")
        self.address = f"farcall://127.0.0.1:{self.line()}"
        self.environment = server.environment


def certificates(bench):
    """The folder of an authority with a server and a user, made when it is first asked for."""
    folder = bench.folder / "ca"
    if not folder.exists():
        for words in (["init", "--server", "localhost,127.0.0.1"], ["user", "bench"]):
            subprocess.run(
                [bench.stage / "bin/farcall", "ca", "--folder", folder, *words],
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
    return folder


def libraries_of(stage):
    """An environment in which programs take the libraries of their own stage: they were linked with
    where that was built, and another may lie there by now."""
    return {
        "LD_LIBRARY_PATH": os.pathsep.join(
            filter(None, (str(stage / "lib"), os.environ.get("LD_LIBRARY_PATH")))
        )
    }


def client_command(kind, stage):
    """The program of a client under measurement, or None where it was not built."""
    if kind == "python":
        own = stage / "venv/bin/python"
        return [own if own.exists() else sys.executable, ROOT / "bench/clients/python.py"]
    names = {
        "rust": "farcall-bench-client",
        "c": "farcall-bench-client-c",
        "grpc": "farcall-bench-client-grpc",
        "fortran": "farcall-bench-client-fortran",
    }
    program = stage / "libexec" / names[kind]
    return [program] if program.exists() else None


def build_raw(folder):
    """The raw C programs, compiled into this folder."""
    flags = ["-O2", "-Wall", "-I", ROOT / "bench/raw"]
    programs = (
        ("rawserver.c", "rawserver", []),
        ("rawstdio.c", "rawstdio", []),
        ("rawcrowd.c", "rawcrowd", []),
        ("rawdial.c", "rawdial", []),
        ("rawclient.c", "librawclient.so", ["-shared", "-fPIC"]),
        ("linpack.c", "liblinpack.so", ["-shared", "-fPIC"]),
    )
    for source, output, extra in programs:
        subprocess.run(
            ["cc", *flags, *extra, "-o", folder / output, ROOT / "bench/raw" / source], check=True
        )
