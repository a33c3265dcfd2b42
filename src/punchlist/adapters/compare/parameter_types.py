"""Guess a parameter's types by its annotation, its uses in the body, its default or its name."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from punchlist.adapters.compare.changed_code import Function

_METHODS = {
    "str": (
        """
            capitalize casefold center encode endswith find format isalnum isalpha isdigit islower
            isspace isupper join ljust lower lstrip partition removeprefix removesuffix replace
            rfind rjust rpartition rsplit rstrip split splitlines startswith strip swapcase title
            translate upper zfill
        """.split()
    ),
    "dict": "items keys values setdefault get update popitem".split(),
    "list": "append extend insert sort reverse".split(),
    "set": "add discard union intersection difference issubset issuperset".split(),
    "bytes": "decode hex".split(),
    "date": "strftime isoformat weekday year month day".split(),
}
_BY_METHOD = {method: kind for kind, methods in _METHODS.items() for method in methods}
_TAKERS = {
    "len": ("list", "str"), "sorted": ("list",), "sum": ("list",), "enumerate": ("list", "str"),
    "reversed": ("list", "str"),
    "set": ("list", "str"), "list": ("list", "str"), "tuple": ("list",), "max": ("list",),
    "min": ("list",), "zip": ("list",),
    "any": ("list",), "all": ("list",), "map": ("list",), "range": ("int",),
    "abs": ("int", "float"), "round": ("float", "int"),
    "int": ("str", "int", "float"), "float": ("str", "int", "float"), "ord": ("str",),
    "chr": ("int",), "dict": ("dict",),
}  # fmt: skip
_NAMES = {
    "int": (
        """n k i j m num number count size index idx limit offset length width height depth age
        year month day hour hours
        minute minutes second seconds page total amount qty quantity low high lo hi start stop end
        step x y z a b"""
    ),
    "float": (
        "price rate ratio percent percentage weight tax discount value val amount total x y a b"
    ),
    "str": (
        """s st text name string str line word path url title label message msg char ch prefix
        suffix sep key pattern email
        token query raw slug"""
    ),
    "list": (
        """item items values numbers nums xs ys lst list array arr seq rows words lines elements
        data entries points intervals
        pairs args parts matrix grid"""
    ),
    "dict": (
        "d dict mapping map config options settings data params kwargs table counts record row"
        " graph"
    ),
    "callable": "f fn func function callback predicate pred key handler",
}
_ANYTHING = ("int", "str", "list", "float", "dict", "none")


class Parameter(NamedTuple):
    name: str
    annotation: ast.expr | None = None
    default: ast.expr | None = None
    keyword: bool = False
    """It can only be given by its name."""


def list_parameters(function: Function, *, bound: bool) -> list[Parameter]:
    """Return the parameters a caller passes, without `self`, `*args` and `**kwargs`."""
    given = function.args
    plain = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [
        *([None] * (len(plain) - len(given.defaults))),
        *given.defaults,
    ]
    found = [
        Parameter(arg.arg, arg.annotation, default)
        for arg, default in zip(plain, defaults, strict=True)
    ]
    named = [
        Parameter(arg.arg, arg.annotation, default, keyword=True)
        for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    return [*found[1 if bound else 0 :], *named]


def guess_kinds(parameter: Parameter, function: Function) -> tuple[str, ...]:
    """Return kinds that fit the parameter's uses; without any sign, the common ones."""
    signs = [kind for node in ast.walk(function) for kind in _find_signs(node, parameter.name)]
    if isinstance(parameter.default, ast.Constant) and parameter.default.value is not None:
        signs.insert(0, type(parameter.default.value).__name__)
    elif isinstance(parameter.default, ast.List | ast.Tuple | ast.Dict):
        signs.insert(0, type(parameter.default).__name__.lower())
    if not signs:
        last = parameter.name.rpartition("_")[2]
        signs = [kind for kind, names in _NAMES.items() if last in names.split()]
    ordered = list(dict.fromkeys(signs))
    return tuple(ordered) or _ANYTHING


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
            yield from _TAKERS.get(taker, ())
        case ast.Call(func=ast.Name(id=called)) if called == name:
            yield "callable"
        case ast.For(iter=over, target=target) | ast.comprehension(iter=over, target=target) if (
            _is_name(over, name)
        ):
            yield from ("pairs",) if isinstance(target, ast.Tuple) else ("list", "str")
        case ast.Subscript(value=ast.Name(id=owner), slice=key) if owner == name:
            yield from (
                ("dict",)
                if isinstance(key, ast.Constant) and isinstance(key.value, str)
                else ("list", "str")
            )
        case ast.BinOp(left=left, op=op, right=right) if _is_name(left, name) or _is_name(
            right, name
        ):
            yield from _arithmetic_signs(op, right if _is_name(left, name) else left)
        case ast.Compare(left=left, comparators=others, ops=ops):
            yield from _comparison_signs(name, [left, *others], ops)
        case _:
            return


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _arithmetic_signs(op: ast.operator, other: ast.expr) -> Iterator[str]:
    if isinstance(other, ast.Constant) and isinstance(other.value, str):
        yield "str"
    elif not isinstance(op, ast.Add | ast.Mod) or isinstance(other, ast.Constant):
        yield from ("int", "float")


def _comparison_signs(name: str, parts: list[ast.expr], ops: list[ast.cmpop]) -> Iterator[str]:
    if not any(_is_name(part, name) for part in parts):
        return
    for part in parts:
        if isinstance(part, ast.Constant) and part.value is not None:
            yield type(part.value).__name__
        elif isinstance(part, ast.Constant):
            yield "none"
    if any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in ops):
        yield "int"
    if any(isinstance(op, ast.In | ast.NotIn) for op in ops) and not _is_name(parts[0], name):
        yield from ("list", "str", "dict")
