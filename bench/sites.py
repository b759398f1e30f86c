# Sites on one host: network namespaces, and links with a rate and a delay between them.
"""A site is a network namespace; a link is a process that passes packets from a TUN device in one to
a TUN device in the other (raw/wan.c). Needs root. What is made is gone when the context ends."""

import contextlib
import os
import pathlib
import shutil
import subprocess

from processes import CONGESTION, ROOT

NAMESPACES = pathlib.Path("/var/run/netns")
# Beyond it a packet is lost. Of a router it is what the link carries in a quarter of a second.
QUEUE_S = 0.25
QUEUE_BYTES = 512 << 10


def missing():
    """Why there can be no sites here, if there cannot."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not pathlib.Path("/dev/net/tun").exists():
        return "this machine has no TUN devices"
    for program in ("ip", "nsenter"):
        if shutil.which(program) is None:
            return f"`{program}` is not installed: apt-get install iproute2 util-linux"
    return None


class Link:
    """Bytes a second each way, and how much later they arrive. Ends have addresses of their own."""

    def __init__(self, program, ends, number, rate, delay_ms):
        self.addresses = [f"10.213.{number}.{end}" for end in (1, 2)]
        devices = [f"wan{number}", f"wan{number}"]
        queue = max(rate * QUEUE_S, QUEUE_BYTES)
        places = [word for pair in zip(ends, devices) for word in pair]
        self.process = subprocess.Popen(
            [program, *places, str(rate), str(delay_ms), str(queue)],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit("bench: a link between two namespaces could not be made")
        for name, device, own, other in zip(
            ends, devices, self.addresses, reversed(self.addresses)
        ):
            ip("-n", name, "address", "add", own, "peer", other, "dev", device)
            ip("-n", name, "link", "set", device, "up")

    def set_rate(self, rate):
        """It becomes wider or thinner."""
        print("rate", rate, file=self.process.stdin, flush=True)

    def processor_s(self):
        """Seconds that the link itself computed."""
        return processor_s(self.process.pid)

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=20)
        self.process.stdout.close()


class Sites:
    """Namespaces and links. `bench.folder` is where the link's program is built. With a `window`, no
    TCP stream has more bytes than that on its way: where times are scaled down, waiting for a lost
    packet is not, and a transfer must not fit into a router's queue."""

    def __init__(self, bench, window=None):
        self.program, self.window = bench.folder / "wan", window
        self.names, self.links = {}, []
        if not self.program.exists():
            source = ROOT / "bench/raw/wan.c"
            subprocess.run(["cc", "-O2", "-Wall", "-o", self.program, source], check=True)

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def add(self, name):
        """One more site."""
        full = f"farcall-{os.getpid()}-{name}"
        ip("netns", "add", full)
        self.stack.callback(ip, "netns", "delete", full)
        ip("-n", full, "link", "set", "lo", "up")
        self.names[name] = full
        settings = {"tcp_congestion_control": CONGESTION}
        if self.window:
            settings["tcp_rmem"] = f"4096 {self.window} {self.window}"
        for key, value in settings.items():
            write = f"echo {value} >/proc/sys/net/ipv4/{key}"
            subprocess.run([*self.inside(name), "sh", "-c", write], check=True)

    def link(self, one, other, rate, delay_ms):
        """A link; the second end's address is where the first one reaches it."""
        ends = [self.names[one], self.names[other]]
        link = Link(self.program, ends, len(self.links), rate, delay_ms)
        self.links.append(link)
        self.stack.callback(link.end)
        return link

    def inside(self, name):
        """What a command line begins with that runs at a site."""
        return ["nsenter", f"--net={NAMESPACES / self.names[name]}"]


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def processor_s(pid):
    """Seconds that a process computed so far, with the children that it has waited for."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
