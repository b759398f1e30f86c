"""Types of a server's routines for editors and type checkers: `python -m farcall.stubs ADDRESS >
catalogue.pyi`.

The stub has a class `Server` whose attributes are the server's modules and routines, each with its
own signature, results and page. A program takes its connection for one:

    if TYPE_CHECKING:
        from catalogue import Server
    server = cast("Server", farcall.connect(address))
"""

from __future__ import annotations

import argparse
import inspect
import keyword
import os
import re
import sys
import textwrap
from typing import Any, Collection, Dict, List, Optional, Sequence

from ._errors import Error, NotFound, make
from ._interface import CHAR, STRUCT, Interface, Parameter, python_name
from ._objects import Object
from ._connect import connect
from ._server import Module, Server

# Names of the module begin with an underscore: no attribute of a class can hide them.
_HEADER = '''"""Routines of {address}, as `python -m farcall.stubs` found them."""

import builtins as _b
import os as _os
import pathlib as _pathlib
import typing as _t

import farcall as _farcall
import numpy as _np
import numpy.typing as _npt

class _Tensor(_t.Protocol):
    def __dlpack__(self, **how: _t.Any) -> _t.Any: ...
    def __dlpack_device__(self) -> _t.Any: ...

_Whole = _t.Union[_t.SupportsIndex, _np.bool_]
_Real = _t.Union[_b.float, _Whole, _np.floating[_t.Any]]
_Complex = _t.Union[_b.complex, _Real, _np.complexfloating[_t.Any, _t.Any]]
_Text = _t.Union[_b.str, _b.bytes, _b.bytearray]
_Path = _t.Union[_b.str, _os.PathLike[_b.str]]
_File = _t.Union[_Path, _b.bytes, _b.bytearray, _b.memoryview]
_Array = _t.Union[_npt.ArrayLike, _Tensor]
_Place = _npt.NDArray[_t.Any]
_Out = _t.Union[_t.Dict[_b.str, _t.Any], _t.Sequence[_t.Optional[_Place]], _Place]

# What has the names that are listed here, and not any name.
class _Results(_farcall.Results):
    __getattr__: None  # type: ignore

class _Module(_farcall.Module):
    __getattr__: None  # type: ignore

class _Server(_farcall.Server):
    __getattr__: None  # type: ignore

class _Class(_farcall.Class):
    __getattr__: None  # type: ignore

class _Object(_farcall.Object):
    __getattr__: None  # type: ignore
'''
_OPTIONS = {
    "timeout": "_t.Optional[_b.float]",
    "run_timeout": "_t.Optional[_b.float]",
    "out": "_t.Optional[_Out]",
    "inplace": "_b.bool",
    "on_output": "_t.Union[None, _t.Callable[[_farcall.Printed], _t.Any], _t.TextIO]",
    "progress": "_t.Union[None, _b.bool, _t.Callable[[_farcall.Progress], _t.Any]]",
    "keep": "_t.Optional[_b.float]",
    "label": "_t.Optional[_b.str]",
    "at": "_t.Optional[_b.str]",
    "ranks": "_t.Optional[_b.int]",
    "cores": "_t.Optional[_b.int]",
    "memory": "_t.Optional[_b.str]",
    "gpus": "_t.Optional[_b.int]",
    "wall_time": "_t.Union[None, _b.float, _b.str]",
}
# What every class understands, and one that takes nothing else.
_MADE_WITH = {
    "lease": "_t.Optional[_b.float]",
    "timeout": "_t.Optional[_b.float]",
    "detached": "_b.bool",
    "ranks": "_t.Optional[_b.int]",
    "cores": "_t.Optional[_b.int]",
    "memory": "_t.Optional[_b.str]",
    "gpus": "_t.Optional[_b.int]",
    "wall_time": "_t.Union[None, _b.float, _b.str]",
}
_MADE_ALONE = ", ".join(
    ["self", "/", "*"] + [f"{name}: {kind} = ..." for name, kind in _MADE_WITH.items()]
)
_NUMBERS = {"i": "_Whole", "u": "_Whole", "f": "_Real", "c": "_Complex"}
_RESULTS = {"i": "_b.int", "u": "_b.int", "f": "_b.float", "c": "_b.complex"}
# What a result must not be called without the checker being told.
_OF_RESULTS = ("times", "server", "values", "items")


