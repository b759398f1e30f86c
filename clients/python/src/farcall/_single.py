"""A single result as the number, text or array that it is: arithmetic, comparison, conversion,
elements."""

from __future__ import annotations

import math
import operator
from typing import Any, Callable, Dict

import numpy as np

from . import _errors

# Indices that no position among results is: elements of a single array are meant.
_OF_ELEMENTS = (tuple, list, slice, np.ndarray, type(None), type(Ellipsis))


def value_of(given: Any) -> Any:
    """What a single result is; anything else as it is."""
    return given._one() if isinstance(given, Single) and len(given._values) == 1 else given


def _unary(function: Callable[[Any], Any]) -> Any:
    def method(self: Single) -> Any:
        return function(self._only())

    return _errors.ends_here(method)


def _binary(function: Callable[[Any, Any], Any]) -> Any:
    def method(self: Single, other: Any) -> Any:
        return function(self._only(), value_of(other))

    return _errors.ends_here(method)


def _reflected(function: Callable[[Any, Any], Any]) -> Any:
    def method(self: Single, other: Any) -> Any:
        return function(value_of(other), self._only())

    return _errors.ends_here(method)


class Single:
    """What results can do where there is just one: whatever it can do itself.

    Of several, arithmetic asks which is meant. Iteration, `len`, names and positions are those of
    results in either case.
    """

    _values: Dict[str, Any]

    def _one(self) -> Any:
        (value,) = self._values.values()
        return value

    def _only(self) -> Any:
        if len(self._values) == 1:
            return self._one()
        names = ", ".join(self._values)
        message = f"there are {len(self._values)} results, and one is wanted"
        advice = f"name it: {names}" if names else "the routine gives nothing back"
        raise _errors.make(_errors.WrongType, "use a result", message, advice)

    # Comparison. Several results are equal to themselves alone.

    def __eq__(self, other: object) -> Any:
        return self._one() == value_of(other) if len(self._values) == 1 else NotImplemented

    def __ne__(self, other: object) -> Any:
        return self._one() != value_of(other) if len(self._values) == 1 else NotImplemented

    def __hash__(self) -> int:
        # Equal numbers and texts have equal hashes. What has none is found as the object it is.
        if len(self._values) == 1:
            try:
                return hash(self._one())
            except TypeError:
                pass
        return object.__hash__(self)

    __lt__, __le__ = _binary(operator.lt), _binary(operator.le)
    __gt__, __ge__ = _binary(operator.gt), _binary(operator.ge)

    # Arithmetic. Of `r += 1`, Python makes r = r + 1.

    __add__, __radd__ = _binary(operator.add), _reflected(operator.add)
    __sub__, __rsub__ = _binary(operator.sub), _reflected(operator.sub)
    __mul__, __rmul__ = _binary(operator.mul), _reflected(operator.mul)
    __matmul__, __rmatmul__ = _binary(operator.matmul), _reflected(operator.matmul)
    __truediv__, __rtruediv__ = _binary(operator.truediv), _reflected(operator.truediv)
    __floordiv__, __rfloordiv__ = _binary(operator.floordiv), _reflected(operator.floordiv)
    __mod__, __rmod__ = _binary(operator.mod), _reflected(operator.mod)
    __divmod__, __rdivmod__ = _binary(divmod), _reflected(divmod)
    __pow__, __rpow__ = _binary(operator.pow), _reflected(operator.pow)
    __and__, __rand__ = _binary(operator.and_), _reflected(operator.and_)
    __or__, __ror__ = _binary(operator.or_), _reflected(operator.or_)
    __xor__, __rxor__ = _binary(operator.xor), _reflected(operator.xor)
    __lshift__, __rlshift__ = _binary(operator.lshift), _reflected(operator.lshift)
    __rshift__, __rrshift__ = _binary(operator.rshift), _reflected(operator.rshift)
    __neg__, __pos__ = _unary(operator.neg), _unary(operator.pos)
    __abs__, __invert__ = _unary(operator.abs), _unary(operator.invert)

    # Conversion.

    __int__, __float__, __complex__ = _unary(int), _unary(float), _unary(complex)
    __index__, __trunc__ = _unary(operator.index), _unary(math.trunc)
    __floor__, __ceil__ = _unary(math.floor), _unary(math.ceil)

    @_errors.ends_here
    def __round__(self, digits: Any = None) -> Any:
        return round(self._only(), digits)

    def __bool__(self) -> bool:
        """Of several, as of any sequence: whether there are any."""
        return bool(self._one() if len(self._values) == 1 else self._values)

    def __format__(self, form: str) -> str:
        return format(self._one(), form) if len(self._values) == 1 else format(str(self), form)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        given = self._one() if len(self._values) == 1 else list(self._values.values())
        array = np.asarray(given, dtype)
        if copy is False and array is not given:
            raise ValueError("an array can only be made of it by a copy")
        return array.copy() if copy and array is given else array


def is_of_elements(key: object) -> bool:
    """Whether an index is one into a single array, and no name or position of a result."""
    return isinstance(key, _OF_ELEMENTS)


def whole_number(value: Any) -> Any:
    """An object of another library that is an integer, as int; anything else as it is."""
    try:
        return operator.index(value)
    except TypeError:
        return value
