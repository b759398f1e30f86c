"""A Python function as a routine: what it takes and gives, by its type hints."""

from __future__ import annotations

import collections.abc
import inspect
import re
import typing
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import _fields, _hints
from ._fields import Fields
from ._hints import EXAMPLE, Hinted, Mistake, Value, found_names

# What stands for the type of a function of the caller's.
_FUNCTION = "function"


def has_hints(function: Callable[..., Any]) -> bool:
    """Whether somebody meant it to have an interface."""
    return bool(getattr(function, "__annotations__", None))


def read(function: Callable[..., Any]) -> Hinted:
    """What the hints of a function say.

    Raises:
        Mistake: a hint is missing, or says nothing that can travel.
    """
    name = function.__name__
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception as error:
        raise Mistake(
            f"the hints of {name} cannot be read: {error}",
            "import what they name",
            line_of(function),
        ) from error
    try:
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise Mistake(
                "it does not return its results when it is called", "make it an ordinary function"
            )
        arguments, groups = _arguments(function, hints)
        if "return" not in hints:
            raise Mistake("it does not say what it returns", f"write `-> {EXAMPLE}`, or `-> None`")
        results, gives = _results(hints["return"])
        _check_names(arguments, results)
    except Mistake as mistake:
        raise Mistake(f"{name}: {mistake}", mistake.fix, line_of(function)) from None
    return Hinted(arguments, results, groups, gives)


def line_of(function: Callable[..., Any]) -> int:
    return int(function.__code__.co_firstlineno)


def _arguments(
    function: Callable[..., Any], hints: Dict[str, Any]
) -> Tuple[Tuple[Value, ...], Dict[str, Fields]]:
    """The arguments, dataclasses as their fields."""
    values: List[Value] = []
    groups: Dict[str, Fields] = {}
    for one in inspect.signature(function).parameters.values():
        is_given = one.default is inspect.Parameter.empty
        default = _fields.MISSING if is_given else one.default
        read = _fields.argument(one.name, hints.get(one.name), default)
        if read is None:
            values.append(_argument(one, hints))
            continue
        groups[one.name], fields = read
        values += fields
    return tuple(values), groups


def _argument(parameter: inspect.Parameter, hints: Dict[str, Any]) -> Value:
    name = parameter.name
    if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        raise Mistake(f"{parameter} takes any number of arguments", "name each, with its type")
    if name not in hints:
        raise Mistake(
            f"the argument {name} has no type", f"write `{name}: float`, or `{name}: {EXAMPLE}`"
        )
    hint = _hints.expanded(hints[name])
    if typing.get_origin(hint) is collections.abc.Callable:
        if parameter.default is not inspect.Parameter.empty:
            raise Mistake(
                f"{name} is a function, which callers cannot leave out", "drop the default"
            )
        return _function(name, *typing.get_args(hint))
    value = _hints.value_of(name, hints[name])
    if parameter.default is inspect.Parameter.empty:
        return value
    return _hints.with_default(value, parameter.default)


def _function(name: str, takes: Any = ..., gives: Any = None) -> Value:
    """A function of the caller's, by its hint."""
    if not isinstance(takes, (list, tuple)):
        raise Mistake(
            f"{name} does not say what the function takes",
            f"write `{name}: Callable[[float], float]`",
        )
    arguments = tuple(
        _hints.value_of(f"argument{number}", hint) for number, hint in enumerate(takes, 1)
    )
    results, _ = _results(gives)
    for value in arguments + results:
        if value.element == "filename":
            raise Mistake(
                f"{name} takes or gives a file, which callbacks do not",
                "pass its content: NDArray[np.uint8]",
            )
        if value.form:
            raise Mistake(f"{name} takes or gives what has no size", f"write {EXAMPLE}")
    _check_names(arguments, results)
    return Value(name, _FUNCTION, -1, function=Hinted(arguments, results))


def _results(hint: Any) -> Tuple[Tuple[Value, ...], Optional[Fields]]:
    """The results, and how they stand in what is returned if a dataclass is among them."""
    if hint is None or hint is type(None):
        return (), None
    fields = _fields.results(hint)
    if fields is not None:
        return tuple(fields[1]), fields[0]
    if typing.get_origin(hint) is not tuple:
        return (_hints.with_bounds(_hints.value_of("result", hint)),), None
    items = typing.get_args(hint)
    if Ellipsis in items:
        return (_hints.with_bounds(_hints.value_of("result", hint)),), None
    values = (_hints.value_of(f"result{number}", item) for number, item in enumerate(items, 1))
    return tuple(_hints.with_bounds(value) for value in values), None


def _check_names(arguments: Tuple[Value, ...], results: Tuple[Value, ...]) -> None:
    names = [value.name for value in arguments + results] + found_names(results)
    own = [value.name for value in arguments]
    for name in names:
        if names.count(name) > 1:
            is_twice = own.count(name) > 1
            words = "the name of two arguments" if is_twice else "an argument and a result"
            raise Mistake(f"{name} is {words}", "give one of them another name")
        if not re.fullmatch(r"[A-Za-z_]\w*", name, flags=re.ASCII):
            raise Mistake(
                f"{name} is not a name that other languages accept",
                "use letters from a to z, digits and _",
            )


