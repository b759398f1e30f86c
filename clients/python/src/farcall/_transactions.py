"""Transactions by their ids: lists of them, and results that any process fetches."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from . import _errors
from ._connection import Connection
from ._data import Data
from ._library import check, error_place, ffi, handle_place, interruptible, lib
from ._recorded import Fetched, Made, TransactionResults, make_result
from ._timeline import Timeline, timeline_of

if TYPE_CHECKING:
    from ._server import Server


class TransactionState:
    """What a server says of a transaction.

    Attributes:
        id: what `Server.fetch` finds its results by.
        state: `running` or `ended`.
        calls: how many calls it has.
        returned: how many of them have returned.
        failed: how many failed, or did not run because another one failed.
        age: seconds since it began.
        seconds_left: until it is forgotten; None while it runs or its client is connected.
        principal: whose it is.
        reason: why the first call that failed did so; None if none has.
    """

    def __init__(self, server: Server, told: Dict[str, Any]) -> None:
        self._server = server
        self.id: str = told["id"]
        self.state: str = told["state"]
        self.calls: int = told["calls"]
        self.returned: int = told["returned"]
        self.failed: int = told["failed"]
        self.age: float = told["age"]
        self.seconds_left: Optional[float] = told["seconds_left"]
        self.principal: str = told["principal"]
        self.reason: Optional[str] = told["reason"]

    def __repr__(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        return (
            f"<farcall.TransactionState {self.id}: {self.state}, {self.returned} of {self.calls} "
            f"calls returned{failed}>"
        )

    @_errors.ends_here
    def timeline(self) -> Timeline:
        """When and where its calls ran, so far."""
        return timeline_of(self._server._connection, self.id)

    @_errors.ends_here
    def results(self) -> List[TransactionResults]:
        """Its results that the server keeps, by call."""
        return results_of(self._server, self.id)

    @_errors.ends_here
    def end(self) -> None:
        """Ends it: calls that are open are cancelled, and its results are deleted."""
        connection = self._server._connection
        client, error = connection.handles.client(), error_place()
        digits, end = ffi.new("char[]", self.id.encode()), lib.farcall_transactions_end
        check(interruptible(end, client[0], digits, error, used=(client, digits)), error)


def _told(connection: Connection, ask: Any, wanted: Any) -> List[Dict[str, Any]]:
    """What the core tells of transactions, or of the one of this id."""
    client, error = connection.handles.client(), error_place()
    place = handle_place("char **", lib.farcall_text_free)
    digits = ffi.NULL if wanted is None else ffi.new("char[]", wanted.encode("utf-8", "replace"))
    check(interruptible(ask, client[0], digits, place, error, used=(client, digits)), error)
    told: List[Dict[str, Any]] = json.loads(ffi.string(place[0]))
    return told


def listed(server: Server) -> List[TransactionState]:
    """This user's transactions."""
    told = _told(server._connection, lib.farcall_transactions_list, None)
    return [TransactionState(server, one) for one in told]


def results_of(server: Server, wanted: str) -> List[TransactionResults]:
    """The results of a transaction that the server keeps, by call."""
    connection = server._connection
    told = _told(connection, lib.farcall_transactions_results, wanted)
    places = _found(connection, [one["data"] for one in told])
    calls: Dict[int, Dict[str, Any]] = {}
    routines: Dict[int, str] = {}
    for one, place in zip(told, places):
        routines[one["call"]] = one["routine"]
        found = calls.setdefault(one["call"], {})
        if place is not None:
            found[one["parameter"]] = place
    return [
        TransactionResults(_values(server, routines[call], call, found), call, routines[call])
        for call, found in calls.items()
    ]


def _values(server: Server, routine: str, call: int, found: Dict[str, Any]) -> Dict[str, Any]:
    """The results of one call, by the places of their data."""
    connection, interface = server._connection, server._routine(routine)._interface
    values: Dict[str, Any] = {}
    for parameter in interface.outputs:
        if parameter.name not in found:
            continue
        made = Made(routine, call, parameter, None)
        beside = interface.shapes.get(parameter.index)
        if beside is not None and beside.name in found:
            made.beside = Data(connection, found[beside.name], None)
        place = found[parameter.name]
        values[parameter.name] = make_result(connection, place, Fetched(), made)
    return values


def fetch(server: Server, wanted: object, unknown: _errors.Error) -> List[TransactionResults]:
    """The results of a transaction, where no call has this id."""
    try:
        return results_of(server, str(wanted))
    except (_errors.NotFound, _errors.VersionMismatch) as error:
        # A node that says where it is knows more than that no call has this id.
        is_somewhere = error.retryable or "the transaction is not here" in str(error)
        raise (error if is_somewhere else unknown) from None


def _found(connection: Connection, ids: List[str]) -> List[Any]:
    """The places of data, by its ids; None for what was deleted."""
    client, error = connection.handles.client(), error_place()
    texts = [ffi.new("char[]", one.encode()) for one in ids]
    names, data = ffi.new("char *[]", texts), ffi.new("farcall_data *[]", max(len(ids), 1))
    find, used = lib.farcall_find_several_data, (client, texts, names, data)
    check(interruptible(find, client[0], names, len(ids), data, error, used=used), error)
    return [_owned(data[index]) for index in range(len(ids))]


def _owned(data: Any) -> Any:
    """A place of its own for data."""
    if not data:
        return None
    place = handle_place("farcall_data **", lib.farcall_data_free)
    place[0] = data
    return place