def stub(server: Server, modules: Collection[str] = ()) -> str:
    """The text of a stub file for a server's routines, or for those of some modules.

    Raises:
        NotFound: the server has no module of that name.
    """
    listed = server._connection.listed(fresh=True)
    published = {one.get("module", "") for one in listed}
    for module in modules:
        if module not in published:
            names = ", ".join(sorted(published)) or "none"
            raise make(
                NotFound,
                "write a stub",
                f'no module is called "{module}"',
                f"the server's modules: {names}",
            )
    listed = [one for one in listed if not modules or one.get("module", "") in modules]
    return _Writer(server.address, listed).text()


class _Writer:
    """Writes the classes of all routines, then those of the modules and of the server that have
    them."""

    def __init__(self, address: str, listed: Sequence[Dict[str, Any]]) -> None:
        self.parts = [_HEADER.format(address=_escaped(address))]
        # Names of classes by what they are of. The header's are taken.
        self.classes: Dict[str, str] = {
            name: name for name in re.findall(r"\b_[A-Za-z]\w*", _HEADER)
        }
        # Full names of the routines of each module, by bare name.
        self.modules: Dict[str, Dict[str, Interface]] = {}
        for described in listed:
            interface = Interface(described)
            self.modules.setdefault(described.get("module", ""), {})[interface.name] = interface

    def text(self) -> str:
        attributes: Dict[str, str] = {}
        bare: Dict[str, List[str]] = {}
        for module in sorted(self.modules):
            for name, interface in sorted(self.modules[module].items()):
                self._routine(interface)
            for name, kind in self._attributes_of(module).items():
                bare.setdefault(name, []).append(kind)
            attributes[module] = self._module(module)
        for name, classes in bare.items():
            # What several modules have goes by its full name only, and a module goes before a
            # routine.
            if len(classes) == 1:
                attributes.setdefault(name, classes[0])
        lines = ["class Server(_Server):", '    """Cast a connection to this."""', ""]
        lines += _attributes(attributes, dir(Server))
        self.parts.append("\n".join(lines) + "\n")
        return "\n".join(self.parts)

    def _attributes_of(self, module: str) -> Dict[str, str]:
        """What a module has, by name: classes in place of their methods."""
        attributes: Dict[str, str] = {}
        classes: Dict[str, Dict[str, Interface]] = {}
        for name, interface in sorted(self.modules[module].items()):
            of, dot, method = name.partition(".")
            if dot:
                classes.setdefault(of, {})[method] = interface
            else:
                attributes[name] = self.classes[interface.full_name]
        for of, methods in classes.items():
            known = self.classes.get(f"{module}/{of}/")
            attributes[of] = known or self._server_class(module, of, methods)
        return attributes

    def _server_class(self, module: str, of: str, methods: Dict[str, Interface]) -> str:
        """A class of the server's, and its objects."""
        kind, made = self._class(f"{module}/{of}/"), self._class(f"{module}/{of}/object")
        lines = [f"class {made}(_Object):", f'    def __enter__(self) -> "{made}": ...']
        listed = {
            name: self.classes[one.full_name]
            for name, one in methods.items()
            if not name.startswith("_")
        }
        lines += _attributes(listed, dir(Object))
        self.parts.append("\n".join(lines) + "\n")
        begins = methods.get("_initialize")
        given = _arguments(begins, _MADE_WITH) if begins is not None else _MADE_ALONE
        lines = [f"class {kind}(_Class):"] + _docstring(
            f"The class {module}/{of}." if begins is None else _page(begins)
        )
        self.parts.append("\n".join(lines + [f"    def __call__({given}) -> {made}: ..."]) + "\n")
        return kind

    def _class(self, name: str) -> str:
        """A name for a class that no other has."""
        wanted = "_" + re.sub(r"\W", "_", name)
        while wanted in self.classes.values():
            wanted += "_"
        self.classes[name] = wanted
        return wanted

    def _routine(self, interface: Interface) -> str:
        name = self._class(interface.full_name)
        self._results(interface)
        lines = [f"class {name}(_farcall.Routine):"]
        lines += _docstring(_page(interface))
        lines += self._methods(interface)
        self.parts.append("\n".join(lines) + "\n")
        return name

    def _results(self, interface: Interface) -> None:
        """The classes of a routine's results and of its future."""
        results, future = (
            self._class(f"{interface.full_name}/{one}") for one in ("results", "future")
        )
        fields = {
            one.name: _result_type(one)
            for one in interface.outputs
            if _is_attribute(one.name, ("keys",)) and one.name not in interface.result_paths
        }
        records = {
            path[0].removesuffix("[]") for path in interface.result_paths.values()
        }
        names = (name for name in sorted(records) if _is_attribute(name, ("keys",)))
        fields.update({name: "_t.Any" for name in names})
        if len(interface.outputs) == 1 and not records:
            fields.setdefault("value", _result_type(interface.outputs[0]))
        lines = [f"class {results}(_Results):"]
        for name, kind in fields.items():
            lines.append(
                f"    {name}: {kind}"
                + ("  # type: ignore[assignment]" if name in _OF_RESULTS else "")
            )
        if not fields:
            lines.append("    ...")
        lines += ["", f"class {future}(_farcall.CallFuture):"]
        lines.append(
            f"    def result(self, timeout: _t.Optional[_b.float] = ...) -> {results}: ..."
        )
        self.parts.append("\n".join(lines) + "\n")

    def _module(self, module: str) -> str:
        name = self._class(module + "/")
        routines = self.modules[module]
        own = routines.get(module)
        lines = [f"class {name}(_Module):"]
        lines += _docstring(
            f"The module {module}."
            if own is None
            else f"The module {module}, and its routine.\n\n{_page(own)}"
        )
        if own is not None:
            # Of the routine of the same name, which nothing else stands for.
            lines += self._methods(own, without=routines)
        attributes = self._attributes_of(module)
        self.parts.append("\n".join(lines + _attributes(attributes, dir(Module))) + "\n")
        return name

    def _methods(self, interface: Interface, without: Collection[str] = ()) -> List[str]:
        """How it is called, in its three forms."""
        given = _arguments(interface)
        results, future = (
            self.classes[f"{interface.full_name}/{one}"] for one in ("results", "future")
        )
        forms = {
            "__call__": ("def", results),
            "submit": ("def", future),
            "aio": ("async def", results),
        }
        return [
            f"    {how} {name}({given}) -> {kind}: ..."
            for name, (how, kind) in forms.items()
            if name not in without
        ]


