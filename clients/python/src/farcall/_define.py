"""A function as a line of the interface language, from what its hints say."""

from __future__ import annotations

import inspect
from typing import Any, Callable, List

from . import _forms
from ._hints import EXAMPLE, Hinted, Mistake, Value, found_names, names_in
from ._signature import line_of


def define(function: Callable[..., Any], hinted: Hinted) -> str:
    """The line of the interface language for a function."""
    name = function.__name__
    return (
        f'Define {name}({", ".join(_lines(function, hinted))}) {described(function)} Calls "C" '
        f'{name}();'
    )


def _lines(function: Callable[..., Any], hinted: Hinted) -> List[str]:
    """The parameters of a function, or of one that it is given; those come last."""
    values = [value for value in hinted.arguments if value.function is None]
    declared = {value.name: value for value in values}
    extents: List[str] = []
    arguments = [_numbered(value) for value in values]
    for value in arguments:
        for name in (name for extent in value.extents for name in names_in(extent)):
            if name in declared and (declared[name].rank >= 0 or declared[name].element != "int64"):
                raise _wrong(
                    function,
                    f"{value.name} has the extent {name}, which is an argument, but no int",
                )
            if name not in declared and name not in extents:
                extents.append(name)
    results = tuple(_forms.bounded(result, arguments) for result in hinted.results)
    for result in results:
        _check_result(function, result, set(extents) | set(declared))
    lines = [_size(name, arguments) for name in extents]
    for value in arguments:
        lines += [*_forms.beside(value, "IN"), _declared(value, "IN")]
    lines += [f"OUT int64 {name}" for name in found_names(results)]
    for value in results:
        lines += [*_forms.beside(value, "OUT"), _declared(value, "OUT")]
    passed = [
        (value.name, value.function) for value in hinted.arguments if value.function is not None
    ]
    return lines + [f"{name}({', '.join(_lines(function, of))})" for name, of in passed]


def _size(name: str, arguments: List[Value]) -> str:
    """The size of arguments: 0 where all of them can be left out."""
    sized = [value for value in arguments if any(name in names_in(one) for one in value.extents)]
    return f"IN int64 {name}" + (" = 0" if all(value.doc for value in sized) else "")


def _wrong(function: Callable[..., Any], message: str, fix: str = "use another name") -> Mistake:
    return Mistake(f"{function.__name__}: {message}", fix, line_of(function))


def _numbered(value: Value) -> Value:
    """An argument's open extents get names of their own."""
    extents = tuple(
        f"{value.name}_{number}" if extent == ":" else extent
        for number, extent in enumerate(value.extents, 1)
    )
    return value._replace(extents=extents)


def _check_result(function: Callable[..., Any], result: Value, known: "set[str]") -> None:
    for extent in result.extents:
        if extent == ":":
            raise _wrong(
                function,
                f"{result.name} does not say how large it is",
                'name its extents by those of the arguments, or give the most: '
                f'{EXAMPLE[:-7]}"found <= n"]',
            )
        missing = [name for name in names_in(extent) if name not in known]
        if missing:
            raise _wrong(
                function,
                f"{result.name} has the extent {extent}, and no argument says what {missing[0]} is",
            )


def _declared(value: Value, mode: str) -> str:
    found = value.found or (None,) * len(value.extents)
    extents = "".join(
        f"[{extent}:{name}]" if name else f"[{extent}]"
        for extent, name in zip(value.extents, found)
    )
    constant = "const " if extents and mode == "IN" else ""
    default = f" = {value.default}" if value.default is not None else ""
    doc = _quoted(", ".join(one for one in (value.field, value.doc) if one))
    return f"{constant}{mode} {value.element} {value.name}{extents}{default} {doc}"


def described(function: Callable[..., Any]) -> str:
    """The first line of the docstring, as a description."""
    line = (inspect.getdoc(function) or "").partition("\n")[0].strip()
    return _quoted(line)


def _quoted(text: str) -> str:
    """A description in the interface language; nothing of nothing."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if text else ""
