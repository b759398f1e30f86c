"""Results of calls in transactions: they are named while the transaction is written down, and fetched
when they are looked at behind that."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Dict, Iterator, List, NoReturn, Optional, Tuple, Union

import numpy as np

from . import _errors
from ._arguments import ARRAY, COMPLEX, INTEGER, RAW, REAL
from ._connection import Connection
from ._data import DATA, Data
from ._interface import CHAR, STRUCT, Interface, Parameter
from ._library import OK, check, error_place, handle_place, lib, taken
from ._prepared import Prepared
from ._results import Results
from ._single import Single, value_of

# enum farcall_argument_kind of one number.
_NUMBERS = (INTEGER, REAL, COMPLEX, RAW)
_OPERATION = "write a transaction down"


class Core:
    """The core's transaction: it ends at the server with the last reference to it and to its
    results, unless it is kept."""

    def __init__(self, connection: Connection) -> None:
        client, error = connection.handles.client(), error_place()
        self.connection = connection
        self._place = handle_place("farcall_transaction **", lib.farcall_transaction_free)
        self._pid = os.getpid()
        check(lib.farcall_transaction_new(client[0], self._place, error), error)
        # Whether the server has it.
        self.is_begun = False

    def handle(self, operation: str) -> Any:
        """The core's handle, which lives as long as this."""
        if self._pid != os.getpid():
            raise _errors.make(
                _errors.WrongType,
                operation,
                "the transaction belongs to the process that this one was forked from",
                "fetch its results by its id: Server.fetch(id)",
            )
        # Says why if the connection cannot be used.
        self.connection.handles.client()
        return self._place[0]


class Fetched:
    """What stands for the core's transaction where it was begun by another process."""

    is_begun = True


_Of = Union[Core, Fetched]


class TransactionResult(Data):
    """An array that a call of a transaction makes: an argument of later calls of the transaction,
    and data like any other when the transaction has begun. `numpy.asarray(r)` fetches it; `print(r)`
    does so, too."""

    def __init__(self, connection: Connection, place: Any, of: _Of, made: Made) -> None:
        super().__init__(connection, place, None)
        self._of, self._made = of, made
        if made.rank is not None:
            self.ndim = made.rank
        # As its value had it.
        self._shape: Optional[Tuple[int, ...]] = None

    @property
    def shape(self) -> Tuple[int, ...]:
        """Its extents. Those that its routine decides are known when it has run: this waits for
        that."""
        known = self._known_shape()
        if known is None and self._of.is_begun:
            self._fetch()
            known = self._known_shape()
        # Without them, this says why.
        return super().shape if known is None else known

    def _known_shape(self) -> Optional[Tuple[int, ...]]:
        if self._shape is not None or self._made.beside is not None:
            return self._shape
        extents = lib.farcall_data_extents(self._place[0])
        return tuple(extents[0 : self.ndim]) if extents else None

    def _fetch(self, timeout: Optional[float] = None) -> Any:
        value = self._made.shaped(super()._fetch(timeout))
        self._shape = value.shape
        return value

    def _described(self) -> str:
        """Its type and shape, as far as they are known here."""
        known = self._known_shape()
        return f"{self.dtype}[{'?' if known is None else ', '.join(map(str, known))}]"

    def __repr__(self) -> str:
        at = self._connection.address if self._of.is_begun else "its transaction has not begun"
        return f"<farcall.TransactionResult {self._made}: {self._described()}, {at}>"

    def __str__(self) -> str:
        return str(self._fetch()) if self._of.is_begun else repr(self)

    def pass_as(
        self, routine: str, parameter: Parameter, connection: Connection, slot: Any
    ) -> None:
        """Makes it an argument, also for one number: the core knows whether it is one."""
        is_number = parameter.element not in (0, STRUCT) and not parameter.is_array
        if not is_number or connection is not self._connection:
            super().pass_as(routine, parameter, connection, slot)
            return
        slot.kind, slot.data = DATA, self._handle()[0]


