"""A routine's interface, as the core describes it in JSON: parameters, their types as NumPy's, and
Python's signature."""

from __future__ import annotations

import inspect
import keyword
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._forms import hidden
from ._groups import Group, default_text, groups_of, path_of, put_together, slots_of
from ._library import lib

# Numbers of enum farcall_element.
CHAR: int = lib.FARCALL_CHAR
STRUCT: int = lib.FARCALL_STRUCT
# IDL type -> number of enum farcall_element, NumPy type (native byte order).
ELEMENTS: Dict[str, Tuple[int, Any]] = {
    "char": (CHAR, np.dtype("S1")),
    "int8": (lib.FARCALL_INT8, np.dtype(np.int8)),
    "uint8": (lib.FARCALL_UINT8, np.dtype(np.uint8)),
    "short": (lib.FARCALL_INT16, np.dtype(np.int16)),
    "uint16": (lib.FARCALL_UINT16, np.dtype(np.uint16)),
    "int": (lib.FARCALL_INT32, np.dtype(np.int32)),
    "uint32": (lib.FARCALL_UINT32, np.dtype(np.uint32)),
    "long": (lib.FARCALL_INT64, np.dtype(np.int64)),
    "uint64": (lib.FARCALL_UINT64, np.dtype(np.uint64)),
    "float": (lib.FARCALL_FLOAT32, np.dtype(np.float32)),
    "double": (lib.FARCALL_FLOAT64, np.dtype(np.float64)),
    "scomplex": (lib.FARCALL_COMPLEX64, np.dtype(np.complex64)),
    "dcomplex": (lib.FARCALL_COMPLEX128, np.dtype(np.complex128)),
}
TEXT_TYPES = ("string", "filename")
# What every routine understands beside its parameters.
OPTIONS = (
    "timeout", "run_timeout", "out", "inplace", "on_output", "progress", "keep", "label", "ranks",
    "at", "cores", "memory", "gpus", "wall_time", "stay", "lease",
)  # fmt: skip


def struct_dtype(structure: Dict[str, Any]) -> Any:
    """A struct as a NumPy type with the offsets that C gives its fields."""
    fields = structure["fields"]

    def of(field: Dict[str, Any]) -> Any:
        base, count = ELEMENTS[field["type"]][1], field["count"]
        if field["type"] == "char" and count > 1:
            # One text, and not so many letters.
            return np.dtype(f"S{count}")
        return base if count == 1 else (base, (count,))

    return np.dtype(
        {
            "names": [field["name"] for field in fields],
            "formats": [of(field) for field in fields],
            "offsets": [field["offset"] for field in fields],
            "itemsize": structure["bytes"],
        }
    )


class Parameter:
    """One parameter: where it stands, which way it goes, what it is."""

    __slots__ = (
        "index", "name", "mode", "type", "doc", "unit", "default", "is_callback", "is_array",
        "is_text", "is_file", "is_files", "is_single", "is_conditional", "is_column", "rank",
        "may_be_unread", "element", "dtype", "is_input", "is_output", "idl", "callback",
        "open_ends",
        "is_nullable", "sizes", "width", "is_logical", "is_captured",
        "real_max", "whole_min", "whole_max",
    )  # fmt: skip

    def __init__(self, index: int, described: Dict[str, Any], structs: Dict[str, Any]) -> None:
        self.index = index
        self.element: int = 0
        # None for text and callbacks, which no array is of.
        self.dtype: Any = None
        self.name: str = described["name"]
        self.idl: str = described.get("idl", "")
        self.type: str = described.get("type", "function")
        self.doc: str = described.get("doc", "")
        self.unit: str = described.get("unit", "")
        self.default: Optional[str] = described.get("default")
        self.mode: str = described.get("mode", "in")
        self.is_callback = described["shape"] == "callback"
        self.is_array = described["shape"] == "array"
        self.is_text = self.type in TEXT_TYPES
        self.is_file = self.type == "filename" and not self.is_array
        self.is_files = self.type == "filename" and self.is_array
        self.is_input = self.mode in ("in", "inout")
        self.is_output = self.mode in ("out", "inout")
        # There is none of it unless its condition holds.
        self.is_conditional = "when" in described
        # An INOUT array that a call may leave out, since its routine does not read it.
        self.may_be_unread = "given" in described
        self.is_column = described.get("order") == "column"
        self.is_nullable = self.mode == "in" and bool(default_text(self.doc))
        # Whole numbers that say true or false.
        self.is_logical = bool(described.get("logical"))
        # Of a callback's: the routine's integer that sizes name.
        self.is_captured = bool(described.get("captured"))
        # Of callbacks: what they are called with.
        self.callback: Any = Callback(self.name, described, structs) if self.is_callback else None
        sizes = self._set_sizes(described)
        self._set_element(sizes, structs)

    def may_be_written_over(self, kind: int) -> bool:
        """Whether a result may go over an argument of this kind: an array that was not left out."""
        is_left_out = self.may_be_unread and kind == lib.FARCALL_UNSET
        return self.is_input and self.is_array and not is_left_out

    def _set_sizes(self, described: Dict[str, Any]) -> List[str]:
        """How large it is, as the interface says."""
        # Which of its extents are bounds, and may turn out smaller.
        self.open_ends = ["end" in dimension for dimension in described.get("dimensions", ())]
        sizes = [dimension["size"] for dimension in described.get("dimensions", ())]
        # The names in them.
        self.sizes = {name for size in sizes for name in re.findall(r"[A-Za-z_]\w*", size)}
        self.rank = len(sizes)
        # What is declared as one value comes back as a Python number, and not as an array of one.
        self.is_single = not self.is_array or all(size == "1" for size in sizes)
        return sizes

    def _set_element(self, sizes: List[str], structs: Dict[str, Any]) -> None:
        """What it is of."""
        if self.type in ELEMENTS:
            self.element, self.dtype = ELEMENTS[self.type]
        elif self.type in structs:
            self.element, self.dtype = STRUCT, structs[self.type]
        # Of texts of a fixed length, CHARACTER*8 in Fortran: their length; 0 of all else.
        length = sizes[0 if self.is_column else -1] if sizes else ""
        is_fixed = self.element == CHAR and length.isdigit() and not self.is_single
        self.width = int(length) if is_fixed else 0
        is_number = self.element not in (0, CHAR, STRUCT) and not self.is_array
        is_number = is_number and not self.is_logical
        limits = _limits(self.dtype) if is_number else (-1.0, 0, -1)
        # The numbers that certainly fit a parameter that is one: of another, none.
        self.real_max, self.whole_min, self.whole_max = limits

    def fits(self, shape: Sequence[int], declared: Sequence[int]) -> bool:
        """Whether a result of this shape fits the declared one."""
        pairs = zip(shape, declared, self.open_ends)
        return all(own <= most if is_open else own == most for own, most, is_open in pairs)


