"""Detect code that was deleted, emptied, or only added without a use instead of fixed."""

import ast
from collections.abc import Iterator, Mapping

from punchlist.model.dedup.symbols import find_symbols
from punchlist.model.finding.python_source import parse_python

_PYTHON = (".py", ".pyi")
_WORTH = 2
"""Statements that an emptied body must have had, unless it raises NotImplementedError now."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_deletion(
    path: str, line: int | None, before: Mapping[str, str], after: Mapping[str, str | None]
) -> str:
    """Return how the code at this place was deleted, or "". `after`: changed files, or None."""
    old, new = before.get(path), after.get(path)
    if old is None or path not in after:
        return ""
    if new is None:
        return f"{path} was deleted"
    if not new.strip() and old.strip():
        return f"{path} was emptied"
    if not path.endswith(_PYTHON) or line is None:
        return ""
    return _find_lost_function(path, line, (old, new), after)


def _find_lost_function(
    path: str, line: int, texts: tuple[str, str], after: Mapping[str, str | None]
) -> str:
    old, new = texts
    lines = old.splitlines()
    name = find_symbols(path, lines)[line - 1] if 1 <= line <= len(lines) else ""
    known, now = _list_functions(old), _list_functions(new)
    if not name or name not in known:
        return ""
    if name in now:
        emptied = _is_emptied(known[name], now[name])
        return f"the body of {name} in {path} was emptied" if emptied else ""
    functions = [each for text in after.values() if text for each in _list_functions(text)]
    elsewhere = _last_part(name) in map(_last_part, functions)
    # A new definition may be the old one under another name; other checks judge that.
    return "" if elsewhere or now.keys() - known.keys() else f"{name} was deleted from {path}"


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]


def _list_functions(text: str) -> dict[str, _Function]:
    tree = parse_python(text)
    return {} if tree is None else dict(_walk_functions(tree, ""))


def _walk_functions(node: ast.AST, inside: str) -> Iterator[tuple[str, _Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function | ast.ClassDef):
            name = f"{inside}.{child.name}" if inside else child.name
            if isinstance(child, _Function):
                yield name, child
            yield from _walk_functions(child, name)


def _is_emptied(old: _Function, new: _Function) -> bool:
    was, now = _strip_docstring(old), _strip_docstring(new)
    if all(map(_is_nothing, was)) or not all(map(_is_nothing, now)):
        return False
    return len(was) >= _WORTH or any(isinstance(statement, ast.Raise) for statement in now)


def _strip_docstring(function: _Function) -> list[ast.stmt]:
    """Return the body without its docstring."""
    body = function.body
    return [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]


def _is_nothing(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Return(value=None | ast.Constant(value=None)):
            return True
        case ast.Raise(exc=ast.Name(id=name) | ast.Call(func=ast.Name(id=name))):
            return name == "NotImplementedError"
        case _:
            return False


def drop_unused(before: str, after: str) -> tuple[str, tuple[str, ...]]:
    """Return the new text without new functions, plain classes, constants and imports that nothing
    in the file mentions, and their names.
    """
    old, new = parse_python(before), parse_python(after)
    if old is None or new is None:
        return after, ()
    known = {name for node in old.body for name in _defined(node)}
    dropped: list[str] = []
    while unused := _find_unused(new.body, known):
        dropped += _defined(unused)
        new.body.remove(unused)
    return ast.unparse(new), tuple(dropped)


def _find_unused(body: list[ast.stmt], known: set[str]) -> ast.stmt | None:
    for node in body:
        names = set(_defined(node))
        others = (each for other in body if other is not node for each in ast.walk(other))
        if names and not names & known and not names & {_mention(each) for each in others}:
            return node
    return None


def _mention(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            return name
        case _:
            return ""


def _defined(node: ast.stmt) -> list[str]:
    """Return what a statement defines, if it does nothing else."""
    match node:
        case ast.FunctionDef(name=name, decorator_list=[]):
            return [name]
        case ast.ClassDef(name=name, decorator_list=[], bases=[], keywords=[]):
            return [name]
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            calls = any(isinstance(each, ast.Call) for each in ast.walk(value))
            return [] if calls else [name]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [(each.asname or each.name).partition(".")[0] for each in names]
        case _:
            return []
