# The Python client under measurement: the same commands as the other clients (see rust/main.rs).
"""Usage: python.py ADDRESS

roundtrip BYTES MODE   MODE: inplace (one ordinary array both ways), fresh (a new NumPy array as the result, dropped
                       before the next call; on one host it is mapped)
shared BYTES COUNT     an array of farcall.empty both ways: the median of calls one after the other
send KIND BYTES        an ordinary array both ways: a smooth field, random numbers (float64), or sparse ones (int32)
pingpong COUNT         seconds per call
mapped COUNT HOW       seconds per call of so many small calls: by the `executor`, or by server.map with `lists`,
                       `arrays`, or `unordered` results of lists
mapped_cpu COUNT HOW   the same in seconds of this process's processor time
argument BYTES HOW      seconds of one of a series of calls with an array that is only read: `sent`, or `data` there
chain_small COUNT HOW   seconds of so many small calls, each with the result of the one before: `singly`, as `data`,
                       or in a `transaction`
chain_products COUNT N FACTORS HOW
                       the same of products of N x N matrices; all have the `same` second factor, or `different` ones
handles COUNT HOW      seconds until so many function handles are ready: `together` as an array, or `singly`
query TABLE COUNT      seconds until the column x of a table of the server's is here as a NumPy array
in_process FILE        the same column of a Parquet file by DuckDB in this process
dgesv N                seconds to solve N linear equations by LAPACK's dgesv, matrix and right side in place
"""

import statistics
import sys
import time

import numpy as np

import equations
import farcall

# Calls of a series that is measured as a whole.
SERIES = 8


