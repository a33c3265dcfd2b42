"""Which function or class each line is in: by syntax tree for Python, else by indentation."""

import ast
import re
from collections.abc import Iterator, Sequence

from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.python_source import parse_python

_DEFINITION = late_pattern(
    r"""^\s*(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([^)]*\))?|unsafe|inline|virtual
              |override|extern|const|data|sealed|open|suspend|partial|readonly|declare)\s+)*
    (?:
        (?:def|class|interface|trait|struct|enum|module|namespace|object|impl|fn|function\*?|fun|sub|protocol
            |extension|type)
            \s+(?:self\.)?(?P<named>[A-Za-z_$][\w$.:?!]*)
      | func\s+(?:\([^)]*\)\s*)?(?P<func>[A-Za-z_]\w*)
      | (?:const|let|var)?\s*(?P<arrow>[A-Za-z_$][\w$.]*)\s*[:=]\s*(?:async\s*)?
            (?:function\b|\([^()]*\)\s*(?::[^=]+)?=>|\w+\s*=>)
      | (?:[A-Za-z_][\w<>\[\],.*&:?]*\s+)*?(?P<method>[A-Za-z_$~][\w$:]*)
            \s*\([^;]*\)[\w<>\[\],.:\s?&|-]*\{?$
    )""",
    re.VERBOSE,
)
_NOT_NAMES = frozenset(
    """
        if for while switch catch return else do try with match select foreach unless until elif
        when using lock synchronized in await yield throw new delete typeof sizeof assert print
        echo not and or import from raise del case
    """.split()
)
_CLOSERS = ("}", ")", "]", "end")
_LONGEST_LINE = 300
_LARGEST = 4_000_000
"""Characters that are still parsed: a syntax tree takes a hundred times the memory of its text."""
_PYTHON = (".py", ".pyi", ".pyw")
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def find_symbols(path: str, lines: Sequence[str]) -> list[str]:
    """Return the dotted name of the innermost definition around each line (from 0), or ""."""
    if path.endswith(_PYTHON) and sum(map(len, lines)) <= _LARGEST:
        tree = parse_python("\n".join(lines))
        if tree is not None:
            return _read_tree(tree, len(lines))
    return _read_indentation(lines)


def _read_tree(tree: ast.Module, count: int) -> list[str]:
    names = [""] * count
    for definition, name in _walk_definitions(tree):
        first = min(node.lineno for node in (definition, *definition.decorator_list))
        last = min(definition.end_lineno or first, count)
        names[first - 1 : last] = [name] * (last - first + 1)
    return names


def _walk_definitions(tree: ast.Module) -> Iterator[tuple[_Definition, str]]:
    """Yield outer definitions before inner ones; without recursion, for deep nesting."""
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, inside = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, _Definition):
                name = f"{inside}.{child.name}" if inside else child.name
                yield child, name
                waiting.append((child, name))
            elif not isinstance(child, ast.expr):
                waiting.append((child, inside))


def _read_indentation(lines: Sequence[str]) -> list[str]:
    names: list[str] = []
    around: list[tuple[int, str]] = []
    for line in lines:
        stripped = line.strip()
        if not stripped:
            names.append(around[-1][1] if around else "")
            continue
        indent = len(line) - len(line.lstrip())
        closing = stripped.startswith(_CLOSERS)
        while around and (
            indent < around[-1][0] or (indent == around[-1][0] and not closing and stripped != "{")
        ):
            around.pop()
        name = _match_definition(line)
        if name:
            around.append((indent, f"{around[-1][1]}.{name}" if around else name))
        names.append(around[-1][1] if around else "")
        if closing and around and indent == around[-1][0]:
            around.pop()
    return names


def _match_definition(line: str) -> str:
    found = _DEFINITION.match(line.rstrip()) if len(line) <= _LONGEST_LINE else None
    if not found:
        return ""
    name = next(group for group in found.groups() if group)
    return "" if name in _NOT_NAMES or (found["method"] and line.rstrip().endswith(",")) else name
