"""What a call, an object or handles ask to be given: cores, memory, GPUs, time. The core reads it as
text, and says what is wrong with it in the words of every client."""

from __future__ import annotations

import datetime
import numbers
from typing import Any, Dict, Union

from ._library import ffi

NAMES = ("cores", "memory", "gpus", "wall_time")
# What each may be written as.
Count = Union[int, str]
Time = Union[float, str, datetime.timedelta]


def _word(name: str, value: Any) -> str:
    if isinstance(value, datetime.timedelta):
        value = value.total_seconds()
    if name == "wall_time" and isinstance(value, numbers.Real) and not isinstance(value, bool):
        # Seconds, as those of all timeouts.
        value = f"{float(value):.9f} s"
    # One value is no list of them.
    return str(value).replace(",", "_").replace(";", "_").replace("\0", "\\0")


def resources(given: Dict[str, Any]) -> Any:
    """Text of the core's, of the ones of `NAMES` that are given; NULL for none. It is to live until
    the core has read it."""
    asked = ((name, given.get(name)) for name in NAMES)
    said = [f"{name}={_word(name, value)}" for name, value in asked if value is not None]
    if not said:
        return ffi.NULL
    return ffi.new("char[]", ", ".join(said).encode("utf-8", "replace"))
