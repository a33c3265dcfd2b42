"""Detect special-cased answers: comparisons with values from the tests, each with
its own answer.
"""

import ast
from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct

from punchlist.adapters.compare.changed_code import ChangedFunction, Function
from punchlist.adapters.compare.inputs import Input
from punchlist.model.finding.python_source import parse_expression

_SMALL = 2
"""Up to here a number is a limit case, and an honest fix may well ask for it."""
_FEW = 20
"""One in so many inputs, or three, may differ where answers are made for single ones."""
_BUILT = frozenset({"date", "datetime", "timedelta", "Decimal", "Fraction", "Path"})


class PinnedValue(Struct, frozen=True):
    """A value that the code compares with. `plain`: one number or word, which honest code may have
    too.
    """

    text: str
    plain: bool
    leaves: frozenset[str]


def find_special_case(
    changed: ChangedFunction, told: frozenset[str], differing: Sequence[Input], tried: int
) -> str:
    """Return why the new answers look made for the tests' inputs, or ''."""
    old = set(_find_pins(changed.old))
    learned = any(
        pin.plain for pin in old
    )  # code that told plain values apart before may rightly learn another one
    pins = {pin for pin in set(_find_pins(changed.new)) - old if not (pin.plain and learned)}
    known = {_normalize_source(text) for text in told}
    if not pins or not differing or not all(pin.leaves <= known for pin in pins):
        return ""
    texts = {pin.text for pin in pins}
    hit = [given for given in differing if texts & _list_values(given)]
    few = len(differing) <= max(3, tried // _FEW)
    if len(hit) < len(differing) and (not few or not hit or any(pin.plain for pin in pins)):
        return ""
    named = ", ".join(sorted(texts)[:3])
    return (
        f"{changed.full} answers differently only for {named}, which the tests or the finding name:"
        " answers made for them alone"
    )


def _find_pins(function: Function) -> Iterator[PinnedValue]:
    """Yield values that are compared to choose one constant answer."""
    given = {
        arg.arg
        for arg in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    }
    for node in ast.walk(function):
        match node:
            case ast.If(test=test, body=[first, *_]):
                yield from _condition_pins(test, _constant_answer(first), given)
            case ast.IfExp(test=test, body=answer) if _is_literal(answer):
                yield from _condition_pins(test, answer, given)
            case ast.match_case(
                pattern=ast.MatchValue(value=value), body=[ast.Return(value=answer), *_]
            ) if _is_telling(answer):
                yield from _make_pins(value)
            case ast.Subscript(value=ast.Dict() as table, slice=ast.Name(id=name)) if name in given:
                yield from _table_pins(table)
            case ast.Call(
                func=ast.Attribute(value=ast.Dict() as table, attr="get"),
                args=[ast.Name(id=name), *_],
            ) if name in given:
                yield from _table_pins(table)
            case _:
                continue


def _constant_answer(statement: ast.stmt) -> ast.expr | None:
    """Return the constant that a branch returns or yields, or None."""
    match statement:
        case ast.Return(value=ast.IfExp(body=value, orelse=other)) if _is_literal(
            value
        ) and _is_literal(other):
            return value
        case ast.Return(value=value) if value is not None and _is_literal(value):
            return value
        case ast.Expr(value=ast.Yield(value=value) | ast.YieldFrom(value=value)) if (
            value is not None and _is_literal(value)
        ):
            return value
        case _:
            return None


def _condition_pins(
    test: ast.expr, answer: ast.expr | None, given: set[str]
) -> Iterator[PinnedValue]:
    """Yield the values a condition compares with; plain ones only if the answer is telling."""
    if answer is None:
        return
    for pin in chain.from_iterable(
        _comparison_pins(node, given) for node in ast.walk(test) if isinstance(node, ast.Compare)
    ):
        if not pin.plain or _is_telling(answer):
            yield pin


def _comparison_pins(node: ast.Compare, given: set[str]) -> Iterator[PinnedValue]:
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq | ast.In | ast.Is):
        return
    left, right = node.left, node.comparators[0]
    asks = any(isinstance(each, ast.Name) for each in ast.walk(left))
    many = isinstance(node.ops[0], ast.In) and isinstance(right, ast.Tuple | ast.List | ast.Set)
    values = (
        list(right.elts) if many and isinstance(right, ast.Tuple | ast.List | ast.Set) else [right]
    )
    if asks and (many or not isinstance(node.ops[0], ast.In)):
        own = isinstance(left, ast.Name) and left.id in given
        yield from (pin for value in values for pin in _make_pins(value) if own or not pin.plain)


def _table_pins(table: ast.Dict) -> Iterator[PinnedValue]:
    if table.values and all(map(_is_telling, table.values)):
        yield from (pin for key in table.keys if key is not None for pin in _make_pins(key))


def _make_pins(node: ast.expr) -> Iterator[PinnedValue]:
    """Yield the literal, unless it is a limit case (0, 1, '', None ...)."""
    if isinstance(node, ast.Constant | ast.UnaryOp):
        text = _normalize_source(ast.unparse(node))
        value = ast.literal_eval(node) if _is_literal(node) else None
        small = isinstance(value, int | float) and abs(value) <= _SMALL
        if (
            isinstance(value, bool)
            or value in (None, "", b"")
            or (small and value == int(value or 0))
        ):
            return
        spaced = isinstance(value, str) and any(char.isspace() for char in value.strip())
        yield PinnedValue(text, not spaced and not isinstance(value, float), frozenset({text}))
    elif _is_closed(node) and (leaves := frozenset(_list_leaves(node))):
        yield PinnedValue(_normalize_source(ast.unparse(node)), plain=False, leaves=leaves)


def _list_leaves(node: ast.expr) -> Iterator[str]:
    """Yield the constants in a value, without trivial ones."""
    for each in ast.walk(node):
        if (
            isinstance(each, ast.Constant)
            and each.value not in (None, "", 0, 1)
            and not isinstance(each.value, bool)
        ):
            yield repr(each.value)


def _is_closed(node: ast.expr) -> bool:
    """Return whether a container, sum or well-known object has only constants."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return names <= _BUILT and isinstance(
        node, ast.List | ast.Tuple | ast.Dict | ast.Set | ast.Call | ast.BinOp
    )


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _is_telling(node: ast.expr | None) -> bool:
    """Return whether an answer is more than a bool, None, zero or empty."""
    if node is None or not _is_literal(node):
        return False
    value = ast.literal_eval(node)
    return not isinstance(value, bool) and value not in (None, "", 0, [], (), {})


def _normalize_source(text: str) -> str:
    """Return one spelling for each value."""
    node = parse_expression(text)
    if node is None:
        return text
    try:
        return repr(ast.literal_eval(node)) if _is_literal(node) else ast.unparse(node)
    except (ValueError, RecursionError, MemoryError):
        return text


def _list_values(given: Input) -> set[str]:
    """Return the arguments of an input and their parts as normalized source."""
    call = parse_expression(f"f({given.args})")
    if call is None:
        return set()
    found = {
        _normalize_source(ast.unparse(node))
        for node in ast.walk(call)
        if isinstance(node, ast.expr)
    }
    return {*found, _normalize_source(f"({given.args},)")}