class TransactionNumber(TransactionResult, Single):
    """One number or character that a call of a transaction makes. When the transaction has begun, it is
    used like the number itself: `r + 1`, `float(r)`, `r > 0`, `f"{r:.3f}"`."""

    def __init__(self, connection: Connection, place: Any, of: _Of, made: Made) -> None:
        super().__init__(connection, place, of, made)
        self.ndim, self._shape = 0, ()
        self._number: List[Any] = []

    @property
    def _values(self) -> Any:  # type: ignore[override]
        # As an argument it is its value from then on.
        return {"value": self} if self._of.is_begun else {}

    def _one(self) -> Any:
        if not self._number:
            self._number = [self._fetch()]
        return self._number[0]

    def _only(self) -> Any:
        return self._one()

    def _fetch(self, timeout: Optional[float] = None) -> Any:
        value = Data._fetch(self, timeout).reshape(-1)[0]
        parameter = self._made.parameter
        if parameter.is_logical:
            return np.bool_(value != 0)
        return value.decode("latin-1") if parameter.element == CHAR else value.item()

    def __str__(self) -> str:
        return str(self._one()) if self._of.is_begun else repr(self)

    def _described(self) -> str:
        return repr(self._number[0]) if self._number else self._made.parameter.type

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        if copy is False:
            raise ValueError("data is fetched from its server: that is a copy")
        return np.asarray(self._one(), dtype)

    def __len__(self) -> int:
        raise TypeError("a number has no length")

    # Of several results these would mean something else.

    def __eq__(self, other: object) -> Any:
        return self._one() == value_of(other)

    def __ne__(self, other: object) -> Any:
        return self._one() != value_of(other)

    def __bool__(self) -> bool:
        return bool(self._one())

    def __hash__(self) -> int:
        return hash(self._one())

    def __format__(self, form: str) -> str:
        return format(self._one(), form)


class Made:
    """What is known of a result beside the data: its call and parameter, and how it is shown."""

    def __init__(self, routine: str, call: int, parameter: Parameter, rank: Optional[int]) -> None:
        self.routine, self.call, self.parameter, self.rank = routine, call, parameter, rank
        # The result that has its shape, of a published Python function.
        self.beside: Optional[Data] = None

    def __str__(self) -> str:
        return f"{self.parameter.name} of {self.routine} (call {self.call})"

    @property
    def is_number(self) -> bool:
        """Whether it is one number for Python."""
        return self.parameter.is_single or self.rank == 0

    def shaped(self, value: Any) -> Any:
        """The value as its caller sees it: with as many dimensions as its argument, or with those
        that its function gave it."""
        if self.beside is not None:
            extents = [int(extent) for extent in self.beside._fetch().reshape(-1)]
            return value.reshape([extent for extent in extents if extent >= 0])
        return value if self.rank is None else value.reshape(value.shape[: self.rank])


def make_result(connection: Connection, place: Any, of: _Of, made: Made) -> TransactionResult:
    """A result, by the place of its data."""
    kind = TransactionNumber if made.is_number else TransactionResult
    return kind(connection, place, of, made)


class TransactionResults(Results):
    """The results of a call in a transaction, as `farcall.Results`: each is data that is fetched when
    it is looked at behind the transaction's block. `call` is the number of the call, and `routine` its
    name."""

    _values: Any

    def __init__(self, values: Mapping[str, Any], call: int, routine: str) -> None:
        state = self.__dict__
        state["_values"] = values
        # Results of these names win over ours.
        state.update(
            (name, value)
            for name, value in (("call", call), ("routine", routine))
            if name not in values
        )
        state["_call"] = call

    def __getattr__(self, name: str) -> Any:
        if _errors.is_property(self, name):
            return object.__getattribute__(self, name)
        made = self.__dict__.get("_values")
        if isinstance(made, Fields) and name in made:
            return made[name]
        if name == "value" and len(self._values) == 1 and name not in self._values:
            return self._one()
        if name in ("times", "server", "placed") and name not in self._values:
            raise _errors.make(
                _errors.NotFound,
                "read a result",
                f"a call in a transaction has no `{name}` of its own",
                "the transaction's timeline() has them all",
            )
        return super().__getattr__(name)

    def _one(self) -> Any:
        # One number is the number itself from the start of the transaction on.
        return value_of(super()._one())

    def __copy__(self) -> TransactionResults:
        # They never change.
        return self

    def __deepcopy__(self, _: Any) -> TransactionResults:
        return self

    def __reduce__(self) -> NoReturn:
        raise _errors.make(
            _errors.WrongType,
            "pickle",
            "results of a transaction belong to the connection of this process",
            "send the transaction's id, and find them by Server.fetch(id)",
            routine=self.__dict__.get("routine"),
            call=self._call,
        )

    def __dir__(self) -> List[str]:
        return sorted({*self._values, "keys", "values", "items", "call", "routine"})

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={_shown(value)}" for name, value in self._values.items())
        return f"Results({inside})"


