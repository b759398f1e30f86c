# The Ninf paper's wide-area measurements with real processes: tables 6 and 7, and figure 10.
"""Sites are network namespaces, joined by links with a rate and a delay (sites.py). Times are those of
the paper over SCALE, and arrays have its elements over SMALLER squared, so that computing, sending
and the interval are to one another as in the paper; a link has the paper's rate times SCALE over
SMALLER squared. Several servers stand on two cores here: their routine takes real arrays through
the whole of Farcall and TLS, and holds its processors for the modelled time by waiting. All
processes together must compute for less than one core; a run in which they do not is thrown away.

Figures are in the paper's units. `paper-wan.json` under the output folder has every call."""

import collections
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend must be chosen first)

from figures import linpack_flops
from processes import ROOT, Child
from rows.paper import CLIENTS, INTERVAL_S, PROBABILITY, SIZES, says
from rows.placement import EP, PAPER, cell
from sites import Sites, missing, processor_s
from turns import figure, row

SCALE, SMALLER = 100, 4
# With a metaserver they are larger: its reports are as often as they are.
PLACED_SCALE = 20
# The paper's streams had less than a hundredth of an array on their way.
WINDOW = 16 << 10
OCHA_TO_ETL, DELAY_MS = 0.17e6, 20
# Of the J90: one call has one processor, or all four.
MFLOPS = {"one": 190, "all": 600}

# The servers of sim/studies/wan-one-site.toml: processors at a time, Mflop/s of a call, the link's
# rate and delay.
SERVERS = {
    "j90": (1, 600, 0.17e6, 20),
    "west": (4, 100, 0.3e6, 20),
    "east": (4, 100, 0.3e6, 20),
    "alpha": (4, 60, 2.5e6, 0.5),
}
POLICIES = ("finish-first", "round-robin", "load-only")

INTERFACE = """Module paper;
Globals {{
#include <string.h>
#include <time.h>
static void wait_for(double seconds)
{{
    struct timespec time = {{(time_t) seconds, (long) ((seconds - (double) (time_t) seconds) * 1e9)}};
    nanosleep(&time, NULL);
}}
/* For as long as the paper's server computes for this matrix, over the scale. */
static void compute(double n)
{{
    wait_for((2.0 / 3 * n * n * n + 2 * n * n) * {smaller}e0 * {smaller} * {smaller} / {flops});
}}
}}

Define linpack(IN long n, IN double A[n][n], INOUT double b[n], OUT int pivots[n])
"Takes what the paper's Linpack takes, and waits for as long as its server would compute."
Complexity 2.0/3.0*n^3 + 2*n^2
Idempotent
{{
    compute(n);
}}

Define ep(IN int n, OUT double counts[10])
"Waits for as long as the paper's server would compute for 2^n trials."
Complexity 2^(n+1)
Idempotent
{{
    memset(counts, 0, 10 * sizeof *counts);
    wait_for((double) (2L << n) / {ops});
}}
"""

MANIFEST = """[[plugin]]
name = "rpc-server"
slot = "rpc"
[plugin.options]
executables_max = {at_a_time}

[[plugin]]
name = "metaserver"
slot = "metaserver"
[plugin.options]
site = "{site}"
placement = "{placement}"
report_ms = 200
"""


def wan(bench):
    why = missing()
    if why:
        return print(f"  the wide area is not measured: {why}")
    told = {}
    with Authority(bench) as authority:
        single_site(bench, authority, told)
        embarrassingly_parallel(bench, authority, told)
        four_sites(bench, authority, told)
        policies(bench, authority, told)
    (bench.output / "paper-wan.json").write_text(json.dumps(told, indent=1))


class Authority:
    """Certificates for servers at these addresses, and for a user."""

    def __init__(self, bench):
        self.farcall, self.folder = bench.stage / "bin/farcall", bench.folder / "wan-ca"

    def __enter__(self):
        if not self.folder.exists():
            self.run("init", "--server", ",".join(f"10.213.{number}.2" for number in range(8)))
            self.run("user", "bench")
        return self

    def __exit__(self, *_):
        pass

    def run(self, *words):
        command = [self.farcall, "ca", "--folder", self.folder, *words]
        subprocess.run(command, check=True, capture_output=True)

    @property
    def user(self):
        return {"FARCALL_CREDENTIALS": str(self.folder / "users/bench.pem")}


