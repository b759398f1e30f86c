"""Results that a program keeps: more of them than it, or the server, may have file descriptors."""

import subprocess
import sys
import time

import numpy as np
import pytest

MANY = 5000

# Each runs in a process of its own, whose limit on open files its private server inherits.
KEEP = """
keep = [server.dgesv(np.eye(30) * (i + 1), np.ones((30, 20))) for i in range({many})]
assert all(np.allclose(r.b * (i + 1), 1) and (np.diag(r.a) == i + 1).all() for i, r in enumerate(keep))
keep[0].b[:] = 7
assert np.allclose(keep[1].b, 0.5)
assert len(os.listdir("/proc/self/fd")) < {limit} // 2
del keep
assert server.dgesv(np.eye(60), np.ones(60)).info == 0
"""

SUBMIT = """
matrices = [np.eye(60) * (i + 1) for i in range(100)]
futures = [server.dgesv.submit(matrices[i % 100], np.ones(60)) for i in range({many})]
assert all(np.allclose(f.result(100).b * (i % 100 + 1), 1) for i, f in enumerate(futures))
assert server.dgesv(np.eye(60), np.ones(60)).info == 0
"""


def run_limited(body, limit):
    soft = [
        "import os, resource",
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, {limit}))",
    ]
    imports = ["import numpy as np, farcall", "server = farcall.connect(timeout=60)"]
    script = "\n".join(soft + imports) + body.format(many=MANY, limit=limit)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("body", [KEEP, SUBMIT], ids=["keep", "submit"])
@pytest.mark.parametrize("limit", [256, 4096])
def test_thousands_of_results_and_few_descriptors(limit, body):
    run_limited(body, limit)


@pytest.fixture
def poor(farcall, tmp_path):
    """The address of a server that may open 80 files: it has some 37 for itself and its first
    module."""
    address = f"unix:{tmp_path}/socket"
    command = ["sh", "-c", f"ulimit -n 80; exec farcall serve --listen {address}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while not (tmp_path / "socket").exists() and time.monotonic() < end:
        time.sleep(0.05)
    yield address
    process.terminate()
    assert process.wait(20) == 0


def test_a_server_without_descriptors_refuses_and_lives_on(farcall, poor):
    """Clients that keep results take what a server has left; each of them loses calls at most, and
    hears why."""
    clients, kept, refused = [farcall.connect(poor)], [], 0
    for _ in range(16):
        try:
            clients.append(farcall.connect(poor))
        except farcall.LimitExceeded:
            break
        for _ in range(12):
            try:
                kept.append(clients[-1].dgesv(np.eye(60), np.ones((60, 20))).b)
            except farcall.LimitExceeded as error:
                assert "descriptor" in str(error) or "open files" in str(error), error
                refused += 1
    assert len(clients) > 4 and len(kept) > 30 and refused > 0
    assert all(np.allclose(b, 1) for b in kept)
    for client in clients[4:]:
        client.close()
    # Whoever was refused is served when there is room again, over the same connection.
    for client in clients[:4] * 3:
        assert np.allclose(client.dgesv(np.eye(60), np.ones((60, 20))).b, 1)
    for client in clients:
        client.close()


def test_the_memory_of_dropped_results_is_used_again(tcp):
    big = np.ones((600, 600))

    def call():
        result = tcp.rows_float64(big, big)
        assert (result.b == 1).all() and (result.c == 1).all()
        return result

    kept = call()
    addresses = {call().b.ctypes.data for _ in range(10)}
    assert len(addresses) <= 2 and kept.b.ctypes.data not in addresses
    kept.b[...] = 7
    assert (call().b == 1).all() and (kept.b == 7).all()
