"""Find the calls that a finding's text names: `median([1, 2])` with plain arguments."""

import ast
import re
from collections.abc import Iterator

from punchlist.model.finding.python_source import parse_expression, parse_python

_LONGEST = 300


def list_named_calls(text: str, words: str) -> Iterator[ast.Call]:
    """Yield the calls in `words` of functions that the file defines, each once."""
    tree = parse_python(text)
    names = [n.name for n in (tree.body if tree else ()) if isinstance(n, ast.FunctionDef)]
    seen: set[str] = set()
    for found in re.finditer(rf"(?<![\w.])(?:{'|'.join(names)})\(", words) if names else ():
        call = parse_call(words[found.start() : found.start() + _LONGEST])
        if call is not None and (call.args or call.keywords) and ast.unparse(call) not in seen:
            seen.add(ast.unparse(call))
            yield call


def parse_call(text: str) -> ast.Call | None:
    """Return the call at the start of a text, if all its arguments are plain."""
    for at, char in enumerate(text):
        if char != ")":
            continue
        call = parse_expression(text[: at + 1])
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            return call if _is_plain(call) else None
    return None


def _is_plain(call: ast.Call) -> bool:
    try:
        read_arguments(call)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def read_arguments(call: ast.Call) -> tuple[list[object], dict[str, object]]:
    """Return the values of the arguments; fails if one is no literal and no sum."""
    args = [_read_value(each) for each in call.args]
    return args, {each.arg or "": _read_value(each.value) for each in call.keywords}


def _read_value(node: ast.expr) -> object:
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as sign, right=right):
            one, other = _read_value(left), _read_value(right)
            if not isinstance(one, int) or not isinstance(other, int):
                raise TypeError("no whole numbers")
            sums = {ast.Add: one + other, ast.Sub: one - other, ast.Mult: one * other}
            return sums[type(sign)]
        case _:
            return ast.literal_eval(node)
