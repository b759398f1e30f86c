# The raw C client under measurement: the same commands as the other clients (see rust/main.rs).
"""Usage: raw.py librawclient.so PORT CONGESTION"""

import ctypes
import sys
import time

import equations


def dgesv(library, n):
    """Seconds to move the matrix and the right side there and back, and to solve the equations here."""
    a, b = equations.make(n)
    moving = library.raw_roundtrip(a.nbytes + b.nbytes)
    begin = time.perf_counter()
    equations.solve(a, b)
    solving = time.perf_counter() - begin
    equations.check(b)
    return moving + solving


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.raw_open.argtypes = [ctypes.c_int, ctypes.c_char_p]
    library.raw_roundtrip.argtypes = library.raw_roundtrip_fresh.argtypes = [ctypes.c_uint64]
    library.raw_congestion.restype = library.raw_error.restype = ctypes.c_char_p
    for name in ("raw_roundtrip", "raw_roundtrip_fresh", "raw_pingpong", "raw_server_cpu", "raw_client_cpu"):
        getattr(library, name).restype = ctypes.c_double
    if library.raw_open(int(sys.argv[2]), sys.argv[3].encode()) != 0:
        sys.exit(f"raw.py: {library.raw_error().decode()}")
    for line in sys.stdin:
        command, *arguments = line.split()
        if command == "roundtrip":
            roundtrip = library.raw_roundtrip_fresh if arguments[1:] == ["fresh"] else library.raw_roundtrip
            answer = f"{roundtrip(int(arguments[0])):.9f}"
        elif command == "pingpong":
            answer = f"{library.raw_pingpong(int(arguments[0])):.9f}"
        elif command == "dgesv":
            answer = f"{dgesv(library, int(arguments[0])):.9f}"
        elif command == "cpu":
            answer = f"{library.raw_client_cpu() + library.raw_server_cpu():.6f} 0"
        elif command == "congestion":
            answer = library.raw_congestion().decode()
        else:
            sys.exit(f"raw.py: no command {command}")
        print(answer, flush=True)


main()