class Server(Child):
    """A server at a site. `flops` a second are the modelled computer's."""

    def __init__(self, bench, sites, site, authority, address, flops, at_a_time, join=()):
        interface, manifest = (bench.folder / f"{site}.{kind}" for kind in ("idl", "toml"))
        own = {"smaller": SMALLER, "flops": flops, "ops": EP_OPS * SCALE}
        interface.write_text(INTERFACE.format(**own))
        words = {"at_a_time": at_a_time, "site": site, "placement": POLICIES[0]}
        manifest.write_text(MANIFEST.format(**words))
        serve = [bench.stage / "bin/farcall", "serve", "--private", "--manifest", manifest]
        listen = ["--listen", f"tls://{address}:0", *join]
        credentials = ["--credentials", authority.folder / "server.pem", "--", interface]
        super().__init__([*sites.inside(site), *serve, *listen, *credentials], "0,1")
        self.address = self.line()
        if not self.address:
            raise SystemExit("bench: farcall serve did not start at a site")


def computed_s(child):
    """Seconds that a process and all that come from it computed."""
    total = 0.0
    for pid in child.pids():
        with contextlib.suppress(OSError):
            total += processor_s(pid)
    return total


class Callers:
    """The paper's clients at one site."""

    def __init__(self, bench, sites, site, environment, address, settings):
        own = bench.stage / "venv/bin/python"
        program = [own if own.exists() else sys.executable, ROOT / "bench/clients/callers.py"]
        command = [*sites.inside(site), *program, address, json.dumps(settings)]
        self.process = subprocess.Popen(
            list(map(str, command)),
            text=True,
            stdout=subprocess.PIPE,
            # The paper's arrays travel as they are.
            env={**os.environ, "FARCALL_COMPRESSION": "off", **environment},
        )

    def calls(self):
        shown, _ = self.process.communicate(timeout=1800)
        if self.process.returncode != 0:
            raise SystemExit("bench: the paper's clients ended early")
        calls = [json.loads(line) for line in shown.splitlines()]
        failed = [one["error"] for one in calls if "error" in one]
        if failed:
            raise SystemExit(f"bench: a call of the paper's clients failed: {failed[0]}")
        return calls


def settings_of(n, clients, calls, seed, scale=SCALE, routine="linpack"):
    if routine == "ep":
        return {**settings_of(n * SMALLER, clients, calls, seed, scale), "routine": "paper/ep"}
    return {
        "routine": "paper/linpack",
        "n": n // SMALLER,
        "clients": clients,
        "calls": calls,
        "interval_s": INTERVAL_S / scale,
        "probability": PROBABILITY,
        "seed": seed,
    }


def run(bench, authority, homes, mode, n, clients, calls, routine="linpack"):
    """Clients at each of these sites, and one server: the calls of each site."""
    with Sites(bench, WINDOW) as sites:
        sites.add("etl")
        rate = OCHA_TO_ETL * SCALE / SMALLER**2
        links = []
        for home in homes:
            sites.add(home)
            links.append(sites.link(home, "etl", rate, DELAY_MS / SCALE))
        at_a_time = 4 if mode == "one" else 1
        # It listens at every link.
        with Server(
            bench, sites, "etl", authority, "0.0.0.0", MFLOPS[mode] * 1e6 * SCALE, at_a_time
        ) as server:
            port = server.address.rpartition(":")[2]
            begun = time.monotonic()
            crowds = [
                Callers(
                    bench,
                    sites,
                    home,
                    authority.user,
                    f"tls://{link.addresses[1]}:{port}",
                    settings_of(n, clients, calls, f"{home} {mode} {n} {clients}", routine=routine),
                )
                for home, link in zip(homes, links)
            ]
            told = [crowd.calls() for crowd in crowds]
            seconds = time.monotonic() - begun
            computed = computed_s(server) + sum(link.processor_s() for link in links)
    cores = computed / seconds
    if cores > 1:
        print(f"  thrown away: the processes of this run computed on {cores:.1f} cores")
        return None
    return told


