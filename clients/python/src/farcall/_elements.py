"""The elements that `Server.map` calls a routine for: which arguments differ from one to the next,
and where those of each element come from.

What lies in memory as rows of one array is described once, and the core finds the rows; numbers that
an iterable gives are put there, a piece at a time. Everything else becomes the arguments of a call of
its own.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Set, Tuple

import numpy as np

from . import _errors
from ._arrays import as_array
from ._interface import CHAR, STRUCT, Parameter
from ._prepared import Prepared
from ._url import URL

if TYPE_CHECKING:
    from ._routine import Routine

# An iterable is read in pieces that take about so long: the calls for those that came go out before
# the next are read.
_PIECE_SECONDS = 2e-4
# Elements of one piece, at most.
_PIECE_MAX = 256


class Each:
    """An argument that differs from element to element: see `each`."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.items = items


class Same:
    """An argument that is the same for all elements: see `same`."""

    def __init__(self, value: Any) -> None:
        self.value = value


def each(items: Iterable[Any]) -> Any:
    """For `Server.map`: an argument whose items are those of the elements, one for each."""
    return Each(items)


def same(value: Any) -> Any:
    """For `Server.map`: an argument that is the same for all elements."""
    return Same(value)


class Column:
    """The values of a piece, in memory: one for each element."""

    __slots__ = ("address", "step", "shape", "strides", "array")

    def __init__(self, array: Any) -> None:
        self.array = array
        self.address: int = array.__array_interface__["data"][0]
        self.step: int = array.strides[0]
        self.shape, self.strides = array.shape[1:], array.strides[1:]


class Stacked:
    """Rows of one array."""

    raised: Optional[Exception] = None

    def __init__(self, array: Any) -> None:
        self._array = array
        self._taken = 0
        self.count: Optional[int] = len(array)

    def take(self, most: int) -> Any:
        """The next rows."""
        begin, self._taken = self._taken, min(self._taken + most, len(self._array))
        return self._array[begin : self._taken]

    @staticmethod
    def column(piece: Any) -> Optional[Column]:
        """They lie in memory already."""
        return Column(piece)

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return int(self._array[0].nbytes) if len(self._array) else 0


class Items:
    """What an iterable gives."""

    row_bytes = 0

    def __init__(self, items: Iterable[Any], parameter: Optional[Parameter]) -> None:
        self._iterator = iter(items)
        self.count = len(items) if isinstance(items, Sized) else None
        # Numbers alone have a place in memory before they are looked at one by one.
        is_number = parameter is not None and is_plain_number(parameter)
        self.raised: Optional[Exception] = None
        self._parameter = parameter if is_number else None

    def take(self, most: int) -> List[Any]:
        """The next ones; those that came before it raised."""
        taken: List[Any] = []
        try:
            # What it has given stays in the list.
            taken.extend(itertools.islice(self._iterator, most))
        except Exception as error:
            self.raised = error
        return taken

    def column(self, piece: List[Any]) -> Optional[Column]:
        """Numbers of Python's that certainly fit, as an array."""
        one = self._parameter
        kinds = set(map(type, piece))
        if one is None or not kinds <= {float, int}:
            return None
        if float in kinds and not all(map(one.real_max.__ge__, map(abs, piece))):
            return None
        if int in kinds:
            whole = [value for value in piece if type(value) is int] if len(kinds) > 1 else piece
            if min(whole) < one.whole_min or max(whole) > one.whole_max:
                return None
        return Column(np.array(piece, one.dtype))


def is_plain_number(parameter: Parameter) -> bool:
    """Whether it is one number."""
    is_other = parameter.is_array or parameter.is_text or parameter.is_callback
    return not is_other and parameter.element not in (0, CHAR, STRUCT)


def _is_plain_array(parameter: Parameter) -> bool:
    """Whether it is an array of numbers."""
    is_other = parameter.is_text or parameter.is_files or parameter.element in (0, CHAR, STRUCT)
    return parameter.is_array and not is_other


