"""Arguments and results that are classes of fields in published Python functions (`_fields.py`), as
their callers in Python see them: objects, though each field is a parameter of its own. Of a list of
objects it is a list: the path of the field says so, as in `wells[].depth`."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from ._forms import NULLABLE

if TYPE_CHECKING:
    from ._interface import Interface, Parameter

_TEXT = re.compile(
    r"field (?P<path>\w+(?:\[\])?(?:\.\w+(?:\[\])?)*\.\w+)"
    r"(?: \((?P<left_out>[\w., ]+) may be left out\))?"
    r"(?:, (?P<default>.*))?",
    re.ASCII | re.DOTALL,
)
_ABSENT = object()
# What follows the name of a list in a path.
_LIST = "[]"


def field_text(path: str, left_out: Sequence[str] = ()) -> str:
    """What the description of a parameter that is a field begins with, and which of the groups
    around it callers may leave out."""
    return f"field {path}" + (f" ({', '.join(left_out)} may be left out)" if left_out else "")


def path_of(name: str, doc: str) -> Optional[Tuple[str, ...]]:
    """Where a parameter is a field of something, by its description; `[]` is behind lists."""
    match = _TEXT.fullmatch(doc)
    if match is None or match["path"].replace(_LIST, "").replace(".", "_") != name:
        return None
    return tuple(match["path"].split("."))


def default_text(doc: str) -> str:
    """What a description says of a default that may be NULL; empty without one."""
    match = _TEXT.fullmatch(doc)
    said = doc if match is None else match["default"] or ""
    return said[len(NULLABLE) :] if said.startswith(NULLABLE) else ""


class Group:
    """An argument of several fields."""

    def __init__(self, name: str) -> None:
        self.name = name.removesuffix(_LIST)
        # Whether it is a list of such arguments.
        self.is_list = name.endswith(_LIST)
        self.members: Dict[str, Union[Parameter, Group]] = {}
        self.is_optional = False
        # Where it stands among the arguments.
        self.index = 0

    def add(self, path: Sequence[str], parameter: Parameter) -> None:
        """One field of it, or of one in it."""
        match = _TEXT.fullmatch(parameter.doc)
        left_out = "" if match is None else match["left_out"] or ""
        self.is_optional = self.name in left_out.split(", ")
        self.index = self.index or parameter.index
        name, *rest = path
        if not rest:
            self.members[name] = parameter
            return
        inner = self.members.setdefault(name.removesuffix(_LIST), Group(f"{self.name}.{name}"))
        if isinstance(inner, Group):
            inner.add(rest, parameter)

    def spread(self, value: Any, wrong: Callable[[str, str], Exception]) -> Dict[str, Any]:
        """The parameters of an object, or of a mapping, by their names."""
        if value is None and self.is_optional:
            return {}
        if self.is_list:
            return self._columns(value, wrong)
        return self._spread_one(value, wrong)

    def _columns(self, value: Any, wrong: Callable[[str, str], Exception]) -> Dict[str, Any]:
        """The lists that a list of objects is."""
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
            message = f"{self.name} is a list of objects, and {value!r:.60} was passed"
            fields = ", ".join(self.members)
            advice = f"pass a list of objects, or dictionaries, with the fields {fields}"
            raise wrong(message, advice)

        def at(row: int) -> Callable[[str, str], Exception]:
            return lambda message, advice: wrong(f"item {row} of {self.name}: {message}", advice)

        rows = [self._spread_one(item, at(row)) for row, item in enumerate(value)]
        if not rows:
            return {one.name: [] for one in self._leaves()}
        names = list(dict.fromkeys(name for row in rows for name in row))
        for name in names:
            for row, given in enumerate(rows):
                if name not in given:
                    field = name[len(self.name) + 1 :]
                    message = f"{field} is left out, and other items have it"
                    raise at(row)(message, "give it to all items, or to none")
        if not names:
            fields = ", ".join(self.members)
            raise wrong(f"no item of {self.name} has a field", f"give one of {fields} to all items")
        return {name: [given[name] for given in rows] for name in names}

    def _leaves(self) -> List[Parameter]:
        inner = (
            one._leaves() if isinstance(one, Group) else [one] for one in self.members.values()
        )
        return [leaf for leaves in inner for leaf in leaves]

    def _spread_one(self, value: Any, wrong: Callable[[str, str], Exception]) -> Dict[str, Any]:
        if isinstance(value, Mapping):
            self._check_names(value, wrong)
        given: Dict[str, Any] = {}
        for name, member in self.members.items():
            item = _item(value, name)
            if isinstance(member, Group):
                if item is not _ABSENT:
                    given.update(member.spread(item, wrong))
                elif not member.has_defaults:
                    raise self._missing(value, name, wrong)
            elif item is not _ABSENT and item is not None:
                given[member.name] = item
            elif not may_be_left_out(member, item):
                raise self._missing(value, name, wrong)
        return given

    @property
    def has_defaults(self) -> bool:
        """Whether none of its fields has to be given."""
        return all(
            one.has_defaults if isinstance(one, Group) else may_be_left_out(one, _ABSENT)
            for one in self.members.values()
        )

    def _check_names(self, value: Any, wrong: Callable[[str, str], Exception]) -> None:
        for name in value:
            if name not in self.members:
                nearest = get_close_matches(str(name), list(self.members), 1)
                meant = f"did you mean {nearest[0]}? " if nearest else ""
                fields = ", ".join(self.members)
                raise wrong(f"{self.name} has no field {name!r}", f"{meant}its fields are {fields}")

    def _missing(
        self, value: Any, name: str, wrong: Callable[[str, str], Exception]
    ) -> Exception:
        fields = ", ".join(self.members)
        if _item(value, name) is None:
            return wrong(f"{self.name}.{name} is None", "give it a value")
        advice = f"pass an object, or a dictionary, with the fields {fields}"
        message = f"{self.name} has no field {name} in what was passed, {value!r:.60}"
        return wrong(f"{message} ({type(value).__name__})", advice)


def may_be_left_out(parameter: Parameter, item: Any) -> bool:
    """Whether a field need not be given; as None only where that is its default."""
    if item is None:
        return parameter.is_nullable and default_text(parameter.doc) == "None"
    return parameter.is_nullable or parameter.default is not None


def _item(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(name, _ABSENT)
    return getattr(value, name, _ABSENT)


def groups_of(parameters: Sequence[Parameter]) -> Dict[str, Group]:
    """The groups among parameters, by name."""
    groups: Dict[str, Group] = {}
    for parameter in parameters:
        path = path_of(parameter.name, parameter.doc)
        if path is not None:
            group = Group(path[0])
            groups.setdefault(group.name, group).add(path[1:], parameter)
    return groups


class Record(types.SimpleNamespace):
    """A result of several fields, by attribute."""

    def __repr__(self) -> str:
        return f"({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def put_together(paths: Dict[str, Tuple[str, ...]], values: Dict[str, Any]) -> Dict[str, Any]:
    """Results by name, those that are fields of another as records."""
    together: Dict[str, Any] = {}
    for name, value in values.items():
        path = paths.get(name)
        if path is None:
            together[name] = value
            continue
        record = together.setdefault(path[0], Record())
        for inner in path[1:-1]:
            record = vars(record).setdefault(inner, Record())
        vars(record)[path[-1]] = value
    return _with_lists(together)


def _with_lists(values: Dict[str, Any]) -> Dict[str, Any]:
    """The same with a list of records in place of a record of lists, where there is one."""
    made: Dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Record):
            value = Record(**_with_lists(vars(value)))
        made[name.removesuffix(_LIST)] = _rows(value) if name.endswith(_LIST) else value
    return made


def _rows(record: Record) -> List[Record]:
    """A record for each item of the lists that are in one."""
    columns = {
        name: _rows(one) if isinstance(one, Record) else one for name, one in vars(record).items()
    }
    lists = [one for one in columns.values() if one is not None]
    count = min((len(one) for one in lists), default=0)
    return [Record(**{name: one[row] for name, one in columns.items()}) for row in range(count)]


def slots_of(
    groups: Dict[str, Group], positional: List[Parameter], optional: List[Parameter]
) -> List[Union[Parameter, Group]]:
    """What arguments mean by position: what must be given, and then what has a default."""
    must = [one for one in groups.values() if not one.is_optional]
    may = [one for one in groups.values() if one.is_optional]
    required: List[Union[Parameter, Group]] = [*positional, *must]
    others: List[Union[Parameter, Group]] = [*optional, *may]
    required.sort(key=lambda one: one.index)
    others.sort(key=lambda one: one.index)
    last = max((one.index for one in required if not getattr(one, "is_callback", False)), default=0)
    return required + [one for one in others if one.index >= last]


def spread(
    interface: Interface,
    arguments: Sequence[Any],
    named: Dict[str, Any],
    wrong: Callable[[str, str], Exception],
) -> Dict[str, Any]:
    """The arguments of a call by the names of parameters, groups as their fields."""
    slots = interface.slots
    if len(arguments) > len(slots):
        names = ", ".join(one.name for one in slots)
        raise wrong(
            f"{interface.name} takes at most {len(slots)} arguments by position ({names}), not "
            f"{len(arguments)}",
            "give the others by name",
        )
    given: Dict[str, Any] = {}
    by_position = [(slot.name, value) for slot, value in zip(slots, arguments)]
    for name, value in [*by_position, *named.items()]:
        group = interface.groups.get(name)
        taken = {name: value} if group is None else group.spread(value, wrong)
        twice = [one for one in taken if one in given]
        if twice:
            raise wrong(f"{twice[0]} was passed twice", "give it by position or by name")
        given.update(taken)
    return given
