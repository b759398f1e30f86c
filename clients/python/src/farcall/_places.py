"""Memory through which calls speak with the core. Later calls use it again: to make it takes longer
than a small call.

A call that takes some of it has it alone. An interrupted call may not give it back: then it ends
with its last reference.
"""

from __future__ import annotations

import os
from typing import Any, List

from ._interface import Interface
from ._library import ffi, handle_place, lib, pointer_to

# So many of each kind wait for later calls.
_KEPT_MAX = 64


class ArgumentMemory:
    """The arguments of one call, of a certain interface. The core copies them as the call starts."""

    __slots__ = ("arguments", "slots", "_bytes", "_unset")

    def __init__(self, count: int) -> None:
        self.arguments = ffi.new("farcall_argument[]", count)
        # References to its elements.
        self.slots = [self.arguments[index] for index in range(count)]
        self._bytes = ffi.buffer(self.arguments)
        self._unset = bytes(len(self._bytes))

    def clear(self) -> None:
        """Makes all arguments unset ones."""
        self._bytes[:] = self._unset


def take_arguments(interface: Interface) -> ArgumentMemory:
    """Arguments that are all unset."""
    try:
        memory: ArgumentMemory = interface.memories.pop()
    except IndexError:
        return ArgumentMemory(len(interface.parameters))
    memory.clear()
    return memory


def give_arguments_back(interface: Interface, memory: ArgumentMemory) -> None:
    """They are another call's."""
    if len(interface.memories) < _KEPT_MAX:
        interface.memories.append(memory)


class CallPlaces:
    """Where the core puts what it gives of one call."""

    __slots__ = (
        "call", "results", "error", "view", "shape", "strides", "times", "moments", "placed",
        "used", "_call_owner", "_results_owner", "_pool",
    )  # fmt: skip

    def __init__(self, pool: List[CallPlaces]) -> None:
        self._pool = pool
        # Lives as long as what lies in the place of the call.
        self.used: List[Any] = []
        self.call = handle_place("farcall_call **", lib.farcall_call_free, used=self.used)
        self.results = handle_place("farcall_results **", lib.farcall_results_free)
        self._call_owner = pointer_to(self.call)
        self._results_owner = pointer_to(self.results)
        self.error = ffi.new("farcall_error **")
        self.view = ffi.new("farcall_array_view *")
        # References to members.
        self.shape, self.strides = self.view.shape, self.view.strides
        self.times = ffi.new("farcall_times *")
        self.moments = ffi.cast("uint64_t(*)[3]", self.times)[0]
        self.placed = ffi.new("farcall_placed *")

    def clear_results(self) -> None:
        """Frees the results."""
        lib.farcall_place_clear(self._results_owner)

    def give_back(self) -> None:
        """Ends the call if it is not over, frees its results, and lets others use the places."""
        clear = lib.farcall_place_clear
        clear(self._call_owner)
        clear(self._results_owner)
        self.used.clear()
        if len(self._pool) < _KEPT_MAX:
            self._pool.append(self)


_pool: List[CallPlaces] = []


def take_places() -> CallPlaces:
    """Empty places."""
    pool = _pool
    try:
        return pool.pop()
    except IndexError:
        return CallPlaces(pool)


def _drop_parents_places() -> None:
    """In a forked child: places free nothing in another process than that which made them."""
    global _pool
    _pool = []


os.register_at_fork(after_in_child=_drop_parents_places)
