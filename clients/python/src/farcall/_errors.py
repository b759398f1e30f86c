"""What can go wrong: one exception class per kind of error of the core, each also a builtin one
that fits."""

from __future__ import annotations

import concurrent.futures
import functools
import os
import threading
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Tuple, Type, TypeVar

# Frames of what lies here are of no use to who called: the package, the standard library's
# futures, which `CallFuture` is one of, and what these wait in.
_OWN = (
    os.path.join(os.path.dirname(__file__), ""),
    concurrent.futures.Future.result.__code__.co_filename,
    threading.Condition.wait.__code__.co_filename,
)
_Function = TypeVar("_Function", bound=Callable[..., Any])
_Raised = TypeVar("_Raised", bound=BaseException)


class Error(Exception):
    """Any failure of Farcall. Its text says what was tried, what happened, where, and what to do
    about it.

    Attributes:
        kind: what went wrong, from a closed set: "invalid-argument", "timed-out", ...
        operation: what was tried: "call", "connect", ...
        advice: what to do about it, or None.
        retryable: nothing ran, and the same request may succeed later.
        began: the routine is known to have begun, whose call has failed; False if it did not, or
            that is unknown.
    """

    kind = "error"

    def __init__(
        self,
        message: str,
        *,
        operation: str = "",
        advice: Optional[str] = None,
        retryable: bool = False,
        began: bool = False,
    ) -> None:
        super().__init__(message)
        self.operation = operation
        self.advice = advice
        self.retryable = retryable
        self.began = began

    def __reduce__(self) -> Tuple[Any, ...]:
        # Errors cross process boundaries in pools; the keyword arguments would be lost by the
        # default.
        facts = {name: getattr(self, name) for name in _FACTS}
        return (_rebuild, (type(self), str(self), facts))

    def _render_traceback_(self) -> List[str]:
        return _rendered(self)


# What an error knows beside its text.
_FACTS = ("operation", "advice", "retryable", "began")


def _rebuild(kind: Type[Error], message: str, facts: Dict[str, Any]) -> Error:
    return kind(message, **facts)


class InvalidArgument(Error, ValueError):
    """An argument does not fit the interface: count, type, rank, size, order or value."""

    kind = "invalid-argument"


class WrongType(InvalidArgument, TypeError):
    """An argument is of a type that does not fit: an `InvalidArgument` that is also a
    `TypeError`."""


class NotFound(Error, AttributeError, LookupError):
    """No such routine, module, parameter or file. An `AttributeError`, so that `hasattr`
    answers."""

    kind = "not-found"


class Ambiguous(Error, AttributeError, LookupError):
    """Several modules publish the name."""

    kind = "ambiguous"


class PermissionDenied(Error, PermissionError):
    """Another user's server, or a wrong token."""

    kind = "permission-denied"


class Unreachable(Error, ConnectionError):
    """Nobody listens at the address."""

    kind = "unreachable"


class ConnectionLost(Error, ConnectionError):
    """The connection ended while something was under way, or was closed before."""

    kind = "connection-lost"


class ProtocolError(Error):
    """The server broke the wire protocol."""

    kind = "protocol"


class VersionMismatch(Error):
    """The server speaks another version."""

    kind = "version"


class LimitExceeded(Error):
    """A named limit of the server or of the interface would be exceeded."""

    kind = "limit-exceeded"


class TimedOut(Error, TimeoutError):
    """The time for the call was over."""

    kind = "timed-out"


class Cancelled(Error):
    """The call was cancelled."""

    kind = "cancelled"


class RoutineCrashed(Error, RuntimeError):
    """The routine ended by a signal; the text has the last lines that it wrote to stderr."""

    kind = "routine-crashed"


class RoutineExited(Error, RuntimeError):
    """The routine called exit(); the text has the status and the last lines that it wrote to
    stderr."""

    kind = "routine-exited"


class RoutineFailed(Error, RuntimeError):
    """The routine ran and reported failure itself."""

    kind = "routine-failed"


class InterfaceChanged(Error):
    """The routine was published again: look it up again."""

    kind = "interface-changed"


class InvalidSource(Error):
    """An interface file or a manifest with mistakes in it."""

    kind = "invalid-source"


