"""The names that a piece of Python source binds and reads."""

from __future__ import annotations

import ast
import symtable
from typing import Dict, List, NamedTuple, Optional, Set


class Read(NamedTuple):
    """The names at the top that a source reads."""

    # As soon as it runs.
    now: List[str]
    # In its functions.
    later: List[str]
    # In texts, which may be hints.
    perhaps: List[str]


def read(source: str) -> Read:
    now: Dict[str, None] = {}
    later: Dict[str, None] = {}
    _look(symtable.symtable(source, "<source>", "exec"), now, later)
    perhaps: Dict[str, None] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            perhaps.update(dict.fromkeys(_in_hint(node.value)))
        elif isinstance(node, ast.AugAssign):
            # Which symbol tables do not count as reading.
            now.update(dict.fromkeys(_stored(node.target) & set(now)))
    return Read(list(now), list(later), list(perhaps))


def _look(table: symtable.SymbolTable, now: Dict[str, None], later: Dict[str, None]) -> None:
    is_top = table.get_type() == "module"
    held = later if table.get_type() == "function" else now
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (is_top or symbol.is_global()):
            held[symbol.get_name()] = None
    for inner in table.get_children():
        _look(inner, later if held is later else now, later)


def _in_hint(hint: str) -> List[str]:
    try:
        tree = ast.parse(hint, mode="eval") if len(hint) < 200 else ast.Constant(None)
    except (SyntaxError, ValueError):
        return []
    return [one.id for one in ast.walk(tree) if isinstance(one, ast.Name)]


def bound(statement: ast.stmt) -> Set[str]:
    """The names that a statement at the top of a source defines, or changes."""
    if is_publication(statement):
        return set()
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
    if isinstance(statement, ast.Assign):
        return {name for target in statement.targets for name in _changed(target)}
    if isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        return _changed(statement.target)
    names: Set[str] = set()
    for part in ast.iter_child_nodes(statement):
        if isinstance(part, ast.stmt):
            names |= bound(part)
        elif isinstance(part, (ast.expr, ast.withitem)):
            names |= _targets(part)
        else:
            inner = [one for one in ast.iter_child_nodes(part) if isinstance(one, ast.stmt)]
            names.update(name for one in inner for name in bound(one))
    return names


def _changed(target: ast.expr) -> Set[str]:
    """Of `a`, `a.b`, `a[i]` and `a, (b, c)`."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return {name for one in target.elts for name in _changed(one)}
    while isinstance(target, (ast.Attribute, ast.Subscript, ast.Starred)):
        target = target.value
    return {target.id} if isinstance(target, ast.Name) else set()


def _targets(part: ast.AST) -> Set[str]:
    """What a part of a loop, a `with` or a `del` binds."""
    kinds = (ast.Store, ast.Del)
    names = (one for one in ast.walk(part) if isinstance(one, ast.Name))
    return {one.id for one in names if isinstance(one.ctx, kinds)}


def _stored(target: ast.expr) -> Set[str]:
    return {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}


def declared_global(tree: ast.AST) -> Set[str]:
    """The names that functions declare to give them new values."""
    return {name for one in ast.walk(tree) if isinstance(one, ast.Global) for name in one.names}


def published(tree: ast.AST) -> Set[str]:
    """The functions whose names stand for what a server made of them."""
    found = (one for one in ast.walk(tree) if isinstance(one, ast.Assign) and is_publication(one))
    return {name for one in found for target in one.targets for name in _stored(target)}


def line_of(name: str, statement: ast.stmt) -> int:
    """The last line of a statement that has the name."""
    lines = [
        one.lineno for one in ast.walk(statement) if isinstance(one, ast.Name) and one.id == name
    ]
    return max(lines, default=statement.lineno)


def is_main(statement: ast.stmt) -> bool:
    """Whether it is `if __name__ == "__main__"`, which does not run where it is published."""
    return isinstance(statement, ast.If) and any(
        isinstance(one, ast.Name) and one.id == "__name__" for one in ast.walk(statement.test)
    )


def is_publication(statement: ast.stmt) -> bool:
    """Whether it gives a function's name to what a server made of it: `f = server.publish(f)`. What
    others need is the function."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return False
    called, arguments = statement.value.func, statement.value.args
    published = {one.id for one in arguments if isinstance(one, ast.Name)}
    stored = {name for target in statement.targets for name in _stored(target)}
    return isinstance(called, ast.Attribute) and called.attr == "publish" and stored <= published


def attributes(name: str, statements: List[ast.stmt]) -> Dict[str, Optional[ast.expr]]:
    """What a class's statements give its attributes, None for what is not simply assigned."""
    found: Dict[str, Optional[ast.expr]] = {}
    for statement in statements:
        if isinstance(statement, ast.ClassDef):
            for inner in ast.walk(statement):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    found.setdefault(inner.id, None)
            for inner in statement.body:
                if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                    found[inner.target.id] = inner.value
                elif isinstance(inner, ast.Assign):
                    for target in inner.targets:
                        if isinstance(target, ast.Name):
                            found[target.id] = inner.value
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                    if target.value.id == name:
                        found[target.attr] = statement.value
    return found
