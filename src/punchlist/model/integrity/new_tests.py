"""Whether new tests were only added, and whether they run the code or read its text."""

import ast
import re
import sys
from collections.abc import Iterable
from itertools import chain
from pathlib import PurePosixPath

from punchlist.model.finding.python_source import parse_python

_READERS = (
    "getsource",
    "linecache",
    "__code__",
    "co_consts",
    "git diff",
    "readFileSync(__filename",
)
_TESTS = ("test_", "Test")
_STARTERS = ("subprocess", "runpy", "import_module", "__import__", "os.system", "exec(", "eval(")
_NOT_CODE = sys.stdlib_module_names | {"pytest", "_pytest", "hypothesis"}
_FIXTURES = frozenset({"self", "tmp_path", "monkeypatch", "capsys", "caplog", "request", "tmpdir"})
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def only_adds_tests(path: str, before: str, after: str) -> bool:
    """Whether all old statements are there, in order, and new ones are only tests and imports, not
    fixtures, constants or anything else that could change old tests.
    """
    if not path.endswith(".py"):
        return False
    first, second = parse_python(before), parse_python(after)
    if first is None or second is None:
        return False
    old, new = first.body, second.body
    waiting = [ast.dump(statement) for statement in old if not _is_import(statement)]
    names = {statement.name for statement in old if isinstance(statement, _Definition)}
    for statement in (each for each in new if not _is_import(each)):
        if waiting and ast.dump(statement) == waiting[0]:
            waiting.pop(0)
        elif not _is_new_test(statement, names):
            return False
    was, now = _imported_names(old), _imported_names(new)
    bound = {name for _, _, name in was} | names
    return not waiting and was <= now and not any(name in bound for _, _, name in now - was)


def find_source_read(test: str, paths: Iterable[str]) -> str:
    """Return how a test reads the text of a changed file instead of running it, or ""."""
    names = {PurePosixPath(path).name for path in paths}
    readers = [word for word in _READERS if word in test]
    quoted = (name for name in sorted(names) if re.search(rf"""{re.escape(name)}['"]""", test))
    return next(chain(readers, quoted), "")


def is_idle(test: str) -> bool:
    """Whether a Python test calls nothing that could be the code: no fixture of its project, and no
    imported name but those of Python itself and of test runners.
    """
    tree = parse_python(test)
    if tree is None or any(word in test for word in _STARTERS):
        return False
    nodes = list(ast.walk(tree))
    imports = (each for each in nodes if isinstance(each, ast.Import | ast.ImportFrom))
    known = {
        (name.asname or name.name).partition(".")[0]
        for each in imports
        for name in each.names
        if (getattr(each, "module", None) or name.name).partition(".")[0] not in _NOT_CODE
    }
    given = {each.arg for each in nodes if isinstance(each, ast.arg)} - _FIXTURES
    called = {_find_root(each.func) for each in nodes if isinstance(each, ast.Call)}
    return not called & (known | given)


def _find_root(node: ast.expr) -> str:
    """Return `a` for `a`, `a.b` and `a[0].b()`; '' for other expressions."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _imported_names(statements: list[ast.stmt]) -> set[tuple[str, str, str]]:
    """Return (module, name, alias) of each import."""
    found: set[tuple[str, str, str]] = set()
    for statement in statements:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            module = ""
            if isinstance(statement, ast.ImportFrom):
                module = "." * statement.level + (statement.module or "")
            found.update((module, name.name, name.asname or name.name) for name in statement.names)
    return found


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import | ast.ImportFrom)


def _is_new_test(statement: ast.stmt, names: set[str]) -> bool:
    """Whether it is a test that shadows no old one."""
    return (
        isinstance(statement, _Definition)
        and statement.name.startswith(_TESTS)
        and statement.name not in names
    )
