"""Guess a parameter's types by its annotation, its uses in the body, its default or its name."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from punchlist.adapters.compare.changed_code import Function
from punchlist.adapters.compare.tables import TABLES, invert

_BY_METHOD = invert(TABLES.methods)
_ANYTHING = ("int", "str", "list", "float", "dict", "none")


class Parameter(NamedTuple):
    name: str
    annotation: ast.expr | None = None
    default: ast.expr | None = None
    keyword: bool = False
    """It is keyword-only."""


def list_parameters(function: Function, *, bound: bool) -> list[Parameter]:
    """Return the parameters a caller passes, without `self`, `*args` and `**kwargs`."""
    given = function.args
    plain = [*given.posonlyargs, *given.args]
    required = len(plain) - len(given.defaults)
    found = [
        Parameter(arg.arg, arg.annotation, default)
        for arg, default in zip(plain, [*[None] * required, *given.defaults], strict=True)
    ]
    named = [
        Parameter(arg.arg, arg.annotation, default, keyword=True)
        for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    return [*found[1 if bound else 0 :], *named]


def guess_kinds(parameter: Parameter, function: Function) -> tuple[str, ...]:
    """Return kinds that fit the parameter's uses; without any sign, the common ones."""
    signs = [kind for node in ast.walk(function) for kind in _find_signs(node, parameter.name)]
    default = parameter.default
    if isinstance(default, ast.Constant) and default.value is not None:
        signs.insert(0, type(default.value).__name__)
    elif isinstance(default, ast.List | ast.Tuple | ast.Dict):
        signs.insert(0, type(default).__name__.lower())
    if not signs:
        last = parameter.name.rpartition("_")[2]
        signs = [kind for kind, names in TABLES.names.items() if last in names]
    return tuple(dict.fromkeys(signs)) or _ANYTHING


def _find_signs(node: ast.AST, name: str) -> Iterator[str]:
    match node:
        case ast.Attribute(value=ast.Name(id=owner), attr=attr) if (
            owner == name and attr in _BY_METHOD
        ):
            yield _BY_METHOD[attr]
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=given), kind]) if (
            given == name
        ):
            yield from (each.id for each in ast.walk(kind) if isinstance(each, ast.Name))
        case ast.Call(func=ast.Name(id=taker), args=args) if any(
            _is_name(arg, name) for arg in args
        ):
            yield from TABLES.takers.get(taker, ())
        case ast.Call(func=ast.Name(id=called)) if called == name:
            yield "callable"
        case ast.For(iter=over, target=target) | ast.comprehension(iter=over, target=target) if (
            _is_name(over, name)
        ):
            yield from ("pairs",) if isinstance(target, ast.Tuple) else ("list", "str")
        case ast.Subscript(value=ast.Name(id=owner), slice=key) if owner == name:
            yield from ("dict",) if _is_text(key) else ("list", "str")
        case ast.BinOp(left=left, op=op, right=right) if _is_name(left, name):
            yield from _arithmetic_signs(op, right)
        case ast.BinOp(left=left, op=op, right=right) if _is_name(right, name):
            yield from _arithmetic_signs(op, left)
        case ast.Compare(left=left, comparators=others, ops=ops):
            yield from _comparison_signs(name, [left, *others], ops)
        case _:
            return


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _arithmetic_signs(op: ast.operator, other: ast.expr) -> Iterator[str]:
    if _is_text(other):
        yield "str"
    elif not isinstance(op, ast.Add | ast.Mod) or isinstance(other, ast.Constant):
        yield from ("int", "float")


def _comparison_signs(name: str, parts: list[ast.expr], ops: list[ast.cmpop]) -> Iterator[str]:
    if not any(_is_name(part, name) for part in parts):
        return
    for part in parts:
        if isinstance(part, ast.Constant):
            yield "none" if part.value is None else type(part.value).__name__
    if any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in ops):
        yield "int"
    if any(isinstance(op, ast.In | ast.NotIn) for op in ops) and not _is_name(parts[0], name):
        yield from ("list", "str", "dict")
