"""The source of a function with all that it needs of its file or its cells. Values are those that
the program has now, and not those that the source would compute again elsewhere."""

from __future__ import annotations

import ast
import inspect
import os
import pathlib
import sys
import types
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Set

from . import _names
from ._literals import Literals, Unsendable, is_plain

# Besides functions and classes, what is made again where it is published: it has no value.
_MADE_AGAIN = {"typing", "typing_extensions", "types", "_thread", "threading", "logging"}
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORTS = (ast.Import, ast.ImportFrom)
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign)


class Refused(Exception):
    """A name that a function reads, and why its value cannot be sent."""

    def __init__(self, name: str, line: Optional[int], why: str) -> None:
        where = "" if line is None else f" (line {line})"
        super().__init__(f"it uses {name}{where}, whose value cannot be sent: {why}")


class Statement(NamedTuple):
    """A statement at the top of a source: its lines, its text, and what it is."""

    line: int
    end: int
    text: str
    node: ast.stmt


class Sources:
    """The statements at the top of sources, by the names that they bind: those of the first source
    that binds a name."""

    def __init__(self, texts: Iterable[str], live: Mapping[str, Any]) -> None:
        self.by_name: Dict[str, List[Statement]] = {}
        self._live = live
        self._literals = Literals(live)
        # Of one source alone lines can stay as they are.
        texts = list(texts)
        self._is_one = len(texts) == 1
        self._future: Set[str] = set()
        # Functions whose name stands for what a server made of them.
        self._published: Set[str] = set()
        # Names that functions give new values to.
        self._set_inside: Set[str] = set()
        self._needed: List[Statement] = []
        self._values: Dict[str, Statement] = {}
        self._seen: Set[str] = set()
        for source in texts:
            try:
                # Lines that are commands of IPython are no Python: their cell defines nothing.
                tree = ast.parse(source)
            except SyntaxError:
                continue
            self._set_inside |= _names.declared_global(tree)
            self._published |= _names.published(tree)
            found: Dict[str, List[Statement]] = {}
            for statement in tree.body:
                self._take(source, statement, found)
            self.by_name = {**found, **self.by_name}

    def _take(self, source: str, node: ast.stmt, found: Dict[str, List[Statement]]) -> None:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            self._future.update(alias.name for alias in node.names)
            return
        if _names.is_publication(node):
            return
        decorators = getattr(node, "decorator_list", ())
        first = min([node.lineno, *(one.lineno for one in decorators)])
        end = node.end_lineno or node.lineno
        lines = [line.encode() for line in source.splitlines(keepends=True)[first - 1 : end]]
        lines[-1] = lines[-1][: node.end_col_offset]
        if first == node.lineno:
            # Not what stands before it on its line.
            lines[0] = lines[0][node.col_offset :]
        written = Statement(first, end, b"".join(lines).decode(), node)
        for name in _names.bound(node):
            found.setdefault(name, []).append(written)

    def closure(self, name: str) -> str:
        """The source of a function with all that it needs, which publishes it alone.

        Raises:
            Refused: it needs a value that cannot be sent.
        """
        self._needed, self._values, self._seen = [], {}, set()
        self._need(name)
        future = ", ".join(sorted(self._future))
        source = f"from __future__ import {future}" if future else ""
        source += self._laid_out(source)
        # Where a statement that is needed for something else gives it another value.
        bound = {one for kept in self._kept() for one in _names.bound(kept.node)}
        for again in sorted(bound & set(self._values)):
            source += f"\n{self._values[again].text}"
        return source + f"\n\n__all__ = [{name!r}]\n"

    def _kept(self) -> List[Statement]:
        values = {id(one) for one in self._values.values()}
        return [one for one in self._needed if id(one) not in values]

    def _laid_out(self, begun: str) -> str:
        """The statements on the lines that they have in their file, which errors name."""
        if not self._is_one:
            return "".join(f"\n\n{one.text}" for one in self._needed)
        source, before = begun, None
        for one in sorted(self._needed, key=lambda one: one.line):
            missing = one.line - 1 - source.count("\n")
            if missing > 0:
                source += "\n" * missing
            elif source and not source.endswith("\n"):
                simple = before is not None and not _is_compound(before) and not _is_compound(one)
                source += "; " if simple else "\n"
            source += one.text
            before = one
        return source[len(begun) :]

    def _need(self, name: str) -> None:
        if name in self._seen or name.startswith("__"):
            return
        self._seen.add(name)
        statements = self.by_name.get(name, [])
        if name not in self._live:
            # It has no value, as in `if TYPE_CHECKING`; a function says so where it reads it.
            self._keep([one for one in statements if not isinstance(one.node, _ASSIGNMENTS)])
        elif self.is_kept(name):
            kept = _definitions(statements)
            self._keep(kept)
            self._check_steady(name, kept)
        else:
            self._send_value(name, statements)

    def _keep(self, statements: List[Statement]) -> None:
        """Takes statements along as they are written, after what they need."""
        for statement in statements:
            written = self._with_defaults(statement)
            if any(one.line == written.line and one.node is written.node for one in self._needed):
                continue
            read = _names.read(written.text)
            for other in read.now + read.later:
                self._need(other)
            for other in read.perhaps:
                self._need_if_possible(other)
            self._needed.append(written)

    def _need_if_possible(self, name: str) -> None:
        """What a text may name, if it is a hint: never a reason to refuse."""
        before = list(self._needed), dict(self._values), set(self._seen)
        try:
            self._need(name)
        except Refused:
            self._needed, self._values, self._seen = before

    def is_kept(self, name: str) -> bool:
        """Whether its statements are sent as they are: imports, functions, classes and hints."""
        value = self._live[name]
        statements = _definitions(self.by_name.get(name, []))
        if not statements:
            return False
        nodes = [one.node for one in statements]
        last = nodes[-1]
        if all(isinstance(one, _IMPORTS) for one in nodes):
            return isinstance(value, types.ModuleType) or _is_imported(name, value, last)
        if name in self._published:
            return True
        if isinstance(value, type) and any(isinstance(one, ast.ClassDef) for one in nodes):
            self._check_class(name, value, statements)
            return value.__name__ == name
        if isinstance(last, (ast.If, ast.Try)):
            return callable(value) or isinstance(value, types.ModuleType)
        if isinstance(value, types.FunctionType):
            return self._is_function_of(name, value, statements[-1])
        if _is_place(value) and _depends_on_file(last) and len(nodes) == 1:
            return True
        return not is_plain(value) and self._is_made_again(name, value, nodes)

    def _is_made_again(self, name: str, value: Any, nodes: List[ast.stmt]) -> bool:
        kind = type(value)
        if kind is types.SimpleNamespace or self._is_set_elsewhere(name):
            return False
        if not all(isinstance(one, _DEFINITIONS + _ASSIGNMENTS) for one in nodes):
            return False
        if isinstance(nodes[-1], _DEFINITIONS) or kind.__module__ in _MADE_AGAIN:
            return True
        if isinstance(value, (types.MethodType, types.BuiltinMethodType)):
            # What it is a method of may have changed.
            return isinstance(value.__self__, (types.ModuleType, type))
        own = self._live.get("__name__")
        return callable(value) and kind.__module__ not in (own, "functools")

    def _is_function_of(self, name: str, value: Any, last: Statement) -> bool:
        """Whether the last of its statements is what made the function."""
        node = last.node
        if isinstance(node, _DEFINITIONS) and not node.decorator_list:
            return not self._is_one or value.__code__.co_firstlineno == last.line
        # What a decorator made of it, or another function.
        made = isinstance(node, _DEFINITIONS + _ASSIGNMENTS)
        return made and not self._is_set_elsewhere(name)

    def _is_set_elsewhere(self, name: str) -> bool:
        """Whether statements that are not sent give it values, too."""
        statements = self.by_name.get(name, [])
        return name in self._set_inside or len(_definitions(statements)) != len(statements)

    def _check_class(self, name: str, value: type, statements: List[Statement]) -> None:
        """Refuses a class whose attributes have got other values than its statements give."""
        definition = next((s for s in statements if isinstance(s.node, ast.ClassDef)), None)
        if definition is None or value.__name__ != name:
            return
        written = _names.attributes(name, [one.node for one in statements])
        for attribute, held in vars(value).items():
            if attribute.startswith("_") or not is_plain(held):
                continue
            expression = written.get(attribute, ast.Constant(Ellipsis))
            try:
                given = expression if expression is None else ast.literal_eval(expression)
            except ValueError:
                continue
            if expression is not None and (type(given), given) != (type(held), held):
                why = "it has another value than the class gives it"
                raise Refused(f"{name}.{attribute}", definition.line, why)

    def _check_steady(self, name: str, statements: List[Statement]) -> None:
        """Refuses what is made of values that may have changed since."""
        for statement in statements:
            if isinstance(statement.node, (ast.If, ast.Try)):
                continue
            for other in _names.read(self._with_defaults(statement).text).now:
                if other in self._live and not self._is_steady(other):
                    why = f"it is made of {other}, which may have had another value then"
                    raise Refused(name, statement.line, why)

    def _is_steady(self, name: str) -> bool:
        statements = self.by_name.get(name, [])
        if name not in self._values:
            return True
        one = statements[0].node if len(statements) == 1 else None
        alone = isinstance(one, _ASSIGNMENTS) and name not in self._set_inside
        return alone and is_plain(self._live[name])

    def _with_defaults(self, statement: Statement) -> Statement:
        """A function whose defaults are the values that they have had since it was defined."""
        node = statement.node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return statement
        function = self._live.get(node.name)
        function = inspect.unwrap(function) if callable(function) else None
        if not isinstance(function, types.FunctionType):
            return statement
        if self._is_one and function.__code__.co_firstlineno != statement.line:
            return statement
        given = list(zip(node.args.defaults, function.__defaults__ or ()))
        named = function.__kwdefaults__ or {}
        for one, default in zip(node.args.kwonlyargs, node.args.kw_defaults):
            if default is not None and one.arg in named:
                given.append((default, named[one.arg]))
        text = statement.text
        for expression, value in sorted(given, key=lambda one: _place(one[0]), reverse=True):
            text = _replaced(text, statement.line, expression, value)
        return statement._replace(text=text)

    def _send_value(self, name: str, statements: List[Statement]) -> None:
        """Writes its value in the place of the statements that it has it from."""
        line = _names.line_of(name, statements[-1].node) if statements else None
        value = self._live[name]
        try:
            text = self._literals.of(value, name)
        except Unsendable as why:
            only = statements[0].node if len(statements) == 1 else None
            if only is not None and _is_same_again(only, value, self._live):
                self._keep(statements)
                return
            raise Refused(name, line, str(why)) from None
        others = self._literals.refers_to
        for other in sorted(others):
            self._need(other)
        after = [one.end for other in others for one in self.by_name.get(other, [])]
        place = max([statements[0].line if statements else 1, *after])
        node = ast.parse(f"{name} = None").body[0]
        self._values[name] = Statement(place, place, f"{name} = {text}", node)
        self._needed.append(self._values[name])


