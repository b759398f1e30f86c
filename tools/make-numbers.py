#!/usr/bin/env python3
"""Makes what C, Rust, Java and Fortran read of the numbers in spec/numbers.txt. `--check`: compares
instead, and names what differs.
"""

import pathlib
import re
import sys
import textwrap
from typing import Callable, Dict, List, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "spec/numbers.txt"
MADE = "Made from spec/numbers.txt by tools/make-numbers.py"
COLUMNS = 100


class Row(NamedTuple):
    """A number: its name without the group's prefix, as the table writes it, and what it means."""

    name: str
    number: str
    words: str


class Group(NamedTuple):
    """Numbers that belong together."""

    is_enum: bool
    name: str
    prefix: str
    rust: str
    words: str
    rows: List[Row]

    @property
    def module(self) -> str:
        """Its name where it is a module or a class."""
        return self.name.removeprefix("farcall_")


def read(table: str) -> List[Group]:
    """The groups of the table. A line of any other form is an error."""
    groups: List[Group] = []
    for line in table.splitlines():
        if not line or line.startswith("#"):
            continue
        begin = re.fullmatch(r"(enum|define) (\w+) ([A-Z_]+_) (\w+)", line)
        row = re.fullmatch(r"([A-Z0-9_]+) (-?\w+)(?: (.+))?", line)
        if begin:
            kind, *named = begin.groups()
            groups.append(Group(kind == "enum", *named, "", []))
        elif line.startswith(": ") and groups:
            groups[-1] = groups[-1]._replace(words=f"{groups[-1].words} {line[2:]}".strip())
        elif row and groups:
            int(row[2], 0)
            groups[-1].rows.append(Row(row[1], row[2], row[3] or ""))
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
            c_row(f"#define {group.prefix}{row.name} {c_number(group, row.number)}", row.words)
            for row in group.rows
        )
    last = group.rows[-1]
    rows = (
        c_row(
            f"    {group.prefix}{row.name} = {row.number}{'' if row is last else ','}", row.words
        )
        for row in group.rows
    )
    return f"{text}enum {group.name} {{\n{''.join(rows)}}};\n"


def c_header(groups: List[Group]) -> str:
    guard = "FARCALL_NUMBERS_H"
    begin = f"/* {MADE}: the numbers of the C interface. */\n#ifndef {guard}\n#define {guard}\n"
    return begin + "".join(map(c_group, groups)) + "\n#endif\n"


def rust_group(group: Group) -> str:
    text = f"\n{comment(group.words, '', '/// ', '/// ')}pub mod {group.module} {{\n"
    for row in group.rows:
        words = f"`{group.prefix}{row.name}`{': ' if row.words else '.'}{row.words}"
        text += comment(words, "    ", "/// ", "/// ")
        text += f"    pub const {row.name}: {group.rust} = {row.number};\n"
    return text + "}\n"


def rust(groups: List[Group]) -> str:
    words = "the numbers of the C interface, a module for each group"
    return f"//! {MADE}:\n//! {words}.\n" + "".join(map(rust_group, groups))


def java(groups: List[Group]) -> str:
    text = f"// {MADE}: the numbers of the C interface.\n"
    text += "package org.farcall;\n\n/** Numbers by the names of C without FARCALL_. */\n"
    text += "final class Numbers {\n    private Numbers() {}\n"
    for group in groups:
        text += f"\n{comment(f'{group.module}: {group.words}', '    ', '// ', '// ')}"
        for row in group.rows:
            name = (group.prefix + row.name).removeprefix("FARCALL_")
            text += f"    static final int {name} = {row.number};\n"
    return text + "}\n"


def fortran(groups: List[Group]) -> str:
    """The kinds of errors alone: what is passed is found out by the library."""
    status = next(group for group in groups if group.name == "farcall_status")
    text = f"! {MADE}: values of `stat`.\n  integer, parameter, public :: &\n"
    rows = [f"farcall_{row.name.lower()} = {row.number}" for row in status.rows]
    return text + ", &\n".join(f"    {row}" for row in rows) + "\n"


MAKERS: Dict[str, Callable[[List[Group]], str]] = {
    "clients/c/include/farcall-numbers.h": c_header,
    "base/src/abi.rs": rust,
    "clients/java/src/main/java/org/farcall/Numbers.java": java,
    "clients/fortran/src/farcall_numbers.inc": fortran,
}


def made() -> Dict[str, str]:
    """The text of each file that is made, by its path."""
    groups = read(TABLE.read_text(encoding="utf-8"))
    return {path: make(groups) for path, make in MAKERS.items()}


def main() -> int:
    different = 0
    for path, text in made().items():
        file = ROOT / path
        if file.is_file() and file.read_text(encoding="utf-8") == text:
            continue
        if "--check" in sys.argv[1:]:
            print(f"{path} differs from spec/numbers.txt; run tools/make-numbers.py")
            different = 1
        else:
            file.write_text(text, encoding="utf-8")
    return different


if __name__ == "__main__":
    sys.exit(main())
