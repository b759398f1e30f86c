"""A chain of calls, byte by byte: what crosses the client's link."""

import socket
import threading

import numpy as np
import pytest

# Each frame's head, its routine, ids and small arguments: of a call and of its answer.
BYTES_OF_A_CALL = 1500
# The same of a transaction of five calls, and of each array that is sent for it.
BYTES_OF_A_GRAPH = 800
BYTES_OF_AN_INPUT = 300


class Link:
    """Passes connections on to a port of this host, and counts the bytes of each direction."""

    def __init__(self, port):
        self.port, self.sent, self.received = port, 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.sockets = [self.listener]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self):
        return f"farcall://127.0.0.1:{self.listener.getsockname()[1]}"

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.port))
            self.sockets += [near, far]
            threading.Thread(target=self._pass, args=(near, far, "sent"), daemon=True).start()
            threading.Thread(target=self._pass, args=(far, near, "received"), daemon=True).start()

    def _pass(self, source, sink, count):
        try:
            while piece := source.recv(1 << 16):
                setattr(self, count, getattr(self, count) + len(piece))
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        for one in self.sockets:
            one.close()


@pytest.fixture
def link(tcp):
    one = Link(int(tcp.address.rpartition(":")[2]))
    yield one
    one.close()


@pytest.fixture
def far(farcall, token, link):
    with farcall.connect(link.address, token_file=token, timeout=60) as server:
        # Their interfaces are known from here on.
        server.dgemm(np.eye(2), np.eye(2), np.eye(2))
        yield server


@pytest.mark.parametrize("same", [True, False])
def test_five_dependent_products_cost_their_ends_alone(far, link, same):
    n, calls = 200, 5
    array = n * n * 8
    rng = np.random.default_rng(5)
    c = np.zeros((n, n))
    factors = [rng.random((n, n)) / n for _ in range(calls)]
    sent, received = link.sent, link.received
    b = far.put(factors[0]) if same else None
    product = rng.random((n, n))
    expected = product
    for k in range(calls):
        factor = factors[0 if same else k]
        call = far.dgemm.submit(product, b if same else factor, c, beta=0.0, stay=True)
        product, expected = call.data.c, expected @ factor
    np.testing.assert_allclose(np.asarray(product), expected)
    # The first matrix and each factor once; of the results the last one.
    arrays = array * (2 if same else 1 + calls)
    small = BYTES_OF_A_CALL * (calls + 2)
    assert arrays <= link.sent - sent <= arrays + small
    assert array <= link.received - received <= array + small


@pytest.mark.parametrize("same", [True, False])
def test_a_transaction_of_five_products_costs_its_ends_alone(far, link, same):
    n, calls = 200, 5
    array = n * n * 8
    rng = np.random.default_rng(5)
    factors = [rng.random((n, n)) / n for _ in range(calls)]
    product = expected = rng.random((n, n))
    sent, received = link.sent, link.received
    with far.transaction() as t:
        for k in range(calls):
            factor = factors[0 if same else k]
            product, expected = t.dgemm(product, factor, beta=0.0).c, expected @ factor
    t.wait()
    # Inputs once each, and the graph; no result before somebody looks at it.
    inputs = 2 if same else 1 + calls
    around = BYTES_OF_A_GRAPH + BYTES_OF_AN_INPUT * inputs
    assert array * inputs <= link.sent - sent <= array * inputs + around
    assert link.received - received <= around
    sent, received = link.sent, link.received
    np.testing.assert_allclose(np.asarray(product), expected)
    assert link.sent - sent <= BYTES_OF_AN_INPUT
    assert array <= link.received - received <= array + BYTES_OF_AN_INPUT


def test_an_array_that_is_there_is_not_sent_again(far, link):
    d = far.put(np.ones((500, 500)))
    far.dgesv(far.put(np.eye(2)), np.ones((2, 1)))
    c = far.dgemm(d, d, np.zeros((500, 500)), beta=0.0, stay=True)
    sent, received = link.sent, link.received
    for _ in range(10):
        far.dgemm(d, c.c, np.zeros((500, 500)), beta=0.0, stay=True)
    small = 10 * BYTES_OF_A_CALL
    assert link.sent - sent <= small and link.received - received <= small
