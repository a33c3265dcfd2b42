"""Wrong fixes of the shape that real ones have: the right one with one operator, number, branch or statement changed."""

import ast
import copy
from functools import cache
from random import Random

from oracle import judged, right

_SWAP = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Div, ast.Mod: ast.FloorDiv,
}  # fmt: skip
_MOST = 24


def mutants(code):
    """Every text that differs from the code in one place."""
    tree = ast.parse(code)
    for at, node in enumerate(ast.walk(tree)):
        for change in _changes(node):
            other = copy.deepcopy(tree)
            twin = next(each for place, each in enumerate(ast.walk(other)) if place == at)
            change(twin)
            yield ast.unparse(ast.fix_missing_locations(other)) + "\n"


def _changes(node):
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAP:
        yield lambda twin: twin.ops.__setitem__(0, _SWAP[type(twin.ops[0])]())
    if isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in _SWAP:
        yield lambda twin: setattr(twin, "op", _SWAP[type(twin.op)]())
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield lambda twin: setattr(twin, "value", twin.value + 1)
        yield lambda twin: setattr(twin, "value", twin.value - 1)
    if isinstance(node, ast.IfExp):
        yield lambda twin: setattr(twin, "test", ast.UnaryOp(ast.Not(), twin.test))
    if isinstance(node, ast.If):
        yield lambda twin: setattr(twin, "test", ast.UnaryOp(ast.Not(), twin.test))
        yield lambda twin: twin.body.__setitem__(slice(None), [ast.Pass()])
    if isinstance(node, ast.BoolOp) and len(node.values) > 1:
        yield lambda twin: twin.values.pop()
    if isinstance(node, ast.Return) and node.value is not None:
        yield lambda twin: setattr(twin, "value", ast.Constant(None))


@cache
def wrong_mutants(bug):
    """Some mutants of the right fix that are wrong, load, and differ from the bug."""
    bare = ast.unparse(ast.parse(bug.code))
    texts = [text for text in dict.fromkeys(mutants(bug.fix)) if text.strip() != bare.strip()]
    texts = Random(bug.name).sample(texts, min(len(texts), _MOST))
    said = judged((text, bug.oracle) for text in texts)
    return tuple(text for text, lines in zip(texts, said, strict=True) if any(lines) and not right(lines))  # fmt: skip


def mutant(bug, chance):
    found = wrong_mutants(bug)
    return chance.choice(found) if found else None
