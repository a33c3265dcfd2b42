"""Mine example inputs: calls and constants in tests, in the code, and in the finding's text."""

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice

from msgspec import Struct

from punchlist.model.finding.python_source import parse_expression, parse_python

_BACKTICKS = re.compile(r"`{1,3}([^`]{1,400})`{1,3}")
_QUOTED = re.compile(r"""(?<!\w)(?:"([^"\n]{0,120})"|'([^'\n]{0,120})')(?!\w)""")
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,12}(?:\.\d{1,6})?(?![\w.]*\w)")
_SAFE = frozenset(
    """
        int float str bool bytes list tuple dict set frozenset range len sorted min max sum abs
        round reversed None True False datetime date timedelta time Decimal Fraction Path UUID deque
        Counter OrderedDict StringIO BytesIO
    """.split()
)
_ROWS = 60
Value = (
    int
    | float
    | complex
    | str
    | bytes
    | bool
    | None
    | list["Value"]
    | tuple["Value", ...]
    | dict["Value", "Value"]
    | set["Value"]
)


class Example(Struct, frozen=True):
    """A call found in text: its arguments as source, keywords by name."""

    args: tuple[str, ...]
    keywords: tuple[tuple[str, str], ...] = ()


class MinedExamples(Struct, frozen=True, kw_only=True):
    """Calls and constants. `told` are those of tests and of the finding; `constants` has the code's
    own too.
    """

    calls: dict[str, tuple[Example, ...]] = {}
    constants: tuple[str, ...] = ()
    told: frozenset[str] = frozenset()


def mine_examples(
    names: frozenset[str], sources: Sequence[str], tests: Sequence[str], words: str
) -> MinedExamples:
    """Mine calls of the functions in `names` (last parts); `sources` is the compared code."""
    snippets = [snippet for snippet in _BACKTICKS.findall(words) if len(snippet) > 1]
    written = [tree for text in (*tests, *snippets) if (tree := parse_python(text)) is not None]
    calls: dict[str, list[Example]] = {}
    for tree in written:
        for name, example in _find_calls(tree, names):
            known = calls.setdefault(name, [])
            if example not in known:
                known.append(example)
    told = [text for tree in written for text in _find_constants(tree)] + list(_parse_words(words))
    own = [
        text
        for source in sources
        if (tree := parse_python(source)) is not None
        for text in _find_constants(tree)
    ]
    return MinedExamples(
        calls={name: tuple(found[:_ROWS]) for name, found in calls.items()},
        constants=tuple(dict.fromkeys((*own, *told))),
        told=frozenset(told),
    )


def _find_constants(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, int | float | str | bytes)
            and not isinstance(node.value, bool)
        ):
            text = repr(node.value)
            if len(text) <= 200:  # longer ones are prose
                yield text
        elif (
            isinstance(node, ast.UnaryOp)
            and isinstance(node.op, ast.USub)
            and isinstance(node.operand, ast.Constant)
        ):
            yield ast.unparse(node)


def _parse_words(words: str) -> Iterator[str]:
    yield from (repr(one or other) for one, other in _QUOTED.findall(words))
    yield from _NUMBER.findall(words)


def _find_calls(tree: ast.Module, names: frozenset[str]) -> Iterator[tuple[str, Example]]:
    """Yield calls of the functions, with values from parametrized tests, loops and assignments."""
    for scope in _list_scopes(tree):
        rows = list(islice(_list_bindings(scope), _ROWS))
        for node in ast.walk(scope):
            if isinstance(node, ast.Call) and (name := _last_name(node.func)) in names:
                yield from (
                    (name, example)
                    for row in rows
                    if (example := _make_example(node, row)) is not None
                )


