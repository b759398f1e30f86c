"""Farcall: call numerical routines on another machine as if they were local.

import farcall server = farcall.connect()          # a private server; or "unix:PATH",
"tls://host:port" r = server.dgesv(A, b)              # IN and INOUT arrays in interface order; the
rest is inferred, or by name r.b, r.ipiv                         # results; A and b stay as they are
help(server.dgesv)                  # the routine's page f = server.dgesv.submit(A, b)       # a
concurrent.futures.Future server.call("lapack/dgesv", A, b, timeout=5)
"""

from ._elements import each, same
from ._errors import (
    Ambiguous,
    Cancelled,
    ConnectionLost,
    Damaged,
    Error,
    InterfaceChanged,
    InternalError,
    InvalidArgument,
    InvalidSource,
    LimitExceeded,
    NotFound,
    PermissionDenied,
    ProtocolError,
    RoutineCrashed,
    RoutineExited,
    RoutineFailed,
    ShuttingDown,
    SystemFailure,
    TimedOut,
    Unavailable,
    Unreachable,
    VersionMismatch,
    WrongType,
)
from ._data import Data, DataState
from ._executor import Executor
from ._explained import ExplainedServer, Explanation
from ._future import CallFuture
from ._keeping import KeptCall
from ._library import lib, text
from ._map import Map
from ._memory import empty, empty_like, zeros
from ._news import Printed, Progress
from ._query import Table
from ._results import Phases, Placed, Results, Times
from ._objects import Class, Handles, Object
from ._routine import Routine
from ._running import is_cancelled, progress
from ._connect import connect
from ._recorded import TransactionNumber, TransactionResult, TransactionResults
from ._server import Module, Server, running_server
from ._source import routine
from ._timeline import Timeline, TimelineRow
from ._transaction import Transaction
from ._transactions import TransactionState
from ._url import URL

__version__: str = text(lib.farcall_version()) or "unknown"

__all__ = [
    "Ambiguous",
    "CallFuture",
    "Cancelled",
    "Class",
    "ConnectionLost",
    "Damaged",
    "Data",
    "DataState",
    "Error",
    "Executor",
    "ExplainedServer",
    "Explanation",
    "Handles",
    "InterfaceChanged",
    "InternalError",
    "InvalidArgument",
    "InvalidSource",
    "KeptCall",
    "LimitExceeded",
    "Map",
    "Module",
    "NotFound",
    "Object",
    "PermissionDenied",
    "Phases",
    "Placed",
    "Printed",
    "Progress",
    "ProtocolError",
    "Results",
    "Routine",
    "RoutineCrashed",
    "RoutineExited",
    "RoutineFailed",
    "Server",
    "ShuttingDown",
    "SystemFailure",
    "Table",
    "TimedOut",
    "URL",
    "Timeline",
    "TimelineRow",
    "Times",
    "Transaction",
    "TransactionNumber",
    "TransactionResult",
    "TransactionResults",
    "TransactionState",
    "Unavailable",
    "Unreachable",
    "VersionMismatch",
    "WrongType",
    "connect",
    "each",
    "empty",
    "empty_like",
    "is_cancelled",
    "progress",
    "routine",
    "running_server",
    "same",
    "zeros",
]
