"""By which names tests call the code that a finding is about."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from msgspec import Struct

from punchlist.model.dedup.symbols import find_symbols
from punchlist.model.finding.python_source import parse_python

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_WORD = re.compile(r"[A-Za-z_]\w*")
_CODE = re.compile(r"`([A-Za-z_]\w*)[(`]|(?<![\w.])([A-Za-z_]\w*)\(")
"""A name in backticks, or of what is called."""


class CodeNames(Struct, frozen=True):
    """One way to speak of the code: a test does that if it mentions a name of every set."""

    sets: tuple[frozenset[str], ...]
    direct: bool = True
    """False for names of other code, which the code in question only has to do with."""

    def are_mentioned(self, mentioned: frozenset[str]) -> bool:
        return bool(self.sets) and all(mentioned & names for names in self.sets)


def module_name(path: str) -> str:
    """Return what imports call the file: its stem, or its folder's name for `__init__.py`."""
    named = PurePosixPath(path)
    return named.parent.name if named.stem == "__init__" else named.stem


def find_code_names(path: str, text: str, line: int | None, words: str = "") -> list[CodeNames]:
    """Return the names to look for in tests, the closest first.

    In a function or class its own name counts, and what uses it where `words` name that, too; then
    all that uses it. Elsewhere it is what the line binds, or what `words` name; at last all names
    of the file and its module.
    """
    lines, tree = text.splitlines(), parse_python(text)
    around = ""
    if line is not None and 1 <= line <= len(lines):
        around = find_symbols(path, lines)[line - 1]
    if around:
        named = frozenset(one or other for one, other in _CODE.findall(words))
        return _names_of_symbol(around.split("."), tree, named)
    bound = _bound_at(tree, line) if tree and line else frozenset()
    known = _top_names(tree) if tree else frozenset()
    meant = bound or known.intersection(_WORD.findall(words))
    everything = CodeNames((known | {module_name(path)},), direct=False)
    if not meant:
        return [everything]
    return [CodeNames((meant | _find_users(tree, meant),)), everything]


def _names_of_symbol(
    parts: list[str], tree: ast.Module | None, named: frozenset[str]
) -> list[CodeNames]:
    """A method is meant where its class is mentioned, too; else any test of the class counts."""
    outer = frozenset(parts[:1])
    users = _find_users(tree, outer)
    own = CodeNames((outer | (users & named),))
    if len(parts) > 1 and tree and _is_class(tree, parts[0]):
        own = CodeNames((outer, frozenset(parts[1:2])))
    return [own, CodeNames((outer | users,), direct=False)]


def _is_class(tree: ast.Module, name: str) -> bool:
    return any(isinstance(node, ast.ClassDef) and node.name == name for node in ast.walk(tree))


def _bound_at(tree: ast.Module, line: int) -> frozenset[str]:
    """Return the names that the top-level statement in that line binds."""
    for statement in tree.body:
        if statement.lineno <= line <= (statement.end_lineno or statement.lineno):
            return frozenset(bound_names(statement))
    return frozenset()


def bound_names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that one statement, or one inside of it, binds in its module."""
    if isinstance(statement, _Definition):
        yield statement.name
        return
    if isinstance(statement, ast.Import | ast.ImportFrom):
        yield from (each.asname or each.name.partition(".")[0] for each in statement.names)
        return
    for node in ast.iter_child_nodes(statement):
        if isinstance(node, ast.stmt):
            yield from bound_names(node)
        else:
            stored = (each for each in ast.walk(node) if isinstance(each, ast.Name))
            yield from (each.id for each in stored if isinstance(each.ctx, ast.Store))


def _top_names(tree: ast.Module) -> frozenset[str]:
    """Return what a module defines, without what it imports."""
    own = (each for each in tree.body if not isinstance(each, ast.Import | ast.ImportFrom))
    return frozenset(name for statement in own for name in bound_names(statement))


def defines_name(text: str, name: str) -> bool:
    """Return whether a module defines the name itself, not only imports it."""
    tree = parse_python(text)
    return tree is not None and name in _top_names(tree)


def _find_users(tree: ast.Module | None, names: Iterable[str]) -> frozenset[str]:
    """Return the top-level functions and classes that use the names, also through others."""
    known = set(names)
    definitions = [node for node in tree.body if isinstance(node, _Definition)] if tree else []
    used = {node.name: mentioned_names(node) for node in definitions}
    users: set[str] = set()
    while more := {name for name, theirs in used.items() if theirs & known} - users:
        users |= more
        known |= more
    return frozenset(users)


def mentioned_names(node: ast.AST) -> frozenset[str]:
    """Return all names in a piece of code: variables, attributes, parameters, imported names and
    strings that are names.
    """
    found: set[str] = set()
    for each in ast.walk(node):
        match each:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                found.add(name)
            case ast.alias(name=name):
                found.update(name.split("."))
            case ast.Constant(value=str(text)) if all(map(str.isidentifier, text.split("."))):
                found.update(text.split("."))
    return frozenset(found)
