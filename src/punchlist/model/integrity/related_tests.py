"""Find the tests that mention the code of a finding."""

import ast
import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from punchlist.model.dedup.symbols import find_symbols
from punchlist.model.finding.python_source import parse_python

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_CASE = re.compile(r"\[.*\]\Z", re.DOTALL)


def find_names(path: str, text: str, line: int | None) -> frozenset[str]:
    """Return what tests call the code in that line: its outermost definition, or the name it binds
    and the users of that name.
    """
    lines = text.splitlines()
    if line is None or not 1 <= line <= len(lines):
        return frozenset()
    around = find_symbols(path, lines)[line - 1].split(".")[0]
    if around:
        return frozenset({around})
    bound = re.match(r"([A-Za-z_]\w*)\s*(?::[^=]+)?=(?!=)", lines[line - 1])
    tree = parse_python(text)
    if bound is None or tree is None:
        return frozenset()
    users = [
        node.name
        for node in tree.body
        if isinstance(node, _Function | ast.ClassDef) and _mentions_name(node, {bound[1]})
    ]
    return frozenset({bound[1], *users})


def find_related(
    tests: Iterable[str], text: str, path: str, names: frozenset[str]
) -> frozenset[str]:
    """Return the tests in this text that name the code; the text must name its module, too."""
    tree = parse_python(text)
    module = PurePosixPath(path).stem
    if tree is None or not names or not re.search(rf"\b{re.escape(module)}\b", text):
        return frozenset()
    functions: dict[str, list[ast.AST]] = {}
    for node in ast.walk(tree):
        if isinstance(node, _Function):
            functions.setdefault(node.name, []).append(node)
    return frozenset(
        test
        for test in tests
        if any(_mentions_name(node, names) for node in functions.get(_function_name(test), ()))
    )


def _function_name(test: str) -> str:
    return re.split(r"::|\.", _CASE.sub("", test))[-1]


def _mentions_name(node: ast.AST, names: Iterable[str]) -> bool:
    used = (getattr(each, "id", getattr(each, "attr", "")) for each in ast.walk(node))
    return not frozenset(names).isdisjoint(used)