class Unavailable(Error):
    """A library, symbol, compiler or program is missing."""

    kind = "unavailable"


class ShuttingDown(Error, ConnectionError):
    """The server is going away."""

    kind = "shutting-down"


class SystemFailure(Error, OSError):
    """A system call failed."""

    kind = "system"


class InternalError(Error):
    """A broken invariant of Farcall itself: please report it."""

    kind = "internal"


class Damaged(Error):
    """A file changed while it was sent, or did not arrive as it was sent: its checksum differs."""

    kind = "damaged"


# In the order of the numbers of enum farcall_status, from 1.
KINDS: Tuple[Type[Error], ...] = (
    InvalidArgument,
    NotFound,
    Ambiguous,
    PermissionDenied,
    Unreachable,
    ConnectionLost,
    ProtocolError,
    VersionMismatch,
    LimitExceeded,
    TimedOut,
    Cancelled,
    RoutineCrashed,
    RoutineExited,
    RoutineFailed,
    InterfaceChanged,
    InvalidSource,
    Unavailable,
    ShuttingDown,
    SystemFailure,
    InternalError,
    Damaged,
)


# Tracebacks name a class by the name that programs import it by.
for _kind in (Error, WrongType, *KINDS):
    _kind.__module__ = __package__ or "farcall"


def class_of(number: int) -> Type[Error]:
    """The class for a number of enum farcall_status; `Error` itself for one that a later library
    has."""
    return KINDS[number - 1] if 1 <= number <= len(KINDS) else Error


def make(
    kind: Type[Error], operation: str, message: str, advice: str = "", **context: object
) -> Error:
    """An error met on this side, in the words of the core: `operation: message (key: value);
    advice`."""
    facts: Dict[str, object] = {key: value for key, value in context.items() if value is not None}
    text = f"{operation}: {message}"
    if facts:
        text += " (" + ", ".join(f"{key}: {value}" for key, value in facts.items()) + ")"
    if advice:
        text += "; " + advice
    return kind(text, operation=operation, advice=advice or None)


def is_property(owner: object, name: str) -> bool:
    """Whether a `__getattr__` is asked for a property of its class: Python does so when that raised
    `NotFound`, which is an AttributeError, and drops the error. Read again, it raises it again."""
    return isinstance(getattr(type(owner), name, None), property)


def shortened(error: _Raised) -> _Raised:
    """An error or an interrupt without the frames of this package in its traceback, which are of no
    use to who called; those of the caller's own functions stay. Nor does it say what it was made of
    here."""
    error.__traceback__ = _without_own(error.__traceback__)
    if isinstance(error, KeyboardInterrupt):
        error._render_traceback_ = functools.partial(_rendered, error)  # type: ignore[attr-defined]
    while error.__context__ is not None and _is_own(error.__context__.__traceback__):
        error.__context__ = error.__context__.__context__
    return error


def ends_here(function: _Function) -> _Function:
    """A function of the package that programs call: tracebacks of its errors end in their line."""

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except (Error, KeyboardInterrupt) as error:
            # pytest shows no frame that says so.
            __tracebackhide__ = True
            raise shortened(error)

    return called  # type: ignore[return-value]


def _rendered(error: BaseException) -> List[str]:
    """What IPython shows of an error: a traceback that ends in the caller's line. Its own would end
    in ours, which raises it."""
    from IPython import get_ipython  # type: ignore[import-not-found, unused-ignore]

    traceback = _without_own(error.__traceback__)
    shell: Any = get_ipython()
    lines: List[str] = shell.InteractiveTB.structured_traceback(type(error), error, traceback)
    return lines


def _is_own(step: Optional[TracebackType]) -> bool:
    """Whether an exception was caught in the package: its traceback begins where that was."""
    return step is None or step.tb_frame.f_code.co_filename.startswith(_OWN)


def _without_own(step: Optional[TracebackType]) -> Optional[TracebackType]:
    kept = []
    while step is not None:
        if not _is_own(step):
            kept.append(step)
        step = step.tb_next
    for one, following in zip(kept, [*kept[1:], None]):
        one.tb_next = following
    return kept[0] if kept else None
