"""What may be asked: one SELECT that reads the tables, and nothing that writes, or that reads
elsewhere.

The engine is told to open no other files and to change no settings, and the module's confinement
lets nothing be written. But the engine would write to a file that it may read
(`WITH x AS (COPY …) SELECT …`), and so the tree of the statement is looked at first.
"""

import json
from typing import Any, Dict, Iterator, List, NamedTuple

# The queries that only read, as the engine names them.
_READING = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
# The functions in FROM that read nothing but their arguments.
_FUNCTIONS = {"range", "generate_series", "unnest", "json_each", "json_tree", "repeat"}
_MAY = "ask one SELECT; WITH, VALUES, FROM, DESCRIBE and SUMMARIZE are such, too"


class Refused(Exception):
    """What is asked is not done: why, and what to do."""

    # The executable prints no traceback of it.
    farcall_is_complete = True


class Asked(NamedTuple):
    """A statement that reads."""

    sql: str
    # What it calls tables.
    names: List[str]


def read(engine: Any, sql: str) -> Asked:
    """Looks at a statement.

    Raises:
        Refused: it does something else than to read tables.
    """
    rows = engine.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchall()
    try:
        tree = json.loads(rows[0][0])
    except RecursionError:
        raise Refused("it is nested too deeply; take it apart") from None
    if tree.get("error"):
        _refuse(engine, sql, tree.get("error_message", "it is no SQL"))
    count = len(tree.get("statements", ()))
    if count != 1:
        raise Refused(f"there are {count} statements; {_MAY}")
    names = []
    for node in _nodes(tree):
        kind = node.get("type")
        if not isinstance(kind, str):
            continue
        if kind.endswith("_NODE") and kind not in _READING:
            word = kind.partition("_")[0]
            raise Refused(f"{word} inside of a query writes, and the tables are read-only; {_MAY}")
        if kind == "TABLE_FUNCTION":
            _check_function(node)
        if kind == "BASE_TABLE":
            names.append(str(node.get("table_name", "")))
    return Asked(sql, names)


def _refuse(engine: Any, sql: str, words: str) -> None:
    """Says what is wrong with what is no SELECT."""
    try:
        kinds = [str(one.type).rpartition(".")[2] for one in engine.extract_statements(sql)]
    except Exception:
        kinds = []
    other = [kind for kind in kinds if kind != "SELECT"]
    if other:
        raise Refused(f"{other[0]} is no query, and the tables are read-only; {_MAY}")
    raise Refused(f"{words}; {_MAY}" if not kinds else words)


def _check_function(node: Dict[str, Any]) -> None:
    function = node.get("function") or {}
    name = str(function.get("function_name", "")).lower()
    if name not in _FUNCTIONS:
        known = ", ".join(sorted(_FUNCTIONS))
        raise Refused(
            f'the function "{name}" in FROM could read elsewhere; read the tables that '
            f"`SELECT * FROM tables` lists, or use one of {known}"
        )


def _nodes(tree: Any) -> Iterator[Dict[str, Any]]:
    """All nodes of a tree, without recursion: it may be deep."""
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
