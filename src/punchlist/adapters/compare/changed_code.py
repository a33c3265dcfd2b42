"""Find what a patch changed in a Python file: functions, methods, constants, other statements."""

import ast
import copy
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.compare.tables import TABLES
from punchlist.model.finding.python_source import parse_python

Function = ast.FunctionDef | ast.AsyncFunctionDef
_SILENT = (ast.Global, ast.Nonlocal, ast.Pass, ast.Try)
"""Statements that a tracer does not report."""


class NamedFunction(Struct, frozen=True, kw_only=True):
    """`owner` is the function's class, or ''."""

    path: str
    name: str
    owner: str = ""

    @property
    def full(self) -> str:
        return f"{self.owner}.{self.name}" if self.owner else self.name


class ChangedFunction(NamedFunction, frozen=True, kw_only=True):
    """A function in both versions that differs, or uses a changed constant."""

    old: Function
    new: Function
    old_lines: tuple[int, ...] = ()
    new_lines: tuple[int, ...] = ()

    @property
    def changes_inner(self) -> bool:
        """Whether lines of a function inside of this one differ."""
        return any(
            node is not function and node.lineno <= line <= (node.end_lineno or node.lineno)
            for function, lines in ((self.old, self.old_lines), (self.new, self.new_lines))
            for node in ast.walk(function)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for line in lines
        )


class CodeChanges(Struct, frozen=True, kw_only=True):
    """`apart` describes changes that calling functions would not show."""

    functions: tuple[ChangedFunction, ...] = ()
    apart: tuple[str, ...] = ()


def find_changes(path: str, before: str, after: str) -> CodeChanges:
    """Return the differences between two versions of a file."""
    old, new = parse_python(before), parse_python(after)
    if old is None or new is None:
        return CodeChanges(apart=(f"{path} does not parse",))
    was, now = dict(_list_functions(old)), dict(_list_functions(new))
    differing = {
        name for name in was.keys() & now.keys() if dump_shape(was[name]) != dump_shape(now[name])
    }
    names, apart = _compare_outside(old, new, path)
    users = {name for name, function in now.items() if name in was and names & list_names(function)}
    found = [
        _compare_function(path, name, was[name], now[name], names)
        for name in sorted(differing | users)
    ]
    found = [_add_helper_lines(each, was, now) for each in found]
    gone = [f"{name} is gone from {path}" for name in sorted(was.keys() - now.keys())]
    unused = [] if users else sorted(names)
    idle = [f"{name} in {path} is used by nothing that was compared" for name in unused]
    return CodeChanges(functions=tuple(found), apart=(*apart, *gone, *idle))


def _compare_function(
    path: str, name: str, old: Function, new: Function, constants: set[str]
) -> ChangedFunction:
    owner, _, last = name.rpartition(".")
    if dump_shape(old) != dump_shape(new):
        gone, come = _changed_lines(old, new)
    else:
        gone, come = _lines_using(constants, old), _lines_using(constants, new)
    return ChangedFunction(
        path=path, name=last, owner=owner, old=old, new=new, old_lines=gone, new_lines=come
    )


def _add_helper_lines(
    changed: ChangedFunction, was: Mapping[str, Function], now: Mapping[str, Function]
) -> ChangedFunction:
    """Add the lines that are new in new functions that a changed one uses."""
    known = {text for function in was.values() for _, text in _list_statements(function)}
    added = {name.rpartition(".")[2]: now[name] for name in now.keys() - was.keys()}
    waiting, used = [changed.new], set[str]()
    while waiting:
        fresh = (list_names(waiting.pop()) & added.keys()) - used
        used |= fresh
        waiting += [added[name] for name in fresh]
    statements = [each for name in sorted(used) for each in _list_statements(added[name])]
    lines = {line for line, text in statements if text not in known}
    return replace(changed, new_lines=tuple(sorted({*changed.new_lines, *lines})))


def _lines_using(constants: set[str], function: Function) -> tuple[int, ...]:
    names = (node for node in ast.walk(function) if isinstance(node, ast.Name))
    return tuple(sorted({node.lineno for node in names if node.id in constants}))


def _changed_lines(old: Function, new: Function) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the first lines of statements that only the old or only the new version has."""
    was, now = list(_list_statements(old)), list(_list_statements(new))
    matcher = SequenceMatcher(
        a=[text for _, text in was], b=[text for _, text in now], autojunk=False
    )
    gone: set[int] = set()
    come: set[int] = set()
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            gone.update(line for line, _ in was[a:b])
            come.update(line for line, _ in now[c:d])
    return tuple(sorted(gone)), tuple(sorted(come))


def _list_statements(function: Function) -> Iterator[tuple[int, str]]:
    """Yield each statement without its body: an inner change does not mark the outer ones."""
    for node in ast.walk(function):
        if isinstance(node, ast.stmt) and node is not function and not isinstance(node, _SILENT):
            yield node.lineno, _dump_head(node)


def _dump_head(node: ast.stmt) -> str:
    bare = copy.copy(node)
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        if hasattr(bare, field):
            setattr(bare, field, [])
    return ast.dump(bare)


def _list_functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Yield functions and methods by name, without nested functions."""
    for statement in tree.body:
        if isinstance(statement, Function):
            yield statement.name, statement
        elif isinstance(statement, ast.ClassDef):
            methods = (each for each in statement.body if isinstance(each, Function))
            yield from ((f"{statement.name}.{method.name}", method) for method in methods)


def _compare_outside(old: ast.Module, new: ast.Module, path: str) -> tuple[set[str], list[str]]:
    """Return names of changed constants, and descriptions of other changes outside functions."""
    was, now = dict(_list_outside(old)), dict(_list_outside(new))
    differing = [key for key in {**was, **now} if was.get(key) != now.get(key)]
    constants = {key.removeprefix("= ") for key in differing if key.startswith("= ")}
    return constants, [f"{key} changed in {path}" for key in differing if not key.startswith("= ")]


def _list_outside(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield statements outside functions by name, without imports and docstrings."""
    for number, statement in enumerate(tree.body):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield f"= {name}", ast.dump(statement)
            case ast.ClassDef(name=name):
                head = copy.copy(statement)
                head.body = [
                    s for s in statement.body if not isinstance(s, Function) and not _is_text(s)
                ]
                yield f"the class {name}", ast.dump(head)
            case ast.Import() | ast.ImportFrom():
                continue
            case _ if not isinstance(statement, Function) and not _is_text(statement):
                yield f"statement {number}", ast.dump(statement)
            case _:
                continue


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def dump_shape(function: Function) -> str:
    """Dump a function's AST without its docstring."""
    bare = copy.copy(function)
    bare.body = [statement for statement in function.body if not _is_text(statement)]
    return ast.dump(bare)


def list_names(function: Function) -> set[str]:
    """Return every name and attribute that a function mentions."""
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}


def find_impurity(function: Function, module: Mapping[str, Function]) -> str:
    """Return the side effect of a function or of one it calls in its module, or ''."""
    waiting, seen = [function], {id(function)}
    while waiting:
        current = waiting.pop()
        nodes = list(ast.walk(current))
        names = list_names(current) - {node.arg for node in nodes if isinstance(node, ast.arg)}
        if found := sorted(names & TABLES.impure):
            return found[0]
        if any(isinstance(node, ast.Global) for node in nodes):
            return "global state"
        for name in names & module.keys():
            if id(module[name]) not in seen:
                seen.add(id(module[name]))
                waiting.append(module[name])
    return ""