def mflops(n, calls):
    """What each call gives its client, in the paper's units."""
    return [linpack_flops(n) / 1e6 / (one["complete"] - one["submit"]) / SCALE for one in calls]


def single_site(bench, authority, told):
    """Tables 6 and 7: every cell real, simulated, and the paper's own."""
    sizes, clients = SIZES, CLIENTS
    if bench.sizes.rounds <= 3:
        sizes, clients = (
            (SIZES[:1], CLIENTS[1:2]) if bench.sizes.rounds < 3 else (SIZES[:2], (2, 8))
        )
    errors, lines = [], {}
    for table, mode in (("6", "one"), ("7", "all")):
        print(f"  table {table}, Mflop/s: n, c, real, simulated, the paper's")
        for n in sizes:
            for count in clients:
                calls = 6 if bench.sizes.rounds < 3 else max(60, 6 * count)
                runs = run(bench, authority, ["ocha"], mode, n, count, calls)
                if runs is None:
                    continue
                told[f"table {table}, {n}, {count}"] = runs[0]
                # At the beginning and at the end fewer clients are there.
                real = statistics.mean(mflops(n, runs[0][count:-count]))
                simulated = cell(bench, mode, n, count)
                paper = PAPER[(table, mode, n)][CLIENTS.index(count)]
                print(f"  {n:5} {count:3} {real:8.2f} {simulated:8.2f} {paper:8.2f}")
                lines.setdefault(f"n = {n}, {mode} of 4 processors", []).append((count, real))
                if count > 1:
                    errors.append(abs(simulated / real - 1))
    draw(bench, 8, "Linpack over one thin link, a client's view", lines)
    if not errors:
        return
    what = "tables 6 and 7, c >= 2, simulated against real: largest error of a cell"
    row(what, figure([max(errors)]), None, "<= 0.15")
    row("the same, mean error", figure([statistics.mean(errors)]), None, "<= 0.05")


# 2^25 operations of a trial run, and what one processor of the paper's server does of them.
EP_TRIALS, EP_OPS = 24, 0.168e6


def embarrassingly_parallel(bench, authority, told):
    """The wide-area half of table 8: hardly anything travels, and four calls run at a time."""
    counts = (4,) if bench.sizes.rounds < 3 else (1, 4, 8)
    rates = {}
    for count in counts:
        # A call takes two seconds here.
        calls = count if bench.sizes.rounds < 3 else 3 * count
        runs = run(bench, authority, ["ocha"], "one", EP_TRIALS, count, calls, "ep")
        if runs is None:
            continue
        told[f"table 8, {count}"] = runs[0]
        taken = (one["complete"] - one["submit"] for one in runs[0])
        rates[count] = statistics.mean(2 ** (EP_TRIALS + 1) / 1e6 / one / SCALE for one in taken)
        paper = EP[CLIENTS.index(count)]
        print(f"  table 8, EP over the wide area, Mop/s: c = {count}, {rates[count]:.3f} ({paper})")
    errors = [abs(rate / EP[CLIENTS.index(count)] - 1) for count, rate in rates.items()]
    if errors:
        row("table 8 over the wide area, real: largest error", figure([max(errors)]), None, "")
        because = "what the clients wait for is not the processors"
        says(max(errors) < 0.1, "EP does not feel the network", because)


def four_sites(bench, authority, told):
    """Figure 10: clients at four sites with links of their own, beside as many at one site."""
    if bench.sizes.rounds < 3:
        return
    n, homes, lines = 1000, ["ocha", "tokyo", "nagoya", "titech"], {}
    for each in (1, 4):
        calls = 4 * each
        apart = run(bench, authority, homes, "all", n, each, calls)
        alone = run(bench, authority, homes[:1], "all", n, each, calls)
        crowded = run(bench, authority, homes[:1], "all", n, each * len(homes), calls * len(homes))
        if None in (apart, alone, crowded):
            continue
        told[f"figure 10, {each}"] = {"apart": apart, "alone": alone[0], "one site": crowded[0]}
        for name, calls_of in (
            ("4 sites", [one for site in apart for one in site]),
            ("one site, as many clients", crowded[0]),
        ):
            mean = statistics.mean(mflops(n, calls_of))
            lines.setdefault(name, []).append((each * len(homes), mean))
        own = statistics.mean(mflops(n, apart[0])) / statistics.mean(mflops(n, alone[0]))
        gain = statistics.mean(map(statistics.mean, (mflops(n, one) for one in apart)))
        gain /= statistics.mean(mflops(n, crowded[0]))
        row(f"{each} clients at each of 4 sites, one site over it alone", figure([own]), None, "")
        row(f"the same clients over as many at one site, n = {n}", figure([gain]), None, "> 1")
        because = "the server is the limit here"
        says(gain > 1.5, "sites with links of their own keep their bandwidth together", because)
    draw(bench, 10, f"Linpack of four sites, n = {n}", lines)


