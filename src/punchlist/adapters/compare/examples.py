"""Mine example inputs: calls and constants in tests, in the code, and in the finding's text."""

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice

from msgspec import Struct

from punchlist.adapters.compare.tables import TABLES
from punchlist.model.finding.python_source import parse_expression, parse_python

_BACKTICKS = re.compile(r"`{1,3}([^`]{1,400})`{1,3}")
_QUOTED = re.compile(r"""(?<!\w)(?:"([^"\n]{0,120})"|'([^'\n]{0,120})')(?!\w)""")
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,12}(?:\.\d{1,6})?(?![\w.]*\w)")
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
    """`test_values`: constants in tests and in the finding; `constants` has the code's own too."""

    calls: dict[str, tuple[Example, ...]] = {}
    constants: tuple[str, ...] = ()
    test_values: frozenset[str] = frozenset()


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
    constants = [text for tree in written for text in _find_constants(tree)]
    test_values = [*constants, *_parse_words(words)]
    code = [tree for source in sources if (tree := parse_python(source)) is not None]
    own = [text for tree in code for text in _find_constants(tree)]
    return MinedExamples(
        calls={name: tuple(found[:_ROWS]) for name, found in calls.items()},
        constants=tuple(dict.fromkeys((*own, *test_values))),
        test_values=frozenset(test_values),
    )


def _find_constants(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=bool()):
                continue
            case ast.Constant(value=int() | float() | str() | bytes() as value):
                text = repr(value)
                if len(text) <= 200:  # longer ones are prose
                    yield text
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
                yield ast.unparse(node)
            case _:
                continue


def _parse_words(words: str) -> Iterator[str]:
    yield from (repr(one or other) for one, other in _QUOTED.findall(words))
    yield from _NUMBER.findall(words)


def _find_calls(tree: ast.Module, names: frozenset[str]) -> Iterator[tuple[str, Example]]:
    """Yield calls of the functions, with values from parametrized tests, loops and assignments."""
    for scope in _list_scopes(tree):
        rows = list(islice(_list_bindings(scope), _ROWS))
        for node in ast.walk(scope):
            if isinstance(node, ast.Call) and (name := last_name(node.func)) in names:
                examples = (_make_example(node, row) for row in rows)
                yield from ((name, example) for example in examples if example is not None)


def _list_scopes(tree: ast.Module) -> Iterator[ast.AST]:
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    yield from (node for node in ast.walk(tree) if isinstance(node, functions))
    loose = [node for node in tree.body if not isinstance(node, functions | ast.ClassDef)]
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
    decorators = getattr(scope, "decorator_list", [])
    rows = [row for decorator in decorators for row in _parametrize_rows(decorator)]
    loops = (node for node in ast.walk(scope) if isinstance(node, ast.For))
    rows += [row for loop in loops for row in _loop_rows(loop)]
    yield from ({**fixed, **row} for row in rows or [{}])


def _parametrize_rows(decorator: ast.expr) -> Iterator[dict[str, ast.expr]]:
    match decorator:
        case ast.Call(
            func=ast.Attribute(attr="parametrize"),
            args=[names, ast.List(elts=rows) | ast.Tuple(elts=rows), *_],
        ):
            words = _parameter_names(names)
            yield from (dict(zip(words, _row_values(row, words), strict=False)) for row in rows)
        case _:
            return


def _row_values(row: ast.expr, names: list[str]) -> list[ast.expr]:
    param = isinstance(row, ast.Call) and last_name(row.func) == "param"
    values = row.args if isinstance(row, ast.Call) and param else [row]
    if len(values) == 1 and len(names) > 1 and isinstance(values[0], ast.Tuple | ast.List):
        return values[0].elts
    return values


def _parameter_names(names: ast.expr) -> list[str]:
    match names:
        case ast.Constant(value=str(text)):
            return [word.strip() for word in text.split(",")]
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            constants = (each.value for each in elts if isinstance(each, ast.Constant))
            return [value for value in constants if isinstance(value, str)]
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
            rows = (row for row in loop.iter.elts if isinstance(row, ast.Tuple | ast.List))
            yield from (dict(zip(names, row.elts, strict=False)) for row in rows)
        case _:
            return


def _make_example(call: ast.Call, row: dict[str, ast.expr]) -> Example | None:
    args = [_fill_names(arg, row) for arg in call.args]
    keywords = [(keyword.arg, _fill_names(keyword.value, row)) for keyword in call.keywords]
    closed = all(map(is_closed, args))
    if not closed or not all(name and is_closed(value) for name, value in keywords):
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
    names = [node for node in ast.walk(value) if isinstance(node, ast.Name)]
    bound |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
    free = {name.id for name in names} - bound - TABLES.safe
    return all(name[:1].isupper() and not hasattr(builtins, name) for name in free)


def last_name(node: ast.expr) -> str:
    """Return `c` for `c` and `a.b.c`; '' for other expressions."""
    match node:
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
