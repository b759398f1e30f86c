# Rows of several real servers behind a metaserver: small calls, predictions, and choices.
"""A server that is slow is in a cgroup with a quota of processor time, in periods of 4 ms; sites are
network namespaces (sites.py). Both need root: without it their rows are left out and say so."""

import contextlib
import json
import os
import pathlib
import random
import statistics
import sys
import time

from processes import ROOT, Child, Client, FarcallClient, certificates, client_command, libraries_of
from rows.calls import DEPTH
from rows.paper import EP
from rows.solving import LAPACK
from rows.wan import Authority
from sites import Sites, missing
from turns import Turns, figure, row

CGROUP = pathlib.Path("/sys/fs/cgroup/cpu")
PERIOD_US = 4000
ONE_THREAD = """[[plugin]]
name = "spawner-local"
slot = "spawner"
[plugin.options]
limits.threads = 1
"""


def servers(bench):
    small(bench)
    relayed(bench)
    density_of_states(bench)
    prediction(bench)
    choices(bench)


class Server(Child):
    """A private `farcall serve` of these interface files, perhaps at a site, slowed, or joined."""

    def __init__(self, bench, files, core="0,1", join=None, slow=None, site=(), words=()):
        self.environment = {"FARCALL_CREDENTIALS": str(certificates(bench) / "users/bench.pem")}
        before = [*site, *(slow.enter() if slow else ())]
        joined = ("--join", join) if join else ()
        serve = [bench.stage / "bin/farcall", "serve", "--private", *joined, *words]
        routines = [ROOT / "bench/routines" / file for file in files]
        libraries = {"FARCALL_LIBRARY_DIRECTORY": str(bench.stage / "lib")}
        super().__init__(
            [*before, *serve, "--", *routines], core, {**self.environment, **libraries}
        )
        self.address = self.line()
        if not self.address:
            raise SystemExit("bench: farcall serve did not start")


def metaserver(bench, core="0,1", site=(), words=()):
    """It publishes nothing that anybody calls."""
    interface = bench.folder / "nothing.idl"
    interface.write_text('Module nothing;\nDefine nothing(OUT int a[1]) "None." { *a = 0; }\n')
    return Server(bench, [interface], core, site=site, words=words)


