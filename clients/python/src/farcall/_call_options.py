"""Options of calls, as the core reads them."""

from __future__ import annotations

from typing import Any

from ._library import ffi


def call_options(announced: bool) -> Any:
    options = ffi.new("farcall_call_options *")
    options.size, options.announced = ffi.sizeof("farcall_call_options"), announced
    return options


# Of calls that were given none; they are only read.
UNANNOUNCED, ANNOUNCED = call_options(False), call_options(True)