class Elements:
    """Reads the elements, as far as they are wanted."""

    def __init__(self, routine: Routine, arguments: Tuple[Any, ...], named: Dict[str, Any]) -> None:
        self._routine = routine
        self._named_count = len(arguments)
        interface = routine._interface
        given: List[Tuple[Optional[str], Any]] = [(None, value) for value in arguments]
        given += named.items()
        slots: List[Any] = interface.slots or interface.positional + interface.optional
        if len(arguments) > len(slots):
            # It says which there are.
            Prepared(routine, arguments, {})
        self.sources: Dict[int, Any] = {}
        self.parameters: Dict[int, Optional[Parameter]] = {}
        self._given = [value for _, value in given]
        # Arguments that were said to be the same for all.
        self._said: Set[int] = set()
        self._names = [name for name, _ in given]
        for place, (name, value) in enumerate(given):
            one = slots[place] if name is None and place < len(slots) else None
            if name is not None and name not in interface.groups:
                one = interface.find(name)
            parameter = one if isinstance(one, Parameter) else None
            if one is None and name not in interface.groups:
                Prepared(routine, (), {name: None})
            self._check(parameter)
            self.parameters[place] = parameter
            source = self._source(parameter, name or getattr(one, "name", f"{place + 1}"), value)
            if source is not None:
                self.sources[place] = source
            elif isinstance(value, Same):
                self._given[place] = value.value
                self._said.add(place)
        self.count = self._counted()
        self._check_rows()
        self._read = 0
        self._piece = 1
        self.ended = False
        # What an iterable raised: it is raised in its place.
        self.raised: Optional[Exception] = None

    # Which arguments differ.

    def _check(self, parameter: Optional[Parameter]) -> None:
        if parameter is None:
            return
        if not parameter.is_input:
            advice = "leave it out, and take it from what map gives"
            raise self._wrong("it is a result", advice, parameter.name)
        if parameter in self.parameters.values():
            advice = "give it by position or by name"
            raise self._wrong("it was passed twice", advice, parameter.name)

    def _wrong(self, message: str, advice: str, name: str = "") -> _errors.Error:
        facts = {"parameter": name} if name else {}
        return _errors.make(
            _errors.WrongType, "map", message, advice, routine=self._routine.name, **facts
        )

    def _source(self, parameter: Optional[Parameter], name: str, value: Any) -> Any:
        if isinstance(value, Same):
            return None
        if isinstance(value, Each):
            return self._each(parameter, name, value.items)
        if value is None or isinstance(value, (str, bytes, bytearray, URL)) or callable(value):
            return None
        if hasattr(value, "__fspath__") or isinstance(value, (dict, np.void)):
            return None
        is_object = parameter is None or parameter.element == STRUCT and not parameter.is_array
        if np.isscalar(value) or isinstance(value, tuple) and is_object:
            return None
        rank = getattr(value, "ndim", None)
        if isinstance(rank, int):
            return self._by_rank(parameter, name, value, rank)
        if isinstance(value, Iterator) or not isinstance(value, Sized):
            return self._each(parameter, name, value) if isinstance(value, Iterable) else None
        return self._of_list(parameter, name, value)

    def _each(self, parameter: Optional[Parameter], name: str, items: Any) -> Any:
        """A source whose items are those of the elements, whatever they are."""
        if not isinstance(items, Iterable):
            message = f"{type(items).__name__} has no items"
            raise self._wrong(message, "give farcall.each an iterable", name)
        rank = getattr(items, "ndim", None)
        if parameter is not None and isinstance(rank, int) and rank > 0:
            is_row = is_plain_number(parameter) and rank == 1
            is_whole = not isinstance(items, np.ma.MaskedArray)
            if is_whole and (is_row or _is_plain_array(parameter)):
                return Stacked(as_array(self._routine.name, parameter, items))
        return Items(items, parameter)

    def _by_rank(self, parameter: Optional[Parameter], name: str, value: Any, rank: int) -> Any:
        """An array has one dimension more than the parameter, or is the same for all."""
        if parameter is None:
            raise self._ambiguous(name, "it is an array for an argument of several fields")
        own = parameter.rank if parameter.is_array else 0
        if rank <= own:
            return None
        if rank == own + 1:
            return self._each(parameter, name, value)
        message = f"it has {rank} dimensions, and the parameter has {own}"
        advice = f"pass an array of {own} dimensions, the same for all, or of {own + 1}: rows"
        raise self._wrong(message, advice, name)

    def _of_list(self, parameter: Optional[Parameter], name: str, value: Any) -> Any:
        """A list, range or other collection: of items, unless it may be one array."""
        if parameter is None or not parameter.is_array:
            return self._each(parameter, name, value)
        if _depth(value, parameter) > parameter.rank:
            return self._each(parameter, name, value)
        raise self._ambiguous(name, f"it may be one {type(value).__name__} for all elements")

    def _ambiguous(self, name: str, why: str) -> _errors.Error:
        advice = "write farcall.each(...) for one item per element, farcall.same(...) for all"
        return self._wrong(f"{why}, or the items of the elements", advice, name)

    def _counted(self) -> Optional[int]:
        """How many elements there are, as far as that is known."""
        if not self.sources:
            message = "every argument is the same for all elements"
            advice = (
                "pass an iterable or stacked arrays, or farcall.each(...) around one of the "
                "arguments"
            )
            raise self._wrong(message, advice)
        counts = {
            self._name_of(place): one.count
            for place, one in self.sources.items()
            if one.count is not None
        }
        if len(set(counts.values())) > 1:
            said = ", ".join(f"{name} has {count}" for name, count in counts.items())
            message, advice = f"the lengths differ: {said}", "pass as many items of each"
            raise _errors.make(
                _errors.InvalidArgument, "map", message, advice, routine=self._routine.name
            )
        return next(iter(counts.values()), None)

    def _check_rows(self) -> None:
        """An array that leaves its last dimension out looks like rows."""
        for place, value in enumerate(self._given):
            parameter = self.parameters[place]
            is_said = place in self._said or place in self.sources or parameter is None
            if is_said or not parameter or not parameter.is_array or parameter.rank < 2:
                continue
            shape = getattr(value, "shape", ())
            if self.count and self.count > 1 and len(shape) > 1 and shape[0] == self.count:
                why = (
                    f"it has as many rows as there are elements ({self.count}): it may be one array"
                )
                raise self._ambiguous(parameter.name, f"{why} for all")

    def _name_of(self, place: int) -> str:
        parameter = self.parameters[place]
        return parameter.name if parameter else self._names[place] or f"argument {place + 1}"

    # Reading.

    def arguments(self, pieces: Dict[int, Any], row: int) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
        """Those of an element's call."""
        values = [
            pieces[place][row] if place in pieces else value
            for place, value in enumerate(self._given)
        ]
        named = {name: value for name, value in zip(self._names, values) if name is not None}
        return tuple(values[: self._named_count]), named

    def unvarying(self) -> Dict[str, Any]:
        """Arguments that are the same for all, by name; only of routines without groups."""
        return {
            self._name_of(place): value
            for place, value in enumerate(self._given)
            if place not in self.sources
        }

    def read(self, most: int) -> Tuple[int, Dict[int, Any]]:
        """The next elements: how many, at most so many, and a piece of each source."""
        count = min(most, self._piece)
        begin = time.perf_counter()
        pieces: Dict[int, Any] = {}
        for place, source in self.sources.items():
            pieces[place] = source.take(count)
            if len(pieces[place]) < count:
                self.ended = True
                count = len(pieces[place])
            self.raised = self.raised or source.raised
        self._read += count
        if self.count is not None and self._read >= self.count:
            self.ended = True
        is_quick = time.perf_counter() - begin < _PIECE_SECONDS
        self._piece = min(self._piece * 2, _PIECE_MAX) if is_quick else max(self._piece // 2, 1)
        if self.ended:
            pieces = {place: piece[:count] for place, piece in pieces.items()}
        return count, pieces


def _depth(value: Any, parameter: Parameter) -> int:
    """How many dimensions lists in lists have, as far as their first items tell."""
    # A tuple may be a struct, and a text several characters.
    lists = list if parameter.element == STRUCT else (list, tuple, range)
    depth = 0
    while isinstance(value, lists):
        depth += 1
        if not value:
            return depth
        value = value[0]
    if parameter.element == CHAR and isinstance(value, (str, bytes, bytearray)):
        return depth + 1
    return depth + int(getattr(value, "ndim", 0) or 0)
