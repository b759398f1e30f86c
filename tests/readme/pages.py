# Reads the fenced blocks of README and the pages under docs/, for tests that run them.
"""What a fenced block is follows from its first line:

    ```LANGUAGE file=PATH    the repository's file PATH, word for word
    ```LANGUAGE name=PATH    a file of the reader's own; blocks of one name make one file
    ```sh                    commands that succeed
    ```console               commands after `$ `, each with what it prints; `…` stands for any text
    ```python                a program that succeeds
    ```pycon                 an interactive session; all sessions of a document are one
    ```text                  only to be read

`<!-- sh` to `-->` holds commands that the reader does not see: they bring about what a page is
about.
"""

import pathlib
import re
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"^(?:```(\w+)(?: (file|name)=(\S+))?|<!-- (sh))\n(.*?)^(?:```|-->)$", re.S | re.M
)


class Block(NamedTuple):
    hidden: bool
    language: str
    origin: str  # "file", "name" or nothing
    path: str
    body: str


class Step(NamedTuple):
    """Commands, and what they print; None where that is not shown, and they have to succeed."""

    commands: str
    output: "str | None"


def blocks(document):
    found = BLOCK.findall((ROOT / document).read_text())
    return [
        Block(bool(unseen), kind or unseen, origin, path, body)
        for kind, origin, path, unseen, body in found
    ]


def steps_of_console(body):
    """Each command with the lines below it."""
    parts = re.split(r"^\$ ", body, flags=re.M)
    assert not parts[0], f"a console begins with a command, not with {parts[0]!r}"
    return [Step(*part.partition("\n")[::2]) for part in parts[1:]]
