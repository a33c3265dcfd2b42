"""Ways to silence a finding instead of fixing it, seen in the text a patch puts in."""

import ast
import io
import re
import tokenize

from punchlist.model.finding.python_source import parse_python, syntax_error

_SUPPRESSION = re.compile(
    r"#\s*(?:noqa|nosec|type:\s*ignore|pyright:\s*ignore|ty:\s*ignore|mypy:\s*ignore|pylint:\s*disable|ruff:\s*noqa|flake8:\s*noqa|pragma:\s*no\s*cover"
    r"|fmt:\s*(?:off|skip)|isort:\s*skip|nosemgrep|shellcheck\s+disable)"
    r"|(?://|/\*)\s*(?:eslint-disable|biome-ignore|ts-ignore|@ts-ignore|@ts-expect-error|@ts-nocheck|nolint|nosemgrep|prettier-ignore|NOSONAR|ast-grep-ignore)"
    r"|#!?\[allow\(|@SuppressWarnings|@pytest\.mark\.(?:skip|xfail)|@unittest\.skip|pytest\.skip\(",
    re.IGNORECASE,
)

_SPOKEN = frozenset(
    {
        tokenize.STRING,
        tokenize.NL,
        tokenize.INDENT,
        tokenize.DEDENT,
        getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING),
    }
)


def suppressions(text: str) -> int:
    return len(_SUPPRESSION.findall(text))


def silenced(path: str, text: str) -> int:
    """How much a whole file hides from the tools; in Python only comments and code count, not what
    a string says of them.
    """
    if not path.endswith((".py", ".pyi")):
        return suppressions(text)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return suppressions(text)
    words = [
        token.string if token.type is not tokenize.NEWLINE else "\n"
        for token in tokens
        if token.type not in _SPOKEN
    ]
    return suppressions("".join(words))


def adds_suppression(before: str, after: str) -> bool:
    """Whether the new text hides more from the tools than the old one did."""
    return suppressions(after) > suppressions(before)


def parses(path: str, text: str) -> str:
    """An empty string, or why the text is no longer a program; languages we cannot parse are let
    through.
    """
    if not path.endswith((".py", ".pyi")):
        return ""
    error = syntax_error(text, path)
    return f"{path} does not parse: {error}" if error else ""


def same_program(path: str, before: str, after: str) -> bool:
    """Whether only comments, formatting or the names of locals differ; False where
    we cannot tell.
    """
    if not path.endswith((".py", ".pyi")) or before == after:
        return before == after
    old, new = parse_python(before), parse_python(after)
    try:
        return old is not None and new is not None and _shape(old) == _shape(new)
    except RecursionError:
        return False


def _shape(tree: ast.Module) -> str:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            _drop_docstring(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            _number_locals(node)
    return ast.dump(tree)


def _drop_docstring(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module,
) -> None:
    first = node.body[0] if node.body else None
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        node.body = node.body[1:] or [ast.Pass()]


def _number_locals(function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """Locals are named by the order of their first assignment, so that renaming one changes
    nothing.
    """
    outside = {
        name
        for node in ast.walk(function)
        if isinstance(node, ast.Global | ast.Nonlocal)
        for name in node.names
    }
    order: dict[str, str] = {}
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Store)
            and node.id not in outside
        ):
            order.setdefault(node.id, f"local{len(order)}")
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id in order:
            node.id = order[node.id]