def draw(bench, number, title, lines):
    """A figure of the paper: Mflop/s over the number of clients."""
    drawing, axes = plt.subplots()
    for name, points in lines.items():
        axes.plot(*zip(*points), marker="o", label=name)
    axes.set(xlabel="clients", ylabel="Mflop/s", xscale="log", title=f"figure {number}: {title}")
    if lines:
        axes.legend()
    drawing.savefig(bench.output / f"figure{number}.svg")
    plt.close(drawing)


class Metaserver(Child):
    """Where the clients are; it publishes nothing itself."""

    def __init__(self, bench, sites, policy):
        manifest = bench.folder / "meta.toml"
        manifest.write_text(MANIFEST.format(at_a_time=1, site="ocha", placement=policy))
        serve = [bench.stage / "bin/farcall", "serve", "--private", "--manifest", manifest]
        interface = bench.folder / "meta.idl"
        interface.write_text('Module nothing;\nDefine nothing(OUT int a[1]) "None." { *a = 0; }\n')
        super().__init__([*sites.inside("ocha"), *serve, "--", interface], "0,1")
        self.address = self.line()


def policies(bench, authority, told):
    """Sixteen clients and four servers, placed by each policy: mean response times."""
    if bench.sizes.rounds < 3:
        return
    means = {policy: placed(bench, authority, policy, told) for policy in POLICIES}
    finish, turn, load = (means[policy] for policy in POLICIES)
    if None in means.values():
        return
    what = "16 clients, 4 servers, real: load only over finish first, response"
    row(what, figure([load / finish]), None, ">= 3")
    row("the same, round robin over finish first", figure([turn / finish]), None, ">= 1.2")


def placed(bench, authority, policy, told, n=1000, clients=16):
    with Sites(bench, WINDOW) as sites, contextlib.ExitStack() as stack:
        sites.add("ocha")
        meta = stack.enter_context(Metaserver(bench, sites, policy))
        parts = [meta]
        for name, (at_a_time, mflops_, rate, delay_ms) in SERVERS.items():
            sites.add(name)
            scaled = rate * PLACED_SCALE / SMALLER**2
            link = sites.link("ocha", name, scaled, delay_ms / PLACED_SCALE)
            flops = mflops_ * 1e6 * PLACED_SCALE
            join = ("--join", meta.address)
            address = link.addresses[1]
            server = Server(bench, sites, name, authority, address, flops, at_a_time, join)
            parts.append(stack.enter_context(server))
        time.sleep(1.0)
        calls = clients * (5 if policy == "load-only" else 12)
        settings = settings_of(n, clients, calls, policy, PLACED_SCALE)
        begun = time.monotonic()
        callers = Callers(bench, sites, "ocha", authority.user, meta.address, settings)
        came = callers.calls()
        seconds = time.monotonic() - begun
        computed = sum(computed_s(part) for part in parts)
        computed += sum(link.processor_s() for link in sites.links)
    if computed / seconds > 1:
        return print(f"  thrown away: {computed / seconds:.1f} cores were busy")
    told[f"16 clients, {policy}"] = came
    counted = came[clients:-clients]
    responses = [(one["complete"] - one["submit"]) * PLACED_SCALE for one in counted]
    servers = collections.Counter(one["server"].rpartition(":")[0] for one in came)
    where = ", ".join(f"{name} {count}" for name, count in servers.most_common())
    print(f"  {policy}: mean response {statistics.mean(responses):.1f} s; {where}")
    return statistics.mean(responses)
