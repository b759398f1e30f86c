"""Values as Python source that gives them again, for what a published function reads."""

from __future__ import annotations

import base64
import builtins
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import math
import pathlib
import re
import sys
import types
from typing import Any, Callable, Dict, List, Mapping, Set

import numpy as np

# Above this, what is sent would be slow to read; such values are arguments.
_BYTES_MAX = 8 << 20
_DEPTH_MAX = 50
_AS_THEY_ARE = (bool, str, bytes, type(None), range, slice, type(Ellipsis), type(NotImplemented))


class Unsendable(Exception):
    """Why a value has no source."""


class Literals:
    """Writes values; those of `live` that are no plain data are referred to by their names."""

    def __init__(self, live: Mapping[str, Any]) -> None:
        self._live = live
        # The names that what was written refers to.
        self.refers_to: Set[str] = set()
        self._own_name = ""
        self._writers: Dict[type, Callable[[Any, int], str]] = {
            **dict.fromkeys(_AS_THEY_ARE, lambda value, _depth: repr(value)),
            int: lambda value, _depth: hex(value) if abs(value) >> 64 else repr(value),
            float: lambda value, _depth: _of_float(value),
            complex: lambda one, _: f"complex({_of_float(one.real)}, {_of_float(one.imag)})",
            bytearray: lambda value, _depth: repr(value),
            tuple: self._of_tuple,
            list: lambda value, depth: f"[{', '.join(self._all(value, depth))}]",
            set: lambda value, depth: f"set([{', '.join(self._all(value, depth))}])",
            frozenset: lambda value, depth: f"frozenset([{', '.join(self._all(value, depth))}])",
            dict: self._of_dict,
            collections.OrderedDict: lambda value, depth: (
                f'{_from("collections")}.OrderedDict({self._of_dict(value, depth)})'
            ),
            types.SimpleNamespace: lambda value, depth: (
                f'{_from("types")}.SimpleNamespace(**{self._of_dict(vars(value), depth)})'
            ),
            functools.partial: self._of_partial,
            np.ndarray: lambda value, _depth: self._of_array(value),
            decimal.Decimal: lambda value, _depth: f'{_from("decimal")}.{value!r}',
            fractions.Fraction: lambda value, _depth: f'{_from("fractions")}.{value!r}',
            re.Pattern: lambda one, _: f'{_from("re")}.compile({one.pattern!r}, {one.flags})',
            type(pathlib.Path()): lambda one, _: f'{_from("pathlib")}.Path({str(one)!r})',
        }
        for kind in (datetime.date, datetime.timedelta):
            self._writers[kind] = lambda one, _: repr(one).replace("datetime", _from("datetime"), 1)

    def of(self, value: Any, own_name: str = "") -> str:
        """The source of a value, which has this name itself.

        Raises:
            Unsendable: it has none.
        """
        self.refers_to, self._own_name = set(), own_name
        return self._written(value, 0)

    def _written(self, value: Any, depth: int) -> str:
        if depth > _DEPTH_MAX:
            raise Unsendable("it contains itself, or is nested too deeply")
        writer = self._writers.get(type(value))
        if writer is not None:
            return self._counted(writer(value, depth))
        if isinstance(value, np.generic):
            return self._counted(f"{self._of_array(np.asarray(value))}[()]")
        if isinstance(value, enum.Enum) and value.name in type(value).__members__:
            return f"{self._named(type(value))}[{value.name!r}]"
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._of_dataclass(value, depth)
        if isinstance(value, tuple) and hasattr(type(value), "_fields"):
            kind = self._named(type(value))
            return f"tuple.__new__({kind}, {self._of_tuple(value, depth)})"
        return self._named(value)

    def _counted(self, written: str) -> str:
        # An array's text is a third longer than its data.
        if len(written) > 2 * _BYTES_MAX:
            raise Unsendable(f"it is larger than {_BYTES_MAX >> 20} MiB")
        return written

    def _all(self, values: Any, depth: int) -> List[str]:
        return [self._written(one, depth + 1) for one in values]

    def _of_tuple(self, value: Any, depth: int) -> str:
        return f"({''.join(f'{one}, ' for one in self._all(value, depth))})"

    def _of_dict(self, value: Any, depth: int) -> str:
        keys, values = self._all(value, depth), self._all(value.values(), depth)
        return "{" + ", ".join(f"{key}: {one}" for key, one in zip(keys, values)) + "}"

    def _of_partial(self, value: Any, depth: int) -> str:
        function, given = self._written(value.func, depth + 1), self._written(value.args, depth)
        named = self._of_dict(value.keywords, depth)
        return f'{_from("functools")}.partial({function}, *{given}, **{named})'

    def _of_array(self, value: np.ndarray) -> str:
        if value.dtype.hasobject:
            raise Unsendable("it is an array of Python objects")
        if value.nbytes > _BYTES_MAX:
            raise Unsendable(f"it is larger than {_BYTES_MAX >> 20} MiB")
        kind: Any = value.dtype.str if value.dtype.names is None else value.dtype.descr
        if np.dtype(kind) != value.dtype:
            raise Unsendable(f"its elements are {value.dtype}")
        made = f'{_from("numpy")}.ndarray({value.shape!r}, {_from("numpy")}.dtype({kind!r})'
        if not value.nbytes:
            return f"{made})"
        data = base64.b64encode(value.tobytes()).decode()
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        return f'{made}, {_from("base64")}.b64decode("{data}")).copy("{order}")'

    def _of_dataclass(self, value: Any, depth: int) -> str:
        kind = type(value)
        if not hasattr(value, "__dict__") or set(vars(value)) < {
            one.name for one in dataclasses.fields(value)
        }:
            raise Unsendable("it is a dataclass with slots")
        held = self._of_dict(vars(value), depth)
        # Its values are as they are: neither __init__ nor __post_init__ computes them again.
        made = f"object.__new__({self._named(kind)})"
        return f"(lambda one: (one.__dict__.update({held}), one)[1])({made})"

    def _named(self, value: Any) -> str:
        """A function, class or module, by a name that it has at the top or where it comes from."""
        kind = type(value)
        what = f"it is {'an' if kind.__name__[:1].lower() in 'aeiou' else 'a'} {kind.__name__}"
        if isinstance(value, types.ModuleType):
            if sys.modules.get(value.__name__) is value and value.__name__ != "__main__":
                return f'{_from("importlib")}.import_module({value.__name__!r})'
            raise Unsendable(what)
        name = getattr(value, "__name__", None)
        if not callable(value) or not isinstance(name, str):
            raise Unsendable(what)
        for one, held in self._live.items():
            if held is value and one != self._own_name and one.isidentifier():
                self.refers_to.add(one)
                return one
        if getattr(builtins, name, None) is value:
            return name
        for module in (getattr(value, "__module__", None), "numpy"):
            if module == self._live.get("__name__") or module == "__main__":
                continue
            if getattr(sys.modules.get(module or ""), name, None) is value:
                return f'{_from("importlib")}.import_module({module!r}).{name}'
        raise Unsendable(what)


def is_plain(value: Any) -> bool:
    """Whether it is a number, text or nothing, or a tuple of these: what cannot be changed."""
    if type(value) is tuple:
        return all(is_plain(one) for one in value)
    return isinstance(value, (int, float, complex, str, bytes, np.generic, type(None)))


def _from(module: str) -> str:
    return f'__import__("{module}")'


def _of_float(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "(1e999 - 1e999)" if math.isnan(value) else ("1e999" if value > 0 else "-1e999")
