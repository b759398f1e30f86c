"""What has become of many calls, as the core gives it: of calls that gave nothing but numbers, all at
once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

import numpy as np

from . import _errors
from ._elements import is_plain_number
from ._library import OK, check, error_place, ffi, lib, taken, text
from ._places import take_places
from ._results import Results, collect, of_element, of_numbers

if TYPE_CHECKING:
    from ._interface import Interface, Parameter
    from ._prepared import Prepared

# Outcomes that are taken in one piece.
_TAKEN_MAX = 256
# farcall_outcome.
_OUTCOME = np.dtype(
    [
        ("element", "u8"), ("status", "i4"), ("server", "u4"), ("results", "u8"),
        ("error", "u8"), ("times", "u8", 3),
    ]
)  # fmt: skip
_NUMBER_BYTES = 16


class Outcomes:
    """What has become of calls, as the core gives it."""

    def __init__(self, interface: Interface, template: Prepared) -> None:
        self._interface, self._template = interface, template
        self._raw = ffi.new("farcall_outcome[]", _TAKEN_MAX)
        self._table = np.frombuffer(ffi.buffer(self._raw), _OUTCOME)
        self._count = ffi.new("size_t *")
        self._decoded = 0
        self._error = error_place()
        self._servers: Dict[int, str] = {}
        self._places: Any = None
        outputs = interface.outputs
        is_more = interface.shapes or interface.lists or interface.result_paths
        self._are_numbers = bool(outputs) and not is_more and all(map(_is_number, outputs))
        self._names = [one.name for one in outputs]
        self._numbers: Any = ffi.NULL
        if self._are_numbers:
            self._numbers = ffi.new("farcall_number[]", _TAKEN_MAX * len(outputs))
            shape = (_TAKEN_MAX, len(outputs) * _NUMBER_BYTES)
            memory = np.frombuffer(ffi.buffer(self._numbers), np.uint8).reshape(shape)
            self._values = [
                (memory[:, at : at + one.dtype.itemsize].view(one.dtype)[:, 0], one.is_logical)
                for at, one in zip(range(0, shape[1], _NUMBER_BYTES), outputs)
            ]

    def take(
        self, farm: Any, seconds: float, held: Dict[int, Prepared], labelled: Any
    ) -> List[Tuple[int, Any]]:
        """Those that there are, after a wait for the first."""
        self._decoded = self._count[0] = 0
        error = self._error
        status = lib.farcall_farm_next(
            farm, seconds, self._raw, _TAKEN_MAX, self._numbers, self._count, error
        )
        if check(status, error) != OK:
            return []
        table = self._table[: self._count[0]]
        elements = table["element"].tolist()
        if not self._are_numbers:
            return [
                self._one(farm, held, labelled, row, element)
                for row, element in enumerate(elements)
            ]
        given = self._all_numbers(farm, 0, len(table))
        # What has more to tell than numbers, or has failed.
        others = np.flatnonzero(table["status"].astype(bool) | (table["results"] != 0)).tolist()
        for row in others:
            given[row] = self._one(farm, held, labelled, row, elements[row])
        if held:
            for element in elements:
                self._let_go(held, element)
        return given

    def _server(self, farm: Any, number: int) -> str:
        name = self._servers.get(number)
        if name is None:
            name = self._servers[number] = text(lib.farcall_farm_server(farm, number)) or ""
        return name

    @staticmethod
    def _let_go(held: Dict[int, Prepared], element: int) -> None:
        prepared = held.pop(element, None)
        if prepared is not None:
            prepared.check_functions()

    def _all_numbers(self, farm: Any, begin: int, end: int) -> List[Tuple[int, Any]]:
        table = self._table[begin:end]
        columns = [
            list(values[begin:end] != 0) if is_logical else values[begin:end].tolist()
            for values, is_logical in self._values
        ]
        moments = (table["times"] / 1e9).tolist()
        servers = [self._server(farm, number) for number in table["server"].tolist()]
        names = self._names
        return [
            (element, of_numbers(dict(zip(names, row)), times, server, element))
            for element, times, server, row in zip(
                table["element"].tolist(), moments, servers, zip(*columns)
            )
        ]

    def _one(
        self, farm: Any, held: Dict[int, Prepared], labelled: Any, row: int, element: int
    ) -> Tuple[int, Any]:
        prepared = held.pop(element, None)
        try:
            return element, of_element(self._outcome(farm, prepared, labelled, row), element)
        except Exception as error:
            if isinstance(error, _errors.InterfaceChanged):
                self._template.forget_routine()
            return element, error if prepared is None else prepared.explained(error)

    def _outcome(self, farm: Any, prepared: Optional[Prepared], labelled: Any, row: int) -> Results:
        raw = self._raw[row]
        if raw.error:
            place = self._error
            place[0] = raw.error
            self._decoded = row + 1
            raise taken(raw.status, place)
        if self._places is None:
            self._places = take_places()
        places = self._places
        places.results[0] = raw.results
        self._decoded = row + 1
        try:
            if prepared is not None:
                prepared.check_functions()
                labelled = prepared.filler.labelled
            return collect(self._interface, places, {}, labelled, self._template.staying_at)
        finally:
            places.clear_results()

    def close(self) -> None:
        """Frees what was not looked at."""
        for row in range(self._decoded, self._count[0]):
            lib.farcall_results_free(self._raw[row].results)
            lib.farcall_error_free(self._raw[row].error)
        self._decoded = self._count[0] = 0
        places, self._places = self._places, None
        if places is not None:
            places.give_back()


def _is_number(parameter: Parameter) -> bool:
    is_plain = parameter.is_single and parameter.is_array or is_plain_number(parameter)
    is_other = parameter.is_text or parameter.is_conditional or parameter.dtype is None
    return is_plain and not is_other and parameter.dtype.kind in "iufc"
