"""The core's farm of calls, and the elements whose calls it is to make."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any, Deque, Dict, List, Tuple

from ._arguments import ARRAY
from ._library import SLICE_SECONDS, check, error_place, ffi, handle_place, lib, pointer_to
from ._news import SILENT
from ._outcomes import Outcomes
from ._places import give_arguments_back
from ._prepared import Prepared

if TYPE_CHECKING:
    from ._elements import Elements
    from ._interface import Interface, Parameter
    from ._routine import Routine


class Farm:
    """The core's farm, and the calls that it is to make."""

    def __init__(self, routine: Routine, elements: Elements, options: Dict[str, Any]) -> None:
        self._routine = routine
        self._elements = elements
        self._options = options
        self._interface = interface = routine._interface
        self._parameters = len(interface.parameters)
        self._place: Any = None
        self._template = template = self._prepared((), options)
        # Elements are described once if each argument that differs may lie in memory as rows, and
        # nothing else is each call's own.
        self._is_plain = False
        if not interface.groups:
            template = self._prepared((), {**elements.unvarying(), **options})
            self._template = template
            self._is_plain = not template.calls_back
        self._labelled = template.filler.labelled
        rows = sum(one.row_bytes for one in elements.sources.values())
        self.bytes_each = template.array_bytes + rows
        self._columns = _Columns(template, elements) if self._is_plain else None
        # Pieces that no room was found for yet.
        self.waiting: Deque[Any] = collections.deque()
        self.begun = self.under_way = 0
        # Of calls with arguments of their own: what these point to, until they end.
        self._held: Dict[int, Prepared] = {}
        # Outcomes that no call has, since its arguments were refused.
        self._refused: List[Tuple[int, Any]] = []
        self._outcomes = Outcomes(interface, template)
        # Options that are wrong are refused before anything runs.
        self._open()

    def _prepared(self, arguments: Tuple[Any, ...], named: Dict[str, Any]) -> Prepared:
        prepared = Prepared(self._routine, arguments, named)
        prepared.listener = SILENT
        return prepared

    def check(self) -> None:
        """Says why if the connection cannot be used."""
        self._routine._connection.handles.client()

    def _open(self) -> Any:
        if self._place is None:
            options, error = self._template._options(False), error_place()
            place = handle_place("farcall_farm **", lib.farcall_farm_free, used=self._outcomes)
            check(lib.farcall_farm_open(self._routine._handle(), options, place, error), error)
            self._place = place
        return self._place[0]

    def add(self, first: int, count: int, pieces: Dict[int, Any]) -> None:
        """Elements that were read."""
        self.begun = first + count
        if count == 0:
            return
        if self._columns is not None:
            columns = {
                place: self._elements.sources[place].column(piece)
                for place, piece in pieces.items()
            }
            if None not in columns.values():
                self.waiting.append(_Rows(first, count, self._columns, columns))
                return
        self._add_each(first, count, pieces)

    def _add_each(self, first: int, count: int, pieces: Dict[int, Any]) -> None:
        """Elements with arguments of their own."""
        run = _Calls(first, self._interface)
        for row in range(count):
            try:
                arguments, named = self._elements.arguments(pieces, row)
                run.add(self._prepared(arguments, {**named, **self._options}))
            except Exception as error:
                self._refused.append((first + row, error))
                if run.count:
                    self.waiting.append(run)
                run = _Calls(first + row + 1, self._interface)
        if run.count:
            self.waiting.append(run)

    def start(self) -> None:
        """Starts what waits, as far as there is room."""
        waiting = self.waiting
        while waiting:
            farm, piece = self._open(), waiting[0]
            started = piece.start(farm, self._parameters)
            if isinstance(piece, _Calls):
                self._held.update(piece.taken(started))
                self.bytes_each = max(self.bytes_each, piece.bytes_max)
            self.under_way += started
            if piece.count:
                return
            waiting.popleft()

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to start, and no outcome to take."""
        return self.under_way == 0 and not self.waiting and not self._refused

    def take(self, seconds: float) -> List[Tuple[int, Any]]:
        """Outcomes, each with its element."""
        if self._refused:
            refused, self._refused = self._refused, []
            return refused
        if self.under_way == 0:
            return []
        taken_ones = self._outcomes.take(self._open(), seconds, self._held, self._labelled)
        self.under_way -= len(taken_ones)
        return taken_ones

    def close(self) -> None:
        """Ends the calls that run."""
        place, self._place = self._place, None
        if place is not None:
            lib.farcall_place_clear(pointer_to(place))
        self._outcomes.close()
        self.waiting.clear()
        self._held.clear()


class _Columns:
    """The arguments of elements that are rows: those of the first, and how far it is to the next."""

    def __init__(self, template: Prepared, elements: Elements) -> None:
        self._template = template
        self.memory = template.take_memory()
        template._memory = self.memory
        count = len(template.interface.parameters)
        self.steps = ffi.new("farcall_step[]", max(count, 1))
        self._parameters = {
            place: parameter
            for place, parameter in elements.parameters.items()
            if place in elements.sources and parameter is not None
        }
        self._laid: Dict[int, Any] = {}

    def lay(self, columns: Dict[int, Any], offset: int) -> None:
        """Puts the addresses of columns there, so many rows from their begin."""
        for place, column in columns.items():
            parameter = self._parameters[place]
            slot, step = self.memory.slots[parameter.index], self.steps[parameter.index]
            slot.data = ffi.cast("void *", column.address + offset * column.step)
            step.data = column.step
            shape = (column.shape, column.strides)
            if self._laid.get(place, (None,))[0] != shape:
                self._describe(slot, parameter, place, shape)

    def _describe(self, slot: Any, parameter: Parameter, place: int, shape: Any) -> None:
        extents = ffi.new("uint64_t[]", shape[0] or (1,))
        strides = ffi.new("int64_t[]", shape[1] or (1,))
        slot.kind, slot.element, slot.rank = ARRAY, parameter.element, len(shape[0])
        slot.shape, slot.strides = extents, strides
        self._laid[place] = (shape, extents, strides)
        if self._template.interface.has_beside:
            self._template._fill_beside()


class _Rows:
    """Elements that are rows."""

    def __init__(self, first: int, count: int, columns: _Columns, pieces: Dict[int, Any]) -> None:
        self.first, self.count = first, count
        self._columns, self._pieces = columns, pieces
        self._offset = 0

    def start(self, farm: Any, parameters: int) -> int:
        """Starts their calls, as far as there is room; how many."""
        self._columns.lay(self._pieces, self._offset)
        arguments, steps = self._columns.memory.arguments, self._columns.steps
        started = _start(farm, self.first, self.count, arguments, steps, parameters)
        self.first, self.count = self.first + started, self.count - started
        self._offset += started
        return started


class _Calls:
    """Elements with arguments of their own."""

    bytes_max = 0

    def __init__(self, first: int, interface: Interface) -> None:
        self.first, self.count = first, 0
        self._interface = interface
        self._prepared: List[Prepared] = []
        self._offset = 0
        self._block: Any = None

    def add(self, prepared: Prepared) -> None:
        """The next one."""
        self._prepared.append(prepared)
        self.count += 1
        self.bytes_max = max(self.bytes_max, prepared.array_bytes)

    def start(self, farm: Any, parameters: int) -> int:
        """As of `_Rows`."""
        if self._block is None:
            self._block = self._filled(parameters)
        arguments = self._block + self._offset * parameters
        started = _start(farm, self.first, self.count, arguments, ffi.NULL, parameters)
        self.first, self.count = self.first + started, self.count - started
        return started

    def _filled(self, parameters: int) -> Any:
        block = ffi.new("farcall_argument[]", max(self.count * parameters, 1))
        size = ffi.sizeof("farcall_argument") * parameters
        for row, prepared in enumerate(self._prepared):
            memory = prepared.take_memory()
            ffi.memmove(block + row * parameters, memory.arguments, size)
            give_arguments_back(self._interface, memory)
        return block

    def taken(self, started: int) -> Dict[int, Prepared]:
        """What was started, by element: it is to be held until it ends."""
        begin, self._offset = self._offset, self._offset + started
        first = self.first - started
        return dict(enumerate(self._prepared[begin : self._offset], first))


def _start(farm: Any, first: int, count: int, arguments: Any, steps: Any, parameters: int) -> int:
    started, error = ffi.new("size_t *"), error_place()
    check(
        lib.farcall_farm_start(
            farm, first, count, arguments, steps, parameters, SLICE_SECONDS, started, error
        ),
        error,
    )
    return int(started[0])
