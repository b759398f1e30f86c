"""What the configuration file of the server says of the tables, by its `environment`."""

import os
import re

# Where the tables are: folders and files, separated by colons.
FILES = "FARCALL_TABLES"
# The bounds of one query.
ROWS = "FARCALL_TABLES_ROWS"
MEMORY = "FARCALL_TABLES_MEMORY"
SECONDS = "FARCALL_TABLES_SECONDS"

ROWS_MAX = 100_000_000
MEMORY_BYTES_MAX = 1 << 30
SECONDS_MAX = 60.0

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS.update({"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40})


class Mistake(Exception):
    """A setting or a file that cannot be served: what is wrong, and what to do."""


def files():
    """The folders and files, in the order in which they are named."""
    return [one for one in os.environ.get(FILES, "").split(os.pathsep) if one]


def rows_max():
    """Rows that one query may return."""
    return int(_number(ROWS, ROWS_MAX))


def memory_bytes_max():
    """Bytes that the engine may use for one query."""
    return int(_number(MEMORY, MEMORY_BYTES_MAX, _UNITS))


def seconds_max():
    """Seconds that one query may run."""
    return _number(SECONDS, SECONDS_MAX)


def threads():
    """Threads of the engine: what the server gives this process."""
    told = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    return int(told) if told.isdigit() and int(told) > 0 else len(os.sched_getaffinity(0))


def _number(name, default, units=None):
    said = os.environ.get(name, "").strip()
    if not said:
        return default
    found = re.fullmatch(r"([0-9._]+(?:e[0-9]+)?)\s*([A-Za-z]*)", said)
    unit = found and (units or {"": 1}).get(found.group(2).upper())
    try:
        value = float(found.group(1)) * unit if unit else 0
    except ValueError:
        value = 0
    if value <= 0:
        like = '"2 GiB"' if units else str(default)
        raise Mistake(f"{name} is {said!r}, which is no number above 0; write one such as {like}")
    return value
