"""Copies of tests that ask for something else: they must fail, with a fix as without it."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from punchlist.model.finding.python_source import parse_python

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_EQUAL = re.compile(r"assert(?!Not)(?!\w*Not)\w*Equals?")
_KINDS = {"assertIn": "in", "assertTrue": "true", "assertFalse": "false"}
_HELPERS = """
def {mark}_ask(held, ask, kind, left, right=None):
    pairs = {{
        "equal": [(left, ("{mark}", right)), (("{mark}", left), right)],
        "in": [(left, ("{mark}",)), ("{mark}", right)][: 1 + hasattr(type(right), "__contains__")],
        "true": [(False,)],
        "false": [(True,)],
    }}[kind]
    for pair in pairs:
        try:
            if ask(*pair) is not False:
                held.append(pair)
        except Exception:
            pass


def {mark}_equal(left, right):
    return bool(left == right)


def {mark}_in(left, right):
    return left in right
"""
"""`held` gets what should not hold and does. An endless iterator is not searched."""


def name_plant(path: str, mark: str) -> str:
    """Return a path beside the test's that runners take for a test's as well."""
    named = PurePosixPath(path)
    first, _, rest = named.stem.partition("_")
    stem = f"{first}_{mark}_{rest}" if rest else f"{first}_{mark}"
    return str(named.with_name(f"{stem}.py"))


def plant_test(text: str, mark: str) -> str:
    """Return the test file with other expectations: each of its tests fails, unless one of them
    holds. Return '' if there is nothing to plant.
    """
    tree = parse_python(text)
    tests = list(_find_tests(tree)) if tree else []
    helpers = parse_python(_HELPERS.format(mark=mark))
    if tree is None or helpers is None or not tests:
        return ""
    for test in tests:
        body = [_Planting(mark).visit(statement) for statement in test.body]
        ends = ast.Assert(ast.Name(f"{mark}_held", ast.Load()))
        begins = ast.Assign([ast.Name(f"{mark}_held", ast.Store())], ast.List([], ast.Load()))
        test.body = [begins, *_flatten(body), ends]
    first = next((at for at, node in enumerate(tree.body) if not _comes_first(node)), 0)
    tree.body[first:first] = helpers.body
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def stop_functions(text: str, mark: str) -> str:
    """Return a module whose functions all end at once with the mark, '' if it does not parse."""
    tree = parse_python(text)
    stop = parse_python(f"raise type('Stopped', (BaseException,), {{}})({mark!r})")
    if tree is None or stop is None:
        return ""
    for node in ast.walk(tree):
        if isinstance(node, _Function):
            node.body = stop.body
    return ast.unparse(tree) + "\n"


def describe_blindness(test: str) -> str:
    """Return why a patch is refused with which the copy of this test does not fail."""
    return (
        f"makes the tests blind: a copy of {test} that asks for something else fails without the"
        " fix, and does not fail with it"
    )


class _Planting(ast.NodeTransformer):
    """Changes what the statements of a test expect."""

    def __init__(self, mark: str) -> None:
        self._mark = mark

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        match node.test:
            case ast.BoolOp(op=ast.And(), values=conditions):
                return [self._plant_condition(each) for each in conditions]
        return [self._plant_condition(node.test)]

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        match node.value:
            case ast.Call(func=ast.Attribute(attr=name) as method, args=[left, *others]):
                kind = "equal" if _EQUAL.fullmatch(name) else _KINDS.get(name, "")
                if kind in ("true", "false") or (kind and others):
                    return self._ask(method, kind, left, *others[:1])
        return node

    def _plant_condition(self, condition: ast.expr) -> ast.stmt:
        match condition:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                return self._ask(self._name("equal"), "equal", left, right)
            case ast.Compare(left=left, ops=[ast.In()], comparators=[right]):
                return self._ask(self._name("in"), "in", left, right)
        return ast.Assert(condition)

    def _ask(self, how: ast.expr, kind: str, *values: ast.expr) -> ast.stmt:
        args = [self._name("held"), how, ast.Constant(kind), *values]
        return ast.Expr(ast.Call(self._name("ask"), args, []))

    def _name(self, name: str) -> ast.expr:
        return ast.Name(f"{self._mark}_{name}", ast.Load())


def _find_tests(tree: ast.Module) -> Iterator[_Function]:
    """Yield the functions that runners take for tests, without fixtures."""
    for node in ast.walk(tree):
        if not isinstance(node, _Function) or not node.name.startswith("test"):
            continue
        if not any("fixture" in ast.dump(each) for each in node.decorator_list):
            yield node


def _comes_first(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Constant(value=str())) | ast.ImportFrom(module="__future__"):
            return True
    return False


def _flatten(body: Iterable[ast.stmt | list[ast.stmt]]) -> list[ast.stmt]:
    return [each for part in body for each in (part if isinstance(part, list) else [part])]