def _limits(dtype: Any) -> Tuple[float, int, int]:
    """The largest real number, and the least and the largest whole one, up to which all fit."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return -1.0, int(limits.min), min(int(limits.max), int(np.iinfo(np.int64).max))
    part = np.finfo(dtype)
    # Beyond these, not every whole number is exact.
    whole = 1 << (part.nmant + 1)
    return float(part.max), -whole, whole


class Callback:
    """What a function of the caller's is called with, and gives back."""

    def __init__(self, name: str, described: Dict[str, Any], structs: Dict[str, Any]) -> None:
        self.name = name
        self.parameters = [
            Parameter(index, one, structs) for index, one in enumerate(described["parameters"])
        ]
        # Integers of the routine that sizes name are no arguments.
        self.inputs = [one for one in self.parameters if one.is_input and not one.is_captured]
        # Without the scalars that follow from the extents of arrays.
        brief = set(described.get("positional", ()))
        self.brief = [one for one in self.inputs if one.name in brief]
        # INOUT arrays, which it writes to in place; all else that comes back is returned.
        self.written = [
            one
            for one in self.inputs
            if one.is_output and one.is_array and not one.is_single and not one.is_text
        ]
        self.returned = [
            one for one in self.parameters if one.is_output and one not in self.written
        ]

    def example(self) -> str:
        """How such a function looks."""
        forms = list(
            dict.fromkeys(
                ", ".join(python_name(one.name) for one in given)
                for given in (self.inputs, self.brief)
            )
        )
        results = ", ".join(one.name for one in self.returned)
        gives = f"that returns {results}" if results else "that returns nothing"
        return " or ".join(f"a function of ({form})" for form in forms) + f" {gives}"


