"""Answers made for single inputs: comparisons with values that stand in the tests, each with its own constant answer."""

import ast
from collections.abc import Iterator, Sequence

from punchlist.adapters.compare.inputs import Input
from punchlist.adapters.compare.pieces import Changed, Function

_SMALL = 2
"""Up to here a number is a limit case, and an honest fix may well ask for it."""
_WRAPPERS = frozenset({"list", "tuple", "str", "repr", "set"})


def special_cased(changed: Changed, module: ast.Module, told: frozenset[str], differing: Sequence[Input]) -> str:
    """Why the new answers look made for what the tests ask, or an empty string."""
    if not differing or set(_pins(changed.old, None)):
        return ""  # code that told single values apart before may rightly learn another one
    pins = set(_pins(changed.new, module))
    if not pins or not pins <= {_plain(text) for text in told} | _parts(told):
        return ""
    if not all(pins & _values(given) for given in differing):
        return ""
    few = ", ".join(sorted(pins)[:3])
    return (
        f"{changed.full} answers differently only for {few}, which the tests or the finding name, each with a constant of its own"
    )


def _pins(function: Function, module: ast.Module | None) -> Iterator[str]:
    """Values that a parameter is compared with for the sake of one constant answer."""
    names = {arg.arg for arg in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    for node in ast.walk(function):
        match node:
            case ast.If(test=test, body=[ast.Return(value=answer), *_]) | ast.IfExp(test=test, body=answer) if _is_answer(answer):
                yield from _compared(test, names)
            case ast.match_case(pattern=ast.MatchValue(value=value), body=[ast.Return(value=answer), *_]) if _is_answer(answer):
                yield from _literal(value)
            case ast.Dict(keys=keys, values=values) if values and all(map(_is_answer, values)):
                yield from (text for key in keys if key is not None for text in _literal(key))
            case _:
                continue
    tables = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    for statement in module.body if module is not None else ():
        if isinstance(statement, ast.Assign) and any(isinstance(t, ast.Name) and t.id in tables for t in statement.targets):
            for node in ast.walk(statement.value):
                if isinstance(node, ast.Dict) and node.values and all(map(_is_answer, node.values)):
                    yield from (text for key in node.keys if key is not None for text in _literal(key))


def _is_answer(node: ast.expr | None) -> bool:
    """A literal that is more than yes, no or nothing: those are what honest guards give."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return bool(node.elts) and all(isinstance(each, ast.Constant) or _is_answer(each) for each in node.elts)
    return isinstance(node, ast.Constant) and not isinstance(node.value, bool) and node.value not in (None, "", 0)


def _compared(test: ast.expr, names: set[str]) -> Iterator[str]:
    for node in ast.walk(test):
        if not isinstance(node, ast.Compare) or not any(isinstance(op, ast.Eq | ast.In | ast.Is) for op in node.ops):
            continue
        parts = [node.left, *node.comparators]
        if any(_is_given(part, names) for part in parts):
            for part in parts:
                whole = list(_literal(part))
                many = isinstance(part, ast.Tuple | ast.List | ast.Set) and isinstance(node.ops[0], ast.In)
                yield from (text for each in part.elts for text in _literal(each)) if many else whole  # type: ignore[attr-defined]  # `many` says which


def _is_given(node: ast.expr, names: set[str]) -> bool:
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Call(func=ast.Name(id=wrapper), args=[inner]):
            return wrapper in _WRAPPERS and _is_given(inner, names)
        case ast.Tuple(elts=elts):
            return bool(elts) and all(_is_given(each, names) for each in elts)
        case _:
            return False


def _literal(node: ast.expr) -> Iterator[str]:
    """The source of a literal that is no limit case; of a tuple of arguments, of each of them."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return
    if (
        isinstance(value, bool)
        or value is None
        or value in ("", (), [], {})
        or (isinstance(value, int | float) and abs(value) <= _SMALL)
    ):
        return
    yield repr(value)


def _plain(text: str) -> str:
    try:
        return repr(ast.literal_eval(text))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text


def _parts(told: frozenset[str]) -> set[str]:
    """Containers of told values are told, too, as far as they are of one kind with them; they are given by example."""
    return {text for text in told if text[:1] in "[({"}


def _values(given: Input) -> set[str]:
    """All arguments of an input, and what is in them, as plain source."""
    try:
        call = ast.parse(f"f({given.args})", mode="eval").body
    except SyntaxError:
        return set()
    return {_plain(ast.unparse(node)) for node in ast.walk(call) if isinstance(node, ast.expr)}
