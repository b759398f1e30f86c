"""Transactions: calls that are written down in a `with` block, and run at the server as one graph."""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Dict, List, NoReturn, Optional, Tuple

from . import _errors
from ._connection import FOR_EVER_SECONDS, Connection, not_portable, seconds
from ._data import Data, seconds_or_none
from ._interface import option_name
from ._library import (
    PENDING,
    SLICE_SECONDS,
    check,
    error_place,
    ffi,
    interruptible,
    lib,
    text,
)
from ._places import give_arguments_back
from ._prepared import Prepared
from ._recorded import Core, Fields, TransactionResults, lower_ranks
from ._routine import Routine
from ._timeline import Timeline, timeline_of

if TYPE_CHECKING:
    from ._server import Module, Server

_AFTER = "after"
# What to do instead of an option that calls in transactions do not have.
_INSTEAD = {
    "timeout": "give a timeout to wait() or to fetch() of a result",
    "out": "take the result behind the block",
    "inplace": "take the result behind the block",
    "keep": "give it to the transaction: server.transaction(keep=...)",
    "stay": "leave it out: results stay at the server, and are fetched when they are looked at",
    "lease": "give a keep to the transaction: server.transaction(keep=...)",
}


class Transaction:
    """Calls that run at the server as one graph: `with server.transaction() as t:`.

    In the block, `t.NAME(...)` and `t["module/name"](...)` write calls down. They take the arguments of
    any call, and results of calls before: `lu = t.dgetrf(a); x = t.dgetrs(lu.a, lu.ipiv, b)`. Arrays are
    copied as they are at that moment. `after=` names calls whose end a call waits for, though it uses none of their
    results. Nothing is sent before the end of the block; an exception in the block sends nothing.

    At the end of the block the server checks the transaction as a whole, and runs it. A result is
    fetched when it is looked at. The server keeps those that still exist at the end of the block; it
    ends the transaction with the last reference to it and its results, or with the connection, unless it has a `keep`.
    """

    def __init__(self, server: Server, keep: Any, timeout: Any) -> None:
        self._server = server
        self._connection: Connection = server._connection
        operation, advice = "begin a transaction", "give seconds above 0, or None"
        self._keep: Optional[float] = (
            None if keep is None else seconds(operation, keep, advice, "a keep") or FOR_EVER_SECONDS
        )
        self._timeout = seconds_or_none(operation, timeout)
        self._core = Core(self._connection)
        digits = ffi.new("char[33]")
        lib.farcall_transaction_id(self._core.handle(operation), digits)
        self._id = text(digits) or ""
        self._is_open = False
        self._is_done = False
        self._is_ended = False
        # The results of all calls, as long as the program has them.
        self._records: List[weakref.ref[TransactionResults]] = []
        self._routines: Dict[str, Routine] = {}

    @property
    def id(self) -> str:
        """What `Server.fetch` finds its results by, from any process of the same user."""
        return self._id

    def __enter__(self) -> Transaction:
        if self._is_done or self._is_open:
            raise self._unusable("begin a transaction")
        self._is_open = True
        return self

    @_errors.ends_here
    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._is_open, self._is_done = False, True
        if kind is None:
            self._begin()
        else:
            # Its results say so. What the block raised is not to be hidden by this.
            with contextlib.suppress(_errors.Error):
                self._end("drop a transaction")

    def _begin(self) -> None:
        handle, error = self._core.handle("begin a transaction"), error_place()
        for record in self._records:
            found = record()
            if found is not None:
                found._values.want(handle)
        self._records.clear()
        options = ffi.new("farcall_transaction_options *")
        options.size = ffi.sizeof("farcall_transaction_options")
        options.keep_seconds, options.timeout_seconds = self._keep or 0.0, self._timeout or 0.0
        used = (self._core, options, error)
        try:
            begin = lib.farcall_transaction_begin
            check(interruptible(begin, handle, options, error, used=used), error)
        except _errors.InterfaceChanged:
            for routine in self._routines.values():
                self._connection.forget(routine)
            raise
        self._core.is_begun = True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if _errors.is_property(self, name):
            return object.__getattribute__(self, name)
        return self[name]

    @_errors.ends_here
    def __getitem__(self, name: str) -> Any:
        """Any routine or module, whatever it is called."""
        return _named(self, self._server[name])

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *(one for one in self._server if one.isidentifier())})

    def __reduce__(self) -> NoReturn:
        raise not_portable("a transaction")

    def __repr__(self) -> str:
        state = "being written down" if self._is_open else "not begun"
        if self._core.is_begun:
            state = "ended" if self._is_ended else "begun"
        return f"<farcall.Transaction {self._id[:8]} at {self._connection.address}: {state}>"

    @property
    def done(self) -> bool:
        """Whether all calls have ended; asks the server."""
        handle, error, done = self._begun("ask for a transaction"), error_place(), ffi.new("int *")
        used = (self._core, done)
        check(interruptible(lib.farcall_transaction_done, handle, done, error, used=used), error)
        return bool(done[0])

    @_errors.ends_here
    def wait(self, *, timeout: Optional[float] = None) -> None:
        """Waits until all calls have ended, for at most `timeout` seconds.

        Raises:
            TimedOut: they have not by then, and go on.
            RoutineCrashed and others: what the first call that failed did so with.
        """
        limit = seconds_or_none("wait for a transaction", timeout)
        end = None if limit is None else time.monotonic() + limit
        while True:
            handle, error = self._begun("wait for a transaction"), error_place()
            left = SLICE_SECONDS if end is None else end - time.monotonic()
            pause = max(0.0, min(left, SLICE_SECONDS))
            if check(lib.farcall_transaction_wait(handle, pause, error), error) != PENDING:
                return
            if left <= SLICE_SECONDS and end is not None:
                raise _errors.make(
                    _errors.TimedOut,
                    "wait for a transaction",
                    "not all of its calls have ended, and they go on",
                    "wait again, or raise timeout=; timeline() shows how far it is",
                    timeout=f"{limit:g} s",
                )

    @_errors.ends_here
    def timeline(self) -> Timeline:
        """When and where its calls ran, so far."""
        self._begun("read a timeline")
        # The server knows nothing of an empty one.
        return Timeline([]) if not self._routines else timeline_of(self._connection, self._id)

    @_errors.ends_here
    def end(self) -> None:
        """Ends it: calls that are open are cancelled, and its results are deleted."""
        self._begun("end a transaction")
        self._is_ended = True
        self._end("end a transaction")

    def _end(self, operation: str) -> None:
        handle, error = self._core.handle(operation), error_place()
        end = lib.farcall_transaction_end
        check(interruptible(end, handle, error, used=(self._core,)), error)

    def _begun(self, operation: str) -> Any:
        """The core's handle, of a transaction that has begun."""
        if not self._core.is_begun:
            raise self._unusable(operation)
        return self._core.handle(operation)

    def _unusable(self, operation: str) -> _errors.Error:
        if self._is_open:
            message, advice = "its block has not ended", "do it behind the block"
        elif self._core.is_begun:
            message = "the transaction was ended" if self._is_ended else "the transaction has begun"
            advice = "write another one down: with server.transaction() as t"
        elif self._is_done:
            message = "the transaction was not begun: its block ended with an exception"
            advice = "write it down again: with server.transaction() as t"
        else:
            message, advice = (
                "it is written down in a block",
                "write: with server.transaction() as t",
            )
        return _errors.make(
            _errors.InvalidArgument, operation, message, advice, transaction=self._id
        )

    def _call(
        self, routine: Routine, arguments: Tuple[Any, ...], named: Dict[str, Any]
    ) -> TransactionResults:
        """Writes a call down."""
        if not self._is_open:
            raise self._unusable("add a call to a transaction")
        after = self._calls(routine, named.pop(option_name(_AFTER, routine._interface.names), ()))
        _refuse_options(routine, {**routine._defaults, **named})
        prepared = Prepared(routine, arguments, named)
        ranks, interface = lower_ranks(prepared), prepared.interface
        memory, count = prepared.take_memory(), len(interface.parameters)
        number, error = ffi.new("uint32_t *"), error_place()
        before = ffi.new("uint32_t[]", after)
        status = lib.farcall_transaction_call(
            self._core.handle("add a call to a transaction"),
            routine._handle(),
            memory.arguments,
            count,
            before,
            len(after),
            number,
            error,
        )
        give_arguments_back(interface, memory)
        check(status, error)
        self._routines[routine.name] = routine
        fields = Fields(self._core, routine.name, interface, number[0], ranks)
        results = TransactionResults(fields, number[0], routine.name)
        self._records.append(weakref.ref(results))
        return results

    def _calls(self, routine: Routine, after: Any) -> List[int]:
        """The numbers of the calls that another one waits for."""
        if after is None:
            return []
        is_one = isinstance(after, (TransactionResults, Data)) or not isinstance(after, Iterable)
        numbers = []
        for one in (after,) if is_one else after:
            made = getattr(one, "_made", None)
            fields = one.__dict__.get("_values") if isinstance(one, TransactionResults) else None
            if made is not None and one._of is self._core:
                numbers.append(made.call)
            elif isinstance(fields, Fields) and fields._core is self._core:
                numbers.append(one._call)
            else:
                raise _errors.make(
                    _errors.WrongType,
                    "add a call to a transaction",
                    f"{_AFTER} has {type(one).__name__}, which no call of this transaction gave",
                    "give what calls before gave: after=[first, second]",
                    routine=routine.name,
                )
        return numbers


