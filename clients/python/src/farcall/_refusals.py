"""How an argument that does not fit is refused, and how values look in messages."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from . import _errors
from ._interface import Parameter


def refuse(
    routine: str, parameter: Parameter, message: str, advice: str = "", wrong_type: bool = False
) -> NoReturn:
    """An argument that does not fit."""
    kind = _errors.WrongType if wrong_type else _errors.InvalidArgument
    raise _errors.make(kind, "call", message, advice, parameter=parameter.name, routine=routine)


def digits(value: int) -> str:
    """A whole number in an error message, however long it is."""
    return str(value) if value.bit_length() <= 128 else f"a number of {value.bit_length()} bits"


def short(value: Any) -> str:
    """A value in an error message."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape}"
    try:
        written = repr(value)
    except ValueError:
        # Python writes no whole number beyond sys.get_int_max_str_digits().
        written = "something with a very long number in it"
    return f"{written if len(written) <= 40 else written[:37] + '...'} ({type(value).__name__})"