def _definitions(statements: List[Statement]) -> List[Statement]:
    """Those that can be sent as they are: not loops, nor what the main program does."""
    kinds = (*_DEFINITIONS, *_IMPORTS, *_ASSIGNMENTS, ast.If, ast.Try)
    return [
        one for one in statements if isinstance(one.node, kinds) and not _names.is_main(one.node)
    ]


def _is_compound(statement: Statement) -> bool:
    return not isinstance(statement.node, (*_IMPORTS, *_ASSIGNMENTS, ast.AugAssign, ast.Expr))


def _is_imported(name: str, value: Any, node: ast.stmt) -> bool:
    """Whether it is what its import gives."""
    if not isinstance(node, ast.ImportFrom) or node.level:
        return not is_plain(value)
    module = sys.modules.get(node.module or "")
    original = {alias.asname or alias.name: alias.name for alias in node.names}.get(name)
    return original is not None and getattr(module, original, None) is value


def _is_place(value: Any) -> bool:
    return isinstance(value, pathlib.PurePath) or isinstance(value, str) and os.path.isabs(value)


def _depends_on_file(node: ast.stmt) -> bool:
    """Whether it says where the file lies, which is another place where it is published."""
    return isinstance(node, _ASSIGNMENTS) and any(
        isinstance(one, ast.Name) and one.id == "__file__" for one in ast.walk(node)
    )


