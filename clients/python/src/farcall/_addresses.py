"""Addresses of servers as users write them: one, a host's name, or several that are used as one."""

from __future__ import annotations

import os
import re
from typing import Optional, Sequence, Tuple

# The word for this host in a list of addresses.
HERE = "here"
# Files that a private server publishes, its program, and more arguments.
Own = Tuple[Sequence[str], Optional[str], Sequence[str]]
# A word that is no part of a socket's path.
_ADDRESS = re.compile(rf"{HERE}$|unix:|tcp:|[^:]*://")
# A host as `farcall connect` takes it: [USER@]HOST[:PORT][/LAUNCHER].
_HOST = re.compile(r"([^@/:\s]+@)?([\w.-]+|\[[0-9A-Fa-f:.]+\])(:\d+)?(/[\w.-]+)?", re.ASCII)


def address_of(given: str) -> str:
    """An address; a host alone is one by ssh."""
    # A folder may well have the name of a host.
    is_file = (os.path.exists(given) and not os.path.isdir(given)) or given == HERE
    is_host = _HOST.fullmatch(given) is not None and not is_file
    return f"ssh://{given}" if is_host else given


def is_list(given: str) -> bool:
    """Whether an address is that of several servers as one; the core looks closer."""
    words = given.split()
    if given.startswith("unix:") and not any(_ADDRESS.match(word) for word in words[1:]):
        # A socket's path may have blanks.
        return False
    return words == [HERE] or len(words) > 1
