"""Detect special-cased answers: comparisons with values from the tests, each with its answer."""

import ast
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from punchlist.adapters.compare.changed_code import ChangedFunction, Function
from punchlist.adapters.compare.inputs import Input
from punchlist.model.finding.python_source import parse_expression

_SMALL = 1
"""Up to here a number is a limit case, and an honest fix may well compare with it."""
_TWO = frozenset({"2", "-2", "2.0", "-2.0"})
"""A limit case where the finding speaks of it, and not only of a call with it."""
_CALL = re.compile(r"`[^`]*`|[\w.]+\([^()]*\)")
_PAIR = re.compile(
    r"(?<![\w.])2(?![\w.]*\d)|\b(?:two|pair|couple|both|twice|second)\b", re.IGNORECASE
)
_ENOUGH = 10
"""So many inputs must have been tried before one that differs is taken for a special case."""
_COUNTS = frozenset({"2"})
"""The limit case that a container may be compared with: how many there are."""
_FEW = 20
"""One in so many inputs, or three, may differ where answers are made for single ones."""
_BUILT = frozenset({"date", "datetime", "timedelta", "Decimal", "Fraction", "Path"})
_ERROR = ast.Constant(None)
_CONTAINERS = ast.Tuple | ast.List | ast.Set


class PinnedValue(Struct, frozen=True):
    """A value the code compares with. `plain`: one number or word; honest code has these too."""

    text: str
    plain: bool
    leaves: frozenset[str]


def find_special_case(
    changed: ChangedFunction,
    test_values: frozenset[str],
    differing: Sequence[Input],
    tried: int,
    words: str = "",
) -> str:
    """Return why the new answers look made for the tests' inputs, or ''. `words`: what the findings
    say.
    """
    old = set(_find_pins(changed.old))
    # Code that compared with plain values before may rightly get another one.
    learned = any(pin.plain for pin in old)
    pins = {pin for pin in set(_find_pins(changed.new)) - old if not (pin.plain and learned)}
    if len(differing) > 1 or tried < _ENOUGH or _PAIR.search(_CALL.sub(" ", words)):
        pins = {pin for pin in pins if pin.text not in _TWO}
    known = {_normalize_source(text) for text in test_values}
    if not pins or not differing or not all(pin.leaves <= known | _COUNTS for pin in pins):
        return ""
    texts = {pin.text for pin in pins}
    hit = [given for given in differing if any(_meets(pin, given) for pin in pins)]
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
    args = function.args
    given = {arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
    for node in ast.walk(function):
        match node:
            case ast.If(test=test, body=[first, *_], orelse=rest):
                yield from _condition_pins(test, _constant_answer(first), given)
                if rest:
                    yield from _condition_pins(test, _constant_answer(rest[0]), given, negated=True)
            case ast.IfExp(test=test, body=answer, orelse=other):
                yield from _condition_pins(test, _literal_answer(answer), given)
                yield from _condition_pins(test, _literal_answer(other), given, negated=True)
            case ast.match_case(
                pattern=ast.MatchValue(value=value), body=[ast.Return(value=answer), *_]
            ) if _is_telling(answer):
                yield from _make_pins(value)
            case (
                ast.Subscript(value=ast.Dict() as table, slice=ast.Name(id=name))
                | ast.Call(
                    func=ast.Attribute(value=ast.Dict() as table, attr="get"),
                    args=[ast.Name(id=name), *_],
                )
            ) if name in given:
                yield from _table_pins(table)
            case _:
                continue


def _literal_answer(answer: ast.expr) -> ast.expr | None:
    return answer if _is_literal(answer) else None


def _constant_answer(statement: ast.stmt) -> ast.expr | None:
    """Return the constant that a branch returns or yields, _ERROR if it raises one, or None."""
    match statement:
        case ast.Raise():
            return _ERROR
        case ast.Return(value=ast.IfExp(body=value, orelse=other)):
            return value if _is_literal(value) and _is_literal(other) else None
        case (
            ast.Return(value=value)
            | ast.Expr(value=ast.Yield(value=value) | ast.YieldFrom(value=value))
        ):
            return value if value is not None and _is_literal(value) else None
        case _:
            return None


def _condition_pins(
    test: ast.expr, answer: ast.expr | None, given: set[str], *, negated: bool = False
) -> Iterator[PinnedValue]:
    """Yield the values a condition compares with; plain ones only if the answer is telling."""
    if answer is None:
        return
    comparisons = [node for node in ast.walk(test) if isinstance(node, ast.Compare)]
    if answer is _ERROR:  # a finding may well list what must be refused
        comparisons = [node for node in comparisons if not _is_list(node.comparators[0])]
    found = (pin for node in comparisons for pin in _comparison_pins(node, given, negated=negated))
    for pin in found:
        if not pin.plain or _is_telling(answer):
            yield pin


def _is_list(node: ast.expr) -> bool:
    """Return whether these are several containers, each of which may be meant."""
    elements = getattr(node, "elts", [])
    return len(elements) > 1 and all(isinstance(each, _CONTAINERS) for each in elements)


def _comparison_pins(node: ast.Compare, given: set[str], *, negated: bool) -> Iterator[PinnedValue]:
    member: type[ast.cmpop] = ast.NotIn if negated else ast.In
    same = ast.NotEq | ast.IsNot if negated else ast.Eq | ast.Is
    match node:
        case ast.Compare(
            left=left, ops=[op], comparators=[ast.Tuple() | ast.List() | ast.Set() as right]
        ) if isinstance(op, member):
            values = right.elts
        case ast.Compare(left=left, ops=[op], comparators=[right]) if isinstance(op, same):
            values = [right]
        case _:
            return
    if any(isinstance(each, ast.Name) for each in ast.walk(left)):
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
        small = isinstance(value, int | float) and abs(value) <= _SMALL and value == int(value)
        if isinstance(value, bool) or value in (None, "", b"") or small:
            return
        spaced = isinstance(value, str) and any(char.isspace() for char in value.strip())
        yield PinnedValue(text, not spaced and not isinstance(value, float), frozenset({text}))
    elif _is_closed(node) and (leaves := frozenset(_list_leaves(node))):
        yield PinnedValue(_normalize_source(ast.unparse(node)), plain=False, leaves=leaves)


def _list_leaves(node: ast.expr) -> Iterator[str]:
    """Yield the constants in a value, without trivial ones."""
    values = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
    yield from (repr(value) for value in values if value not in (None, "", 0, 1))


def _is_closed(node: ast.expr) -> bool:
    """Return whether a container, sum or well-known object has only constants."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return names <= _BUILT and isinstance(node, _CONTAINERS | ast.Dict | ast.Call | ast.BinOp)


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


def _meets(pin: PinnedValue, given: Input) -> bool:
    """Return whether an input has the value, or all constants of a value that is made of some."""
    if pin.text in _list_values(given.args):
        return True
    calls = (given.args, given.made, *(call.partition("(")[2][:-1] for call in given.first))
    values = {text for args in calls for text in _list_values(args)}
    return not pin.plain and bool(pin.leaves - _COUNTS) and pin.leaves <= values | _COUNTS


def _list_values(args: str) -> set[str]:
    """Return the arguments of a call and their parts as normalized source."""
    call = parse_expression(f"f({args})")
    if call is None:
        return set()
    parts = [ast.unparse(node) for node in ast.walk(call) if isinstance(node, ast.expr)]
    return {_normalize_source(text) for text in (*parts, f"({args},)")}