def made(kind, size):
    """An array of this kind; the same in every process."""
    random = np.random.default_rng(1)
    if kind == "sparse":
        array = np.zeros(size // 4, np.int32)
        places = random.integers(0, array.size, array.size // 20)
        array[places] = random.integers(-1000, 1000, places.size)
        return array
    if kind == "random":
        return random.random(size // 8)
    side = int((size // 8) ** 0.5)
    x = np.linspace(0, 10, side)
    field = np.sin(x)[:, None] * np.cos(1.7 * x)[None, :] + 0.3 * np.sin(
        3 * x[:, None] + x[None, :]
    )
    return field.ravel()


class Bench:
    def __init__(self, address):
        self.server = farcall.connect(address)
        self.touch, self.add = self.server["bench/touch"], self.server["bench/add"]
        self.touch_int = self.server["bench/touch_int"]
        self.array = {}
        self.engine = []

    def array_of(self, count, mode):
        made = self.array.get(mode)
        if made is None or made.size != count:
            made = farcall.empty(count) if mode == "shared" else np.empty(count)
            made[...] = np.arange(count)
            self.array = {mode: made}
        return made

    def chain_small(self, count, how):
        steps, count = self.server["bench/step"], int(count)
        begin = time.perf_counter()
        x = np.zeros(2)
        if how == "singly":
            for _ in range(count):
                x = steps(x).b
        elif how == "transaction":
            with self.server.transaction() as t:
                step = t["bench/step"]
                for _ in range(count):
                    x = step(x).b
            x = np.asarray(x)
        else:
            for _ in range(count):
                x = steps.submit(x, stay=True).data.b
            x = np.asarray(x)
        seconds = time.perf_counter() - begin
        if x[0] != count:
            raise SystemExit("python.py: the chain has another end")
        return seconds

    def chain_products(self, count, n, factors, how):
        count, n = int(count), int(n)
        multiply = self.server["blas/dgemm"]
        # Other ones in each run: what was sent before is not here.
        factor = [np.diag(np.full(n, 2.0 + k)) for k in range(count)]
        c = np.zeros((n, n))
        begin = time.perf_counter()
        a = np.eye(n)
        if how == "transaction":
            with self.server.transaction() as t:
                for k in range(count):
                    b = factor[0 if factors == "same" else k]
                    a = t["blas/dgemm"](a, b, beta=0.0).c
            a = np.asarray(a)
        elif how == "data":
            same = self.server.put(factor[0]) if factors == "same" else None
            for k in range(count):
                b = same if factors == "same" else factor[k]
                last = multiply.submit(a, b, c, beta=0.0, stay=k < count - 1)
                a = last.data.c if k < count - 1 else last.result().c
        else:
            for k in range(count):
                a = multiply(a, factor[0 if factors == "same" else k], c, beta=0.0).c
        seconds = time.perf_counter() - begin
        expected = 2.0**count if factors == "same" else np.prod([2.0 + k for k in range(count)])
        if a[0, 0] != expected:
            raise SystemExit("python.py: the product is another one")
        return seconds

    def argument(self, size, how):
        count = int(size) // 8
        made = self.array.get(how)
        if made is None or made.size != count:
            made = np.arange(count, dtype=float)
            self.array = {how: made if how == "sent" else self.server.put(made)}
            made = self.array[how]
        look = self.server["bench/look"]
        # A core that idled before the first call takes longer to wake than such a call takes.
        look(made)
        begin = time.perf_counter()
        lasts = [look(made).last for _ in range(SERIES)]
        seconds = time.perf_counter() - begin
        if any(last != count - 1 for last in lasts):
            raise SystemExit("python.py: the array is another one")
        return seconds / SERIES

    def handles(self, count, how):
        routine, count = self.server["bench/add"], int(count)
        begin = time.perf_counter()
        held = (
            [routine.hold(count)] if how == "together" else [routine.hold(1) for _ in range(count)]
        )
        seconds = time.perf_counter() - begin
        for one in held:
            one.close()
        return seconds

    def roundtrip(self, size, mode):
        count = int(size) // 8
        array = self.array_of(count, mode)
        begin = time.perf_counter()
        result = self.touch(array, inplace=mode != "fresh").a
        seconds = time.perf_counter() - begin
        if result[count // 2] != count // 2 or (result is array) != (mode != "fresh"):
            raise SystemExit("python.py: the array came back changed")
        return seconds

    def shared(self, size, count):
        return statistics.median(self.roundtrip(size, "shared") for _ in range(int(count)))

    def send(self, kind, size):
        array = self.array.get((kind, size))
        if array is None:
            array = made(kind, int(size))
            self.array = {(kind, size): array, "as it was": array.copy()}
        call = self.touch_int if kind == "sparse" else self.touch
        begin = time.perf_counter()
        call(array, inplace=True)
        seconds = time.perf_counter() - begin
        if not np.array_equal(array, self.array["as it was"]):
            raise SystemExit("python.py: the array came back changed")
        return seconds

    def pingpong(self, count):
        begin = time.perf_counter()
        for number in range(int(count)):
            self.add(float(number), 1.0)
        return (time.perf_counter() - begin) / int(count)

    def query(self, table, count):
        begin = time.perf_counter()
        column = self.server.query(f"SELECT x FROM {table}").x
        seconds = time.perf_counter() - begin
        if column.shape != (int(count),) or not 0 <= column[-1] < 1:
            raise SystemExit("python.py: the column is another one")
        return seconds

    def in_process(self, file):
        import duckdb

        if not self.engine:
            self.engine.append(duckdb.connect())
        begin = time.perf_counter()
        column = self.engine[0].execute(f"SELECT x FROM '{file}'").fetchnumpy()["x"]
        seconds = time.perf_counter() - begin
        if not 0 <= column[-1] < 1:
            raise SystemExit("python.py: the column is another one")
        return seconds

    def mapped(self, count, how, clock=time.perf_counter):
        count = int(count)
        xs, ys = [float(number) for number in range(count)], [1.0] * count
        if how == "arrays":
            xs, ys = np.array(xs), np.array(ys)
        begin = clock()
        if how == "executor":
            with self.server.executor() as executor:
                total = sum(r.z for r in executor.map(self.add, xs, ys))
        else:
            total = sum(r.z for r in self.server.map(self.add, xs, ys, order=how != "unordered"))
        seconds = clock() - begin
        if total != count * (count + 1) / 2:
            raise SystemExit("python.py: a call gave the wrong sum")
        return seconds / count

    def mapped_cpu(self, count, how):
        return self.mapped(count, how, time.process_time)

    def dgesv(self, n):
        a, b = equations.make(int(n))
        solve = self.server["lapack/dgesv"]
        begin = time.perf_counter()
        solve(a, b, inplace=True)
        seconds = time.perf_counter() - begin
        equations.check(b)
        return seconds


def main():
    bench = Bench(sys.argv[1])
    for line in sys.stdin:
        command, *arguments = line.split()
        print(f"{getattr(bench, command)(*arguments):.9f}", flush=True)


main()
