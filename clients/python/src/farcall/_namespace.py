"""What servers and modules have in common: names that stand for routines."""

from __future__ import annotations

from typing import Any, Generic, Iterator, List, NoReturn, TypeVar

from . import _errors
from ._connection import Connection, not_portable

# What the names of a server or a module stand for.
_Named = TypeVar("_Named")


def checked(name: object) -> str:
    """A name that a program gave; others are refused."""
    if isinstance(name, str):
        return name
    message = f"a routine is named by a str, not by {name!r}"
    raise _errors.make(_errors.WrongType, "find a routine", message)


class Namespace(Generic[_Named]):
    """What servers and modules have in common: names that become routines when they are asked
    for."""

    _connection: Connection

    def _found(self, name: str) -> _Named:
        raise NotImplementedError

    def _names(self) -> List[str]:
        raise NotImplementedError

    @_errors.ends_here
    def __getattr__(self, name: str) -> _Named:
        # Python and IPython probe objects for such names; no routine is asked for like this.
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if _errors.is_property(self, name):
            return object.__getattribute__(self, name)
        return self._found(name)

    def __setattr__(self, name: str, value: Any) -> None:
        # It would hide a routine.
        if not name.startswith("_"):
            raise AttributeError(
                f"{name!r} of a {type(self).__name__} cannot be assigned to: routines are published"
            )
        super().__setattr__(name, value)

    @_errors.ends_here
    def __getitem__(self, name: str) -> _Named:
        """Any routine or module, whatever it is called."""
        return self._found(checked(name))

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and self._found(name) is not None
        except LookupError:
            return False

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __reduce__(self) -> NoReturn:
        raise not_portable(f"a {type(self).__name__.lower()}")

    def __dir__(self) -> List[str]:
        try:
            names = [name for name in self._names() if name.isidentifier()]
        except _errors.Error:
            # Completion must not raise when the server is gone.
            names = []
        return sorted({*super().__dir__(), *names})

    def _ipython_key_completions_(self) -> List[str]:
        try:
            return self._keys()
        except _errors.Error:
            # As for `dir`.
            return []

    def _keys(self) -> List[str]:
        return self._names()
