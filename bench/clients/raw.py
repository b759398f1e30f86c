# The raw C client under measurement: the same commands as the other clients (see rust/main.rs), and
# solving without it.
"""Usage: raw.py librawclient.so PORT CONGESTION      with liblinpack.so beside the library
       raw.py librawclient.so COMMAND CONGESTION   joined to the standard input and output of a shell command

dgesv N      seconds to move matrix and right side there and back, and to solve the equations in
this process local N      seconds to solve them in this process standard N   the same by Linpack's
routines without blocking (equations.py)
"""

import ctypes
import functools
import pathlib
import sys
import time

import equations


class Raw:
    def __init__(self, path, port, congestion):
        self.linpack = pathlib.Path(path).with_name("liblinpack.so")
        self.library = library = ctypes.CDLL(path)
        library.raw_open.argtypes = [ctypes.c_int, ctypes.c_char_p]
        library.raw_roundtrip.argtypes = library.raw_roundtrip_fresh.argtypes = [ctypes.c_uint64]
        library.raw_error.restype = ctypes.c_char_p
        for name in ("raw_roundtrip", "raw_roundtrip_fresh", "raw_pingpong", "raw_pipeline"):
            getattr(library, name).restype = ctypes.c_double
        library.raw_open_command.argtypes = [ctypes.c_char_p]
        opened = (
            library.raw_open(int(port), congestion.encode())
            if port.isdigit()
            else library.raw_open_command(port.encode())
        )
        if opened != 0:
            self.fail()

    def fail(self):
        sys.exit(f"raw.py: {self.library.raw_error().decode()}")

    def roundtrip(self, size, mode="inplace"):
        travel = self.library.raw_roundtrip_fresh if mode == "fresh" else self.library.raw_roundtrip
        return travel(int(size))

    def pingpong(self, count):
        return self.library.raw_pingpong(int(count))

    def pipeline(self, count, depth):
        return self.library.raw_pipeline(int(count), int(depth))

    def dgesv(self, n):
        moving = self.library.raw_roundtrip(8 * int(n) * (int(n) + 1))
        return moving + self.local(n) if moving >= 0 else moving

    def local(self, n, solve=equations.solve):
        a, b = equations.make(int(n))
        begin = time.perf_counter()
        solve(a, b)
        seconds = time.perf_counter() - begin
        equations.check(b)
        return seconds

    def standard(self, n):
        return self.local(n, functools.partial(equations.solve_unblocked, self.linpack))


def main():
    raw = Raw(sys.argv[1], sys.argv[2], sys.argv[3])
    for line in sys.stdin:
        command, *arguments = line.split()
        answer = getattr(raw, command)(*arguments)
        if answer < 0:
            raw.fail()
        print(f"{answer:.9f}", flush=True)


main()