class Slow:
    """A cgroup that may compute for a part of the time of one processor."""

    numbers = iter(range(1000))

    def __init__(self, part):
        self.folder = CGROUP / f"farcall-bench-{os.getpid()}-{next(self.numbers)}"
        self.part = part

    def __enter__(self):
        self.folder.mkdir()
        (self.folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (self.folder / "cpu.cfs_quota_us").write_text(str(int(PERIOD_US * self.part)))
        return self

    def enter(self):
        """What a command line begins with that runs in it."""
        return ["sh", "-c", f'echo $$ >{self.folder}/cgroup.procs; exec "$@"', "sh"]

    def __exit__(self, *_):
        until = time.monotonic() + 20
        while (self.folder / "cgroup.procs").read_text() and time.monotonic() < until:
            time.sleep(0.05)
        self.folder.rmdir()


def no_quota():
    """Why no server can be slowed here, if none can."""
    if os.geteuid() != 0:
        return "cgroups need root"
    if not (CGROUP / "cpu.cfs_quota_us").exists() and not (CGROUP / "cgroup.procs").exists():
        return f"{CGROUP} is no cgroup of processor time"
    return None


class Several(Client):
    """The C client, whose small calls go to these servers in turn."""

    def __init__(self, bench, addresses, core):
        command = [*client_command("c", bench.stage), *addresses]
        super().__init__(command, core, libraries_of(bench.stage))


def small(bench):
    """Through a metaserver against the server itself, and against four of them in turn."""
    words = ("pingpong", bench.sizes.small)
    with contextlib.ExitStack() as stack:
        meta = stack.enter_context(metaserver(bench, 1))
        server = stack.enter_context(Server(bench, ["bench.idl"], 1, meta.address))
        direct, placed = (
            stack.enter_context(FarcallClient(bench, "c", one, 0)) for one in (server, meta)
        )
        know(placed)
        turns = Turns(bench.sizes.rounds, direct.does(*words), {"placed": placed.does(*words)})
        what = "small call, unix, c, 0 | 1: time through a metaserver over the server's own"
        row(what, turns.over_anchor("placed"), turns.null(), "<= 1.1")
    words = ("pipeline", bench.sizes.under_way, DEPTH)
    with contextlib.ExitStack() as stack:
        meta = stack.enter_context(metaserver(bench, 1))
        four = [
            stack.enter_context(Server(bench, ["bench.idl"], 1, meta.address)) for _ in range(4)
        ]
        turn = stack.enter_context(Several(bench, [server.address for server in four], 0))
        placed = stack.enter_context(Several(bench, [meta.address], 0))
        know(placed)
        turns = Turns(bench.sizes.rounds, turn.does(*words), {"placed": placed.does(*words)})
        what = f"{DEPTH} small calls at a time, four servers: rate placed over in turn"
        row(what, turns.over_anchor("placed"), turns.null(), ">= 0.8")


def know(client):
    """Until the metaserver knows its servers, and each has run something."""
    time.sleep(1.5)
    client.ask("pingpong", 20)


class Placing(Client):
    """The Python client that says what was predicted."""

    def __init__(self, bench, address, site=(), environment=None):
        own = bench.stage / "venv/bin/python"
        program = [own if own.exists() else sys.executable, ROOT / "bench/clients/placing.py"]
        command = [*site, *program, address]
        super().__init__(command, "0,1", {**libraries_of(bench.stage), **(environment or {})})

    def call(self, kind, size, at=""):
        return json.loads(self.ask(kind, size, at))


LEADING = """[[plugin]]
name = "rpc-server"
slot = "rpc"
[plugin.options]
access = [
    { who = ["*"], call = ["*"] },
    { who = ["server:*"], join = true },
]
"""


def relayed(bench):
    """An array there and back through a metaserver, to a server that listens at no port, against
    one that does; and the memory of the metaserver before and after."""
    path = bench.folder / "leading.toml"
    path.write_text(LEADING)
    own = ("--credentials", certificates(bench) / "server.pem")
    listen = ("--listen", "tls://127.0.0.1:0")
    with contextlib.ExitStack() as stack:
        meta = stack.enter_context(metaserver(bench, words=("--manifest", path, *listen, *own)))
        hidden = Server(bench, ["bench.idl"], join=meta.address, words=own)
        stack.enter_context(hidden)
        server = stack.enter_context(Server(bench, ["bench.idl"], words=(*listen, *own)))
        time.sleep(1.5)
        direct, led = (
            stack.enter_context(FarcallClient(bench, "c", one, "0,1")) for one in (server, meta)
        )
        before = resident_mb(meta)
        words = ("roundtrip", min(bench.sizes.large, 64 << 20))
        turns = Turns(bench.sizes.rounds, direct.does(*words), {"led": led.does(*words)})
        grown = resident_mb(meta) - before
    what = "64 MB there and back over TLS, c: speed through a metaserver over direct"
    row(what, turns.anchor_over("led"), turns.null(), ">= 0.35")
    row("the same: MB that the metaserver has grown by", figure([grown]), None, "<= 16")


def resident_mb(child):
    status = pathlib.Path(f"/proc/{child.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


ONE_AT_A_TIME = """[[plugin]]
name = "rpc-server"
slot = "rpc"
[plugin.options]
processors_max = 1
"""


def density_of_states(bench):
    """A sweep as in section 4.3 of the Ninf paper: the same calls over one server and over two, each
    with one processor; the null is one server against itself."""
    calls, points = (4, 1000) if bench.sizes.rounds < 3 else (64, 300_000)
    path = bench.folder / "one-at-a-time.toml"
    path.write_text(ONE_AT_A_TIME)
    with contextlib.ExitStack() as stack:
        clients = []
        for count in (1, 2):
            meta = stack.enter_context(metaserver(bench))
            for core in range(count):
                words = ("--manifest", path)
                server = Server(bench, ["dos.idl"], str(core), meta.address, words=words)
                stack.enter_context(server)
            clients.append(stack.enter_context(Placing(bench, meta.address)))
        time.sleep(1.5)
        one, two = (
            lambda client=client: json.loads(client.ask("dos", calls, points))["seconds"]
            for client in clients
        )
        turns = Turns(min(bench.sizes.rounds, 5), one, {"two": two}, warm=1)
    what = f"density of states, {calls} calls: two servers over one, speed"
    row(what, turns.anchor_over("two"), turns.null(), ">= 1.8")


def prediction(bench):
    """Two servers, one of half the speed; the null is the same call again on the same server."""
    why = no_quota()
    if why:
        return print(f"  predictions are not measured: {why}")
    smoke = bench.sizes.rounds < 3
    learned, counted, largest = (3, 3, 200) if smoke else (20, 60, 1500)
    chance = random.Random(25)
    with contextlib.ExitStack() as stack:
        meta = stack.enter_context(metaserver(bench))
        slow = stack.enter_context(Slow(0.5))
        words = ("--manifest", manifest(bench))
        for each in (None, slow):
            server = Server(bench, [LAPACK, EP], join=meta.address, slow=each, words=words)
            stack.enter_context(server)
        time.sleep(1.5)
        client = stack.enter_context(Placing(bench, meta.address))
        errors, again, ran = [], [], set()
        for number in range(learned + counted):
            size = chance.randint(100, largest)
            one = client.call("solve", size)
            ran.add(one["server"])
            if number >= learned:
                same = client.call("solve", size, one["server"])
                errors.append(abs(one["predicted"] / one["seconds"] - 1))
                again.append(abs(same["seconds"] / one["seconds"] - 1))
    what = f"dgesv, two servers, one slowed ({len(ran)} used): error of a prediction"
    row(what, figure(errors), figure(again), "<= 0.25 or 2 x null")


def manifest(bench, site=""):
    """One thread a call; a site of its own, since all namespaces have the name of this host."""
    path = bench.folder / f"one-thread-{site}.toml"
    own = '[[plugin]]\nname = "metaserver"\nslot = "metaserver"\n[plugin.options]\n'
    path.write_text(ONE_THREAD + (f'{own}site = "{site}"\n' if site else ""))
    return path


# What a program calls: a size, and whether it has much to send for what it computes.
MIXED = [
    *(("solve", n) for n in (50, 150, 300, 600, 900)),
    *(("ep", trials) for trials in (10, 14, 17, 19)),
]
# Part of a processor's time that each place has.
PLACES = {"here": 0.25, "near": 0.5, "far": 1.0}


def choices(bench):
    """Calls of many kinds over three places of different speed and distance, beside the best choice
    for each."""
    why = missing() or no_quota()
    if why:
        return print(f"  choices are not measured: {why}")
    smoke = bench.sizes.rounds < 3
    learned, counted, alone = (5, 5, 1) if smoke else (30, 200, 5)
    kinds = MIXED[::4] if smoke else MIXED
    chance = random.Random(25)
    with contextlib.ExitStack() as stack:
        client, places = three_places(bench, stack)
        calls = [chance.choice(kinds) for _ in range(learned + counted)]
        for kind, size in calls[:learned]:
            client.call(kind, size)
        came = [client.call(kind, size) for kind, size in calls[learned:]]
        best = {}
        for kind, size in kinds:
            each = {
                name: statistics.median(
                    client.call(kind, size, at)["seconds"] for _ in range(alone)
                )
                for name, at in places.items()
            }
            best[(kind, size)] = min(each.values())
            shown = "  ".join(f"{name} {1e3 * taken:7.1f}" for name, taken in each.items())
            print(f"  {kind:5} {size:4}, ms alone: {shown}")
        where = {at: name for name, at in places.items()}
        ran = [where.get(one["server"], one["server"]) for one in came]
        print("  placed: " + ", ".join(f"{name} {ran.count(name)}" for name in places))
        took = sum(one["seconds"] for one in came)
        least = sum(best[call] for call in calls[learned:])
    what = f"{counted} mixed calls over here, near and 20 ms away: time over the best choice"
    row(what, figure([took / least]), None, "<= 1.15")


def three_places(bench, stack):
    """A client at its site, and what its servers are called."""
    sites = stack.enter_context(Sites(bench))
    for name in ("home", "near", "far"):
        sites.add(name)
    near = sites.link("home", "near", 100e6, 0.2)
    far = sites.link("home", "far", 100e6 / 8, 20)
    home = sites.inside("home")
    meta = stack.enter_context(metaserver(bench, site=home))
    authority = stack.enter_context(Authority(bench))
    places = {}
    for name, link in (("here", None), ("near", near), ("far", far)):
        slow = stack.enter_context(Slow(PLACES[name]))
        where = home
        own = ["--manifest", manifest(bench, name if link else "")]
        if link:
            where = sites.inside(name)
            own += ["--listen", f"tls://{link.addresses[1]}:0"]
            own += ["--credentials", authority.folder / "server.pem"]
        server = Server(bench, [LAPACK, EP], join=meta.address, slow=slow, site=where, words=own)
        places[name] = stack.enter_context(server).address
    time.sleep(3)
    client = stack.enter_context(Placing(bench, meta.address, home, authority.user))
    return client, places
