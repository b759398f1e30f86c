#!/usr/bin/env python3
"""Prints the highest GLIBC_ symbol version that an ELF file needs, such as 2.17; reads the file
itself, needs no tool.

The version-needs section (SHT_GNU_verneed) lists, per library, the versions of its symbols that the
file asks for: a chain of entries with an auxiliary chain each (System V ABI, "Symbol Versioning").
Only 64-bit little-endian files.
"""

import re
import struct
import sys

SHT_GNU_VERNEED = 0x6FFFFFFE


class NotElf(Exception):
    """The file is not what this program reads."""


def sections(data):
    """The section headers: (type, offset, size, link) each."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise NotElf("not a 64-bit little-endian ELF file")
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    for index in range(count):
        at = table + index * size
        kind = struct.unpack_from("<I", data, at + 4)[0]
        offset, length, link = struct.unpack_from("<QQI", data, at + 24)
        yield kind, offset, length, link


def text_at(data, at):
    """The NUL-terminated text at an offset."""
    return data[at : data.index(b"\0", at)].decode("ascii", "replace")


def needed_versions(data):
    """All version names that the file needs, of any library."""
    table = list(sections(data))
    for kind, offset, _, link in table:
        if kind == SHT_GNU_VERNEED:
            yield from needs_of(data, offset, strings=table[link][1])


def needs_of(data, at, strings):
    """The names in one version-needs section. Each chain ends with a distance of zero."""
    while True:
        _, count, _, auxiliary, following = struct.unpack_from("<HHIII", data, at)
        entry = at + auxiliary
        for _ in range(count):
            _, _, _, name, distance = struct.unpack_from("<IHHII", data, entry)
            yield text_at(data, strings + name)
            entry += distance
        if following == 0:
            return
        at += following


def highest_glibc(path):
    """The highest GLIBC_x.y[.z] needed, as a tuple of numbers; None where the file needs none."""
    with open(path, "rb") as file:
        data = file.read()
    matches = (re.fullmatch(r"GLIBC_(\d+(?:\.\d+)+)", name) for name in needed_versions(data))
    versions = [tuple(map(int, match[1].split("."))) for match in matches if match]
    return max(versions, default=None)


def main(arguments):
    if len(arguments) != 1:
        print("usage: highest-glibc.py FILE", file=sys.stderr)
        return 2
    try:
        version = highest_glibc(arguments[0])
    except (OSError, NotElf, struct.error, ValueError, IndexError) as error:
        print(f"highest-glibc: {arguments[0]}: {error}", file=sys.stderr)
        return 1
    print(".".join(map(str, version)) if version else "none")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
