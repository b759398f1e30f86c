"""Where a call would run, and why: what `Routine.explain` gives."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from ._library import check, error_place, ffi, handle_place, interruptible, lib
from ._places import give_arguments_back

if TYPE_CHECKING:
    from ._prepared import Prepared

# Beyond so many seconds, parts of one are of no interest.
_WHOLE_SECONDS = 20.0
_HEAD = ("server", "wait", "send", "run", "return", "total", "+-", "")


class ExplainedServer(NamedTuple):
    """What a call would need on one server, in seconds. `error` is by how much `total` may well be
    wrong; of a server that is `excluded` the times mean nothing, and `note` says why."""

    server: str
    wait: float
    send: float
    run: float
    return_: float
    total: float
    error: float
    chosen: bool
    excluded: bool
    note: str


class Explanation:
    """All servers that a call could run on, the best first. It prints as a table; its rows are
    `farcall.ExplainedServer`."""

    rows: List[ExplainedServer]

    def __init__(self, servers: List[Dict[str, Any]]) -> None:
        self.rows = [
            ExplainedServer(
                # A private server has no address that anybody would write.
                one["server"] or "here",
                one["wait"], one["send"], one["run"], one["return"], one["total"], one["error"],
                one["chosen"], one["excluded"], one["note"],
            )
            for one in servers
        ]  # fmt: skip

    @property
    def chosen(self) -> Optional[str]:
        """The name of the server that the call would run on; None where no server takes it."""
        return next((row.server for row in self.rows if row.chosen), None)

    def __iter__(self) -> Iterator[ExplainedServer]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __repr__(self) -> str:
        lines = [_HEAD, *map(_cells, self.rows)]
        # Why a server is excluded takes more room than a number, and stands alone.
        widths = [max(len(line[column]) for line in lines) for column in range(7)]
        return "\n".join(_line(line, widths) for line in lines)


def explain(prepared: Prepared) -> Explanation:
    """Where a call would run; it is not made."""
    routine, interface = prepared.routine, prepared.interface
    client, error = routine._connection.handles.client(), error_place()
    memory = prepared.take_memory()
    place = handle_place("char **", lib.farcall_text_free)
    given = (routine._handle(), memory.arguments, len(interface.parameters), place, error)
    check(interruptible(lib.farcall_explain, *given, used=(client, prepared, memory)), error)
    give_arguments_back(interface, memory)
    return Explanation(json.loads(ffi.string(place[0])))


def _cells(row: ExplainedServer) -> Tuple[str, ...]:
    if row.excluded:
        return (row.server, "-", "", "", "", "", "", row.note)
    words = [word for word in ("chosen" if row.chosen else "", row.note) if word]
    times = (row.wait, row.send, row.run, row.return_, row.total, row.error)
    return (row.server, *map(_seconds, times), "; ".join(words))


def _line(cells: Tuple[str, ...], widths: List[int]) -> str:
    name, *times, note = cells
    if times[1:] == [""] * 5:
        return f"{name:<{widths[0]}}  {times[0]:>{widths[1]}}  {note}"
    columns = [f"{time:>{width}}" for time, width in zip(times, widths[1:])]
    return "  ".join([f"{name:<{widths[0]}}", *columns, note]).rstrip()


def _seconds(time: float) -> str:
    """As many digits as mean something."""
    if time >= _WHOLE_SECONDS:
        return f"{time:.0f} s"
    if time >= 0.1:
        return f"{time:.1f} s"
    if time >= 1e-3:
        return f"{time * 1e3:.0f} ms"
    return f"{time * 1e6:.0f} us" if time >= 1e-6 else "0 s"
