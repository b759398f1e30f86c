"""The scenarios' list as data, and the one form in which all clients print results (README.md, The
list and Results)."""

from __future__ import annotations

import dataclasses
import pathlib
import struct
from typing import Any, Iterator, List, Optional

import numpy as np

TYPES = {
    "char": "u1",
    "int8": "i1",
    "uint8": "u1",
    "int16": "i2",
    "uint16": "u2",
    "int32": "i4",
    "uint32": "u4",
    "int64": "i8",
    "uint64": "u8",
    "float": "f4",
    "double": "f8",
    "scomplex": "c8",
    "dcomplex": "c16",
}
# Of more numbers than these, a checksum is printed.
SHOWN_MAX = 32
PRIME = 61


@dataclasses.dataclass
class Argument:
    """One line of `in`, `inout`, `out` or `callback`: what a call is given, or gives."""

    mode: str
    name: str
    type: str = ""
    # Extents of an array; None is a scalar.
    shape: Optional[List[int]] = None
    layout: str = ""
    # An array (of rank 0 for scalars), str, bytes (of a file), a list of str; None is NULL.
    value: Any = None

    @property
    def is_result(self) -> bool:
        return self.mode in ("inout", "out")


@dataclasses.dataclass
class Step:
    """One action, with the arguments that stand before it."""

    words: List[str]
    arguments: List[Argument]
    timeout: Optional[float] = None


@dataclasses.dataclass
class Scenario:
    name: str
    steps: List[Step]
    # Why a client cannot do this, by client.
    excused: dict
    expected: List[str]


def _texts(words: str) -> List[Optional[str]]:
    texts: List[Optional[str]] = []
    while words := words.strip():
        if words.startswith('"'):
            text, _, words = words[1:].partition('"')
            texts.append(text)
        else:
            word, _, words = words.partition(" ")
            assert word == "null", f"a text is in quotes, or null: {word}"
            texts.append(None)
    return texts


def _numbers(type: str, shape: Optional[List[int]], head: List[str], values: List[str]) -> Any:
    """An array of the values, or of `ramp N`: element k is k mod N."""
    kind = np.dtype(TYPES[type])
    count = int(np.prod(shape or [], dtype=np.int64))
    if head[:1] == ["ramp"]:
        return (np.arange(count) % int(head[1])).astype(kind).reshape(shape or ())
    parts = np.array(
        [float(value) if kind.kind in "fc" else int(value) for value in values],
        dtype=None if kind.kind in "fc" else object,
    )
    numbers = (parts[0::2] + 0j if kind.kind == "c" else parts).astype(kind)
    if kind.kind == "c":
        numbers.imag = parts[1::2]
    assert numbers.size == count, f"{count} values of {type}, not {numbers.size}"
    return numbers.reshape(shape or ())


def _argument(mode: str, rest: str) -> Argument:
    """`NAME TYPE EXTENT… [@LAYOUT] [ramp N] [: VALUE…]`."""
    head, colon, tail = rest.partition(" :")
    name, type, *more = head.split()
    argument = Argument(mode, name, type)
    extents = []
    while more and more[0].isdigit():
        extents.append(int(more.pop(0)))
    argument.shape = extents or None
    if more and more[0].startswith("@"):
        argument.layout = more.pop(0)[1:]
    if mode == "out":
        return argument
    if type == "filename":
        argument.shape = None
        if more:
            count, period = int(more[1]), int(more[2])
            argument.value = (np.arange(count) % period).astype(np.uint8).tobytes()
        else:
            argument.value = None if tail.strip() == "missing" else (_texts(tail)[0] or "").encode()
    elif type == "string":
        texts = _texts(tail)
        argument.value = texts if extents else texts[0]
    else:
        argument.value = _numbers(type, argument.shape, more, tail.split())
    return argument