def _is_same_again(node: ast.stmt, value: Any, live: Mapping[str, Any]) -> bool:
    """Whether an assignment without a call gives the same value again, as a hint does."""
    if not isinstance(node, _ASSIGNMENTS) or node.value is None:
        return False
    calls = (ast.Call, ast.Await, ast.NamedExpr, ast.ListComp, ast.GeneratorExp, ast.Lambda)
    if any(isinstance(one, calls) for one in ast.walk(node.value)):
        return False
    try:
        again = eval(compile(ast.Expression(node.value), "<hint>", "eval"), dict(live))
        return type(again) is type(value) and bool(again is value or again == value)
    except Exception:
        return False


def _place(expression: ast.expr) -> Any:
    return expression.lineno, expression.col_offset


def _replaced(text: str, first: int, default: ast.expr, value: Any) -> str:
    """The text of a function with another default, on as many lines."""
    if not is_plain(value):
        return text
    try:
        if repr(ast.literal_eval(default)) == repr(value):
            return text
    except ValueError:
        pass
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    begin, end = default.lineno - first, (default.end_lineno or default.lineno) - first
    written = Literals({}).of(value).encode() + b"\n" * (end - begin)
    after = lines[end][default.end_col_offset :]
    lines[begin : end + 1] = [lines[begin][: default.col_offset] + written + after]
    return b"".join(lines).decode()
