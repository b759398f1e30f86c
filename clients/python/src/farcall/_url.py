"""An argument that stays where it is until the server fetches it."""

from __future__ import annotations


class URL(str):
    """An array that the server fetches by itself, from where its manifest allows it:
    `server.dmmul(URL("https://…/a.npy"), B, n=100)`.

    The file is NumPy's (`.npy`) or Matrix Market's (`.mtx`), and holds the type that the routine
    takes, or numbers that fit it. What sizes the array must be given by another argument: this
    program does not see it. An array argument alone.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"URL({str(self)!r})"
