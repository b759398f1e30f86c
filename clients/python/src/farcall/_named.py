"""Names that a call is given: its own, and that of its server. Both are texts of the core's, which are
read when the call is started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from ._library import ffi

if TYPE_CHECKING:
    from ._prepared import Prepared


def label_text(label: Any, call: Prepared) -> Any:
    """What a kept call is listed with."""
    if label is None:
        return None
    if not isinstance(label, str) or "\0" in label:
        raise call.wrong(f"label is {label!r}", "give a str, or None")
    if call.keep is None:
        raise call.wrong("a label is for a call that is kept", "give keep=, too")
    return ffi.new("char[]", label.encode("utf-8", "replace"))


def server_text(at: Any, wrong: Callable[[str, str], Exception]) -> Any:
    """The server that it is bound to."""
    if at is None:
        return None
    if not isinstance(at, str) or not at or "\0" in at:
        raise wrong(f"at is {at!r}", "give the name or an address of a server, or None")
    return ffi.new("char[]", at.encode("utf-8", "replace"))