def _shown(value: Any) -> str:
    return value._described() if isinstance(value, TransactionResult) else repr(value)


class Fields(Mapping[str, Any]):
    """The results of one call by name. Each is made when it is asked for: most are not."""

    def __init__(
        self, core: Core, routine: str, interface: Interface, call: int, ranks: Dict[int, int]
    ) -> None:
        self._core, self._routine, self._interface = core, routine, interface
        self._call, self._ranks = call, ranks
        self._made: Dict[str, Any] = {}

    def __iter__(self) -> Iterator[str]:
        return (one.name for one in self._interface.outputs)

    def __len__(self) -> int:
        return len(self._interface.outputs)

    def __contains__(self, name: object) -> bool:
        return name in self._interface.outputs_by_name

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            parameter = self._interface.outputs_by_name.get(name)
            if parameter is None:
                raise KeyError(name)
            self._made[name] = self._make(parameter)
        return self._made[name]

    def _make(self, parameter: Parameter) -> Any:
        if not _may_stay(parameter):
            what = "text" if parameter.is_text and not parameter.is_file else parameter.type
            raise _errors.make(
                _errors.WrongType,
                "read a result",
                f"{parameter.name} is a {what}, which does not come back from a transaction",
                "make this call outside of the transaction",
                routine=self._routine,
                call=self._call,
            )
        place = self._place_of(parameter)
        if place is None:
            # The routine does not refer to it.
            return None
        made = Made(self._routine, self._call, parameter, self._ranks.get(parameter.index))
        beside = self._interface.shapes.get(parameter.index)
        beside_place = None if beside is None else self._place_of(beside)
        if beside_place is not None:
            made.beside = Data(self._core.connection, beside_place, None)
        return make_result(self._core.connection, place, self._core, made)

    def _place_of(self, parameter: Parameter) -> Any:
        """The place of the data; None where the call does not make it."""
        handle = self._core.handle("read a result")
        place, error = handle_place("farcall_data **", lib.farcall_data_free), error_place()
        status = lib.farcall_transaction_result(handle, self._call, parameter.index, place, error)
        if status == OK:
            return place
        failed = taken(status, error)
        if isinstance(failed, _errors.NotFound):
            return None
        raise failed

    def want(self, handle: Any) -> None:
        """Has the server keep all of them."""
        error = error_place()
        for parameter in self._interface.outputs:
            beside = self._interface.shapes.get(parameter.index)
            for one in (parameter, beside) if _may_stay(parameter) else ():
                if one is None:
                    continue
                if lib.farcall_transaction_want(handle, self._call, one.index, error) != OK:
                    lib.farcall_error_free(error[0])


def _may_stay(parameter: Parameter) -> bool:
    return parameter.element not in (0, STRUCT)


def lower_ranks(prepared: Prepared) -> Dict[int, int]:
    """By parameter: how many dimensions a result has for its caller, where its argument had fewer than
    the interface declares."""
    ranks: Dict[int, int] = {}
    for parameter in prepared.interface.outputs:
        if not parameter.is_input or not parameter.is_array or parameter.is_single:
            continue
        slot = prepared.filler.slots[parameter.index]
        rank = parameter.rank
        if slot.kind == ARRAY:
            rank = slot.rank
        elif slot.kind in _NUMBERS:
            rank = 0
        elif slot.kind == DATA:
            given = (one for one in prepared.filler.keep if isinstance(one, Data))
            rank = next((one.ndim for one in given if one._place[0] == slot.data), rank)
        if 0 <= rank < parameter.rank:
            ranks[parameter.index] = rank
    return ranks
