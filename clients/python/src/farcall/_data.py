"""Data: values that stay at a server."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, NoReturn, Optional, Tuple

import numpy as np

from . import _errors
from ._connection import Connection, seconds
from ._interface import ELEMENTS, STRUCT, Interface, Names, Parameter
from ._library import (
    OK,
    check,
    error_place,
    ffi,
    handle_place,
    interruptible,
    lib,
    text,
)
from ._named import server_text
from ._refusals import refuse
from ._single import value_of

if TYPE_CHECKING:
    from ._future import CallFuture
    from ._prepared import Prepared

# NumPy's type of each number of enum farcall_element.
_TYPES = dict(ELEMENTS.values())
DATA: int = lib.FARCALL_DATA
# By NumPy's letter for them: what elements that data cannot have may be converted to.
_INSTEAD = {"e": "f4", "g": "f8", "G": "c16", "M": "i8", "m": "i8"}


class DataState(NamedTuple):
    """What a server says of data."""

    id: str
    """What `Server.data(id)` finds it by."""
    state: str
    """`coming` while its call has not ended, `there`, or `failed`."""
    type: str
    """The type of its elements, as interface files write it."""
    extents: Tuple[int, ...]
    """Its extents, as far as they are known."""
    bytes: int
    """What counts for it."""
    seconds_left: Optional[float]
    """Until it is deleted; None while its client is connected."""
    principal: str
    """Whose it is."""
    reason: Optional[str]
    """Why it will never be there; None unless `state` is `failed`."""


class Data:
    """A value that stays at a server: what `Server.put` sent there, or a result of a call with
    `stay`.

    It is an argument like an array, also while the call that makes it has not ended: the server has
    the later call wait. It never changes. `numpy.asarray(d)` fetches it. The server deletes it when
    nothing here refers to it any more, or the connection ends, but for its lease.
    """

    def __init__(self, connection: Connection, place: Any, future: Optional[CallFuture]) -> None:
        self._connection, self._place = connection, place
        # A call that is dropped is cancelled.
        self._future = future
        self._pid = os.getpid()
        self._digits: Optional[str] = None
        self.dtype: Any = _TYPES[lib.farcall_data_element(place[0])]
        self.ndim: int = lib.farcall_data_rank(place[0])

    @property
    def id(self) -> str:
        """What `Server.data` finds it by, from any process of the same user."""
        if self._digits is None:
            digits = ffi.new("char[33]")
            lib.farcall_data_id(self._place[0], digits)
            self._digits = text(digits) or ""
        return self._digits

    @property
    def server(self) -> str:
        """The server that it is at: its name, or the address of the one that is connected to."""
        self._handle()
        return self._server_name()

    def _server_name(self) -> str:
        # In a forked child nobody may hold the locks of the parent's threads.
        if self._pid != os.getpid():
            return self._connection.address
        found = lib.farcall_data_server(self._place[0])
        try:
            return text(found) or ""
        finally:
            lib.farcall_text_free(found)

    @property
    def shape(self) -> Tuple[int, ...]:
        """Its extents. Those of a result that the routine itself decides are known when its call
        has ended: `farcall.NotFound` before."""
        extents = lib.farcall_data_extents(self._handle()[0])
        if extents == ffi.NULL and self._future is not None:
            # It knows when it has ended.
            self._future.result()
            extents = lib.farcall_data_extents(self._place[0])
        if extents == ffi.NULL:
            raise _errors.make(
                _errors.NotFound,
                "read the shape of data",
                "the routine decides it, and has not ended",
                "fetch the value: numpy.asarray(...)",
                data=self.id,
            )
        return tuple(extents[0 : self.ndim])

    @property
    def size(self) -> int:
        """How many elements it has."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return self.size * int(self.dtype.itemsize)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, _: object) -> NoReturn:
        # Neither one by one nor all of it for one: programs say when it is fetched.
        raise _errors.make(
            _errors.WrongType,
            "read elements of data",
            "they are at the server",
            "fetch the value: numpy.asarray(...)",
            data=self.id,
        )

    def __repr__(self) -> str:
        extents = lib.farcall_data_extents(self._place[0])
        shape = ", ".join(map(str, extents[0 : self.ndim])) if extents else "?"
        return f"<farcall.Data {self.id[:8]}: {self.dtype}[{shape}] at {self._server_name()}>"

    def __copy__(self) -> Data:
        # It never changes.
        return self

    def __deepcopy__(self, _: Any) -> Data:
        return self

    def __reduce__(self) -> NoReturn:
        raise _errors.make(
            _errors.WrongType,
            "pickle",
            "data belongs to the connection of this process",
            "send its id, and find it by Server.data(id)",
        )

    @_errors.ends_here
    def fetch(self, *, timeout: Optional[float] = None) -> Any:
        """The value as a NumPy array of its own; waits for the call that makes it.

        Raises:
            NotFound: it was deleted.
            RoutineCrashed and others: what the call that makes it failed with.
        """
        return self._fetch(timeout)

    def _fetch(self, timeout: Optional[float] = None) -> Any:
        from ._coming import value_of_data

        handle = self._connected()
        rank = lib.farcall_data_rank(handle[0])
        return value_of_data(self._connection, handle, self.dtype, rank, timeout)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        if copy is False:
            raise ValueError("data is fetched from its server: that is a copy")
        value = self._fetch()
        return value if dtype is None else value.astype(dtype, copy=False)

    @_errors.ends_here
    def delete(self) -> None:
        """Deletes it now. Calls that have it already go on with it."""
        handle, error = self._connected(), error_place()
        check(interruptible(lib.farcall_data_delete, handle[0], error, used=(handle,)), error)

    def leave(self) -> str:
        """It is not deleted with this object: it stays for its lease, or until somebody deletes it
        by its id, which this gives."""
        lib.farcall_data_leave(self._handle()[0])
        return self.id

    def _handle(self) -> Any:
        if self._pid != os.getpid():
            raise _errors.make(
                _errors.WrongType,
                "use data",
                "it belongs to the process that this one was forked from",
                "find it by Server.data(id)",
                data=self.id,
            )
        return self._place

    def _connected(self) -> Any:
        """The same, to ask the server for it."""
        handle = self._handle()
        # Says why if the connection cannot be used.
        self._connection.handles.client()
        return handle

    def pass_as(
        self, routine: str, parameter: Parameter, connection: Connection, slot: Any
    ) -> None:
        """Makes it an argument."""
        if not parameter.is_array or parameter.is_text or parameter.element == STRUCT:
            message = "only an array of numbers can be data"
            refuse(routine, parameter, message, "pass the value itself", wrong_type=True)
        if connection is not self._connection:
            raise _errors.make(
                _errors.InvalidArgument,
                "call",
                "the data belongs to another connection",
                "pass numpy.asarray(...) of it",
                data=self.id,
                server=self._connection.address,
            )
        slot.kind, slot.data = DATA, self._handle()[0]


