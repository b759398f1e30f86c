"""Pages of servers, modules, routines and futures in HTML, as notebooks show them. Nothing here
needs one."""

from __future__ import annotations

from html import escape
from typing import Any, Dict, Iterable, List, Sequence

from ._interface import ELEMENTS, python_name

# How many modules of a server are shown unfolded.
_UNFOLDED_MAX = 1
_TABLE = '<table style="text-align: left">'


def of_server(title: str, listed: Sequence[Dict[str, Any]]) -> str:
    """A server's catalogue: a table for each module."""
    modules: Dict[str, List[Dict[str, Any]]] = {}
    for one in listed:
        modules.setdefault(one.get("module", ""), []).append(one)
    unfolded = " open" if len(modules) <= _UNFOLDED_MAX else ""
    parts = [f"<div><b>{escape(title)}</b></div>"]
    for name in sorted(modules):
        count = len(modules[name])
        what = f"<b>{escape(name)}</b>: {count} routine{'s' if count != 1 else ''}"
        parts.append(
            f"<details{unfolded}><summary>{what}</summary>{_routines(modules[name])}</details>"
        )
    return "".join(parts)


def of_module(title: str, listed: Sequence[Dict[str, Any]]) -> str:
    """A module's routines."""
    return f"<div><b>{escape(title)}</b></div>{_routines(listed)}"


def of_routine(described: Dict[str, Any], signature: str) -> str:
    """A routine's signature, what it does, and its parameters."""
    rows = [_parameter(one) for one in described["parameters"] if one.get("mode") != "work"]
    doc = "".join(
        f"<p>{escape(paragraph)}</p>"
        for paragraph in described.get("doc", "").split("\n\n")
        if paragraph
    )
    name = f"<div><b>{escape(described['full_name'])}</b></div>"
    head = f"{name}<div><code>{escape(signature)}</code></div>{doc}"
    return head + _table(["parameter", "", "type", "shape", "what it is"], rows)


def of_future(routine: str, state: str, detail: str) -> str:
    """How a call is doing."""
    name = f"call of <code>{escape(routine)}</code>" if routine else "call"
    return f"<div>{name}: <b>{escape(state)}</b></div>" + (
        f"<div>{escape(detail)}</div>" if detail else ""
    )


def _routines(listed: Iterable[Dict[str, Any]]) -> str:
    rows = [
        [f"<code>{escape(one['signature'])}</code>", escape(one.get("doc", "").split("\n")[0])]
        for one in sorted(listed, key=lambda one: str(one["name"]))
    ]
    return _table(["routine", "what it does"], rows)


def _parameter(described: Dict[str, Any]) -> List[str]:
    """A row: name, mode, type as NumPy calls it, shape as the caller's array has it, description
    and unit."""
    kind = described.get("type", "function")
    if kind in ELEMENTS and kind != "char":
        kind = ELEMENTS[kind][1].name
    shape = ", ".join(one.get("end", one["size"]) for one in described.get("dimensions", ()))
    order = (
        ", by columns"
        if described.get("order") == "column" and len(described["dimensions"]) > 1
        else ""
    )
    unit = f" [{described['unit']}]" if described.get("unit") else ""
    cells = [
        python_name(described["name"]),
        described.get("mode", "in"),
        kind,
        f"({shape}){order}" if shape else "",
    ]
    return [f"<code>{escape(cells[0])}</code>"] + [
        escape(one) for one in cells[1:] + [described.get("doc", "") + unit]
    ]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"{_TABLE}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
