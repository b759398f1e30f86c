#!/usr/bin/env python3
"""Makes what C, Rust, Java and Fortran read of the numbers in spec/numbers.txt. `--check`: compares
instead, and names what differs.
"""

import pathlib
import re
import sys
import textwrap
from typing import Callable, Dict, List, NamedTuple, Tuple

from made_files import write_or_compare

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "spec/numbers.txt"
MADE = "Made from spec/numbers.txt by tools/make-numbers.py"
COLUMNS = 100


class Row(NamedTuple):
    """A number: its name in C, that without the group's prefix, as the table writes it, and what it
    means."""

    c_name: str
    name: str
    number: str
    words: str


class Group(NamedTuple):
    """Numbers that belong together."""

    is_enum: bool
    name: str
    prefix: str
    rust: str
    typedef: str
    words: str
    rows: List[Row]

    @property
    def interface(self) -> str:
        """Whose it is: farcall, grpc or ninf."""
        return self.name.partition("_")[0]

    @property
    def module(self) -> str:
        """Its name where it is a module."""
        return self.name.removeprefix("farcall_").removesuffix("_e_np")


def read(table: str) -> List[Group]:
    """The groups of the table. A line of any other form is an error."""
    groups: List[Group] = []
    for line in table.splitlines():
        if not line or line.startswith("#"):
            continue
        begin = re.fullmatch(r"(enum|define) (\w+) ([A-Z_]+_|-) (\w+)(?: (\w+))?", line)
        row = re.fullmatch(r"([A-Z0-9_]+) (-?\w+)(?: (.+))?", line)
        if begin:
            kind, name, prefix, rust_type, typedef = begin.groups()
            prefix = prefix.strip("-")
            groups.append(Group(kind == "enum", name, prefix, rust_type, typedef or "", "", []))
        elif line.startswith(": ") and groups:
            groups[-1] = groups[-1]._replace(words=f"{groups[-1].words} {line[2:]}".strip())
        elif row and groups:
            int(row[2], 0)
            c_name = groups[-1].prefix + row[1]
            groups[-1].rows.append(Row(c_name, row[1], row[2], row[3] or ""))
        else:
            raise ValueError(f"{TABLE.name}: neither a group nor a row: {line}")
    return groups


