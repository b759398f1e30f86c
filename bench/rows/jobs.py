# Rows of routines that run in Slurm's jobs: a real Slurm of four nodes on this host.
"""The anchor of starting is what Slurm itself takes: as many C programs, in one job, that connect
back. Slurm looks at its queue about once a second: who asks just before waits least, and what is
measured in turn falls into step with it. So both are asked at the same moments of the clock's
second, which are spread over it; medians of seven. Submissions of one place each take so long that
they are made once."""

import contextlib
import itertools
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time

import farcall
from processes import ROOT
from turns import Turns, figure, row

NODES = 4
ROUNDS = 7
# No step of a measurement takes longer, unless something is wrong; in seconds.
PATIENCE = 600
# Handles that are made one after the other: more would take minutes and say the same.
IN_SEQUENCE = 20
# A Slurm that is filled is another one each time.
FILLINGS = 3
# What the moments of a second are apart that are spread evenly however many there are.
GOLDEN_RATIO = 0.6180339887


class Slurm:
    """The commands of a Slurm that runs while this is entered."""

    def __init__(self, bench, nodes, cpus):
        self.folder, self.nodes, self.cpus = bench.folder / "slurm", nodes, cpus

    def __enter__(self):
        tool = [ROOT / "tools/slurm.sh", "start", self.folder, str(self.nodes), str(self.cpus)]
        found = subprocess.run(
            tool, stdout=subprocess.PIPE, text=True, check=True, timeout=600
        ).stdout.strip()
        self.environment = dict(os.environ, PATH=f"{found}:{os.environ['PATH']}") if found else None
        return self

    def __exit__(self, *_):
        if self.environment:
            subprocess.run([ROOT / "tools/slurm.sh", "stop", self.folder], check=True, timeout=300)
            shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, *words):
        return subprocess.run(
            list(map(str, words)),
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=PATIENCE,
        ).stdout

    def wait_until_empty(self):
        """A job that ends holds its places for a while."""
        until = time.monotonic() + PATIENCE
        while self.run("squeue", "--noheader").strip():
            if time.monotonic() > until:
                raise SystemExit("bench: jobs do not end")
            time.sleep(0.05)


@contextlib.contextmanager
def one_share_for_all():
    """The system may share the cores between sessions: four jobs on one host would be four of them,
    and server and client together a fifth, as on no cluster. For the time of a sweep it shares them
    between programs, where that may be set."""
    switch = pathlib.Path("/proc/sys/kernel/sched_autogroup_enabled")
    try:
        before = switch.read_text()
        switch.write_text("0")
    except OSError:
        yield
        return
    try:
        yield
    finally:
        switch.write_text(before)


# A server each of whose executables has a job of its own.
SINGLE = """[[plugin]]
name = "spawner-jobs"
slot = "jobs"
[plugin.options]
launchers.slurm = { slots_max = 1 }
"""


