"""Find what a patch changed in a Python file: functions, methods, constants, other statements."""

import ast
import copy
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher

from msgspec import Struct

from punchlist.model.finding.python_source import parse_python

Function = ast.FunctionDef | ast.AsyncFunctionDef
_IMPURE = frozenset(
    """
        open exec eval __import__ subprocess socket requests httpx urllib shutil tempfile threading
        multiprocessing asyncio logging logger sqlite3 cursor connection session urlopen rmtree
        unlink rmdir mkdir makedirs chmod chown symlink write_text write_bytes read_text read_bytes
        getenv environ sleep fork kill system popen Popen exit _exit perf_counter monotonic now
        today utcnow time_ns uuid4 uuid1 urandom getpid secrets Lock RLock Thread Pool
    """.split()
)
"""Names whose effect no answer shows, or whose answer is another each time."""

_SILENT = (ast.Global, ast.Nonlocal, ast.Pass, ast.Try)
"""Statements that no tracer need come by."""


class ChangedFunction(Struct, frozen=True, kw_only=True):
    """A function in both versions that differs, or uses a changed constant. `owner` is its class or
    ''.
    """

    path: str
    name: str
    owner: str = ""
    old: Function
    new: Function
    old_lines: tuple[int, ...] = ()
    new_lines: tuple[int, ...] = ()

    @property
    def full(self) -> str:
        return f"{self.owner}.{self.name}" if self.owner else self.name


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
    # What another function calls needs no inputs of its own if nobody can make any; who calls it
    # shows the difference.
    found = [
        _compare_function(path, name, was[name], now[name], names)
        for name in sorted(differing | users)
    ]
    lost = sorted(was.keys() - now.keys())
    gone = [f"{name} is gone from {path}" for name in lost]
    idle = [
        f"{name} in {path} is used by nothing that was compared"
        for name in sorted(names)
        if not users
    ]
    return CodeChanges(functions=tuple(found), apart=(*apart, *gone, *idle))


def _compare_function(
    path: str, name: str, old: Function, new: Function, constants: set[str]
) -> ChangedFunction:
    owner, _, last = name.rpartition(".")
    if dump_shape(old) == dump_shape(
        new
    ):  # it only uses what changed: the lines that do so must be reached
        lines = tuple(
            sorted(
                {n.lineno for n in ast.walk(new) if isinstance(n, ast.Name) and n.id in constants}
            )
        )
        olds = tuple(
            sorted(
                {n.lineno for n in ast.walk(old) if isinstance(n, ast.Name) and n.id in constants}
            )
        )
        return ChangedFunction(
            path=path, name=last, owner=owner, old=old, new=new, old_lines=olds, new_lines=lines
        )
    gone, come = _changed_lines(old, new)
    return ChangedFunction(
        path=path, name=last, owner=owner, old=old, new=new, old_lines=gone, new_lines=come
    )


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
    """Yield each statement without its body, so that an inner change does not mark
    the outer ones.
    """
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
            yield from (
                (f"{statement.name}.{inner.name}", inner)
                for inner in statement.body
                if isinstance(inner, Function)
            )


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
                kept = [
                    s for s in statement.body if not isinstance(s, Function) and not _is_text(s)
                ]
                head = copy.copy(statement)
                head.body = kept
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
    """Return the side effect of a function, or of one it calls in its module; ''
    if none is seen.
    """
    waiting, seen = [function], {id(function)}
    while waiting:
        current = waiting.pop()
        names = list_names(current) - {
            arg.arg for arg in ast.walk(current) if isinstance(arg, ast.arg)
        }
        if found := sorted(names & _IMPURE):
            return found[0]
        if any(isinstance(node, ast.Global) for node in ast.walk(current)):
            return "global state"
        for name in names & module.keys():
            if id(module[name]) not in seen:
                seen.add(id(module[name]))
                waiting.append(module[name])
    return ""
