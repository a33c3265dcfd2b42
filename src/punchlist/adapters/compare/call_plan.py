"""Plan the calls: changed functions that can be called alone in both trees, and their inputs."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from punchlist.adapters.compare.changed_code import (
    ChangedFunction,
    CodeChanges,
    Function,
    NamedFunction,
    find_changes,
    find_impurity,
)
from punchlist.adapters.compare.demanded_errors import raises_more
from punchlist.adapters.compare.examples import MinedExamples, last_name, mine_examples
from punchlist.adapters.compare.inputs import Input, InputMaker
from punchlist.adapters.compare.parameter_types import list_parameters
from punchlist.adapters.compare.tables import TABLES
from punchlist.model.checks.protected import TESTS, matches_any
from punchlist.model.finding.python_source import parse_python
from punchlist.ports.tree import Tree

NOT_BY_NAME = "it is not called by its name"
_TARGETS = 6
_TESTS = 60
_PYTHON = ".py"
_SPECIAL = ("__call__", "__contains__", "__getitem__", "__len__")
"""Special methods that can be called by their name."""


class Target(NamedFunction, frozen=True, kw_only=True):
    """One function to call, as sent to the child. `bound`: on an object of its class."""

    bound: bool = False
    folder: str = "."
    modules: tuple[str, ...] = ()
    old: tuple[int, ...] = ()
    new: tuple[int, ...] = ()
    inputs: tuple[Input, ...] = ()


class CallPlan(Struct, frozen=True, kw_only=True):
    """`apart`: changes that these calls do not show. `changed` has one entry per target."""

    targets: tuple[Target, ...] = ()
    changed: tuple[ChangedFunction, ...] = ()
    test_values: frozenset[str] = frozenset()
    apart: tuple[str, ...] = ()
    words: str = ""
    """What the findings say."""
    raises_more: bool = False
    """Whether the new code raises errors in more places."""


def plan_calls(before: Tree, after: Tree, paths: Sequence[str], words: str) -> CallPlan:
    texts = {path: (before.text(path), after.text(path)) for path in paths}
    apart = [why for path, (old, new) in texts.items() if (why := _uncalled_reason(path, old, new))]
    both = {
        path: (old, new)
        for path, (old, new) in texts.items()
        if path.endswith(_PYTHON) and old is not None and new is not None
    }
    found = {path: find_changes(path, old, new) for path, (old, new) in both.items()}
    apart += [why for piece in found.values() for why in piece.apart]
    known = _mine_tests(found, both, before, words)
    targets: list[Target] = []
    changed: list[ChangedFunction] = []
    files = frozenset(before.files())
    for path, piece in found.items():
        module = parse_python(both[path][1])
        if module is None:
            continue  # `apart` says that it does not parse
        for each, why in _check_functions(piece, module):
            inputs = [] if why else _make_inputs(each, module, known)
            if not inputs or len(targets) >= _TARGETS:
                apart.append(f"{each.full}: {why or 'nothing to call it with was found'}")
                continue
            targets.append(_make_target(each, inputs, files))
            changed.append(each)
    return CallPlan(
        targets=tuple(targets),
        changed=tuple(changed),
        test_values=known.test_values,
        apart=tuple(apart),
        words=words,
        raises_more=raises_more(pair for path, pair in texts.items() if path.endswith(_PYTHON)),
    )


def _uncalled_reason(path: str, old: str | None, new: str | None) -> str:
    """Return why nothing in a changed file can be called in both trees, or ''."""
    if path.endswith(_PYTHON):
        return f"{path} is gone" if new is None else ""
    is_code = old != new and not path.endswith((".md", ".rst", ".txt"))
    return f"{path} is not Python" if is_code else ""


def _mine_tests(
    found: dict[str, CodeChanges], both: dict[str, tuple[str, str]], tree: Tree, words: str
) -> MinedExamples:
    """Mine examples from tests that mention one of the functions or modules."""
    functions = [each for piece in found.values() for each in piece.functions]
    names = {each.name for each in functions}
    owners = {each.owner for each in functions if each.owner}
    stems = {PurePosixPath(path).stem for path in found}
    texts = [
        text
        for path in tree.files()
        if path.endswith(_PYTHON) and matches_any(path, TESTS) and (text := tree.text(path))
    ]
    near = [text for text in texts if any(name in text for name in (names | stems) - {"__init__"})]
    methods = {
        inner.name
        for _, new in both.values()
        if (module := parse_python(new)) is not None
        for node in module.body
        if isinstance(node, ast.ClassDef) and node.name in owners
        for inner in node.body
        if isinstance(inner, ast.FunctionDef)
    }
    sources = [text for pair in both.values() for text in pair]
    return mine_examples(frozenset(names | owners | methods), sources, near[:_TESTS], words)


def _check_functions(
    piece: CodeChanges, module: ast.Module
) -> Iterator[tuple[ChangedFunction, str]]:
    """Yield each function with the reason why it cannot be called alone, or ''."""
    own = {node.name: node for node in ast.walk(module) if isinstance(node, Function)}
    classes = {node.name for node in module.body if isinstance(node, ast.ClassDef)}
    for each in piece.functions:
        yield each, _skip_reason(each, own, classes)


def _skip_reason(each: ChangedFunction, own: dict[str, Function], classes: set[str]) -> str:
    if each.owner and each.owner not in classes:
        return "its class is not there any more"
    if each.name.startswith("__") and each.name.endswith("__") and each.name not in _SPECIAL:
        return NOT_BY_NAME
    for name in _decorator_names(each):
        if name not in TABLES.decorators:
            return f"it is decorated with {name}"
    impure = find_impurity(each.old, own)  # what only new code uses may be how it hides
    return f"it uses {impure}" if impure else ""


def _decorator_names(each: ChangedFunction) -> list[str]:
    nodes = (node.func if isinstance(node, ast.Call) else node for node in each.new.decorator_list)
    return [last_name(node) or "something" for node in nodes]


def _make_inputs(each: ChangedFunction, module: ast.Module, known: MinedExamples) -> list[Input]:
    bound = _is_bound(each)
    old, new = list_parameters(each.old, bound=bound), list_parameters(each.new, bound=bound)
    required = [parameter for parameter in new if parameter.default is None]
    if [p.name for p in old] != [p.name for p in new] and len(old) != len(required):
        return []  # another signature: the same inputs would mean something else
    return InputMaker(module, known).make_inputs(each, bound=bound)


def _is_bound(each: ChangedFunction) -> bool:
    return bool(each.owner) and not {"staticmethod", "classmethod"}.intersection(
        _decorator_names(each)
    )


def _make_target(each: ChangedFunction, inputs: Iterable[Input], files: frozenset[str]) -> Target:
    folder, modules = _module_names(each.path, files)
    return Target(
        path=each.path,
        name=each.name,
        owner=each.owner,
        bound=_is_bound(each),
        folder=folder,
        modules=modules,
        old=each.old_lines,
        new=each.new_lines,
        inputs=tuple(inputs),
    )


def _module_names(path: str, files: frozenset[str]) -> tuple[str, tuple[str, ...]]:
    """Return the folder of a file's package, and its possible import names, likeliest first."""
    parts = list(PurePosixPath(path.removesuffix(_PYTHON)).parts)
    start = len(parts) - 1
    while start > 0 and "/".join((*parts[:start], "__init__.py")) in files:
        start -= 1
    named = [parts[start:], parts, parts[1:] if parts[0] == "src" else parts]
    dotted = [".".join(each[:-1] if each[-1] == "__init__" else each) for each in named]
    return "/".join(parts[:start]) or ".", tuple(dict.fromkeys(name for name in dotted if name))