def _refuse_options(routine: Routine, named: Dict[str, Any]) -> None:
    for name, value in named.items():
        option = routine._options.get(name)
        if option is not None and value is not None and value is not False:
            raise _errors.make(
                _errors.WrongType,
                "add a call to a transaction",
                f"{name}= is no option of calls in a transaction",
                _INSTEAD.get(option, "leave it out, or make this call outside of the transaction"),
                routine=routine.name,
            )


def _named(transaction: Transaction, found: Any) -> Any:
    """What a name stands for in a transaction."""
    from ._server import Module

    if isinstance(found, Routine):
        return Call(transaction, found)
    if isinstance(found, Module):
        return CallsOfModule(transaction, found)
    raise _errors.make(
        _errors.WrongType,
        "add a call to a transaction",
        f"{found!r} makes objects, and a transaction has none",
        "make them, and call their methods, outside of the transaction",
    )


class Call:
    """A routine of a server, whose calls are written down in a transaction."""

    def __init__(self, transaction: Transaction, routine: Routine) -> None:
        self._transaction, self._routine = transaction, routine
        self.__name__, self.__doc__ = routine.__name__, routine.__doc__
        self.__signature__ = routine.__signature__

    def __repr__(self) -> str:
        return repr(self._routine)

    @_errors.ends_here
    def __call__(self, /, *arguments: Any, **named: Any) -> TransactionResults:
        """Writes a call down: arguments are those of any call, and results of calls before."""
        return self._transaction._call(self._routine, arguments, named)


class CallsOfModule:
    """A module of a server, whose routines are called in a transaction: `t.lapack.dgetrf(a)`."""

    def __init__(self, transaction: Transaction, module: Module) -> None:
        self._transaction, self._module = transaction, module

    def __repr__(self) -> str:
        return repr(self._module)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if _errors.is_property(self, name):
            return object.__getattribute__(self, name)
        return self[name]

    @_errors.ends_here
    def __getitem__(self, name: str) -> Any:
        """Any of its routines."""
        return _named(self._transaction, self._module[name])

    @_errors.ends_here
    def __call__(self, /, *arguments: Any, **named: Any) -> TransactionResults:
        """Calls the routine of the same name."""
        return self._transaction._call(self._module._own_routine(), arguments, named)
