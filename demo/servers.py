# Several servers as one: three servers join a fourth, which says where each call runs; one is killed
# in the middle.
"""Linpack of random sizes and the blocks of NPB EP are called at the fourth server, as any server is
called. Where each call ran is printed and drawn; the results are checked as those of the first part
are."""

import collections
import concurrent.futures
import contextlib
import json
import signal
import subprocess
import threading
import time

import matplotlib.pyplot as plt
import numpy as np

import farcall

COUNT, CALLS, BLOCKS, AT_A_TIME = 3, 48, 48, 6
SIZES = (200, 400, 600, 800, 1000)
COLORS = {"lapack/dgesv": "tab:blue", "ep/ep": "tab:orange"}


class Servers:
    """Three servers, and one that they join: private ones, which end with this program."""

    def __init__(self, farcall_program, files=("lapack", "ep"), own=("ep",)):
        self.program, self.files, self.own = farcall_program, files, own
        self.processes, self.members = [], []

    def __enter__(self):
        self.address = self.start(self.own)
        for _ in range(COUNT):
            self.add()
        return self

    def add(self):
        """One more that joins."""
        self.members.append(self.start(self.files, "--join", self.address))

    def start(self, files, *words):
        process = subprocess.Popen(
            [self.program, "serve", "--private", *words, "--", *files],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        address = process.stdout.readline().strip()
        if not address:
            raise SystemExit("demo: a server did not start")
        return address

    def kill(self, number):
        self.processes[1 + number].send_signal(signal.SIGKILL)

    def names(self):
        """What they are called, by address."""
        return {address: f"server {1 + at}" for at, address in enumerate(self.members)}

    def __exit__(self, *_):
        for process in reversed(self.processes):
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            process.wait(timeout=30)
            process.stdout.close()


def several(root, stage, output, residual_of):
    """Runs all of it; the path of the figure."""
    print(
        f"\n{COUNT} servers that joined a fourth: {CALLS} x Linpack and {BLOCKS} x EP, "
        f"{AT_A_TIME} at a time"
    )
    wanted = json.loads((root / "routines/ep/verify.json").read_text())
    with Servers(stage / "bin/farcall") as servers:
        wait_for(servers)
        ran, killed = call_all(servers, wanted["classes"]["W"]["m"], residual_of)
    check_ep([one["result"] for one in ran if one["routine"] == "ep/ep"], wanted)
    names = {**servers.names(), servers.address: "the fourth"}
    counts = collections.Counter(names.get(one["server"], one["server"]) for one in ran)
    where = ", ".join(f"{name}: {counts[name]}" for name in sorted(counts))
    print(f"  all {len(ran)} results are right; server 2 was killed after {killed:.1f} s")
    print(f"  calls by server: {where}")
    return draw(ran, names, killed, output / "servers.png")


def wait_for(servers, without=None):
    """Until all have joined, but for one that was killed."""
    wanted = [one for at, one in enumerate(servers.members) if at != without]
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        shown = subprocess.run(
            [servers.program, "servers", "--server", servers.address, "--json"],
            capture_output=True,
            text=True,
        )
        if all(address in shown.stdout for address in wanted):
            return
        time.sleep(0.2)
    raise SystemExit(f"demo: not all servers joined: {shown.stdout}{shown.stderr}")


def call_all(servers, m, residual_of):
    """What came of each call; and when a server was killed."""
    random = np.random.default_rng(1997)
    done, lock, begun = [], threading.Lock(), time.monotonic()
    killed = []

    def note(routine, started, result):
        with lock:
            ended = time.monotonic()
            done.append(
                {
                    "routine": routine,
                    "server": result.server,
                    "started": started - begun,
                    "ended": ended - begun,
                    "result": result,
                }
            )
            if not killed and len(done) > (CALLS + BLOCKS) // 3:
                servers.kill(1)
                killed.append(ended - begun)

    with farcall.connect(servers.address) as server:

        def linpack(n):
            a, b = random.uniform(-0.5, 0.5, (n, n)), random.uniform(-0.5, 0.5, n)
            started = time.monotonic()
            result = server.lapack.dgesv(a, b)
            if result.info != 0 or not residual_of(a, result.b, b) < 16:
                raise SystemExit(f"demo: dgesv for n = {n} is wrong")
            note("lapack/dgesv", started, result)

        def ep(block):
            size, started = 2**m // BLOCKS, time.monotonic()
            count = size if block < BLOCKS - 1 else 2**m - size * (BLOCKS - 1)
            note("ep/ep", started, server.ep.ep(m, first=block * size, count=count))

        work = [(linpack, int(random.choice(SIZES))) for _ in range(CALLS)]
        work += [(ep, block) for block in range(BLOCKS)]
        random.shuffle(work)
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            for future in [pool.submit(action, what) for action, what in work]:
                future.result()
    return done, killed[0]


def check_ep(results, wanted):
    for name in ("sx", "sy"):
        total = sum(getattr(result, name) for result in results)
        official = wanted["classes"]["W"][name]
        if abs(total / official - 1) > wanted["relative_tolerance"]:
            raise SystemExit(f"demo: EP is not verified: {name} = {total}, official {official}")


def draw(ran, names, killed, path):
    """A bar for each call, in the row of the server where it ran."""
    order = sorted({names.get(one["server"], one["server"]) for one in ran}, reverse=True)
    figure, axes = plt.subplots(figsize=(11, 3.5))
    lanes = collections.defaultdict(list)
    for one in sorted(ran, key=lambda one: one["started"]):
        name = names.get(one["server"], one["server"])
        free = lanes[name]
        lane = next((at for at, end in enumerate(free) if end <= one["started"]), len(free))
        free[lane : lane + 1] = [one["ended"]]
        y = order.index(name) + 0.12 * lane - 0.3
        width = one["ended"] - one["started"]
        axes.barh(y, width, 0.1, one["started"], color=COLORS[one["routine"]], edgecolor="white")
    axes.axvline(killed, color="black", linestyle="--")
    axes.annotate("server 2 is killed", (killed, len(order) - 0.45))
    axes.set(
        yticks=range(len(order)), yticklabels=order, xlabel="seconds", title="Where each call ran"
    )
    axes.legend(
        handles=[plt.Rectangle((0, 0), 1, 1, color=color) for color in COLORS.values()],
        labels=list(COLORS),
        loc="upper left",
        bbox_to_anchor=(1, 1),
    )
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path