class StayingResults:
    """The results of a call that stay at the server, by name, as soon as the call was started:
    `f.data.b`, `f.data["b"]`."""

    def __init__(self, values: Dict[str, Data]) -> None:
        self.__dict__.update(values)
        self._values = values

    def __getitem__(self, name: str) -> Data:
        found = Names(list(self._values)).find(name) if isinstance(name, str) else None
        if found is not None:
            return self._values[found]
        names = ", ".join(self._values) or "no results that stay"
        raise _errors.make(
            _errors.NotFound, "read a result", f'no result that stays is called "{name}"',
            f"there are {names}",
        )  # fmt: skip

    def __getattr__(self, name: str) -> Data:
        if name.startswith("_"):
            raise AttributeError(name)
        if _errors.is_property(self, name):
            return object.__getattribute__(self, name)
        return self[name]

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self._values.items())
        return f"StayingResults({inside})"


def call_options(timeout: Optional[float], lease: Optional[float] = None) -> Any:
    """Options of a call that brings or takes a value."""
    options = ffi.new("farcall_call_options *")
    options.size = ffi.sizeof("farcall_call_options")
    options.timeout_seconds, options.announced = timeout or 0.0, 1
    options.lease_seconds = lease or 0.0
    return options


def of_results(connection: Connection, results: Any, parameter: int) -> Data:
    """A result that stayed."""
    place, error = handle_place("farcall_data **", lib.farcall_data_free), error_place()
    check(lib.farcall_results_data(results, parameter, place, error), error)
    return Data(connection, place, None)


def of_call(
    connection: Connection, call: Any, interface: Interface, future: CallFuture
) -> StayingResults:
    """The results of a started call that stay."""
    found = {}
    for parameter in interface.outputs:
        place, error = handle_place("farcall_data **", lib.farcall_data_free), error_place()
        if lib.farcall_call_data(call, parameter.index, place, error) == OK:
            found[parameter.name] = Data(connection, place, future)
        else:
            lib.farcall_error_free(error[0])
            error[0] = ffi.NULL
    return StayingResults(found)


