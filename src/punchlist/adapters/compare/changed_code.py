"""What a patch changed in a Python file, piece by piece: functions, methods, constants, and what is
neither.
"""

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


class Changed(Struct, frozen=True, kw_only=True):
    """A function that is in both versions and differs, or uses a constant that does. `owner` is its
    class, if it has one.
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


class Pieces(Struct, frozen=True, kw_only=True):
    """`apart` are changes that calling functions would not show, in words."""

    functions: tuple[Changed, ...] = ()
    apart: tuple[str, ...] = ()


def pieces(path: str, before: str, after: str) -> Pieces:
    """What differs between two versions of a file."""
    old, new = parse_python(before), parse_python(after)
    if old is None or new is None:
        return Pieces(apart=(f"{path} does not parse",))
    was, now = dict(_functions(old)), dict(_functions(new))
    differing = {name for name in was.keys() & now.keys() if shape(was[name]) != shape(now[name])}
    names, apart = _loose(old, new, path)
    users = {name for name, function in now.items() if name in was and names & used(function)}
    # What another function calls needs no inputs of its own if nobody can make any; who calls it
    # shows the difference.
    found = [
        _changed(path, name, was[name], now[name], names) for name in sorted(differing | users)
    ]
    lost = sorted(was.keys() - now.keys())
    gone = [f"{name} is gone from {path}" for name in lost]
    idle = [
        f"{name} in {path} is used by nothing that was compared"
        for name in sorted(names)
        if not users
    ]
    return Pieces(functions=tuple(found), apart=(*apart, *gone, *idle))


def _changed(path: str, name: str, old: Function, new: Function, constants: set[str]) -> Changed:
    owner, _, last = name.rpartition(".")
    if shape(old) == shape(new):  # it only uses what changed: the lines that do so must be reached
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
        return Changed(
            path=path, name=last, owner=owner, old=old, new=new, old_lines=olds, new_lines=lines
        )
    gone, come = _lines(old, new)
    return Changed(
        path=path, name=last, owner=owner, old=old, new=new, old_lines=gone, new_lines=come
    )


def _lines(old: Function, new: Function) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Line numbers of the statements that are in one version only; nested ones by
    their first line.
    """
    was, now = list(_statements(old)), list(_statements(new))
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


def _statements(function: Function) -> Iterator[tuple[int, str]]:
    """Each statement by its head alone, so that a change deep inside does not make everything
    around it new.
    """
    for node in ast.walk(function):
        if isinstance(node, ast.stmt) and node is not function and not isinstance(node, _SILENT):
            yield node.lineno, _head(node)


def _head(node: ast.stmt) -> str:
    bare = copy.copy(node)
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        if hasattr(bare, field):
            setattr(bare, field, [])
    return ast.dump(bare)


def _functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Functions of the module and methods of its classes; nested ones are part of those."""
    for statement in tree.body:
        if isinstance(statement, Function):
            yield statement.name, statement
        elif isinstance(statement, ast.ClassDef):
            yield from (
                (f"{statement.name}.{inner.name}", inner)
                for inner in statement.body
                if isinstance(inner, Function)
            )


def _loose(old: ast.Module, new: ast.Module, path: str) -> tuple[set[str], list[str]]:
    """Names of constants that changed, and whatever else did outside of functions."""
    was, now = dict(_outside(old)), dict(_outside(new))
    differing = [key for key in {**was, **now} if was.get(key) != now.get(key)]
    constants = {key.removeprefix("= ") for key in differing if key.startswith("= ")}
    return constants, [f"{key} changed in {path}" for key in differing if not key.startswith("= ")]


def _outside(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Statements outside of functions under a name of their own; imports and docstrings change
    nothing that is compared.
    """
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


def shape(function: Function) -> str:
    """A function without its text."""
    bare = copy.copy(function)
    bare.body = [statement for statement in function.body if not _is_text(statement)]
    return ast.dump(bare)


def used(function: Function) -> set[str]:
    """Every name and attribute a function mentions."""
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}


def impurity(function: Function, module: Mapping[str, Function]) -> str:
    """What a function, or one of its own module that it calls, does besides answering; empty if
    nothing is seen.
    """
    waiting, seen = [function], {id(function)}
    while waiting:
        current = waiting.pop()
        names = used(current) - {arg.arg for arg in ast.walk(current) if isinstance(arg, ast.arg)}
        if found := sorted(names & _IMPURE):
            return found[0]
        if any(isinstance(node, ast.Global) for node in ast.walk(current)):
            return "global state"
        for name in names & module.keys():
            if id(module[name]) not in seen:
                seen.add(id(module[name]))
                waiting.append(module[name])
    return ""
