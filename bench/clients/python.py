# The Python client under measurement: the same commands as the other clients (see rust/main.rs).
"""Usage: python.py ADDRESS

roundtrip BYTES MODE   MODE: inplace (one ordinary array both ways), fresh (a new NumPy array as the result, dropped
                       before the next call; on one host it is mapped), shared (an array of farcall.empty both ways)
pingpong COUNT         seconds per call
dgesv N                seconds to solve N linear equations by LAPACK's dgesv, matrix and right side in place
cpu                    user and system seconds of this process so far
"""

import os
import sys
import time

import numpy as np

import equations
import farcall


class Bench:
    def __init__(self, address):
        self.server = farcall.connect(address)
        self.touch, self.add = self.server["bench/touch"], self.server["bench/add"]
        self.array = {}

    def argument(self, count, mode):
        made = self.array.get(mode)
        if made is None or made.size != count:
            made = farcall.empty(count) if mode == "shared" else np.empty(count)
            made[...] = np.arange(count)
            self.array = {mode: made}
        return made

    def roundtrip(self, size, mode):
        count = int(size) // 8
        array = self.argument(count, mode)
        begin = time.perf_counter()
        result = self.touch(array, inplace=mode != "fresh").a
        seconds = time.perf_counter() - begin
        if result[count // 2] != count // 2 or (result is array) != (mode != "fresh"):
            raise SystemExit("python.py: the array came back changed")
        return seconds

    def pingpong(self, count):
        begin = time.perf_counter()
        for number in range(int(count)):
            self.add(float(number), 1.0)
        return (time.perf_counter() - begin) / int(count)

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
        if command == "cpu":
            print("{:.2f} {:.2f}".format(*os.times()[:2]), flush=True)
        else:
            print(f"{getattr(bench, command)(*arguments):.9f}", flush=True)


main()
