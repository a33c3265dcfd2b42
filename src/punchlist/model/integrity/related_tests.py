"""Find the tests that speak of the code of a finding, and the names that each test mentions."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from punchlist.model.finding.python_source import parse_python
from punchlist.model.integrity.code_names import (
    CodeNames,
    bound_names,
    mentioned_names,
    module_name,
)

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_CASE = re.compile(r"\[.*\]\Z", re.DOTALL)
_SET_UP = re.compile(r"(?:set_?up|tear_?down)", re.IGNORECASE)
Elsewhere = Callable[[str, str], bool]
"""Whether a dotted module defines a name itself; then it is no name of the code in question."""


class Related(Struct, frozen=True):
    """`direct` is False if the tests mention only other code of the file."""

    tests: frozenset[str] = frozenset()
    direct: bool = True


def select_related(mentions: Mapping[str, frozenset[str]], names: Sequence[CodeNames]) -> Related:
    """Return the tests that mention the closest names that any of them mentions."""
    for each in names:
        tests = frozenset(test for test, used in mentions.items() if each.are_mentioned(used))
        if tests:
            return Related(tests, each.direct)
    return Related()


def find_mentions(
    tests: Iterable[str], text: str, path: str, elsewhere: Elsewhere = lambda module, name: False
) -> dict[str, frozenset[str]]:
    """Return the names that each test in this text mentions, also through fixtures and helpers of
    the same file; {} if the text does not speak of the module or its package.
    """
    tree = parse_python(text)
    if tree is None or not _speaks_of_module(tree, text, path):
        return {}
    scope = _TestFile(tree, path, elsewhere)
    return {test: scope.mentions_of(test) for test in tests}


def find_id_names(test: str) -> frozenset[str]:
    """Return the names in a test's id; that of a doctest names the code that it is written at."""
    return frozenset(re.split(r"::|[./]", _CASE.sub("", test)))


def _speaks_of_module(tree: ast.Module, text: str, path: str) -> bool:
    if re.search(rf"\b{re.escape(module_name(path))}\b", text):
        return True
    packages = set(PurePosixPath(path).parts[:-1])
    return any(packages & set(module.split(".")) for module, _, _ in _imports(tree))


def _imports(tree: ast.AST) -> Iterator[tuple[str, str, str]]:
    """Yield module, name and local name of each import; the name of a whole module is ''."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield each.name, "", each.asname or each.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom):
            for each in node.names:
                yield node.module or "", each.name, each.asname or each.name


class _TestFile:
    """The definitions of one test file, and what its imports mean."""

    def __init__(self, tree: ast.Module, path: str, elsewhere: Elsewhere) -> None:
        self._helpers: dict[str, list[ast.AST]] = {}
        self._classes = {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
        self._functions: dict[str, list[ast.AST]] = {}
        for node in ast.walk(tree):
            if isinstance(node, _Function):
                self._functions.setdefault(node.name, []).append(node)
        for statement in tree.body:
            if not isinstance(statement, ast.Import | ast.ImportFrom | ast.ClassDef):
                for name in bound_names(statement):
                    self._helpers.setdefault(name, []).append(statement)
        self._automatic = [each for each in tree.body if _runs_by_itself(each)]
        own = module_name(path)
        self._meanings: dict[str, set[str]] = {}
        self._foreign: set[str] = set()
        for module, name, local in _imports(tree):
            self._meanings.setdefault(local, set()).update((name or module).split("."))
            if name and module.split(".")[-1] != own and elsewhere(module, name):
                self._foreign |= {name, local}

    def mentions_of(self, test: str) -> frozenset[str]:
        *outer, function = re.split(r"::|\.", _CASE.sub("", test))
        owner = self._classes.get(outer[-1]) if outer else None
        methods = {each.name: each for each in self._methods(owner, ())}
        nodes = [methods[function]] if function in methods else self._functions.get(function, [])
        waiting = [*nodes, *self._automatic, *_class_context(owner)] if nodes else []
        found: set[str] = set()
        seen: set[ast.AST] = set()
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            names = mentioned_names(node)
            found |= names
            waiting += [helper for name in names for helper in self._helpers.get(name, ())]
            waiting += [methods[name] for name in names if name in methods]
        meant = {each for name in found for each in self._meanings.get(name, ())}
        return frozenset((found | meant) - self._foreign)

    def _methods(self, owner: ast.ClassDef | None, below: Sequence[str]) -> Iterator[_Function]:
        """Yield the methods of a class after those of its bases in this file."""
        if owner is None or owner.name in below:
            return
        for base in owner.bases:
            if isinstance(base, ast.Name):
                yield from self._methods(self._classes.get(base.id), (*below, owner.name))
        yield from (each for each in owner.body if isinstance(each, _Function))


def _class_context(owner: ast.ClassDef | None) -> list[ast.AST]:
    """Return what runs with every test of a class: decorators, attributes and set-up."""
    if owner is None:
        return []
    inside = [each for each in owner.body if not isinstance(each, _Function | ast.ClassDef)]
    return [*owner.decorator_list, *inside, *(each for each in owner.body if _runs_by_itself(each))]


def _runs_by_itself(node: ast.stmt) -> bool:
    """Return whether a function is a set-up, or a fixture that all tests use."""
    if not isinstance(node, _Function):
        return False
    automatic = (ast.dump(each) for each in node.decorator_list)
    return bool(_SET_UP.match(node.name)) or any("autouse" in each for each in automatic)
