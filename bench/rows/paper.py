# The Ninf paper's measurements on a real server of this machine: tables 3, 4 and 8, figure 7, and
# the fitted model of section 3.1.
"""Clients are those of the paper's section 4.1 (clients/callers.py): each calls every `s` seconds
with probability 1/2. The interval is as long against one call's computing as it was on the paper's
J90. Columns have the paper's names: response is from the submission to the acceptance, wait to the
beginning of the run. A client's clock and the server's are not compared: what is not the server's
own time is the network's and is counted as response.

`paper-lan.json` under the output folder has every call."""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend must be chosen first)

from figures import linpack_flops
from processes import ROOT, FarcallServer
from rows.solving import LAPACK
from sites import processor_s
from turns import figure, row

CLIENTS = (1, 2, 4, 8, 16)
SIZES = (600, 1000, 1400)
# The paper's clients call every 3 s; its J90 does n = 600 in (2/3 n^3 + 2 n^2) / 190 Mflop/s.
INTERVAL_S, PROBABILITY = 3.0, 0.5
J90_600_S = linpack_flops(600) / 190e6
PROCESSORS = os.cpu_count()
EP_TRIALS = 20

EP = "../../routines/ep/ep.idl"
MANIFEST = """[[plugin]]
name = "rpc-server"
slot = "rpc"
[plugin.options]
executables_max = {at_a_time}

[[plugin]]
name = "spawner-local"
slot = "spawner"
[plugin.options]
{threads}
"""

MODES = {
    "one": f"one thread a call, {PROCESSORS} calls at a time (table 3)",
    "all": "all threads a call, one call at a time (table 4)",
}

SETTINGS = {
    "one": ("limits.threads = 1", PROCESSORS),
    "all": (f"limits.threads = {PROCESSORS}", 1),
    "chosen": ("", PROCESSORS),
}


def lan(bench):
    sizes, clients = (SIZES, CLIENTS) if bench.sizes.rounds > 3 else (SIZES[:2], (1, 4, 16))
    if bench.sizes.rounds < 3:
        sizes, clients = (50,), (1, 2)
    calls = 30 if bench.sizes.rounds > 2 else 4
    scale = alone(bench) / J90_600_S
    tables = {}
    for mode, title in MODES.items():
        print(f"  Linpack on this host, {title}; an interval of {INTERVAL_S * scale * 1e3:.0f} ms")
        heading()
        for n in sizes:
            for count in clients:
                cell = measure(bench, mode, "lapack/dgesv", n, count, calls, scale)
                tables[f"{mode} {n} {count}"] = cell
                show(n, count, cell, lambda taken, n=n: linpack_flops(n) / taken / 1e6)
    print(f"  EP, 2^{EP_TRIALS} trials, one thread a call (table 8); Mop/s")
    heading(TRANSMISSION)
    for count in clients:
        cell = measure(bench, "one", "ep/ep", EP_TRIALS, count, calls, scale)
        tables[f"ep {count}"] = cell
        show(EP_TRIALS, count, cell, lambda taken: 2 ** (EP_TRIALS + 1) / taken / 1e6, TRANSMISSION)
    (bench.output / "paper-lan.json").write_text(json.dumps(tables, indent=1))
    fit(tables, sizes)
    draw(bench, tables, sizes, clients)
    verdicts(tables, sizes, clients)
    chosen(bench, sizes, clients, calls, scale)


def chosen(bench, sizes, clients, calls, scale):
    """The cells of table 3 where the server sets each call's threads, beside the better of one and
    all. The null is the better one measured again."""
    gains, nulls = [], []
    for n in sizes:
        for count in clients:
            means = {}
            for mode in (*MODES, "chosen", *MODES):
                cell = measure(bench, mode, "lapack/dgesv", n, count, calls, scale)
                taken = (one["complete"] - one["submit"] for one in cell["calls"])
                means.setdefault(mode, []).append(
                    statistics.mean(linpack_flops(n) / 1e6 / one for one in taken)
                )
            best = max(MODES, key=lambda mode: statistics.mean(means[mode]))
            gains.append(means["chosen"][0] / statistics.mean(means[best]))
            nulls.append(means[best][1] / means[best][0])
            print(f"  threads chosen over {best}, n = {n}, c = {count}: {gains[-1]:.2f}")
    what = "threads chosen over the better of one and all, cells of table 3: geometric mean"
    mean, worst = statistics.geometric_mean, min
    row(what, figure([mean(gains)]), figure([mean(nulls)]), ">= 0.97")
    row("the same: worst cell", figure([worst(gains)]), figure([worst(nulls)]), ">= 0.85")


