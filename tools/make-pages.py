#!/usr/bin/env python3
"""Makes the pages of GridRPC's and Ninf's functions, docs/reference/gridrpc/*.md and
docs/reference/ninf/*.md, from clients/gridrpc/functions.txt and the declarations in the headers.
`--check`: compares instead, and names what differs.
"""

import pathlib
import re
import sys
from typing import Dict, List, NamedTuple

from made_files import write_or_compare

ROOT = pathlib.Path(__file__).resolve().parent.parent
DESCRIPTION = ROOT / "clients/gridrpc/functions.txt"
INCLUDE = ROOT / "clients/gridrpc/include"
REFERENCE = ROOT / "docs/reference"
MADE = "Made from clients/gridrpc/functions.txt by tools/make-pages.py"
COLUMNS = 100
KEYS = ("errors", "threads", "source", "see")


class Page(NamedTuple):
    """What the description says of a function."""

    folder: str
    header: str
    name: str
    summary: str
    said: Dict[str, str]
    words: Dict[str, str]
    body: str


class Description(NamedTuple):
    """All of it: what codes mean, lists of codes by name, and what pages have that do not say."""

    codes: Dict[str, str]
    lists: Dict[str, str]
    defaults: Dict[str, Dict[str, str]]
    pages: List[Page]


def read(text: str) -> Description:
    """The description. A line of no known form is an error."""
    found = Description({}, {}, {}, [])
    head, *sections = re.split(r"^== ", text, flags=re.M)
    folder = header = ""
    for line in head.splitlines():
        read_line(line, found, folder)
    for section in sections:
        title, _, rest = section.partition("\n")
        if re.fullmatch(r"\w+ \S+\.h", title):
            folder, header = title.split()
            found.defaults.setdefault(folder, {})
            for line in rest.splitlines():
                read_line(line, found, folder)
        else:
            found.pages.append(page(folder, header, title, rest))
    return found


def read_line(line: str, found: Description, folder: str) -> None:
    """A line outside of pages: a code, a list of codes, or what holds for a folder's pages."""
    word, _, rest = line.partition(" ")
    key, _, value = rest.partition(": ")
    if not line or line.startswith("#"):
        return
    if word == "code" and value:
        found.codes[key] = value
    elif word == "list" and value:
        found.lists[key] = value
    elif folder and word in ("threads:", "source:", "before:"):
        found.defaults[folder][word[:-1]] = rest
    else:
        raise ValueError(f"{DESCRIPTION.name}: {line}")


def page(folder: str, header: str, title: str, rest: str) -> Page:
    """One page: lines `key: …` or `CODE: …`, a blank one, and what the page says."""
    name, _, summary = title.partition(": ")
    keys, _, body = rest.partition("\n\n")
    said: Dict[str, str] = {}
    words: Dict[str, str] = {}
    for line in keys.splitlines():
        key, _, value = line.partition(": ")
        if not value:
            raise ValueError(f"{DESCRIPTION.name}: {name}: {line}")
        (said if key in KEYS else words)[key] = value
    return Page(folder, header, name, summary, said, words, body.strip("\n"))


def declarations(header: str) -> Dict[str, str]:
    """The functions that a header declares, as one line each."""
    text = re.sub(r"/\*.*?\*/", "", (INCLUDE / header).read_text(encoding="utf-8"), flags=re.S)
    text = text.replace("farcall_grpc_char", "char")
    found = re.findall(
        r"^((?:const )?\w+[ *]+)(\w+)\(([^;{]*?)\)\s*FARCALL_\w+_SYMBOL\(\w+\);", text, flags=re.M
    )
    lines = {name: f"{kind}{name}({arguments});" for kind, name, arguments in found}
    return {
        name: re.sub(r"\s+", " ", line).replace("( ", "(") for name, line in lines.items()
    }


def synopsis(line: str) -> str:
    """A declaration that is too long has one parameter a line."""
    if len(line) <= COLUMNS:
        return line
    begin, _, rest = line.partition("(")
    arguments = rest.removesuffix(");").split(", ")
    return f"{begin}(\n    " + ",\n    ".join(arguments) + ");"


def errors(one: Page, description: Description) -> str:
    """The table of codes, if the function has any."""
    listed = one.said.get("errors", "")
    codes = " ".join(description.lists.get(word, word) for word in listed.split()).split()
    if not codes:
        return ""
    before = description.defaults[one.folder].get("before", "")
    text = "## Errors\n\n" + (f"{before}\n\n" if before else "") + "| Code | When |\n|---|---|\n"
    for code in codes:
        text += f"| `{code}` | {one.words.get(code, description.codes[code])} |\n"
    return text + "\n"


def link(one: Page, description: Description, name: str) -> str:
    folder = next(other.folder for other in description.pages if other.name == name)
    place = "" if folder == one.folder else f"../{folder}/"
    return f"[`{name}`]({place}{name}.md)"


def made_page(one: Page, description: Description, declared: Dict[str, str]) -> str:
    said = {**description.defaults[one.folder], **one.said}
    see = ", ".join(link(one, description, name) for name in said["see"].split())
    return (
        f"<!-- {MADE}. -->\n# {one.name}\n\n{one.summary}\n\n"
        f"```text\n#include <{one.header}>\n\n{synopsis(declared[one.name])}\n```\n\n"
        f"{one.body}\n\n{errors(one, description)}"
        f"## Threads\n\n{said['threads']}\n\n## Source\n\n{said['source']}\n\n"
        f"## See also\n\n{see}\n"
    )


def made() -> Dict[str, str]:
    """The text of each page, by its path below docs/reference."""
    description = read(DESCRIPTION.read_text(encoding="utf-8"))
    headers = {header: declarations(header) for header in {p.header for p in description.pages}}
    return {
        f"{one.folder}/{one.name}.md": made_page(one, description, headers[one.header])
        for one in description.pages
    }


if __name__ == "__main__":
    sys.exit(write_or_compare(REFERENCE, made(), "tools/make-pages.py"))