def _is_attribute(name: str, taken: Collection[str]) -> bool:
    return (
        name.isidentifier()
        and not keyword.iskeyword(name)
        and not name.startswith("_")
        and name not in taken
    )


def _attributes(classes: Dict[str, str], taken: Collection[str]) -> List[str]:
    """Attributes, and what only `[...]` reaches."""
    lines = [
        f"    {name}: {kind}"
        for name, kind in sorted(classes.items())
        if _is_attribute(name, taken)
    ]
    others = [
        (name, kind) for name, kind in sorted(classes.items()) if not _is_attribute(name, taken)
    ]
    for name, kind in others:
        lines.append("    @_t.overload")
        lines.append(f"    def __getitem__(self, name: _t.Literal[{name!r}]) -> {kind}: ...")
    if others:
        lines += ["    @_t.overload", "    def __getitem__(self, name: _b.str) -> _t.Any: ..."]
    return lines


def _arguments(interface: Interface, options: Optional[Dict[str, str]] = None) -> str:
    """How it is called; with these options, if it is given any, in place of a call's."""
    by_name = {python_name(one.name): one for one in interface.visible}
    # A parameter may be called like the object.
    written = ["this" if "self" in by_name else "self", "/"]
    listed = list(interface.signature().parameters.values())
    keywords = [one for one in listed if one.kind == inspect.Parameter.KEYWORD_ONLY]
    for one in listed:
        parameter = by_name.get(one.name)
        if parameter is None and options is not None and one.name not in interface.groups:
            continue
        if one in keywords[:1]:
            written.append("*")
        if parameter is None:
            kind = _OPTIONS.get(one.name.rstrip("_"), "_t.Any")
        else:
            kind = _argument_type(parameter, one.default is not inspect.Parameter.empty)
        is_required = one.default is inspect.Parameter.empty
        written.append(f"{one.name}: {kind}" + ("" if is_required else " = ..."))
    if options is not None:
        written += ["*"] if "*" not in written else []
        return ", ".join(written + [f"{name}: {kind} = ..." for name, kind in options.items()])
    places = [python_name(one.name) for one in interface.array_outputs if not one.is_input]
    written += [f"{name}: _t.Optional[_Place] = ..." for name in places]
    files = [python_name(one.name) for one in interface.outputs if one.is_file and not one.is_input]
    written += [f"{name}: _t.Optional[_Path] = ..." for name in files]
    return ", ".join(written)