def comment(words: str, indent: str, first: str, rest: str, end: str = "") -> str:
    """Words as a comment of as many lines as they need."""
    lines = textwrap.wrap(
        words + end,
        COLUMNS,
        initial_indent=indent + first,
        subsequent_indent=indent + rest,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return "".join(f"{line}\n" for line in lines)


def c_comment(words: str, indent: str = "") -> str:
    return comment(words, indent, "/* ", " * ", " */") if words else ""


def c_row(code: str, words: str) -> str:
    """A line of code with its comment behind it, or above it where the line would be too long."""
    line = f"{code} /* {words} */\n"
    if not words:
        return f"{code}\n"
    indent = " " * (len(code) - len(code.lstrip()))
    return line if len(line) <= COLUMNS else f"{c_comment(words, indent)}{code}\n"


def c_number(group: Group, number: str) -> str:
    """As a macro has it: flags are unsigned, and a sign stands in parentheses."""
    if number.startswith("-"):
        return f"({number})"
    return number + "u" if group.rust == "u32" else number


def c_group(group: Group) -> str:
    text = "\n" + c_comment(group.words)
    if not group.is_enum:
        return text + "".join(
            c_row(f"#define {row.c_name} {c_number(group, row.number)}", row.words)
            for row in group.rows
        )
    last = group.rows[-1]
    rows = "".join(
        c_row(f"    {row.c_name} = {row.number}{'' if row is last else ','}", row.words)
        for row in group.rows
    )
    if group.typedef:
        return f"{text}typedef enum {group.name} {{\n{rows}}} {group.typedef};\n"
    return f"{text}enum {group.name} {{\n{rows}}};\n"


def c_header(groups: List[Group]) -> str:
    interface = groups[0].interface.upper()
    guard = f"{'' if interface == 'FARCALL' else 'FARCALL_'}{interface}_NUMBERS_H"
    begin = f"/* {MADE}: the numbers of the C interface. */\n#ifndef {guard}\n#define {guard}\n"
    return begin + "".join(map(c_group, groups)) + "\n#endif\n"


def rust_group(group: Group) -> str:
    text = f"\n{comment(group.words, '', '/// ', '/// ')}pub mod {group.module} {{\n"
    for row in group.rows:
        words = f"`{row.c_name}`{': ' if row.words else '.'}{row.words}"
        text += comment(words, "    ", "/// ", "/// ")
        text += f"    pub const {row.name}: {group.rust} = {row.number};\n"
    return text + "}\n"


def rust(groups: List[Group]) -> str:
    words = "the numbers of the C interface, a module for each group"
    return f"//! {MADE}:\n//! {words}.\n" + "".join(map(rust_group, groups))


def rust_private(groups: List[Group]) -> str:
    """Where nobody else sees the module: some of its numbers are for programs in C alone."""
    begin, rest = rust(groups).split("\n\n", 1)
    return f"{begin}\n\n#![allow(dead_code)]\n\n{rest}"


def java(groups: List[Group]) -> str:
    text = f"// {MADE}: the numbers of the C interface.\n"
    text += "package org.farcall;\n\n/** Numbers by the names of C, without FARCALL_. */\n"
    text += "final class Numbers {\n    private Numbers() {}\n"
    for group in groups:
        text += f"\n{comment(f'{group.module}: {group.words}', '    ', '// ', '// ')}"
        for row in group.rows:
            name = row.c_name.removeprefix("FARCALL_")
            text += f"    static final int {name} = {row.number};\n"
    return text + "}\n"


def fortran(groups: List[Group]) -> str:
    text = f"! {MADE}: values of `stat`.\n  integer, parameter, public :: &\n"
    rows = [f"{row.c_name.lower()} = {row.number}" for group in groups for row in group.rows]
    return text + ", &\n".join(f"    {row}" for row in rows) + "\n"


def fortran_77(groups: List[Group]) -> str:
    """In fixed and in free form at once: a continued line ends with & in column 73, and the next
    begins with one in column 6."""
    text = f"! {MADE}.\n"
    for group in groups:
        for row in group.rows:
            given = f"({row.c_name} = {row.number})"
            line = f"      PARAMETER {given}"
            if len(line) > 72:
                line = f"{'      PARAMETER':72}&\n     & {given}"
            text += f"      INTEGER*4 {row.c_name}\n{line}\n"
    return text


MAKERS: Dict[str, Tuple[Callable[[List[Group]], str], str]] = {
    # A path, what makes the file, and of which groups: a pattern of their names.
    "clients/c/include/farcall-numbers.h": (c_header, "farcall_.*"),
    "base/src/abi.rs": (rust, "farcall_.*"),
    "clients/java/src/main/java/org/farcall/Numbers.java": (java, "farcall_.*|grpc_code"),
    # The library finds out by itself what is passed.
    "clients/fortran/src/farcall_numbers.inc": (fortran, "farcall_status"),
    "clients/gridrpc/include/grpc_numbers.h": (c_header, "grpc_.*"),
    "clients/gridrpc/include/ninf_numbers.h": (c_header, "ninf_.*"),
    "clients/gridrpc/src/numbers.rs": (rust_private, "grpc_.*|ninf_.*"),
    "clients/fortran/include/grpc_numbers.inc": (fortran_77, "grpc_.*"),
    "clients/fortran/include/ninf_numbers.inc": (fortran_77, "ninf_result"),
}


def made() -> Dict[str, str]:
    """The text of each file that is made, by its path."""
    groups = read(TABLE.read_text(encoding="utf-8"))
    return {
        path: make([group for group in groups if re.fullmatch(names, group.name)])
        for path, (make, names) in MAKERS.items()
    }


if __name__ == "__main__":
    sys.exit(write_or_compare(ROOT, made(), "tools/make-numbers.py"))
