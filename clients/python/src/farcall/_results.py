"""What a call gave back: one value per OUT and INOUT parameter, in interface order.

Arrays lie in the memory that the core received them in, on one host memory shared with the server:
nothing is copied to make them NumPy's, and the memory is freed with the last array that uses it.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

import numpy as np

from . import _errors
from ._groups import put_together
from ._interface import CHAR, ELEMENTS, STRUCT, Interface, Names, Parameter
from ._labels import put_back
from ._library import OK, check, ffi, handle_place, kept_buffer, lib, text
from ._places import CallPlaces
from ._single import Single, is_of_elements

# enum farcall_result_kind.
_ARRAY: int = lib.FARCALL_RESULT_ARRAY
_WRITTEN: int = lib.FARCALL_RESULT_WRITTEN
_TEXT: int = lib.FARCALL_RESULT_TEXT
_TEXTS: int = lib.FARCALL_RESULT_TEXTS
_DATA: int = lib.FARCALL_RESULT_DATA
# Pointers to numbers that C has, by enum farcall_element.
_POINTERS = {
    ELEMENTS[idl][0]: ffi.typeof(f"{c} *")
    for idl, c in {
        "int8": "int8_t", "uint8": "uint8_t", "short": "int16_t", "uint16": "uint16_t",
        "int": "int32_t", "uint32": "uint32_t", "long": "int64_t", "uint64": "uint64_t",
        "float": "float", "double": "double",
    }.items()
}  # fmt: skip
# Arrays up to this many elements are shown by `repr`.
_SHOWN_MAX = 6


class Times(NamedTuple):
    """Seconds since the server accepted the call."""

    queued: float
    started: float
    finished: float


class Phases(NamedTuple):
    """The seconds that a call needs for each part of its way: its arguments' way, from their
    arrival to its beginning, the routine, and its results' way."""

    send: float
    wait: float
    run: float
    return_: float

    @property
    def total(self) -> float:
        """From the call to its results."""
        return sum(self)


class Placed(NamedTuple):
    """What was predicted of a call when it was placed, beside what it needed. `error` is by how
    much the predicted total was expected to be wrong, in seconds."""

    predicted: Phases
    measured: Phases
    error: float

    def __repr__(self) -> str:
        head = f"{'':<10}" + "".join(f"{name:>10}" for name in (*_PHASES, "total"))
        lines = [
            f"{name:<10}" + "".join(f"{value:>10.3g}" for value in (*times, times.total))
            for name, times in (("predicted", self.predicted), ("measured", self.measured))
        ]
        return "\n".join((head, f"{lines[0]}   +- {self.error:.2g}", lines[1]))


_PHASES = ("send", "wait", "run", "return")


class Results(Single):
    """The results of a call, always in this form, however many there are.

    By attribute (`r.ipiv`), by name (`r["ipiv"]`), by position (`r[0]`), or unpacked (`a, ipiv, b,
    info = r`), in the interface's order; names are found in any case where that is unique.
    `dict(r)` makes a dictionary. Where there is just one result, it is `r.value` too, and `r`
    itself does what it does: `r + 1`, `float(r)`, `r > 0`, `f"{r:.3f}"`, `numpy.asarray(r)`,
    `r.shape`, `r[1:, 0]` (but `r[0]` is the first result, which is all of it). `r.times` are the
    server's, `r.server` is its name, `r.placed` is what was predicted of the call, and
    `r.element` counts those of `Server.map`. A result called like one of these names or a method has precedence over it, except
    for `keys`, which `dict` calls: such a result is `r["keys"]`.

    What is declared as a scalar or as `[1]` is a Python number (or str for char), a char vector
    and a string are str (bytes if they are not UTF-8), a logical is a NumPy bool. A file is its
    path if it was written to one, and its content as bytes otherwise. A result that the routine
    did not refer to is None.
    """

    _names: Names
    _values: Dict[str, Any]
    value: Any
    times: Times
    server: str
    placed: Optional[Placed]
    # Of which element of `Server.map` they are.
    element: Optional[int] = None

    def __init__(
        self,
        values: Dict[str, Any],
        times: Times,
        server: str = "",
        placed: Optional[Placed] = None,
    ) -> None:
        # Through __dict__, so that a result called `times` or `items` wins over ours.
        state = self.__dict__
        state["times"] = times
        state["server"] = server
        state["placed"] = placed
        if len(values) == 1:
            (state["value"],) = values.values()
        state.update(values)
        # Where a result is called so, it is found by its name alone: `dict` calls the method.
        state.pop("keys", None)
        state["_values"] = values

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_values":
            raise AttributeError(name)
        if _errors.is_property(self, name):
            return object.__getattribute__(self, name)
        if not name.startswith("_") and len(self._values) == 1 and name not in self:
            one = self._one()
            try:
                return getattr(one, name)
            except AttributeError:
                if _errors.is_property(one, name):
                    # It has it, and says why it cannot be read.
                    raise
        return self[name]

    def __setattr__(self, name: str, _: Any) -> None:
        raise AttributeError(f"results cannot be assigned to: {name!r} is what the routine gave")

    @_errors.ends_here
    def __getitem__(self, key: Any) -> Any:
        if is_of_elements(key) and len(self._values) == 1:
            from ._data import Data

            one = self._one()
            if isinstance(one, (np.ndarray, Data)):
                return one[key]
        if not isinstance(key, str):
            return tuple(self._values.values())[key]
        name = Names(list(self._values)).find(key)
        if name is None:
            names = ", ".join(self._values) or "no results"
            raise _errors.make(
                _errors.NotFound,
                "read a result",
                f'no result is called "{key}"',
                f"there are {names}",
            )
        return self._values[name]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values.values())

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and Names(list(self._values)).find(name) is not None

    def keys(self) -> List[str]:
        """The names, in interface order."""
        return list(self._values)

    def values(self) -> List[Any]:
        """The values, in interface order."""
        return list(self._values.values())

    def items(self) -> List[Tuple[str, Any]]:
        """Names and values, in interface order."""
        return list(self._values.items())

    def __dir__(self) -> List[str]:
        return sorted({*self._values, "keys", "values", "items", "times", "server", "placed"})

    def __repr__(self) -> str:
        return (
            "Results("
            + ", ".join(f"{name}={_shown(value)}" for name, value in self._values.items())
            + ")"
        )