def _list_scopes(tree: ast.Module) -> Iterator[ast.AST]:
    yield from (
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    loose = [
        s
        for s in tree.body
        if not isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    yield ast.Module(body=loose, type_ignores=[])


def _list_bindings(scope: ast.AST) -> Iterator[dict[str, ast.expr]]:
    fixed: dict[str, ast.expr] = {}
    for node in ast.walk(scope):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                name not in fixed and is_closed(value)
            ):
                fixed[name] = value
            case _:
                continue
    rows = [
        row
        for decorator in getattr(scope, "decorator_list", [])
        for row in _parametrize_rows(decorator)
    ]
    loops = [
        row for node in ast.walk(scope) if isinstance(node, ast.For) for row in _loop_rows(node)
    ]
    yield from ({**fixed, **row} for row in rows + loops or [{}])


def _parametrize_rows(decorator: ast.expr) -> Iterator[dict[str, ast.expr]]:
    match decorator:
        case ast.Call(
            func=ast.Attribute(attr="parametrize"),
            args=[names, ast.List(elts=rows) | ast.Tuple(elts=rows), *_],
        ):
            words = _parameter_names(names)
            for row in rows:
                inner = (
                    row.args
                    if isinstance(row, ast.Call) and _last_name(row.func) == "param"
                    else [row]
                )
                values = (
                    inner[0].elts
                    if len(inner) == 1
                    and len(words) > 1
                    and isinstance(inner[0], ast.Tuple | ast.List)
                    else inner
                )
                yield dict(zip(words, values, strict=False))
        case _:
            return


def _parameter_names(names: ast.expr) -> list[str]:
    match names:
        case ast.Constant(value=str(text)):
            return [word.strip() for word in text.split(",")]
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            return [
                each.value
                for each in elts
                if isinstance(each, ast.Constant) and isinstance(each.value, str)
            ]
        case _:
            return []


def _loop_rows(loop: ast.For) -> Iterator[dict[str, ast.expr]]:
    """Yield the rows of `for text, wanted in [("a", 1), ...]:`."""
    if not isinstance(loop.iter, ast.List | ast.Tuple):
        return
    match loop.target:
        case ast.Name(id=name):
            yield from ({name: row} for row in loop.iter.elts)
        case ast.Tuple(elts=targets):
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            yield from (
                dict(zip(names, row.elts, strict=False))
                for row in loop.iter.elts
                if isinstance(row, ast.Tuple | ast.List)
            )
        case _:
            return


def _make_example(call: ast.Call, row: dict[str, ast.expr]) -> Example | None:
    args = [_fill_names(arg, row) for arg in call.args]
    keywords = [(keyword.arg, _fill_names(keyword.value, row)) for keyword in call.keywords]
    if not all(is_closed(arg) for arg in args) or not all(
        name and is_closed(value) for name, value in keywords
    ):
        return None
    return Example(
        tuple(map(ast.unparse, args)),
        tuple((name or "", ast.unparse(value)) for name, value in keywords),
    )


class _NameFiller(ast.NodeTransformer):
    def __init__(self, row: dict[str, ast.expr]) -> None:
        self._row = row

    def visit_Name(self, node: ast.Name) -> ast.expr:  # the name is ast's
        return self._row.get(node.id, node)


def _fill_names(value: ast.expr, row: dict[str, ast.expr]) -> ast.expr:
    if not any(isinstance(node, ast.Name) and node.id in row for node in ast.walk(value)):
        return value
    copied = parse_expression(ast.unparse(value))
    filled: ast.expr = _NameFiller(row).visit(copied) if copied else value
    return filled


def is_closed(value: ast.expr) -> bool:
    """Return whether an expression needs no local names: literals, and calls of well-known names.

    Capitalized names may be classes of the module; a wrong one fails when the input is made.
    """
    bound = {node.arg for node in ast.walk(value) if isinstance(node, ast.arg)}
    bound |= {
        node.id
        for node in ast.walk(value)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)} - bound
    return all(
        name in _SAFE or (name[:1].isupper() and not hasattr(builtins, name)) for name in names
    )


def _last_name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def parse_literals(texts: Iterable[str]) -> list[Value]:
    """Return the values of the texts that are plain literals."""
    found: list[Value] = []
    for text in texts:
        node = parse_expression(text)
        with suppress(ValueError, TypeError, MemoryError, RecursionError):
            if node is not None:
                found.append(ast.literal_eval(node))
    return found