def put(
    connection: Connection,
    given: Any,
    lease: Optional[float],
    at: Optional[str],
    timeout: Optional[float],
) -> Data:
    """Sends an array to the server."""
    array, number = _array_of(given)
    lease = seconds_or_none("put data", lease, "a lease")
    limit = seconds_or_none("put data", timeout)
    options = call_options(limit, lease)
    options.announced = 0
    named = server_text(at, _wrong)
    options.at = named or ffi.NULL
    slot = ffi.new("farcall_argument *")
    shape, strides = ffi.new("uint64_t[]", array.shape), ffi.new("int64_t[]", array.strides)
    address = ffi.cast("void *", array.__array_interface__["data"][0])
    slot.kind, slot.element, slot.data, slot.rank = lib.FARCALL_ARRAY, number, address, array.ndim
    slot.shape, slot.strides = shape, strides
    client, error = connection.handles.client(), error_place()
    place = handle_place("farcall_data **", lib.farcall_data_free)
    used = (client, slot, shape, strides, array, options, named)
    check(interruptible(lib.farcall_put, client[0], slot, options, place, error, used=used), error)
    return Data(connection, place, None)


def _array_of(given: Any) -> Tuple[Any, int]:
    """An array of a type that data may have, and the number of that."""
    value = value_of(given)
    try:
        array = value if isinstance(value, np.ndarray) else np.asarray(value)
    except _errors.Error:
        raise
    except Exception as error:
        message = f"no array can be made of this {type(given).__name__}: {error}"
        raise _wrong(message, "pass a NumPy array of numbers") from error
    if isinstance(array, np.ma.MaskedArray):
        raise _wrong("data cannot be a masked array", "give all elements a value: .filled(0)")
    array = array if array.ndim else array.reshape(1)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    for number, dtype in _TYPES.items():
        if dtype == array.dtype:
            return array, number
    instead = _INSTEAD.get(array.dtype.char)
    advice = f'convert it: .astype("{instead}")' if instead else "pass an array of numbers"
    if array.dtype.char == "?":
        advice = 'convert it: .astype("u1") for a bool of C, .astype("i4") for a logical'
    of = "" if value is array else f", as this {type(given).__name__} has them"
    raise _wrong(f"data cannot have elements of {array.dtype}{of}", advice)


def seconds_or_none(operation: str, given: Any, what: str = "a timeout") -> Optional[float]:
    """A time in seconds, where one is given."""
    if given is None:
        return None
    return seconds(operation, given, "give seconds above 0, or None", what)


def find(connection: Connection, wanted: object) -> Data:
    """Data by its id."""
    if not isinstance(wanted, str) or "\0" in wanted:
        raise _errors.make(
            _errors.WrongType, "find data", f"data is named by the str of its id, not by {wanted!r}"
        )
    client, error = connection.handles.client(), error_place()
    digits = ffi.new("char[]", wanted.encode("utf-8", "replace"))
    place = handle_place("farcall_data **", lib.farcall_data_free)
    used = (client, digits)
    check(interruptible(lib.farcall_find_data, client[0], digits, place, error, used=used), error)
    return Data(connection, place, None)


def listed(connection: Connection) -> List[DataState]:
    """This user's data."""
    client, error = connection.handles.client(), error_place()
    place = handle_place("char **", lib.farcall_text_free)
    check(interruptible(lib.farcall_data_list, client[0], place, error, used=(client,)), error)
    found = json.loads(ffi.string(place[0]))
    return [
        DataState(*(tuple(one[name]) if name == "extents" else one[name] for name in one))
        for one in found
    ]


def data_options(options: Dict[str, Any], call: Prepared) -> Tuple[Any, Optional[float]]:
    """The options `stay`, as the core wants it, and `lease` of a call."""
    stay = _stay_text(options.get("stay"), call)
    lease = call.seconds_of(options.get("lease"), "a lease")
    if lease is not None and stay is None:
        raise call.wrong("a lease is for results that stay", "give stay=True, too")
    has_data = stay is not None or any(one.kind == DATA for one in call.filler.slots)
    if has_data and call.keep is not None:
        message = "a kept call survives its server, and data does not"
        raise call.wrong(message, "pass arrays, and leave stay out; or leave keep out")
    return stay, lease


def _stay_text(given: Any, call: Prepared) -> Any:
    if given is None or given is False:
        return None
    if given is True:
        return ffi.new("char[]", b"*")
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, (list, tuple, set, frozenset)) or not all(
        isinstance(name, str) and name and "," not in name for name in names
    ):
        raise call.wrong(
            f"stay={given!r} is neither True nor names of results", "give True, a name, or a list"
        )
    found = (call.interface.find(name) for name in names)
    names = [name if one is None else one.name for name, one in zip(names, found)]
    return ffi.new("char[]", ",".join(names).encode("utf-8", "replace"))


def _wrong(message: str, advice: str) -> _errors.Error:
    return _errors.make(_errors.WrongType, "put data", message, advice)
