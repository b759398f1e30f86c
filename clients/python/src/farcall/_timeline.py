"""When and where the calls of a transaction ran."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

from ._connection import Connection
from ._library import check, error_place, ffi, handle_place, interruptible, lib

# A table has at most so many rows: half of the first, and half of the last ones.
_SHOWN_MAX = 100
_HEAD = ("call", "routine", "server", "state", "attempts", "ready", "opened", "begun", "ended")


class TimelineRow(NamedTuple):
    """When and where one call ran. Times are seconds since the transaction began; None for what has not
    happened."""

    call: int
    """Its number."""
    routine: str
    """Its full name."""
    server: Optional[str]
    """Where it was opened last, or has returned."""
    state: str
    """`waits`, `open`, `returned`, `failed`, or `not run`, because a call that it needs failed."""
    attempts: int
    """How often it was opened."""
    ready: Optional[float]
    """When all that it uses was there, or was being made."""
    opened: Optional[float]
    """When it was opened."""
    begun: Optional[float]
    """When its routine began."""
    ended: Optional[float]
    """When it ended."""


class Timeline:
    """When and where the calls of a transaction ran, in their order. It prints as a table; its rows are
    `farcall.TimelineRow`."""

    rows: List[TimelineRow]

    def __init__(self, calls: List[Dict[str, Any]]) -> None:
        self.rows = [TimelineRow(*(one[name] for name in TimelineRow._fields)) for one in calls]

    def __iter__(self) -> Iterator[TimelineRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def json(self) -> str:
        """The rows as JSON: an array of objects."""
        return json.dumps([row._asdict() for row in self.rows])

    def __repr__(self) -> str:
        if not self.rows:
            return "no calls"
        half = _SHOWN_MAX // 2
        is_cut = len(self.rows) > _SHOWN_MAX
        shown = self.rows[:half] + self.rows[-half:] if is_cut else self.rows
        lines = [_HEAD, *map(_cells, shown)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(_HEAD))]
        table = [_line(line, widths) for line in lines]
        if is_cut:
            table[half + 1 : half + 1] = [
                f"... {len(self.rows) - _SHOWN_MAX} more calls: `rows` has all"
            ]
        return "\n".join(table)


def timeline_of(connection: Connection, transaction: str) -> Timeline:
    """The timeline of a transaction, by its id."""
    client, error = connection.handles.client(), error_place()
    place = handle_place("char **", lib.farcall_text_free)
    digits = ffi.new("char[]", transaction.encode())
    ask, used = lib.farcall_transactions_timeline, (client, digits)
    check(interruptible(ask, client[0], digits, place, error, used=used), error)
    return Timeline(json.loads(ffi.string(place[0])))


def _cells(row: TimelineRow) -> List[str]:
    times = (row.ready, row.opened, row.begun, row.ended)
    words = [str(row.call), row.routine, row.server or "-", row.state, str(row.attempts)]
    return words + ["-" if time is None else f"{time:.6f}" for time in times]


def _line(cells: Any, widths: List[int]) -> str:
    # Names to the left, numbers to the right.
    sides = (">", "<", "<", "<", ">", ">", ">", ">", ">")
    return "  ".join(
        f"{cell:{side}{width}}" for cell, side, width in zip(cells, sides, widths)
    ).rstrip()