def _argument_type(parameter: Parameter, may_be_left_out: bool) -> str:
    kind = _given_type(parameter)
    return (
        f"_t.Optional[{kind}]"
        if may_be_left_out
        or parameter.is_conditional
        or parameter.may_be_unread
        or parameter.is_text
        else kind
    )


def _given_type(parameter: Parameter) -> str:
    if parameter.is_callback:
        # How many arguments it takes is up to it.
        return "_t.Optional[_t.Callable[..., _t.Any]]"
    if parameter.element == STRUCT:
        return "_t.Any"
    if parameter.is_text:
        one = "_File" if parameter.type == "filename" else "_Text"
        return f"_t.Iterable[_t.Optional[{one}]]" if parameter.is_array else one
    if parameter.is_array:
        return "_t.Union[_Array, _Text]" if parameter.element == CHAR else "_Array"
    if parameter.element == CHAR:
        return "_Text"
    return _NUMBERS[parameter.dtype.kind]


def _result_type(parameter: Parameter) -> str:
    """What comes back for it; None if the routine did not refer to it, or gave no text."""
    if parameter.is_file:
        return "_t.Union[_pathlib.Path, _b.bytes, None]"
    if parameter.is_text:
        one = "_t.Union[_b.str, _b.bytes, None]"
        return one if parameter.is_single else f"_t.List[{one}]"
    if parameter.element == STRUCT:
        kind = "_np.void" if parameter.is_single else "_npt.NDArray[_np.void]"
    elif parameter.element == CHAR:
        array = "_t.Union[_b.str, _b.bytes]" if parameter.rank == 1 else "_npt.NDArray[_np.bytes_]"
        kind = "_b.str" if parameter.is_single else array
    elif parameter.is_logical:
        kind = "_np.bool_" if parameter.is_single else "_npt.NDArray[_np.bool_]"
    elif parameter.is_single:
        kind = _RESULTS[parameter.dtype.kind]
    else:
        kind = f"_npt.NDArray[_np.{parameter.dtype.name}]"
    return f"_t.Optional[{kind}]" if parameter.is_conditional else kind


def _page(interface: Interface) -> str:
    """What an editor shows of a routine."""
    lines = [interface.doc or interface.full_name, "", "Parameters, as the interface has them:"]
    return "\n".join(lines + [f"    {one.idl}" for one in interface.visible])


def _escaped(text: str) -> str:
    """For a docstring, or for one line of it."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\0", "\\0")


def _docstring(text: str) -> List[str]:
    return [textwrap.indent('"""' + _escaped(text) + '\n"""', "    ")]


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """The command: prints a stub."""
    parser = argparse.ArgumentParser(
        "python -m farcall.stubs", description="Prints a stub file for a server's routines."
    )
    parser.add_argument(
        "address", nargs="?", help="of the server; by default $FARCALL_SERVER, or a private server"
    )
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        help="an interface file, for a private server; repeatable",
    )
    parser.add_argument(
        "--module", action="append", default=[], help="only this module; repeatable"
    )
    options = parser.parse_args(arguments)
    try:
        with connect(options.address, files=options.file) as server:
            sys.stdout.write(stub(server, options.module))
        sys.stdout.flush()
    except Error as error:
        sys.exit(f"farcall: {error}")
    except BrokenPipeError:
        # Who closed the pipe has what he wanted. What is left must not be written when the
        # interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(f"farcall: write the stub: {error.strerror}")


if __name__ == "__main__":
    main()
