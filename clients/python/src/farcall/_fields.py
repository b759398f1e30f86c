"""Dataclasses and named tuples among the arguments and results of published Python functions.

The interface language has no such thing. Each field is a parameter of its own, `p_mass` for the
field `mass` of `p`, so that every language can pass it, texts and arrays too. Its description
begins with `field p.mass`: by that the Python client puts them together again (`_groups.py`). Of a
list of them, each field is a list, all of one size, and `[]` stands in the path: `field p[].mass`.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import re
import typing
from typing import Any, Callable, Dict, FrozenSet, List, NamedTuple, Optional, Tuple, Union

from . import _forms, _hints
from ._groups import field_text
from ._hints import Mistake, Value
from ._parameters import Unfit, described

MISSING: Any = dataclasses.MISSING


class Fields(NamedTuple):
    """A class of fields, or the tuple of several results, which has no `kind`."""

    kind: Any
    # By the names of its fields: the parameters that they are, or classes inside of it.
    members: Dict[str, Union[str, Fields]]
    # Makes what there is where none of its fields is given; None where something must be.
    default: Optional[Callable[[], Any]] = None
    # Fields that are None where they are not given, and have no default to say so.
    open: FrozenSet[str] = frozenset()
    # Whether it is a list of objects of the class.
    is_list: bool = False


class _Field(NamedTuple):
    name: str
    hint: Any
    default: Any
    factory: Any


class Place(NamedTuple):
    """Where a class of fields stands: the names of its parameters begin with `name`, and it is
    called `path`."""

    name: str
    path: str
    # The classes of fields that can be left out with all their fields, from the outermost.
    left_out: Tuple[str, ...] = ()
    # What its fields are by default, in place of what the class says.
    default: Any = MISSING
    # Whether each of its fields must be able to be NULL: by that it is known that none was given.
    is_open: bool = False
    # The classes around it.
    around: Tuple[Any, ...] = ()

    def inside(self, field: _Field, **more: Any) -> Place:
        """Where a class of fields inside of it stands."""
        name = f"{self.name}_{field.name}" if self.name else field.name
        path = f"{self.path}.{field.name}" if self.path else field.name
        return self._replace(name=name, path=path, **more)


def is_class(hint: Any) -> bool:
    """Whether a type is a dataclass, or a named tuple."""
    if not isinstance(hint, type):
        return False
    return dataclasses.is_dataclass(hint) or issubclass(hint, tuple) and hasattr(hint, "_fields")


def class_of(hint: Any) -> Any:
    """The class of fields that a hint means, or None."""
    hint = _hints.plain(hint)
    return hint if is_class(hint) else None


def listed_class_of(hint: Any) -> Any:
    """The class of fields that a hint means a list of, or None."""
    hint = _hints.plain(hint)
    if typing.get_origin(hint) not in (list, collections.abc.Sequence, collections.abc.Iterable):
        return None
    return class_of(*typing.get_args(hint))


# Arguments.


def argument(name: str, hint: Any, default: Any) -> Optional[Tuple[Fields, List[Value]]]:
    """An argument of a class of fields, or of a list of them, with the parameters that it is."""
    has_default = default is not MISSING
    place = Place(name, name, (name,) if has_default else (), MISSING, default is None)
    kind = class_of(hint)
    if kind is None:
        kind = listed_class_of(hint)
        if kind is None:
            return None
        return _read_list(kind, place, (lambda: default) if has_default else None)
    if has_default and default is not None:
        place = place._replace(default=default)
    return _read(kind, place, (lambda: default) if has_default else None)


def _read(
    kind: Any, place: Place, default: Optional[Callable[[], Any]]
) -> Tuple[Fields, List[Value]]:
    place = _entered(kind, place)
    members: Dict[str, Union[str, Fields]] = {}
    values: List[Value] = []
    own = _fields_of(kind, place.path)
    open_ones = set()
    for field in own:
        inner, listed = class_of(field.hint), listed_class_of(field.hint)
        if inner is not None or listed is not None:
            read = _read if listed is None else _read_list
            members[field.name], more = read(inner or listed, *_place_of(place, field))
            values += more
            continue
        value = _sized(_argument_value(place, field), place, [one.name for one in own])
        members[field.name] = value.name
        values.append(value)
        if field.default is MISSING and field.factory is MISSING and _hints.may_be_none(field.hint):
            open_ones.add(field.name)
    if default is not None and default() is None and all(_is_none(value) for value in values):
        message = f"{place.path} may be None, and so may all fields of {kind.__name__}"
        raise Mistake(message, f"write {place.path}: {kind.__name__} = {kind.__name__}()")
    return Fields(kind, members, default, frozenset(open_ones)), values


def _read_list(
    kind: Any, place: Place, default: Optional[Callable[[], Any]]
) -> Tuple[Fields, List[Value]]:
    """A list of a class of fields: each field is a list."""
    at = Place(place.name, f"{place.path}[]", around=place.around)
    fields, values = _read(kind, at, None)
    columns = [_column(value, place, fields, default is not None) for value in values]
    return fields._replace(default=default, is_list=True), columns


def _column(value: Value, place: Place, of: Fields, may_be_absent: bool) -> Value:
    """A field of all objects of a list."""
    path = value.field[len(field_text("")) :]
    is_scalar = value.rank < 0 or value.is_one
    if not is_scalar or value.form or value.element == "filename" or " " in path:
        message = f"{path} is neither a number nor a text, in a list of dataclasses"
        raise Mistake(message, "write a list or an array for each field, in place of the objects")
    if of.open or _is_none(value):
        message = f"{path} may be None, in a list of dataclasses"
        raise Mistake(message, "give the field another default, or none")
    doc = value.doc or ("" if value.default is None else f"{_forms.NULLABLE}{value.default}")
    if may_be_absent and not doc:
        doc = f"{_forms.NULLABLE}that of {place.path}"
    left_out = place.left_out if may_be_absent else ()
    return value._replace(
        rank=1, extents=(f"{place.name}_count",), form=_forms.LIST, is_one=False, default=None,
        doc=doc, field=field_text(path, left_out),
    )  # fmt: skip


def _is_none(value: Value) -> bool:
    return value.doc == f"{_forms.NULLABLE}None"


def _entered(kind: Any, place: Place) -> Place:
    if kind in place.around:
        message = f"{place.path}: {kind.__name__} contains itself, which does not travel"
        raise Mistake(message, "write a list for each of its fields")
    return place._replace(around=(*place.around, kind))


def _fields_of(kind: Any, path: str) -> List[_Field]:
    """The fields that an object of it is made from."""
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
    except Exception as error:
        message = f"the hints of {kind.__name__} cannot be read: {error}"
        raise Mistake(message, "import what they name") from error
    if not dataclasses.is_dataclass(kind):
        defaults = kind._field_defaults
        return [
            _Field(name, hints.get(name), defaults.get(name, MISSING), MISSING)
            for name in kind._fields
        ]
    kept = dataclasses.fields(kind)
    for name, hint in hints.items():
        # What is for __post_init__ alone is in no object that a caller could pass.
        if hint is dataclasses.InitVar or isinstance(hint, dataclasses.InitVar):
            message = f"{path}.{name} is an InitVar, which an object does not have"
            raise Mistake(message, "make it a field")
    return [_Field(one.name, hints[one.name], one.default, one.default_factory) for one in kept
            if one.init]  # fmt: skip


def _place_of(
    place: Place, field: _Field
) -> Tuple[Place, Optional[Callable[[], Any]]]:
    """Where a class inside of another stands, and what it is by default."""
    inner = class_of(field.hint)
    if place.default is MISSING and field.factory is not MISSING:
        # The usual factory is the class itself: what its fields are, the class says.
        is_own = field.factory is inner
        default = MISSING if is_own else _made(field, place.path)
        return place.inside(field, default=default, is_open=True), field.factory
    default = field.default
    if place.default is not MISSING:
        default = getattr(place.default, field.name)
    if default is MISSING:
        return place.inside(field), None
    if default is not None:
        return place.inside(field, default=default), lambda: default
    at = place.inside(field, default=MISSING, is_open=True)
    return at._replace(left_out=(*place.left_out, at.path)), lambda: None


def _made(field: _Field, path: str) -> Any:
    try:
        return field.factory()
    except Exception as error:
        message = f"{path}.{field.name}: its default cannot be made: {error}"
        raise Mistake(message, "mend its default_factory") from error


def _argument_value(place: Place, field: _Field) -> Value:
    at = place.inside(field)
    value = _hints.value_of(at.path, field.hint)
    default = field.default
    is_open = place.is_open
    if place.default is not MISSING:
        default = getattr(place.default, field.name)
    elif field.factory is not MISSING:
        default, is_open = _made(field, place.path), True
    if default is MISSING and _hints.may_be_none(field.hint):
        default = None
    if default is not MISSING:
        value = _forms.nullable(value, default) if is_open else _hints.with_default(value, default)
    elif is_open:
        value = _forms.nullable(value, None)
        value = value._replace(doc=f"{_forms.NULLABLE}that of {place.path}")
    return value._replace(name=at.name, field=field_text(at.path, place.left_out))


def _sized(value: Value, place: Place, fields: List[str]) -> Value:
    """Sizes that are fields beside it are the parameters that these are."""

    def prefixed(match: "re.Match[str]") -> str:
        return f"{place.name}_{match[0]}" if match[0] in fields else match[0]

    extents = tuple(re.sub(r"[A-Za-z_]\w*", prefixed, extent) for extent in value.extents)
    return value._replace(extents=extents)


def gathered(groups: Dict[str, Fields], flat: Dict[str, Any]) -> Dict[str, Any]:
    """The arguments of a function, from the parameters that callers have given."""
    arguments = dict(flat)
    for name, fields in groups.items():
        if fields.default is None or _has_any(fields, flat):
            arguments[name] = _object(fields, flat)
        for parameter in _names(fields):
            arguments.pop(parameter, None)
    return arguments


def _names(fields: Fields) -> List[str]:
    names: List[str] = []
    for member in fields.members.values():
        names += [member] if isinstance(member, str) else _names(member)
    return names


def _has_any(fields: Fields, flat: Dict[str, Any]) -> bool:
    return any(name in flat for name in _names(fields))


def _object(fields: Fields, flat: Dict[str, Any]) -> Any:
    """An object; fields that were not given are as in its default, or as its class says."""
    if fields.is_list:
        return _objects(fields, flat)
    default = None if fields.default is None else fields.default()
    given: Dict[str, Any] = {}
    for name, member in fields.members.items():
        if isinstance(member, str) and member in flat:
            given[name] = flat[member]
        elif isinstance(member, Fields) and (_has_any(member, flat) or member.default is None):
            given[name] = _object(member, flat)
        elif default is not None:
            given[name] = getattr(default, name)
        elif name in fields.open:
            given[name] = None
    return fields.kind(**given)


def _objects(fields: Fields, flat: Dict[str, Any]) -> List[Any]:
    columns = {name: flat[name] for name in _names(fields) if name in flat}
    one = fields._replace(default=None, is_list=False)
    rows = zip(*columns.values())
    return [_object(one, dict(zip(columns, row))) for row in rows]


# Results.


def results(hint: Any) -> Optional[Tuple[Fields, List[Value]]]:
    """The results of a function that returns a class of fields or a list of them, or a tuple with
    one in it."""
    kind = class_of(hint)
    if kind is not None:
        return _results_of(kind, Place("", ""))
    kind = listed_class_of(hint)
    if kind is not None:
        return _list_of_results(kind, Place("result", "result"))
    items = typing.get_args(hint) if typing.get_origin(hint) is tuple else ()
    if not any(class_of(item) or listed_class_of(item) for item in items):
        return None
    numbered = [_Field(f"result{number}", item, MISSING, MISSING)
                for number, item in enumerate(items, 1)]  # fmt: skip
    return _results_among(None, numbered, Place("", ""))


def _results_of(kind: Any, place: Place) -> Tuple[Fields, List[Value]]:
    place = _entered(kind, place)
    hints = typing.get_type_hints(kind, include_extras=True)
    names = (
        [one.name for one in dataclasses.fields(kind)]
        if dataclasses.is_dataclass(kind)
        else list(kind._fields)
    )
    fields = [_Field(name, hints.get(name), MISSING, MISSING) for name in names]
    return _results_among(kind, fields, place)


def _list_of_results(kind: Any, place: Place) -> Tuple[Fields, List[Value]]:
    fields, values = _results_of(kind, place._replace(path=f"{place.path}[]"))
    for value in values:
        if value.rank >= 0 or value.element == "filename":
            path = value.field[len(field_text("")) :]
            message = f"{path} is neither a number nor a text, in a list of dataclasses"
            raise Mistake(message, "return a list or an array for each field")
    extents = _forms.extents_of("", _forms.LIST)
    columns = [value._replace(rank=1, extents=extents, form=_forms.LIST) for value in values]
    return fields._replace(is_list=True), columns


def _results_among(
    kind: Any, fields: List[_Field], place: Place
) -> Tuple[Fields, List[Value]]:
    members: Dict[str, Union[str, Fields]] = {}
    values: List[Value] = []
    for field in fields:
        inner, at = class_of(field.hint), place.inside(field)
        listed = listed_class_of(field.hint)
        if inner is not None or listed is not None:
            read = _results_of if listed is None else _list_of_results
            members[field.name], more = read(inner or listed, at)
            values += more
            continue
        value = _hints.with_bounds(_hints.value_of(at.path, field.hint))
        # Its name alone says it where it stands in no other.
        text = field_text(at.path) if place.name else ""
        values.append(value._replace(name=at.name, field=text))
        members[field.name] = at.name
    return Fields(kind, members), values


def spread(fields: Fields, returned: Any, name: str = "result") -> Any:
    """What a function returned as a tuple of the results that are declared.

    Raises:
        Unfit: something in it is no object of the class that is declared.
    """
    if fields.is_list:
        return _spread_list(fields, returned, name)
    has_inner = any(isinstance(member, Fields) for member in fields.members.values())
    if isinstance(returned, tuple) and len(returned) == len(fields.members):
        items = returned
    elif fields.kind is not None and isinstance(returned, fields.kind):
        items = tuple(getattr(returned, field) for field in fields.members)
    elif not has_inner and name == "result":
        return returned
    else:
        kind = "a tuple" if fields.kind is None else fields.kind.__name__
        raise Unfit(f"it returned {described(returned)} as {name}, which is declared {kind}")
    flat: Tuple[Any, ...] = ()
    for (field, member), item in zip(fields.members.items(), items):
        flat += (item,) if isinstance(member, str) else spread(member, item, field)
    return flat


def _spread_list(fields: Fields, returned: Any, name: str) -> Tuple[List[Any], ...]:
    """A list of objects as a list for each field."""
    if not isinstance(returned, (list, tuple)):
        declared = f"list[{fields.kind.__name__}]"
        raise Unfit(f"it returned {described(returned)} as {name}, which is declared {declared}")
    one = fields._replace(is_list=False)
    rows = [spread(one, item, f"item {row} of {name}") for row, item in enumerate(returned)]
    return tuple([row[column] for row in rows] for column in range(len(_names(fields))))