def read(path: pathlib.Path) -> Iterator[Scenario]:
    """The scenarios of a list, in order."""
    scenario: Optional[Scenario] = None
    arguments: List[Argument] = []
    timeout = None
    for line in path.read_text().splitlines():
        word, _, rest = line.partition(" ")
        if not line.strip() or word == "#":
            continue
        if word == "scenario":
            if scenario:
                yield scenario
            scenario = Scenario(rest, [], {}, [])
            continue
        assert scenario is not None, f"what stands before the first scenario: {line}"
        if word == "=":
            scenario.expected.append(rest)
        elif word == "not":
            client, _, reason = rest.partition(" ")
            scenario.excused[client] = reason
        elif word in ("in", "inout", "out"):
            arguments.append(_argument(word, rest))
        elif word == "callback":
            name, function = rest.split()
            arguments.append(Argument("callback", name, value=function))
        elif word == "timeout":
            timeout = float(rest)
        else:
            scenario.steps.append(Step(line.split(), arguments, timeout))
            arguments, timeout = [], None
    if scenario:
        yield scenario


def _real(value: Any) -> str:
    """A whole number as such, any other by its bits; -0 is not an integer."""
    bits, form = (32, "<f") if value.dtype.itemsize == 4 else (64, "<d")
    number = float(value)
    if np.isnan(number):
        return "nan"
    if np.isinf(number):
        return "inf" if number > 0 else "-inf"
    if (
        number == int(number)
        and abs(number) < 2 ** (24 if bits == 32 else 53)
        and not (number == 0 and np.signbit(number))
    ):
        return str(int(number))
    return "x" + struct.pack(form, number)[::-1].hex()


def checksum(bits: np.ndarray) -> int:
    """Of unsigned numbers: the exclusive or of number k, as 64 bits that are rotated to the left by
    k mod 61."""
    total = 0
    for turn in range(PRIME):
        part = int(np.bitwise_xor.reduce(bits[turn::PRIME], initial=0))
        total ^= ((part << turn) | (part >> (64 - turn))) & (2**64 - 1)
    return total


def _shown(numbers: np.ndarray) -> str:
    flat = np.ascontiguousarray(numbers).reshape(-1)
    if flat.dtype.kind == "c":
        flat = flat.view(f"f{flat.dtype.itemsize // 2}")
    if flat.size > SHOWN_MAX:
        return f"#{checksum(flat.view(f'u{flat.dtype.itemsize}').astype(np.uint64)):016x}"
    return " ".join(
        _real(number) if flat.dtype.kind == "f" else str(int(number)) for number in flat
    )


def _quoted(text: Optional[str]) -> str:
    return "null" if text is None else f'"{text}"'


def shown(argument: Argument, value: Any) -> str:
    """One result as all clients print it. Numbers are NumPy's; a file is its bytes."""
    head = f"{argument.name} {argument.type}"
    if value is None:
        return f"{head} : null"
    if argument.type == "filename":
        if len(value) <= SHOWN_MAX:
            return f'{head} : "{value.decode()}"'
        return (
            f"{head} {len(value)} : "
            f"#{checksum(np.frombuffer(value, np.uint8).astype(np.uint64)):016x}"
        )
    if argument.type == "string":
        # What is declared [1] may come as the one text that it is.
        texts = value if isinstance(value, list) else [value]
        extents = f" {len(texts)}" if argument.shape else ""
        return f"{head}{extents} : {' '.join(map(_quoted, texts))}"
    numbers = np.asarray(value)
    assert numbers.dtype == TYPES[argument.type], f"{argument.name} is {numbers.dtype}"
    extents = "".join(f" {extent}" for extent in numbers.shape) if argument.shape else ""
    return f"{head}{extents} : {_shown(numbers)}".rstrip()


def laid_out(argument: Argument) -> np.ndarray:
    """An array with the argument's values, as the caller is to have it in memory."""
    values = argument.value
    if values is None:
        values = np.zeros(argument.shape or (), TYPES[argument.type])
    if argument.layout == "columns":
        return np.asfortranarray(values)
    if argument.layout == "backwards":
        return np.ascontiguousarray(values[::-1])[::-1]
    if argument.layout == "sections":
        room = np.full([2 * extent for extent in values.shape], 77, values.dtype)
        section = room[tuple(slice(1, None, 2) for _ in values.shape)]
        section[...] = values
        return section
    assert not argument.layout, f"no layout {argument.layout}"
    return values
