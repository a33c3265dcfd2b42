"""Detect findings that are suppressed instead of fixed, in the text of a patch."""

import ast
import io
import re
import tokenize
from functools import lru_cache

from msgspec import Struct

from punchlist.model.finding.python_source import parse_python, syntax_error

_LEAD = r"(?:#|//|/\*|--|<!--)\s*"
_OFF = "(?:ignore|disable|skip|suppress)"
_TOOLS = (
    "(?:yamllint|markdownlint|rubocop|stylelint|tflint|tfsec|checkov|codespell|cspell|swiftlint"
    "|ktlint|sqlfluff)"
)
_OTHERS = (
    r"#\s*(?:pylint:\s*disable|pragma:\s*no\s*cover|fmt:\s*(?:off|skip))",
    r"(?://|/\*)\s*(?:@?ts-ignore|@ts-expect-error|@ts-nocheck|nolint|prettier-ignore|NOSONAR)",
    rf"{_LEAD}[\w-]+(?::\s*|\s+(?:global\s+)?|-)(?:\w+-)?{_OFF}[\w-]*\s*[=\[]",
    rf"{_LEAD}{_TOOLS}[\s:-]+(?:{_OFF}|off|noqa)",
    r"#!?\[allow\(|@SuppressWarnings",
    r"@pytest\.mark\.(?:skip|xfail)|@unittest\.skip|pytest\.skip\(",
)
"""What silences test runners and tools that are no analyzers here, also in spellings that many
tools share: `# tool ignore=RULE`, `// tool:disable[RULE]`.
"""

_PYTHON = (".py", ".pyi")
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FSTRING = getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)  # since Python 3.12
_SPOKEN = {tokenize.STRING, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, _FSTRING}
"""Tokens that hide nothing from tools."""


class Suppressions(Struct, frozen=True):
    """Counts what hides findings from tools; `declared`: patterns of comments for analyzers."""

    declared: tuple[str, ...]

    def count(self, text: str) -> int:
        return sum(1 for _ in _compiled(self.declared).finditer(text))

    def count_in_file(self, path: str, text: str) -> int:
        """In Python only comments and code count, not what a string says of them."""
        if not path.endswith(_PYTHON):
            return self.count(text)
        try:
            tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        except (tokenize.TokenError, SyntaxError, ValueError):
            return self.count(text)
        words = [
            token.string if token.type is not tokenize.NEWLINE else "\n"
            for token in tokens
            if token.type not in _SPOKEN
        ]
        return self.count("".join(words))


@lru_cache(maxsize=8)
def _compiled(declared: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{each})" for each in (*declared, *_OTHERS)), re.IGNORECASE)


def find_syntax_error(path: str, text: str) -> str:
    """Return why the text does not parse, or ""; only Python is checked."""
    if not path.endswith(_PYTHON):
        return ""
    error = syntax_error(text, path)
    return f"{path} does not parse: {error}" if error else ""


def is_same_program(path: str, before: str, after: str) -> bool:
    """Whether only comments, formatting or names of locals differ; False if unknown."""
    if not path.endswith(_PYTHON) or before == after:
        return before == after
    old, new = parse_python(before), parse_python(after)
    return old is not None and new is not None and _dump_shape(old) == _dump_shape(new)


def _dump_shape(tree: ast.Module) -> str:
    for node in ast.walk(tree):
        if isinstance(node, _Function | ast.ClassDef | ast.Module):
            match node.body:
                case [ast.Expr(value=ast.Constant(value=str())), *rest]:
                    node.body = rest or [ast.Pass()]
        if isinstance(node, _Function):
            _number_locals(node)
    return ast.dump(tree)


def _number_locals(function: _Function) -> None:
    """Name locals by their first assignment, so that renaming one changes nothing."""
    outside = {
        name
        for node in ast.walk(function)
        if isinstance(node, ast.Global | ast.Nonlocal)
        for name in node.names
    }
    order: dict[str, str] = {}
    for node in ast.walk(function):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) if name not in outside:
                order.setdefault(name, f"local{len(order)}")
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id in order:
            node.id = order[node.id]
