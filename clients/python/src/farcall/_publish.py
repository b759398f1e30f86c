"""What a program has its server publish: a file, a module, or a function that it has just
written."""

from __future__ import annotations

import ast
import concurrent.futures
import inspect
import json
import linecache
import os
import sys
import types
import warnings
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Set

from . import _errors
from ._connection import Connection, seconds
from ._library import check, error_place, ffi, handle_place, lib, text

# How often the thread that waits looks for an interrupt.
_SLICE_SECONDS = 0.1
_OPERATION = "publish"


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
    if inspect.isfunction(what):
        return _of_function(what)
    message = f"{what!r} is neither a function, nor a module, nor a file"
    advice = "pass a function of your own, an imported module, or the path of a file"
    raise _errors.make(_errors.WrongType, _OPERATION, message, advice)


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
        if report["warnings"].strip():
            warnings.warn(report["warnings"].strip(), stacklevel=5)
    return str(reports[0]["module"]) if reports else ""


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
    if function.__closure__ or "<locals>" in function.__qualname__.rpartition(".")[0]:
        message = "it is defined inside of another function"
        raise _refused(function, message, "define it at the top of your file, or of a cell")
    if function.__qualname__ != name:
        raise _refused(function, "it is a method", "write a function that calls it")
    path = _path_of(function)
    statements = _Statements(_texts(function))
    if name not in statements.by_name:
        message = "its source is not to be found"
        raise _refused(function, message, "save it in a file, and publish that")
    folder = os.path.dirname(path) if path is not None else os.getcwd()
    source = statements.closure(name)
    if path is not None:
        # What it says when it runs, and not only when it is published.
        source += f"__farcall_file__ = {path!r}\n"
    return Sent(os.path.join(folder, f"{name}.py"), source, name, path)


def _path_of(function: Any) -> Optional[str]:
    """The file that it was written in, if it is one."""
    file = inspect.unwrap(function).__code__.co_filename
    return os.path.abspath(file) if os.path.isfile(file) else None


def _texts(function: Any) -> List[str]:
    """The sources that a function and what it needs may stand in, the newest first: its file, or
    the cells of a notebook or an interactive IPython."""
    file = inspect.unwrap(function).__code__.co_filename
    own = "".join(linecache.getlines(file, function.__globals__))
    if os.path.isfile(file):
        return [own]
    cells = function.__globals__.get("In")
    entered = [cell for cell in cells if isinstance(cell, str)] if isinstance(cells, list) else []
    return [own, *reversed(entered)]


class _Statement(NamedTuple):
    """A statement at the top of a source: its first line, and its lines."""

    line: int
    text: str


class _Statements:
    """The statements at the top of sources, by the names that they bind: those of the first source
    that binds a name."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.by_name: Dict[str, List[_Statement]] = {}
        # Of one source alone lines can stay as they are.
        texts = list(texts)
        self._is_one = len(texts) == 1
        self._future: Set[str] = set()
        for source in texts:
            try:
                # Lines that are commands of IPython are no Python: their cell defines nothing.
                tree = ast.parse(source)
            except SyntaxError:
                continue
            found: Dict[str, List[_Statement]] = {}
            for statement in tree.body:
                self._take(source, statement, found)
            self.by_name = {**found, **self.by_name}

    def _take(self, source: str, statement: ast.stmt, found: Dict[str, List[_Statement]]) -> None:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            self._future.update(alias.name for alias in statement.names)
            return
        if _is_publication(statement):
            return
        lines = source.splitlines(keepends=True)
        decorators = getattr(statement, "decorator_list", ())
        first = min([statement.lineno, *(one.lineno for one in decorators)])
        written = _Statement(first, "".join(lines[first - 1 : statement.end_lineno]).rstrip("\n"))
        for name in _bound(statement):
            found.setdefault(name, []).append(written)

    def closure(self, name: str) -> str:
        """The source of a function with all that it needs, which publishes it alone."""
        needed: List[_Statement] = []
        self._need(name, needed, set())
        source = f"from __future__ import {', '.join(sorted(self._future))}" if self._future else ""
        for one in sorted(needed) if self._is_one else needed:
            # On the lines that they have in their file, which errors name.
            missing = one.line - 1 - source.count("\n")
            source += "\n" * max(missing, 1 if source else 0) if self._is_one else "\n\n"
            source += one.text
        return source + f"\n\n__all__ = [{name!r}]\n"

    def _need(self, name: str, needed: List[_Statement], seen: Set[str]) -> None:
        if name in seen:
            return
        seen.add(name)
        for statement in self.by_name.get(name, []):
            for other in _read(ast.parse(statement.text)):
                self._need(other, needed, seen)
            if statement not in needed:
                needed.append(statement)


def _bound(statement: ast.stmt) -> Set[str]:
    """The names that a statement at the top of a source defines."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
    if isinstance(statement, ast.Assign):
        return {name for target in statement.targets for name in _stored(target)}
    if isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        return _stored(statement.target)
    if isinstance(statement, (ast.If, ast.Try)):
        inner = [one for one in ast.walk(statement) if isinstance(one, ast.stmt)]
        return {name for one in inner if one is not statement for name in _bound(one)}
    return set()


def _is_publication(statement: ast.stmt) -> bool:
    """Whether it gives a function's name to what a server made of it: `f = server.publish(f)`. What
    others need is the function."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return False
    called, arguments = statement.value.func, statement.value.args
    published = {one.id for one in arguments if isinstance(one, ast.Name)}
    stored = {name for target in statement.targets for name in _stored(target)}
    return isinstance(called, ast.Attribute) and called.attr == "publish" and stored <= published


def _stored(target: ast.expr) -> Set[str]:
    return {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}


def _read(tree: ast.AST) -> List[str]:
    """The names that a piece of source uses, those in hints that are texts too, in their order."""
    names: Dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            names[node.id] = None
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.update(dict.fromkeys(_in_hint(node.value)))
    return list(names)


def _in_hint(hint: str) -> List[str]:
    try:
        return _read(ast.parse(hint, mode="eval")) if len(hint) < 200 else []
    except (SyntaxError, ValueError):
        return []