def alone(bench):
    """Seconds that one call of n = 600 computes."""
    cell = measure(bench, "one", "lapack/dgesv", 600, 1, 5, 0.01)
    return statistics.median(call["finished"] - call["started"] for call in cell["calls"])


class Load:
    """What the server's processes compute, and how many calls are open, in a thread's samples."""

    def __init__(self, server):
        self.server, self.samples, self.over = server, [], threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        while not self.over.wait(0.05):
            running = 0
            for pid in self.server.pids()[1:]:
                try:
                    with open(f"/proc/{pid}/stat") as file:
                        running += file.read().rpartition(")")[2].split()[0] == "R"
                except OSError:
                    pass
            self.samples.append(running)

    def computed_s(self):
        total = 0.0
        for pid in self.server.pids():
            try:
                total += processor_s(pid)
            except OSError:
                pass
        return total

    def __enter__(self):
        self.begun, self.before = time.monotonic(), self.computed_s()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.seconds = time.monotonic() - self.begun
        self.computed = self.computed_s() - self.before


def measure(bench, mode, routine, n, clients, calls, scale):
    """One cell: every call, the server's utilisation, and its load."""
    threads, at_a_time = SETTINGS[mode]
    settings = {
        "routine": routine,
        "n": n,
        "clients": clients,
        "calls": max(calls, 6 * clients),
        "interval_s": INTERVAL_S * scale,
        "probability": PROBABILITY,
        "seed": f"{mode} {n} {clients}",
    }
    with tempfile.NamedTemporaryFile("w", suffix=".toml", dir=bench.folder) as file:
        file.write(MANIFEST.format(threads=threads, at_a_time=at_a_time))
        file.flush()
        options = ("--manifest", file.name)
        with threads_of_manifest():
            server = FarcallServer(bench, "0,1", "tcp", (LAPACK, EP), options)
        with server:
            if mode == "chosen":
                # What the server learns of a routine once.
                call(bench, server, {**settings, "clients": 1, "calls": 6})
            with Load(server) as load:
                told = call(bench, server, settings)
    failed = [one["error"] for one in told if "error" in one]
    if failed:
        raise SystemExit(f"bench: a call of the paper's clients failed: {failed[0]}")
    return {
        "calls": told,
        "utilisation": load.computed / load.seconds / PROCESSORS,
        "load": statistics.mean(load.samples or [0]),
    }


@contextlib.contextmanager
def threads_of_manifest():
    """What is started meanwhile has the threads of its manifest, or those that its server chooses:
    nobody else says how many."""
    told = os.environ.pop("OPENBLAS_NUM_THREADS", None)
    try:
        yield
    finally:
        if told is not None:
            os.environ["OPENBLAS_NUM_THREADS"] = told


