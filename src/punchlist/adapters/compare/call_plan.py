"""What is called with what: the changed functions of both trees that can be called alone, and their
inputs.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from punchlist.adapters.compare.changed_code import Changed, Function, Pieces, impurity, pieces
from punchlist.adapters.compare.examples import Mined, mined
from punchlist.adapters.compare.inputs import Input, Inputs
from punchlist.adapters.compare.parameter_types import parameters
from punchlist.model.checks.protected import TESTS, matches
from punchlist.model.finding.python_source import parse_python
from punchlist.ports.tree import Tree

_TARGETS = 6
_TESTS = 60
_PYTHON = ".py"
_FREE = frozenset(
    {
        "staticmethod",
        "classmethod",
        "property",
        "cached_property",
        "lru_cache",
        "cache",
        "wraps",
        "override",
    }
)


class Target(Struct, frozen=True, kw_only=True):
    """One function to call, as the child is told. `bound`: on an object of its class."""

    path: str
    name: str
    owner: str = ""
    bound: bool = False
    folder: str = "."
    modules: tuple[str, ...] = ()
    old: tuple[int, ...] = ()
    new: tuple[int, ...] = ()
    inputs: tuple[Input, ...] = ()

    @property
    def full(self) -> str:
        return f"{self.owner}.{self.name}" if self.owner else self.name


class Plan(Struct, frozen=True, kw_only=True):
    """`apart` is why calling these shows not everything that changed. `changed` goes with the
    targets, one each.
    """

    targets: tuple[Target, ...] = ()
    changed: tuple[Changed, ...] = ()
    told: frozenset[str] = frozenset()
    apart: tuple[str, ...] = ()


def planned(before: Tree, after: Tree, paths: Sequence[str], words: str) -> Plan:
    texts = {path: (before.text(path), after.text(path)) for path in paths}
    apart = [why for path, (old, new) in texts.items() if (why := _uncalled(path, old, new))]
    both = {
        path: (old, new)
        for path, (old, new) in texts.items()
        if path.endswith(_PYTHON) and old is not None and new is not None
    }
    found = {path: pieces(path, old, new) for path, (old, new) in both.items()}
    apart += [why for piece in found.values() for why in piece.apart]
    known = _known(found, both, before, words)
    targets: list[Target] = []
    changed: list[Changed] = []
    files = frozenset(before.files())
    for path, piece in found.items():
        module = parse_python(both[path][1])
        assert module is not None  # noqa: S101  # it has pieces, so it parsed
        for each, why in _callable(piece, module):
            inputs = [] if why else _inputs(each, module, known)
            if not inputs or len(targets) >= _TARGETS:
                apart.append(f"{each.full}: {why or 'nothing to call it with was found'}")
                continue
            targets.append(_target(each, inputs, files))
            changed.append(each)
    return Plan(targets=tuple(targets), changed=tuple(changed), told=known.told, apart=tuple(apart))


def _uncalled(path: str, old: str | None, new: str | None) -> str:
    """Why a changed file has nothing that could be called in both trees."""
    if not path.endswith(_PYTHON):
        return (
            f"{path} is not Python"
            if old != new and not path.endswith((".md", ".rst", ".txt"))
            else ""
        )
    return f"{path} is gone" if new is None else ""


def _known(
    found: dict[str, Pieces], both: dict[str, tuple[str, str]], tree: Tree, words: str
) -> Mined:
    """Examples from the tests that mention one of the functions, or the module."""
    names = {each.name for piece in found.values() for each in piece.functions}
    owners = {each.owner for piece in found.values() for each in piece.functions if each.owner}
    stems = {PurePosixPath(path).stem for path in found}
    texts = [
        text
        for path in tree.files()
        if path.endswith(_PYTHON) and matches(path, TESTS) and (text := tree.text(path))
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
    return mined(frozenset(names | owners | methods), sources, near[:_TESTS], words)


def _callable(piece: Pieces, module: ast.Module) -> Iterator[tuple[Changed, str]]:
    """The functions, each with why it cannot be called alone, if it cannot."""
    own = dict(_by_name(module))
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    for each in piece.functions:
        yield each, _why_not(each, own, classes)


def _by_name(module: ast.Module) -> Iterator[tuple[str, Function]]:
    for node in ast.walk(module):
        if isinstance(node, Function):
            yield node.name, node


def _why_not(each: Changed, own: dict[str, Function], classes: dict[str, ast.ClassDef]) -> str:
    if each.owner and each.owner not in classes:
        return "its class is not there any more"
    if (
        each.name.startswith("__")
        and each.name.endswith("__")
        and each.name not in ("__call__", "__contains__", "__getitem__", "__len__")
    ):
        return "it is not called by its name"
    strange = [name for name in map(_decorator, each.new.decorator_list) if name not in _FREE]
    if strange:
        return f"it is decorated with {strange[0]}"
    impure = impurity(each.old, own) or impurity(each.new, own)
    return f"it uses {impure}" if impure else ""


def _decorator(node: ast.expr) -> str:
    inner = node.func if isinstance(node, ast.Call) else node
    return (
        inner.attr
        if isinstance(inner, ast.Attribute)
        else inner.id
        if isinstance(inner, ast.Name)
        else "something"
    )


def _inputs(each: Changed, module: ast.Module, known: Mined) -> list[Input]:
    needed = parameters(each.old, bound=_bound(each)), parameters(each.new, bound=_bound(each))
    if [p.name for p in needed[0]] != [p.name for p in needed[1]] and len(needed[0]) != len(
        [p for p in needed[1] if p.default is None]
    ):
        return []  # another signature: the same inputs would mean something else
    return Inputs(module, known).of(each, bound=_bound(each))


def _bound(each: Changed) -> bool:
    free = {"staticmethod", "classmethod"}
    return bool(each.owner) and not any(
        _decorator(decorator) in free for decorator in each.new.decorator_list
    )


def _target(each: Changed, inputs: Iterable[Input], files: frozenset[str]) -> Target:
    folder, modules = _module(each.path, files)
    return Target(
        path=each.path,
        name=each.name,
        owner=each.owner,
        bound=_bound(each),
        folder=folder,
        modules=modules,
        old=each.old_lines,
        new=each.new_lines,
        inputs=tuple(inputs),
    )


def _module(path: str, files: frozenset[str]) -> tuple[str, tuple[str, ...]]:
    """The folder that a file's package lies in, and the names it may be imported by, the likeliest
    first.
    """
    parts = list(PurePosixPath(path.removesuffix(_PYTHON)).parts)
    start = len(parts) - 1
    while start > 0 and "/".join((*parts[:start], "__init__.py")) in files:
        start -= 1
    named = [parts[start:], parts, parts[1:] if parts[0] == "src" else parts]
    dotted = [".".join(each[:-1] if each[-1] == "__init__" else each) for each in named]
    return "/".join(parts[:start]) or ".", tuple(dict.fromkeys(name for name in dotted if name))
