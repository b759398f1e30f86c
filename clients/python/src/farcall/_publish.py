"""What a program has its server publish: a file, a module, or a function that it has just
written."""

from __future__ import annotations

import concurrent.futures
import inspect
import json
import linecache
import os
import re
import types
import warnings
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from . import _errors
from ._connection import Connection, seconds
from ._library import check, error_place, ffi, handle_place, lib, text
from ._sources import Refused, Sources

# How often the thread that waits looks for an interrupt.
_SLICE_SECONDS = 0.1
_OPERATION = "publish"
_LEFT_OUT = re.compile(r": (?P<name>\w+) is left out: (?P<why>.*)")


class Sent(NamedTuple):
    """What goes to the server."""

    # The file, or where a file with this source would lie.
    path: str
    source: Optional[str]
    # The function that is published alone.
    function: Optional[str]
    # The file that it was written in, whose lines are its own.
    written_in: Optional[str] = None


def sent(what: Any) -> Sent:
    """What is to be sent of a file, a module or a function."""
    if isinstance(what, (str, os.PathLike)):
        return Sent(os.path.abspath(os.fspath(what)), None, None)
    if inspect.ismodule(what):
        return Sent(_file_of(what), None, None)
    if callable(what) and inspect.isfunction(inspect.unwrap(what)):
        # As it is, or as functools.lru_cache and its like made it.
        return _of_function(what)
    message = f"{what!r:.100} is neither a function, nor a module, nor a file"
    raise _errors.make(_errors.WrongType, _OPERATION, message, _advice(what))


def _advice(what: Any) -> str:
    """What to publish in place of something that cannot be."""
    if inspect.isclass(what):
        name = what.__name__
        return (
            f"write a function with type hints that makes a {name} and calls its methods; a "
            "process of its own, from hold(), keeps what is in variables from call to call"
        )
    if inspect.ismethod(what):
        kind, name = type(what.__self__).__name__, what.__name__
        return f"write a function with type hints that has a {kind} and calls its {name}"
    if callable(what):
        return "write a function with type hints that calls it"
    return "pass a function of your own, an imported module, or the path of a file"


def publish(connection: Connection, what: Sent, stay: bool, timeout: Optional[float]) -> str:
    """Publishes it; the name of its module."""
    options = ffi.new("farcall_publish_options *")
    options.size, options.stay = ffi.sizeof("farcall_publish_options"), bool(stay)
    source = None if what.source is None else ffi.new("char[]", what.source.encode())
    options.source = ffi.NULL if source is None else source
    known_as = None if what.written_in is None else ffi.new("char[]", os.fsencode(what.written_in))
    options.known_as = ffi.NULL if known_as is None else known_as
    if timeout is not None:
        advice = "give seconds above 0, or None"
        options.timeout_seconds = seconds(_OPERATION, timeout, advice) or 0.0
    client = connection.handles.client()
    place, error = handle_place("char **", lib.farcall_text_free), error_place()
    path = os.fsencode(what.path)
    status = _waited(lambda: lib.farcall_publish(client[0], path, options, place, error))
    check(status, error)
    connection.forget_all()
    reports: List[Dict[str, Any]] = json.loads(text(place[0]) or "[]")
    for report in reports:
        _note_left_out(connection, report["module"], report["warnings"])
        if report["warnings"].strip():
            warnings.warn(report["warnings"].strip(), stacklevel=5)
    return str(reports[0]["module"]) if reports else ""


def _note_left_out(connection: Connection, module: str, said: str) -> None:
    """Keeps why functions of a module are no routines, for who calls one later."""
    connection.left_out[module] = {
        found["name"]: found["why"] for found in map(_LEFT_OUT.search, said.splitlines()) if found
    }


def _waited(work: Callable[[], int]) -> int:
    """Does it in a thread of its own, so that Ctrl-C need not wait for the server's compilers."""
    executor = concurrent.futures.ThreadPoolExecutor(1, "farcall publish")
    try:
        done = executor.submit(work)
        while not concurrent.futures.wait([done], _SLICE_SECONDS).done:
            pass
        return done.result()
    finally:
        executor.shutdown(wait=False)


def _file_of(module: types.ModuleType) -> str:
    file = getattr(module, "__file__", None)
    if file is None or not file.endswith(".py"):
        message = f"the module {module.__name__} has no Python file"
        raise _errors.make(
            _errors.InvalidArgument, _OPERATION, message, "publish a module that you have written"
        )
    return os.path.abspath(file)


def _refused(function: Any, message: str, advice: str) -> _errors.Error:
    facts = {"function": function.__qualname__}
    return _errors.make(_errors.InvalidArgument, _OPERATION, message, advice, **facts)


def _of_function(function: Any) -> Sent:
    """Its source, and that of all that it needs of its module."""
    name = function.__name__
    if not name.isidentifier():
        raise _refused(function, "it has no name", "write it with def")
    inner = inspect.unwrap(function)
    if inner.__closure__ or "<locals>" in inner.__qualname__.rpartition(".")[0]:
        raise _inside(function, inner)
    if function.__qualname__ != name:
        raise _refused(function, "it is a method", "write a function that calls it")
    path = _path_of(function)
    sources = Sources(_texts(function), {**inner.__globals__, name: function})
    if name not in sources.by_name or not sources.is_kept(name):
        message = "its source is not to be found"
        raise _refused(function, message, "save it in a file, and publish that")
    folder = os.path.dirname(path) if path is not None else os.getcwd()
    try:
        source = sources.closure(name)
    except Refused as refused:
        advice = "pass it as an argument, or compute it inside of the function"
        raise _refused(function, str(refused), advice) from None
    if path is not None:
        # What it says when it runs, and not only when it is published.
        source += f"__farcall_file__ = {path!r}\n"
    return Sent(os.path.join(folder, f"{name}.py"), source, name, path)


def _inside(function: Any, inner: Any) -> _errors.Error:
    """Why a function that others made is refused."""
    message = "it is defined inside of another function"
    taken = ", ".join(inner.__code__.co_freevars)
    advice = "define it at the top of your file, or of a cell"
    if taken:
        advice += f", and pass what it takes from outside as arguments: {taken}"
    return _refused(function, message, advice)


def _path_of(function: Any) -> Optional[str]:
    """The file that it was written in, if it is one."""
    file = inspect.unwrap(function).__code__.co_filename
    return os.path.abspath(file) if os.path.isfile(file) else None


def _texts(function: Any) -> List[str]:
    """The sources that a function and what it needs may stand in, the newest first: its file, or
    the cells of a notebook or an interactive IPython."""
    file = inspect.unwrap(function).__code__.co_filename
    own = "".join(linecache.getlines(file, inspect.unwrap(function).__globals__))
    if os.path.isfile(file):
        return [own]
    cells = inspect.unwrap(function).__globals__.get("In")
    entered = [cell for cell in cells if isinstance(cell, str)] if isinstance(cells, list) else []
    return [own, *reversed(entered)]
