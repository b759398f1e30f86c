# Measures Farcall against a raw C program that moves the same bytes, in turn, and prints ratios.
"""Usage: bench/run.py [--quick] [--stage DIRECTORY] [--client rust|c]...

Method. Client, server and executable are processes of their own, pinned: `0 | 1` means client on core 0, everything
else on core 1; `one core` means all on core 0. Every round runs raw, Farcall and raw again; the ratio of the two raw
runs is the null: what the machine's noise alone gives. Figures are medians of the rounds' ratios; above 1 is better
for speeds, below 1 for latencies and CPU. The raw program receives all, then sends all, with reused buffers. The
routine takes one INOUT array and returns at once. Both TCP sides use the congestion control that is printed.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONGESTION = "reno"
LARGE = 128 << 20
CROWD = 200
# Clients that do nothing.
AUDIENCE = 1000
CROWD_MANIFEST = f"""
[[plugin]]
name = "rpc-server"
slot = "rpc"
options = {{ executables_max = {CROWD} }}
[[plugin]]
name = "spawner-local"
slot = "spawner"
options = {{ executables_max = {CROWD}, environment = {{ OPENBLAS_NUM_THREADS = "1" }} }}
"""


class Client:
    """A process that answers commands line by line."""

    def __init__(self, command, core):
        self.process = subprocess.Popen(
            ["taskset", "-c", str(core), *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline().strip()
        if not answer:
            raise SystemExit(f"bench: {self.process.args[3]} ended while asked to {' '.join(map(str, words))}")
        return answer

    def number(self, *words):
        return float(self.ask(*words))

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=20)


class RawServer:
    """The raw C server on one core."""

    def __init__(self, folder, core):
        self.process = subprocess.Popen(
            ["taskset", "-c", str(core), folder / "rawserver", CONGESTION],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        self.port = int(self.process.stdout.readline().split()[1])

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=10)


class FarcallServer:
    """A private `farcall serve` on one core or several ("0,1"), with the bench's routines."""

    def __init__(self, stage, core, listen, folder, files=("bench.idl",), options=()):
        self.token = folder / "token"
        command = ["taskset", "-c", str(core), stage / "bin/farcall", "serve", "--private", *options]
        if listen == "tcp":
            command += ["--listen", "tcp:127.0.0.1:0", "--token-file", str(self.token)]
        if listen == "tls":
            command += ["--listen", "tls://127.0.0.1:0", "--credentials", str(folder / "ca/server.pem")]
        environment = dict(os.environ, FARCALL_LIBRARY_DIRECTORY=str(stage / "lib"))
        self.process = subprocess.Popen(
            [*command, "--", *(ROOT / "bench/routines" / file for file in files)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise SystemExit("bench: farcall serve did not start")

    def processes(self):
        """The server and its executables."""
        found = [self.process.pid]
        for pid in found:
            for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
                try:
                    found += [int(child) for child in task.read_text().split()]
                except OSError:
                    pass
        return found

    def cpu(self):
        """User and system seconds of all of them."""
        total = 0.0
        for pid in self.processes():
            try:
                fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
                total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            except OSError:
                pass
        return total

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=20)


class RawTlsServer:
    """The bare rustls server on one core."""

    def __init__(self, stage, folder, core):
        self.process = subprocess.Popen(
            ["taskset", "-c", str(core), stage / "libexec/farcall-bench-rawtls", "serve", folder / "ca/server.pem"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        )
        self.port = int(self.process.stdout.readline().split()[1])

    def close(self):
        # It ends with its client.
        self.process.wait(timeout=10)


def certify(stage, folder):
    """An authority with a server and a user."""
    for words in (["init", "--server", "localhost,127.0.0.1"], ["user", "bench"]):
        subprocess.run([stage / "bin/farcall", "ca", "--folder", folder / "ca", *words], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.environ["FARCALL_CREDENTIALS"] = str(folder / "ca/users/bench.pem")


def client_command(kind, stage):
    """The program of a client under measurement, or None where it was not built."""
    if kind == "python":
        return [sys.executable, str(ROOT / "bench/clients/python.py")]
    program = {"rust": stage / "libexec/farcall-bench-client", "c": stage / "libexec/farcall-bench-client-c"}[kind]
    return [str(program)] if program.exists() else None


def start(kind, stage, server, core):
    if server.address.startswith(("tcp:", "farcall:")):
        os.environ["FARCALL_TOKEN_FILE"] = str(server.token)
    return Client([*client_command(kind, stage), server.address], core)


def compare(raw, ours, rounds, words, raw_words=None):
    """Medians of raw/ours and of the null, from interleaved rounds."""
    ratios, nulls = [], []
    for _ in range(2):
        raw.number(*(raw_words or words))
        ours.number(*words)
    for _ in range(rounds):
        first = raw.number(*(raw_words or words))
        mine = ours.number(*words)
        second = raw.number(*(raw_words or words))
        ratios.append((first + second) / 2 / mine)
        nulls.append(first / second)
    return statistics.median(ratios), statistics.median(nulls), max(nulls) - min(nulls)


def cpu_ratio(raw, ours, server, rounds, words):
    """CPU of client and server together, ours over raw, for the same bytes."""
    raw_before, our_before = cpu_of(raw), cpu_of(ours) + server.cpu()
    for _ in range(rounds):
        raw.number(*words)
        ours.number(*words)
    raw_used, our_used = cpu_of(raw) - raw_before, cpu_of(ours) + server.cpu() - our_before
    gigabytes = rounds * 2 * int(words[1]) / 1e9
    return our_used / raw_used, our_used / gigabytes, raw_used / gigabytes


def cpu_of(client):
    return sum(map(float, client.ask("cpu").split()))


def row(text, figure, null, spread, want):
    print(f"{text:<64} {figure:7.2f} {null:8.2f} ± {spread / 2:4.2f}   {want}", flush=True)


def measure(stage, folder, kinds, rounds):
    print(f"congestion control on both sides: {CONGESTION}; {rounds} rounds; null = raw against raw\n")
    print(f"{'row':<64} {'figure':>7} {'null':>8}          wanted")
    for kind in kinds:
        for listen in ("tcp", "unix"):
            large(stage, folder, kind, listen, rounds)
        encrypted(stage, folder, kind, rounds)
        for listen in ("tcp", "unix"):
            small(stage, folder, kind, listen, rounds)
        if kind == "c":
            pipeline(stage, folder, rounds)
    arrays(stage, folder, rounds)
    solving(stage, folder, rounds)
    compression(stage, folder, rounds)
    if client_command("rust", stage):
        crowd(stage, folder, rounds)
        audience(stage, folder)


def large(stage, folder, kind, listen, rounds):
    raw_server, server = RawServer(folder, 1), FarcallServer(stage, 1, listen, folder)
    raw = Client([sys.executable, str(ROOT / "bench/clients/raw.py"), str(folder / "librawclient.so"),
                  str(raw_server.port), CONGESTION], 0)
    ours = start(kind, stage, server, 0)
    place = "TCP" if listen == "tcp" else "shared memory"
    words = ("roundtrip", LARGE, "inplace")
    ratio, null, spread = compare(raw, ours, rounds, words)
    row(f"128 MB there and back, {place}, {kind}, 0 | 1: speed over raw", ratio, null, spread,
        ">= 0.88" if listen == "tcp" else ">= 1")
    if listen == "unix" and kind != "c":
        mapped = ("roundtrip", LARGE, "mapped")
        ratio, null, spread = compare(raw, ours, rounds, mapped, words)
        row(f"the same, result mapped, {kind}: speed over raw", ratio, null, spread, ">= 2.2")
    ratio, mine, theirs = cpu_ratio(raw, ours, server, rounds, words)
    row(f"CPU per GB, {place}, {kind}: {mine:.2f} s over raw's {theirs:.2f} s", ratio, 1, 0, "<= 1.2")
    for one in (raw, ours, server, raw_server):
        one.close()


def encrypted(stage, folder, kind, rounds):
    """Mutual TLS 1.3 on both sides, with the same cipher suite."""
    if not (folder / "ca").exists():
        certify(stage, folder)
    raw_server, server = RawTlsServer(stage, folder, 1), FarcallServer(stage, 1, "tls", folder)
    raw = Client([str(stage / "libexec/farcall-bench-rawtls"), "call", os.environ["FARCALL_CREDENTIALS"],
                  str(raw_server.port)], 0)
    ours = start(kind, stage, server, 0)
    words = ("roundtrip", LARGE, "inplace")
    ratio, null, spread = compare(raw, ours, rounds, words)
    row(f"128 MB there and back, TLS, {kind}, 0 | 1: speed over bare rustls", ratio, null, spread, ">= 0.8")
    ratio, mine, theirs = cpu_ratio(raw, ours, server, rounds, words)
    row(f"CPU per GB, TLS, {kind}: {mine:.2f} s over bare rustls' {theirs:.2f} s", ratio, 1, 0, "<= 1.2")
    for one in (raw, ours, server, raw_server):
        one.close()


def small(stage, folder, kind, listen, rounds):
    for where, (client_core, server_core) in {"one core": (0, 0), "0 | 1": (0, 1)}.items():
        raw_server, server = RawServer(folder, server_core), FarcallServer(stage, server_core, listen, folder)
        raw = Client([sys.executable, str(ROOT / "bench/clients/raw.py"), str(folder / "librawclient.so"),
                      str(raw_server.port), CONGESTION], client_core)
        ours = start(kind, stage, server, client_core)
        ratio, null, spread = compare(raw, ours, rounds, ("pingpong", 2000))
        row(f"small call, {listen}, {kind}, {where}: time over raw ping-pong", 1 / ratio, null, spread,
            "<= 3.5" if where == "one core" else "<= 1.3")
        for one in (raw, ours, server, raw_server):
            one.close()


def pipeline(stage, folder, rounds):
    """64 calls under way from one thread; another is started when the oldest is over. In thousands per second."""
    for listen in ("tcp", "unix"):
        server = FarcallServer(stage, 1, listen, folder)
        ours = start("c", stage, server, 0)
        rates = [ours.number("pipeline", 20000, 64) / 1000 for _ in range(rounds + 1)][1:]
        row(f"64 small calls under way, {listen}, c, 0 | 1: thousands per second", statistics.median(rates),
            1, (max(rates) - min(rates)) / statistics.median(rates), ">= 120")
        ours.close()
        server.close()


def audience(stage, folder):
    """Clients that called once and stay; the server's resident memory, libraries included."""
    server = FarcallServer(stage, 1, "unix", folder)
    ours = start("rust", stage, server, 0)
    ours.ask("audience", AUDIENCE)
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    resident = int(status.split("VmRSS:")[1].split()[0]) / 1024
    row(f"a server with {AUDIENCE} idle clients: resident MB", resident, 1, 0, "<= 64")
    ours.close()
    server.close()


def crowd(stage, folder, rounds):
    """Many processes from nothing: each round has a server of its own, which has started no executable yet."""
    manifest = folder / "crowd.toml"
    manifest.write_text(CROWD_MANIFEST)
    ratios, nulls = [], []
    for _ in range(rounds):
        first = raw_crowd(folder)
        server = FarcallServer(stage, "0,1", "unix", folder, ("bench.idl", "crowd.idl"),
                               ["--manifest", str(manifest)])
        ours = start("rust", stage, server, "0,1")
        ratios.append(ours.number("crowd", CROWD))
        ours.close()
        server.close()
        second = raw_crowd(folder)
        ratios[-1] /= (first + second) / 2
        nulls.append(first / second)
    row(f"{CROWD} executables with OpenBLAS, first dgesv: time over {CROWD} C servers", statistics.median(ratios),
        statistics.median(nulls), max(nulls) - min(nulls), "<= 3")


def raw_crowd(folder):
    command = ["taskset", "-c", "0,1", folder / "rawcrowd", str(CROWD)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)


def arrays(stage, folder, rounds):
    """What the Python client does with memory: results that are dropped, and arrays that lie in shared memory."""
    raw_server, server = RawServer(folder, 1), FarcallServer(stage, 1, "tcp", folder)
    raw = Client([sys.executable, str(ROOT / "bench/clients/raw.py"), str(folder / "librawclient.so"),
                  str(raw_server.port), CONGESTION], 0)
    ours = start("python", stage, server, 0)
    for mode, what, want in (("inplace", "reused result", ">= 0.88"), ("fresh", "fresh result over raw's malloc", ">= 1.4")):
        ratio, null, spread = compare(raw, ours, rounds, ("roundtrip", LARGE, mode))
        row(f"128 MB there and back, TCP, python, 0 | 1: {what}", ratio, null, spread, want)
    for one in (ours, server):
        one.close()
    server = FarcallServer(stage, 1, "unix", folder)
    ours = start("python", stage, server, 0)
    ratio, null, spread = compare(raw, ours, rounds, ("roundtrip", LARGE, "fresh"), ("roundtrip", LARGE))
    row("128 MB there and back, one host, python, 0 | 1: result mapped, over raw TCP", ratio, null, spread, ">= 2.2")
    for one in (raw, raw_server):
        one.close()
    for size in (64 << 10, 4 << 20, LARGE):
        times = [1e6 * ours.number("roundtrip", size, "shared") for _ in range(100 * rounds)][10:]
        row(f"array of farcall.empty, {size >> 10} KB, 0 | 1: microseconds", statistics.median(times), 1, 0, "<= 250")
    for one in (ours, server):
        one.close()


def solving(stage, folder, rounds):
    """dgesv over TCP against the same bytes over raw TCP and the same library in the client, one thread each."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    lapack = "../../routines/lapack/lapack.idl"
    raw_server, server = RawServer(folder, 1), FarcallServer(stage, 1, "tcp", folder, ("bench.idl", lapack))
    raw = Client([sys.executable, str(ROOT / "bench/clients/raw.py"), str(folder / "librawclient.so"),
                  str(raw_server.port), CONGESTION], 0)
    ours = start("python", stage, server, 0)
    for n in (800, 1600):
        ratio, null, spread = compare(raw, ours, rounds, ("dgesv", n))
        row(f"dgesv n = {n}, TCP, python, 0 | 1: time over raw TCP and a local solve", 1 / ratio, null, spread, "<= 1.06")
    for one in (raw, ours, server, raw_server):
        one.close()


class SlowLink:
    """A link of 100 Mbit/s and 20 ms to a server (link.py)."""

    def __init__(self, server):
        host, port = server.address.split("//")[1].rsplit(":", 1)
        self.process = subprocess.Popen([sys.executable, str(ROOT / "bench/link.py"), f"{host}:{port}"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = f"farcall://127.0.0.1:{self.process.stdout.readline().strip()}"
        self.token = server.token

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=10)


def start_with(choice, stage, server):
    """A Python client that compresses by this choice."""
    os.environ["FARCALL_COMPRESSION"] = choice
    try:
        return start("python", stage, server, 0)
    finally:
        del os.environ["FARCALL_COMPRESSION"]


def compression(stage, folder, rounds):
    """Arrays both ways as they are, and as the two ends choose; the null is one client without against another."""
    for listen in ("tcp", "tls"):
        if listen == "tls" and not (folder / "ca").exists():
            certify(stage, folder)
        server = FarcallServer(stage, 1, listen, folder)
        clients = [start_with(choice, stage, server) for choice in ("off", "auto")]
        for kind in ("smooth", "random", "sparse"):
            ratio, null, spread = compare(*clients, rounds, ("send", kind, LARGE))
            row(f"128 MB there and back, {kind}, loopback {listen}: auto over off", ratio, null, spread, ">= 0.99")
        for one in (*clients, server):
            one.close()
    server = FarcallServer(stage, 1, "tcp", folder)
    link = SlowLink(server)
    clients = [start_with(choice, stage, link) for choice in ("off", "auto")]
    for kind, want in (("smooth", ">= 1.2"), ("random", ">= 1"), ("sparse", ">= 5")):
        ratio, null, spread = compare(*clients, 3, ("send", kind, 8 << 20))
        row(f"8 MB there and back, {kind}, 100 Mbit/s and 20 ms: auto over off", ratio, null, spread, want)
    for one in (*clients, link, server):
        one.close()


def build_raw(folder):
    flags = ["-O2", "-Wall", "-I", str(ROOT / "bench/raw")]
    programs = (("rawserver.c", "rawserver", []), ("rawcrowd.c", "rawcrowd", []),
                ("rawclient.c", "librawclient.so", ["-shared", "-fPIC"]))
    for source, output, extra in programs:
        subprocess.run(["cc", *flags, *extra, "-o", folder / output, ROOT / "bench/raw" / source], check=True)


def main():
    parser = argparse.ArgumentParser(description="Farcall against a raw C program, in turn.")
    parser.add_argument("--quick", action="store_true", help="three rounds")
    parts = ("crowd", "tls", "pipeline", "audience", "arrays", "dgesv", "compression")
    parser.add_argument("--only", choices=parts, help="this part alone")
    parser.add_argument("--stage", type=pathlib.Path, default=ROOT / "build", help="where Farcall was built")
    parser.add_argument("--client", action="append", choices=("rust", "c"), help="clients to measure")
    options = parser.parse_args()
    if os.cpu_count() < 2 or shutil.which("taskset") is None:
        raise SystemExit("bench: needs two cores and taskset (util-linux)")
    kinds = [kind for kind in options.client or ("c", "rust") if client_command(kind, options.stage)]
    if not kinds:
        raise SystemExit(f"bench: no client under {options.stage}/libexec; run make bench")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        build_raw(pathlib.Path(folder))
        rounds = 3 if options.quick else 9
        if options.only == "crowd":
            crowd(options.stage, pathlib.Path(folder), rounds)
        elif options.only == "pipeline":
            pipeline(options.stage, pathlib.Path(folder), rounds)
        elif options.only == "arrays":
            arrays(options.stage, pathlib.Path(folder), rounds)
        elif options.only == "dgesv":
            solving(options.stage, pathlib.Path(folder), rounds)
        elif options.only == "compression":
            compression(options.stage, pathlib.Path(folder), rounds)
        elif options.only == "audience":
            audience(options.stage, pathlib.Path(folder))
        elif options.only == "tls":
            for kind in kinds:
                encrypted(options.stage, pathlib.Path(folder), kind, rounds)
        else:
            measure(options.stage, pathlib.Path(folder), kinds, rounds)
    print(f"\n{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