def call(bench, server, settings):
    own = bench.stage / "venv/bin/python"
    command = [own if own.exists() else sys.executable, ROOT / "bench/clients/callers.py"]
    done = subprocess.run(
        [*command, server.address, json.dumps(settings)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **server.environment},
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


THROUGHPUT, TRANSMISSION = "throughput [MB/s]", "transmission [ms]"


def heading(last=THROUGHPUT):
    print(
        f"  {'n':>5} {'c':>3}  {'performance':^20} {'response [ms]':^20} {'wait [ms]':^20} "
        f"{last:^20} {'CPU':>6} {'load':>5} {'times':>6}"
    )


def show(n, clients, cell, performance, last=THROUGHPUT):
    calls = cell["calls"]
    cell["performance"] = [performance(one["complete"] - one["submit"]) for one in calls]
    columns = [
        cell["performance"],
        [1e3 * network_s(one) / 2 for one in calls],
        [1e3 * (one["started"] - one["queued"]) for one in calls],
        [moved(n, one) if last == THROUGHPUT else 1e3 * sending_s(one) for one in calls],
    ]
    shown = " ".join(
        f"{f'{max(one):.2f}/{min(one):.2f}/{statistics.mean(one):.2f}':^20}" for one in columns
    )
    utilisation, load = 100 * cell["utilisation"], cell["load"]
    print(f"  {n:5} {clients:3}  {shown} {utilisation:6.2f} {load:5.2f} {len(calls):6}")


def moved(n, call):
    """MB/s of the matrix and the right side, there and back, as the paper counts."""
    return (8 * n * n + 20 * n) / 1e6 / max(sending_s(call), 1e-9)


def sending_s(call):
    """What its arrays took, there and back."""
    return network_s(call) + call["queued"]


def network_s(call):
    """What is not the server's: the way there and back."""
    return max(call["complete"] - call["submit"] - call["finished"], 0.0)


def fit(tables, sizes):
    """Section 3.1: T_comm = T_comm0 + (8 n^2 + 20 n) / B, T_comp = T_comp0 + flops / P, at c = 1."""
    points = [(n, tables[f"one {n} 1"]["calls"]) for n in sizes]
    for what, amount, taken in (
        ("T_comm", lambda n: 8 * n * n + 20 * n, sending_s),
        ("T_comp", linpack_flops, lambda one: one["finished"] - one["started"]),
    ):
        xs = [amount(n) for n, calls in points for _ in calls]
        ys = [taken(one) for _, calls in points for one in calls]
        if len(points) < 2:
            return
        slope, constant = statistics.linear_regression(xs, ys)
        unit = "MB/s" if what == "T_comm" else "Mflop/s"
        rate = 1 / max(slope, 1e-15) / 1e6
        print(f"  {what} = {1e3 * constant:.2f} ms + amount / {rate:.0f} {unit}")


def draw(bench, tables, sizes, clients):
    """Figure 7: average performance over the size and the number of clients."""
    figure_7, axes = plt.subplots()
    for mode in MODES:
        for n in sizes:
            means = [
                statistics.mean(tables[f"{mode} {n} {count}"]["performance"]) for count in clients
            ]
            line = "-" if mode == "all" else "--"
            axes.plot(
                clients, means, line, marker="o", label=f"n = {n}, {mode} of {PROCESSORS} threads"
            )
    axes.set(
        xlabel="clients", ylabel="Mflop/s", xscale="log", title="figure 7: Linpack, a client's view"
    )
    axes.set_xticks(clients, map(str, clients))
    axes.legend()
    figure_7.savefig(bench.output / "figure7.svg")
    plt.close(figure_7)


def verdicts(tables, sizes, clients):
    """What the paper concludes from its tables, and whether it holds here."""
    most, largest = max(clients), max(sizes)

    def mean(key):
        return statistics.mean(tables[key]["performance"])

    falls = mean(f"one {largest} {most}") / mean(f"one {largest} 1")
    row(f"Linpack, n = {largest}: performance of c = {most} over c = 1", figure([falls]), None, "")
    says(falls < 1, "performance falls with the number of clients", "the server is not the limit")
    gains = [mean(f"all {n} 1") / mean(f"one {n} 1") for n in sizes]
    row("one client: all threads over one", figure(gains), None, "")
    alone = "these matrices are small for so many threads, or other programs compute here"
    says(max(gains) > 1.1, "for few clients all threads are better", alone)
    crowds = [mean(f"all {n} {most}") / mean(f"one {n} {most}") for n in sizes]
    row(f"{most} clients: all threads over one", figure(crowds), None, "")
    crowd = (
        "one call at a time leaves processors idle while its threads wait for one another, and a "
        "library's threads gain less here than a vector machine's"
    )
    says(min(crowds) > 0.8, "for many clients all threads lose little", crowd)
    together = throughput(tables[f"ep {most}"]["calls"]) / throughput(tables["ep 1"]["calls"])
    row(f"EP: throughput of c = {most} over what one call has", figure([together]), None, "")
    holds = together > 0.8 * PROCESSORS
    says(holds, "EP keeps all processors busy", "other programs compute here")


def throughput(calls):
    """Calls a second: of one client alone while it runs, of several over the whole time."""
    if len({one["client"] for one in calls}) == 1:
        return 1 / statistics.median(one["finished"] - one["started"] for one in calls)
    ends = sorted(one["complete"] for one in calls)
    return (len(ends) - 1) / (ends[-1] - ends[0])


def says(holds, what, because):
    print(f"  The paper: {what}. " + ("Holds." if holds else f"Does not hold, because {because}."))
