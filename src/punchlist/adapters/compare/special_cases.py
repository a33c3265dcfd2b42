"""Answers made for single inputs: comparisons with values that stand in the tests, each with an
answer of its own.
"""

import ast
from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct

from punchlist.adapters.compare.changed_code import Changed, Function
from punchlist.adapters.compare.inputs import Input
from punchlist.model.finding.python_source import parse_expression

_SMALL = 2
"""Up to here a number is a limit case, and an honest fix may well ask for it."""
_FEW = 20
"""One in so many inputs, or three, may differ where answers are made for single ones."""
_BUILT = frozenset({"date", "datetime", "timedelta", "Decimal", "Fraction", "Path"})


class Pin(Struct, frozen=True):
    """A value that is asked for by itself. `plain`: one number or word, as an honest table might
    have it, too.
    """

    text: str
    plain: bool
    leaves: frozenset[str]


def special_cased(
    changed: Changed, told: frozenset[str], differing: Sequence[Input], tried: int
) -> str:
    """Why the new answers look made for what the tests ask, or an empty string."""
    old = set(_pins(changed.old))
    learned = any(
        pin.plain for pin in old
    )  # code that told plain values apart before may rightly learn another one
    pins = {pin for pin in set(_pins(changed.new)) - old if not (pin.plain and learned)}
    known = {_plain(text) for text in told}
    if not pins or not differing or not all(pin.leaves <= known for pin in pins):
        return ""
    texts = {pin.text for pin in pins}
    hit = [given for given in differing if texts & _values(given)]
    few = len(differing) <= max(3, tried // _FEW)
    if len(hit) < len(differing) and (not few or not hit or any(pin.plain for pin in pins)):
        return ""
    named = ", ".join(sorted(texts)[:3])
    return (
        f"{changed.full} answers differently only for {named}, which the tests or the finding name:"
        " answers made for them alone"
    )


def _pins(function: Function) -> Iterator[Pin]:
    """Values that something is compared with for the sake of one answer."""
    given = {
        arg.arg
        for arg in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    }
    for node in ast.walk(function):
        match node:
            case ast.If(test=test, body=[first, *_]):
                yield from _asked(test, _answer(first), given)
            case ast.IfExp(test=test, body=answer) if _is_literal(answer):
                yield from _asked(test, answer, given)
            case ast.match_case(
                pattern=ast.MatchValue(value=value), body=[ast.Return(value=answer), *_]
            ) if _is_telling(answer):
                yield from _pin(value)
            case ast.Subscript(value=ast.Dict() as table, slice=ast.Name(id=name)) if name in given:
                yield from _table(table)
            case ast.Call(
                func=ast.Attribute(value=ast.Dict() as table, attr="get"),
                args=[ast.Name(id=name), *_],
            ) if name in given:
                yield from _table(table)
            case _:
                continue


def _answer(statement: ast.stmt) -> ast.expr | None:
    """The constant a branch ends with: returned, or yielded."""
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


def _asked(test: ast.expr, answer: ast.expr | None, given: set[str]) -> Iterator[Pin]:
    """What a condition compares with. For a plain value the answer must say more than yes, no or
    nothing.
    """
    if answer is None:
        return
    for pin in chain.from_iterable(
        _compared(node, given) for node in ast.walk(test) if isinstance(node, ast.Compare)
    ):
        if not pin.plain or _is_telling(answer):
            yield pin


def _compared(node: ast.Compare, given: set[str]) -> Iterator[Pin]:
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
        yield from (pin for value in values for pin in _pin(value) if own or not pin.plain)


def _table(table: ast.Dict) -> Iterator[Pin]:
    if table.values and all(map(_is_telling, table.values)):
        yield from (pin for key in table.keys if key is not None for pin in _pin(key))


def _pin(node: ast.expr) -> Iterator[Pin]:
    """A literal that is no limit case."""
    if isinstance(node, ast.Constant | ast.UnaryOp):
        text = _plain(ast.unparse(node))
        value = ast.literal_eval(node) if _is_literal(node) else None
        small = isinstance(value, int | float) and abs(value) <= _SMALL
        if (
            isinstance(value, bool)
            or value in (None, "", b"")
            or (small and value == int(value or 0))
        ):
            return
        spaced = isinstance(value, str) and any(char.isspace() for char in value.strip())
        yield Pin(text, not spaced and not isinstance(value, float), frozenset({text}))
    elif _is_closed(node) and (leaves := frozenset(_leaves(node))):
        yield Pin(_plain(ast.unparse(node)), plain=False, leaves=leaves)


def _leaves(node: ast.expr) -> Iterator[str]:
    """The constants in a value, without those that stand for nothing."""
    for each in ast.walk(node):
        if (
            isinstance(each, ast.Constant)
            and each.value not in (None, "", 0, 1)
            and not isinstance(each.value, bool)
        ):
            yield repr(each.value)


def _is_closed(node: ast.expr) -> bool:
    """A container, a sum or a well-known object of constants only."""
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
    """More than yes, no or nothing: those are what honest guards give."""
    if node is None or not _is_literal(node):
        return False
    value = ast.literal_eval(node)
    return not isinstance(value, bool) and value not in (None, "", 0, [], (), {})


def _plain(text: str) -> str:
    """One spelling for each value."""
    node = parse_expression(text)
    if node is None:
        return text
    try:
        return repr(ast.literal_eval(node)) if _is_literal(node) else ast.unparse(node)
    except (ValueError, RecursionError, MemoryError):
        return text


def _values(given: Input) -> set[str]:
    """All arguments of an input together, each of them, and what is in them, as plain source."""
    call = parse_expression(f"f({given.args})")
    if call is None:
        return set()
    found = {_plain(ast.unparse(node)) for node in ast.walk(call) if isinstance(node, ast.expr)}
    return {*found, _plain(f"({given.args},)")}