class Interface:
    """All of a routine's parameters, and how Python names them."""

    def __init__(self, described: Dict[str, Any]) -> None:
        structs = {
            structure["name"]: struct_dtype(structure) for structure in described.get("structs", ())
        }
        self.name: str = described["name"]
        self.full_name: str = described["full_name"]
        self.doc: str = described.get("doc", "")
        self.parameters: List[Parameter] = [
            Parameter(index, one, structs) for index, one in enumerate(described["parameters"])
        ]
        # What says the rank or shape of others in published Python functions is for this package.
        beside = hidden(one.name for one in self.parameters)
        # WORK parameters exist only on the server.
        self.visible = [
            one for one in self.parameters if one.mode != "work" and one.name not in beside
        ]
        by_name = {one.name: one for one in self.visible}
        of = {parameter.name: parameter for parameter in self.parameters}
        pairs = [(of[name], of[which], says) for name, (which, says) in beside.items()]
        self.ranks = [(one, array) for one, array, says in pairs if says == "rank"]
        self.shapes = {array.index: one for one, array, says in pairs if says == "shape"}
        counts = {array.index: one for one, array, says in pairs if says == "count"}
        self.lists = {index: one for index, one in counts.items() if index not in self.shapes}
        # What may be NULL, and is where it is left out.
        self.nullable = [one for one in self.visible if one.is_nullable]
        self.has_beside = bool(self.ranks or self.nullable)
        self.positional = [
            by_name[name]
            for name in described.get("positional", ())
            if not by_name[name].is_nullable
        ]
        self.by_keyword = [
            one for one in self.visible if one.is_input and one not in self.positional
        ]
        # What has a default may follow by position, as in Python.
        self.optional = [by_name[name] for name in described.get("following", ())]
        # Arguments of several fields, and what arguments mean by position where there are such.
        self.groups = groups_of([one for one in self.visible if one.is_input])
        self.slots = self._slots() if self.groups else []
        self.outputs = [one for one in self.visible if one.is_output]
        self.outputs_by_name = {one.name: one for one in self.outputs}
        self.result_paths = {
            one.name: path
            for one in self.outputs
            if not one.is_input and (path := path_of(one.name, one.doc)) is not None
        }
        self.array_outputs = [one for one in self.outputs if not one.is_single and not one.is_text]
        self.names = Names([one.name for one in self.visible] + list(self.groups))
        self._by_name = by_name
        # Memory for the arguments of calls (`_places.py`) that no call uses at the moment.
        self.memories: List[Any] = []

    @property
    def having_default(self) -> List[Parameter]:
        """Parameters whose default is a constant, and no size."""
        sizes = {name for one in self.visible for name in one.sizes}
        return [
            one
            for one in self.by_keyword
            if one.is_nullable
            or constant(one.default, one.type) is not None
            and one.name not in sizes
        ]

    @property
    def is_python(self) -> bool:
        """Whether Python's signature says more than the core's."""
        beside = self.has_beside or self.shapes or self.lists or self.result_paths
        return bool(self.optional or self.groups or beside)

    @property
    def result_names(self) -> List[str]:
        """The results, those of several fields as one."""
        return list(put_together(self.result_paths, {one.name: None for one in self.outputs}))

    def _slots(self) -> List[Union[Parameter, Group]]:
        fields = {one.name for one in self.visible if path_of(one.name, one.doc) is not None}
        positional = [one for one in self.positional if one.name not in fields]
        optional = [one for one in self.having_default if one.name not in fields]
        return slots_of(self.groups, positional, optional)

    def find(self, given: str) -> Optional[Parameter]:
        """The parameter that a keyword means."""
        name = self.names.find(given)
        return None if name is None else self._by_name.get(name)

    def signature(self) -> inspect.Signature:
        """Arguments by position, then those by name; `None` stands for what is inferred or
        computed."""
        kinds = inspect.Parameter
        slots = self.slots or [*self.positional, *self.optional]
        must = self._needed if not self.slots else [one for one in slots if self._is_must(one)]
        arguments = []
        for slot in slots:
            default = kinds.empty if slot in must else _constant_of(slot)
            kind = kinds.POSITIONAL_OR_KEYWORD
            arguments.append(kinds(python_name(slot.name), kind, default=default))
        for one in self.by_keyword:
            if one not in slots and path_of(one.name, one.doc) is None:
                default = constant(one.default, one.type)
                arguments.append(kinds(python_name(one.name), kinds.KEYWORD_ONLY, default=default))
        for option in OPTIONS:
            default = False if option == "inplace" else None
            arguments.append(
                kinds(option_name(option, self.names), kinds.KEYWORD_ONLY, default=default)
            )
        return inspect.Signature(arguments)

    @property
    def _needed(self) -> List[Parameter]:
        """What goes by position and has no default: behind that stand arrays that may be unread."""
        read = [not one.may_be_unread for one in self.positional]
        return self.positional[
            : max((at + 1 for at, is_read in enumerate(read) if is_read), default=0)
        ]

    def _is_must(self, slot: Union[Parameter, Group]) -> bool:
        """Whether it has no default."""
        return not slot.is_optional if isinstance(slot, Group) else slot in self._needed


def _constant_of(slot: Union[Parameter, Group]) -> Any:
    return None if isinstance(slot, Group) else constant(slot.default, slot.type)


class Names:
    """Names that are found exactly, or in another case where that is unique, or with the underscore
    of keywords."""

    def __init__(self, names: Sequence[str]) -> None:
        self.exact = set(names)
        self.folded: Dict[str, Optional[str]] = {}
        for name in names:
            fold = name.casefold()
            self.folded[fold] = None if fold in self.folded else name

    def find(self, given: str) -> Optional[str]:
        """The name that is meant, or None."""
        if given in self.exact:
            return given
        if not isinstance(given, str):
            return None
        found = self.folded.get(given.casefold())
        if found is None and given.endswith("_"):
            return self.find(given[:-1])
        return found


def python_name(name: str) -> str:
    """A name that may stand in Python source: `lambda_` for `lambda`."""
    return name + "_" if keyword.iskeyword(name) else name


def option_name(option: str, names: Names) -> str:
    """How an option of calls is spelled: a parameter of the same name has precedence, and the
    option an underscore."""
    return option + "_" if option in names.exact else option


def constant(written: Optional[str], kind: str) -> Any:
    """A default that is a constant, as Python's; None for what is computed when the call is
    made."""
    if written is None:
        return None
    try:
        return chr(int(written)) if kind == "char" else int(written)
    except ValueError:
        pass
    try:
        return float(written)
    except ValueError:
        return None
