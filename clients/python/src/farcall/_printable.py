"""Text of others as a terminal may show it: shown, never obeyed. The C library does the same to
what servers say; this is for what comes as bytes, and what stands in Python's own lines.
`spec/vectors/printable.txt` has what comes out for what goes in."""

from __future__ import annotations

import re

# As `is_obeyed` of base/src/printable.rs: controls, what is invisible, what separates lines or
# turns the direction of writing, what is not a character; and halves of pairs, which Rust's texts
# have none of.
_OBEYED = (
    "\\x00-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e"
    "\\u2060-\\u206f\\u3164\\ud800-\\udfff\\ufdd0-\\ufdef\\ufeff\\uffa0\\ufff0-\\ufffb\\ufffe\\uffff\\U0001bca0-\\U0001bca3"
    "\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff"
) + "".join(f"\\U{plane:04x}fffe\\U{plane:04x}ffff" for plane in range(1, 17))
_LINE = re.compile(f"[{_OBEYED}]")
_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _spelled(found: "re.Match[str]") -> str:
    code = ord(found[0])
    return _NAMED.get(found[0]) or (f"\\x{code:02x}" if code < 256 else f"\\u{{{code:x}}}")


def printable_line(text: str) -> str:
    """What has no lines, such as a name."""
    return _LINE.sub(_spelled, text)


def printable(text: str) -> str:
    """What has lines: their ends and tabs stay."""
    return _LINE.sub(lambda found: found[0] if found[0] in "\n\t" else _spelled(found), text)


def printable_output(text: str) -> str:
    """What a program writes: carriage returns stay, too."""
    return _LINE.sub(lambda found: found[0] if found[0] in "\n\t\r" else _spelled(found), text)