def of_element(results: Results, element: int) -> Results:
    """The same, of an element of `Server.map`."""
    results.__dict__.setdefault("element", element)
    return results


def of_numbers(values: Dict[str, Any], moments: List[float], server: str, element: int) -> Results:
    """The results of a call that gave nothing but numbers, as `Results` makes them; `moments` are
    those of its times."""
    made = Results.__new__(Results)
    state = made.__dict__
    state["element"] = element
    state["times"] = tuple.__new__(Times, moments)
    state["server"] = server
    state["placed"] = None
    if len(values) == 1:
        (state["value"],) = values.values()
    state.update(values)
    state.pop("keys", None)
    state["_values"] = values
    return made


def _shown(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        shape = getattr(value, "shape", None)
        # A table takes many lines.
        return repr(value) if shape is None or not shape else f"{type(value).__name__}{list(shape)}"
    if value.ndim == 1 and value.size <= _SHOWN_MAX:
        return np.array2string(value, separator=", ", precision=6)
    return f"{value.dtype}[{', '.join(map(str, value.shape))}]"


def collect(
    interface: Interface,
    places: CallPlaces,
    destinations: Dict[int, Any],
    labelled: Any = None,
    connection: Any = None,
) -> Results:
    """Takes over the core's results. `destinations` are arrays and files that the caller gave,
    `labelled` arguments with an index or coordinates, and `connection` is where results stay."""
    values = {one.name: _value(one, places, destinations) for one in interface.outputs}
    if connection is not None:
        values.update(_stayed(connection, interface, places))
    for index, beside in interface.shapes.items():
        name = interface.parameters[index].name
        if not isinstance(values[name], np.ndarray):
            continue
        extents = [int(extent) for extent in _array(beside, places) if extent >= 0]
        values[name] = values[name].reshape(extents)
    for index in interface.lists:
        name = interface.parameters[index].name
        if index not in destinations:
            values[name] = _listed(values[name], interface.lists[index], places)
    if labelled:
        put_back(labelled, values, interface.outputs, destinations)
    if interface.result_paths:
        values = put_together(interface.result_paths, values)
    lib.farcall_results_times(places.results[0], places.times)
    queued, started, finished = places.moments
    server = text(lib.farcall_results_server(places.results[0])) or ""
    times = Times(queued / 1e9, started / 1e9, finished / 1e9)
    return Results(values, times, server, _placed(places))


def _stayed(connection: Any, interface: Interface, places: CallPlaces) -> Dict[str, Any]:
    """The results that are data at the server."""
    from ._data import of_results

    results = places.results[0]
    return {
        one.name: of_results(connection, results, one.index)
        for one in interface.outputs
        if lib.farcall_results_kind(results, one.index) == _DATA
    }


def _placed(places: CallPlaces) -> Optional[Placed]:
    """What was predicted of the call, where it was asked for alone."""
    place = places.placed
    if lib.farcall_results_placed(places.results[0], place) != OK:
        return None
    predicted, measured = (
        Phases(one.send, one.wait, one.run, one.back) for one in (place.predicted, place.measured)
    )
    return Placed(predicted, measured, place.error)


def _listed(value: Any, count: Parameter, places: CallPlaces) -> Any:
    """A result that is a list in Python: of texts there are as many as are declared, and of these
    the first ones were given."""
    return value.tolist() if isinstance(value, np.ndarray) else value[: _array(count, places)]


def _value(parameter: Parameter, places: CallPlaces, destinations: Dict[int, Any]) -> Any:
    results = places.results[0]
    kind = lib.farcall_results_kind(results, parameter.index)
    if kind == _ARRAY:
        return _array(parameter, places)
    if kind == _WRITTEN:
        # The routine may have left no file: then its kind is another.
        if parameter.is_file or parameter.is_files:
            return destinations[parameter.index]
        _look_at(parameter, places)
        return _written(destinations[parameter.index], places)
    if kind == _TEXT and parameter.is_file:
        return _bytes(results, parameter.index, 0)
    if kind == _TEXT:
        return _text(results, parameter.index, 0)
    if kind == _TEXTS:
        count = lib.farcall_results_text_count(results, parameter.index)
        read = _bytes if parameter.is_files else _text
        texts = [read(results, parameter.index, index) for index in range(count)]
        return texts[0] if parameter.is_single and count == 1 else texts
    return None


def _look_at(parameter: Parameter, places: CallPlaces) -> None:
    """Has the core describe an array."""
    error = places.error
    check(lib.farcall_results_array(places.results[0], parameter.index, places.view, error), error)


def _written(array: Any, places: CallPlaces) -> Any:
    """The caller's array, or the part of it that has results where the routine says how many there
    are."""
    # It may have fewer dimensions than declared: the missing ones count as 1.
    shape = tuple(places.shape[0 : min(places.view.rank, array.ndim)])
    return array if shape == array.shape else array[tuple(slice(count) for count in shape)]


def _array(parameter: Parameter, places: CallPlaces) -> Any:
    _look_at(parameter, places)
    view = places.view
    rank = view.rank
    if rank == 0 or parameter.is_single and tuple(places.shape[0:rank]) == (1,) * rank:
        return _single(parameter, view)
    if parameter.element == CHAR and rank == 1 and places.strides[0] == 1:
        letters = bytes(ffi.buffer(ffi.cast("char *", view.data), places.shape[0]))
        # As NumPy's texts: a buffer of C's is larger than what is in it.
        return _decoded(letters.rstrip(b"\0"))
    taken = _taken(parameter, places)
    if parameter.is_logical:
        return taken != 0
    return _texts(taken, parameter) if parameter.width else taken


class _Value(NamedTuple):
    """What is to be known of the parameter that data is fetched as."""

    index: int
    dtype: Any


def of_data(rank: int, dtype: Any, places: CallPlaces) -> Any:
    """The value of data that was fetched: always an array. It comes behind its extents."""
    value: Any = _Value(rank, dtype)
    _look_at(value, places)
    return _taken(value, places)


def _texts(letters: Any, parameter: Parameter) -> Any:
    """Texts of a fixed length, where their letters lie one behind the other."""
    rows = np.moveaxis(letters, 0, -1) if parameter.is_column else letters
    if letters.size == 0 or rows.ndim < 2 or rows.strides[-1] != 1:
        return letters
    try:
        return rows.view(f"S{rows.shape[-1]}")[..., 0]
    except ValueError:
        # NumPy before 1.23 wants all of it in C's order.
        return np.ascontiguousarray(rows).view(f"S{rows.shape[-1]}")[..., 0]


def _single(parameter: Parameter, view: Any) -> Any:
    pointer = _POINTERS.get(parameter.element)
    if parameter.is_logical:
        return np.bool_(ffi.cast(pointer, view.data)[0] != 0)
    if pointer is not None:
        return ffi.cast(pointer, view.data)[0]
    memory = ffi.buffer(ffi.cast("char *", view.data), parameter.dtype.itemsize)
    # A copy: the memory goes with the results.
    one = np.frombuffer(bytes(memory), parameter.dtype)[0]
    if parameter.element == CHAR:
        return bytes(memory).decode("latin-1")
    return one if parameter.element == STRUCT else one.item()


def _taken(parameter: Parameter, places: CallPlaces) -> Any:
    """The array where it lies. Its base keeps the handle of the memory, whose end frees it."""
    view, error = places.view, places.error
    place = handle_place("farcall_memory **", lib.farcall_memory_free)
    results = places.results[0]
    check(lib.farcall_results_take(results, parameter.index, view, place, error), error)
    shape, strides = tuple(places.shape[0 : view.rank]), tuple(places.strides[0 : view.rank])
    if 0 in shape:
        return np.empty(shape, parameter.dtype)
    last = sum((count - 1) * stride for count, stride in zip(shape, strides))
    buffer = kept_buffer(view.data, last + parameter.dtype.itemsize, place)
    return np.ndarray(shape, parameter.dtype, buffer, 0, strides)


def _bytes(results: Any, parameter: int, index: int) -> Optional[bytes]:
    length = ffi.new("size_t *")
    pointer = lib.farcall_results_text(results, parameter, index, length)
    return bytes(ffi.buffer(pointer, length[0])) if pointer else None


def _text(results: Any, parameter: int, index: int) -> Union[str, bytes, None]:
    data = _bytes(results, parameter, index)
    return None if data is None else _decoded(data)


def _decoded(data: bytes) -> Union[str, bytes]:
    """A text; bytes that are none as they are."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data