class JobServer:
    """A server whose routines run in jobs."""

    def __init__(self, bench, slurm, routines, manifest=""):
        self.bench, self.slurm, self.routines = bench, slurm, routines
        self.address, self.manifest = f"unix:{bench.folder}/jobs.socket", bench.folder / "jobs.toml"
        self.manifest.write_text(manifest)

    def __enter__(self):
        program = self.bench.stage / "bin/farcall"
        command = [
            program,
            "serve",
            "--launcher",
            "slurm",
            "--manifest",
            self.manifest,
            "--listen",
            self.address,
            self.routines,
        ]
        self.process = subprocess.Popen(
            list(map(str, command)),
            env=self.slurm.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        if self.process.stdout.readline().strip() != self.address:
            raise SystemExit("bench: the server for jobs does not start")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.slurm.wait_until_empty()


class SweepServer(JobServer):
    """The same, and the paper's sweep as its client."""

    def __init__(self, bench, slurm, sweep, manifest=""):
        super().__init__(bench, slurm, ROOT / "apps/sweep/sweep.idl", manifest)
        self.sweep = sweep

    def sweeps(self, handles, calls, seconds):
        """Seconds until the handles were ready, and the efficiency of the calls."""
        said = self.slurm.run(
            self.sweep,
            "--quiet",
            "--server",
            self.address,
            "--handles",
            handles,
            "--calls",
            calls,
            "--seconds",
            seconds,
            "--patience",
            PATIENCE,
        )
        ready, efficiency = re.search(r"ready ([\d.]+) s.* efficiency ([\d.]+) %", said).groups()
        return float(ready), float(efficiency) / 100


class Dialled:
    """Jobs of C programs that connect back to a port here."""

    def __init__(self, slurm, program):
        self.slurm, self.program = slurm, program

    def seconds(self, jobs, tasks):
        """Until all have connected; they end then."""
        with (
            contextlib.ExitStack() as lines,
            socket.create_server(("127.0.0.1", 0), backlog=4096) as listener,
        ):
            listener.settimeout(PATIENCE)
            dial = f"srun {self.program} 127.0.0.1 {listener.getsockname()[1]}"
            begin = time.monotonic()
            for _ in range(jobs):
                self.slurm.run(
                    "sbatch",
                    "--parsable",
                    "--output=/dev/null",
                    f"--ntasks={tasks}",
                    f"--wrap={dial}",
                )
            for _ in range(jobs * tasks):
                line = lines.enter_context(listener.accept()[0])
                line.settimeout(PATIENCE)
                if not line.recv(1):
                    raise SystemExit("bench: a program of a job ended at once")
            taken = time.monotonic() - begin
        self.slurm.wait_until_empty()
        return taken


def jobs(bench):
    """Where there is a Slurm to be had."""
    most = 500 if bench.sizes.crowd >= 200 else 2 * bench.sizes.crowd
    with Slurm(bench, NODES, -(-most // NODES) + 4) as slurm:
        if not slurm.environment:
            print("jobs: not measured, there is no Slurm")
            return
        stage = bench.stage
        sweep = bench.folder / "sweep"
        link = [
            f"-I{stage}/include",
            f"-L{stage}/lib",
            f"-Wl,-rpath,{stage}/lib",
            "-lfarcall",
            "-lm",
        ]
        subprocess.run(
            ["cc", "-std=gnu11", "-O2", "-o", sweep, ROOT / "apps/sweep/sweep.c", *link], check=True
        )
        starting(bench, slurm, sweep, Dialled(slurm, bench.folder / "rawdial"))
        sweeping(bench, slurm, sweep, most)
    filling(bench)


def moments(first=0):
    """Waits for another moment of the clock's second whenever it is asked for the next; these are
    spread evenly, however many."""
    for number in itertools.count(first):
        time.sleep((number * GOLDEN_RATIO - time.time()) % 1)
        yield


def starting(bench, slurm, sweep, dialled):
    """An array of handles from nothing: no job runs when it is asked for."""
    count = bench.sizes.crowd
    # The anchor runs once before the first round.
    anchor, own, theirs = moments(-1), moments(), moments()

    def ours():
        with SweepServer(bench, slurm, sweep) as server:
            next(own)
            return server.sweeps(count, 0, 0)[0]

    def programs(moment):
        next(moment)
        return dialled.seconds(1, count)

    rounds = ROUNDS if bench.sizes.rounds > 2 else 1
    turns = Turns(
        rounds, lambda: programs(anchor), {"ours": ours, "theirs": lambda: programs(theirs)}, warm=1
    )
    null = figure([one / other for one, other in zip(turns.anchors[1:], turns.values["theirs"])])
    row(
        f"{count} handles of one submission, ready: time over C programs' in one job",
        turns.ratio("ours", "theirs"),
        null,
        "<= 1.3",
    )
    with SweepServer(bench, slurm, sweep, SINGLE) as server:
        singles = {
            "handles in a job each": server.sweeps(count, 0, 0)[0],
            "C programs in a job each": dialled.seconds(count, 1),
        }
        few = min(count, IN_SEQUENCE)
        singles[f"handles made one after the other ({few} measured)"] = (
            one_after_the_other(server, few) * count / few
        )
    for what, seconds in singles.items():
        row(
            f"{count} {what}: time over that of one submission",
            figure([seconds / value for value in turns.values["ours"]]),
            null,
            ">= 20" if "handles" in what else "",
        )


def one_after_the_other(server, count):
    """As programs for the standard API make their handles (Ninf-G2, section 4.2): each is there
    before the next is asked for."""
    with farcall.connect(server.address) as client, contextlib.ExitStack() as handles:
        begin = time.monotonic()
        for _ in range(count):
            handles.enter_context(client.simulate.hold(1, timeout=PATIENCE))
        return time.monotonic() - begin


def sweeping(bench, slurm, sweep, most):
    """Ninf-G2, section 4.3: 3.5 KB there, 400 KB back, a wait of half a second in place of the
    simulation."""
    calls, seconds = (1000, 0.5) if bench.sizes.crowd >= 200 else (20, 0.05)
    with one_share_for_all(), SweepServer(bench, slurm, sweep) as server:
        for handles, wanted in ((bench.sizes.crowd, ">= 0.8"), (most, ">= 0.7")):
            server.sweeps(handles, 0, 0)
            found = figure(
                [server.sweeps(handles, calls, seconds)[1] for _ in range(bench.sizes.rounds)]
            )
            row(
                f"sweep of {calls} calls over {NODES} nodes, {handles} handles: efficiency",
                found,
                None,
                wanted,
            )


def filling(bench):
    """Independent calls on a small cluster, from nothing: how much of its processors' time is
    theirs, from the start of the first to the end of the last."""
    calls, seconds = (500, 0.5) if bench.sizes.crowd >= 200 else (20, 0.05)
    nodes, cpus = 2, 4

    def busy():
        with (
            Slurm(bench, nodes, cpus) as slurm,
            JobServer(bench, slurm, ROOT / "bench/routines/rest.idl") as server,
            farcall.connect(server.address) as client,
        ):
            futures = [client.rest.submit(seconds) for _ in range(calls)]
            rests = [future.result(timeout=PATIENCE) for future in futures]
        began, ended = min(one.began for one in rests), max(one.ended for one in rests)
        return sum(one.ended - one.began for one in rests) / (nodes * cpus * (ended - began))

    row(
        f"{calls} calls of {seconds} s on a Slurm of {nodes * cpus} processors: part of them busy",
        figure([busy() for _ in range(FILLINGS if bench.sizes.rounds > 2 else 1)]),
        None,
        ">= 0.95",
    )
