"""A Python file as a module: which of its functions are routines, and what their interfaces are."""

from __future__ import annotations

import inspect
import linecache
import os
import sys
import traceback
import types
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

from . import _define, _fields, _forms, _signature
from ._hints import Mistake, Value

_IDL = "__farcall_idl__"


def routine(interface: str) -> Callable[[Any], Any]:
    """Publishes a function with an interface of your own: a line `Define name(…)` of the interface
    language.

        @farcall.routine("Define scale(IN int n, INOUT double x[n], IN double factor)")
        def scale(x, factor):
            x *= factor

    The function is given the IN and INOUT parameters that it has arguments for, by name, and
    returns the OUT ones in their order. INOUT arrays are written to in place.
    """

    def mark(function: Any) -> Any:
        setattr(function, _IDL, interface)
        return function

    return mark


class Published(NamedTuple):
    """A routine: its function, and how its results are checked."""

    function: Callable[..., Any]
    takes: Tuple[str, ...]
    interface: str
    results: Tuple[Value, ...] = ()
    arguments: Tuple[Value, ...] = ()
    # Arguments that are dataclasses, and the results if one is among them.
    groups: Dict[str, _fields.Fields] = {}
    gives: Optional[_fields.Fields] = None
    # Arguments that are before the `/` of a function: it takes them by position alone.
    first: Tuple[inspect.Parameter, ...] = ()

    def call(self, arguments: Dict[str, Any]) -> Any:
        """Calls the function with arguments by name."""
        by_name = dict(arguments)
        by_position = [by_name.pop(one.name, one.default) for one in self.first]
        return self.function(*by_position, **by_name)


def load(file: str, source: str) -> types.ModuleType:
    """Runs a module's source, as an import would; its folder can be imported from."""
    stem = os.path.splitext(os.path.basename(file))[0]
    module = types.ModuleType(stem)
    module.__file__ = file
    folder = os.path.dirname(file)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    sys.modules[stem] = module
    # A program without arguments, and not what this process was started with.
    sys.argv = [file]
    # What is shown of the file is what was published, whatever becomes of it.
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    return module


def published(module: types.ModuleType) -> Tuple[Dict[str, Published], Dict[str, str]]:
    """The routines of a module, by name, and what it has besides and somebody may miss, with why.

    Raises:
        Mistake: no function can be published, of the first one.
    """
    listed = getattr(module, "__all__", None)
    routines: Dict[str, Published] = {}
    left_out: Dict[str, str] = {}
    first: Optional[Mistake] = None
    for name, value in list(vars(module).items()):
        function = inspect.unwrap(value) if callable(value) else value
        own = isinstance(function, types.FunctionType) and function.__module__ == module.__name__
        wanted = name in listed if listed is not None else own and not name.startswith("_")
        interface = getattr(value, _IDL, None)
        is_function = wanted and isinstance(function, types.FunctionType)
        if interface is None and not is_function:
            continue
        if interface is None and listed is None and not _signature.has_hints(function):
            left_out[name] = "it has no type hints"
            continue
        try:
            routines[name] = (
                _hinted(value, function) if interface is None else _marked(value, interface)
            )
        except Mistake as mistake:
            # It costs itself, and not the others of its file.
            first = first or mistake
            where = "" if mistake.line is None else f" (line {mistake.line})"
            said = str(mistake).removeprefix(f"{name}: ")
            left_out[name] = f"{said}{where}; {mistake.fix}"
    if first is not None and not routines:
        raise first
    return routines, left_out


def _hinted(value: Any, function: types.FunctionType) -> Published:
    hinted = _signature.read(function)
    takes = tuple(one.name for one in hinted.arguments)
    results = tuple(_forms.bounded(one, hinted.arguments) for one in hinted.results)
    interface = _define.define(function, hinted)
    return Published(
        value, takes, interface, results, hinted.arguments, hinted.groups, hinted.gives,
        _first(value),
    )  # fmt: skip


def _first(function: Callable[..., Any]) -> Tuple[inspect.Parameter, ...]:
    parameters = inspect.signature(function).parameters.values()
    return tuple(one for one in parameters if one.kind is inspect.Parameter.POSITIONAL_ONLY)


def _marked(function: Callable[..., Any], interface: str) -> Published:
    text = interface.strip().rstrip(";")
    name = function.__name__
    if not text.startswith("Define"):
        fix = f'write @farcall.routine("Define {name}(IN int n, …)")'
        raise Mistake(
            f"{name}: its interface does not begin with Define",
            fix,
            inspect.unwrap(function).__code__.co_firstlineno,
        )
    takes = tuple(inspect.signature(function).parameters)
    description = "" if text.rstrip().endswith('"') else _define.described(function)
    define = f'{text} {description} Calls "C" {name}();'
    return Published(function, takes, define, first=_first(function))


def known_as(module: Optional[types.ModuleType], file: str) -> str:
    """What the author of a module calls its file: a function that was sent alone says where it was
    written."""
    return str(getattr(module, "__farcall_file__", file))


def located(error: BaseException, file: str) -> Tuple[str, Optional[int]]:
    """What an exception says, and the line of the file in which it arose, or led to it."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return f"{type(error).__name__}: {error.msg}", error.lineno
    lines = [
        line
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename == file
    ]
    words = str(error)
    name = type(error).__name__
    return (f"{name}: {words}" if words else name), (lines[-1] if lines else None)


def text(file: str, routines: Dict[str, Published]) -> str:
    """The interface file of a module. Marks lead mistakes to the functions that they are about."""
    stem = os.path.splitext(os.path.basename(file))[0]
    quoted = file.replace("\\", "\\\\").replace('"', '\\"')
    parts = [f"Module {stem};"]
    for one in routines.values():
        line = inspect.unwrap(one.function).__code__.co_firstlineno
        parts.append(f'# {line} "{quoted}"\n{one.interface}')
    return "\n".join(parts) + "\n"


def places() -> Dict[str, Any]:
    """This interpreter, and what it reads."""
    import sysconfig

    folders = {
        sys.prefix,
        sys.base_prefix,
        sys.exec_prefix,
        sys.base_exec_prefix,
        *sysconfig.get_paths().values(),
    }
    folders |= {entry for entry in sys.path if entry}
    package = os.path.dirname(os.path.realpath(__file__))
    from ._library import LIBRARY_NAME, find

    library = os.path.dirname(os.path.realpath(find("FARCALL_LIBRARY", "lib", LIBRARY_NAME)))
    folders |= {package, library}
    real = {os.path.realpath(folder) for folder in folders}
    return {
        "program": sys.executable,
        "readable": sorted(folder for folder in real | folders if os.path.isdir(folder)),
    }
