"""Find what Python code asks about the process that runs it, and names that it hides."""

import ast
import builtins
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise

from punchlist.model.finding.python_source import parse_python
from punchlist.model.finding.word_lists import load_word_tables

_WORDS = load_word_tables(__file__, "process_questions.toml")
_ASKED, _QUIET, _EXCUSES = _WORDS["asked"], _WORDS["quiet"], _WORDS["excuses"]
_TELLING = {f"{module}.{name}" for module, names in _ASKED.items() for name in names}
_MODULES = frozenset(_WORDS["ways"]["modules"])
_ATTRIBUTES = _WORDS["ways"]["attributes"]
"""Attributes that tell it, whatever they are asked of."""
_PLACES = re.compile(r"^/(?:proc|sys)(?:/|$)|^/\.dockerenv|^/run/\.containerenv")
_IMPORTS = frozenset({"__import__", "builtins.__import__", "importlib.import_module"})
_RUNNING = frozenset({"eval", "exec", "builtins.eval", "builtins.exec"})
_BY_NAME = frozenset({"getattr", "setattr", "hasattr", "delattr", "attrgetter", "methodcaller"})
_BUILTINS = frozenset(dir(builtins))
_CHANGES = "changes another module: "
_HIDING = frozenset(
    {"import by a computed name", "a member by a computed name", "data packed into a text"}
)


def find_questions(before: Iterable[str], after: str, words: str) -> list[str]:
    """Return what a new text asks of its process or hides, unless one of the old texts does so or
    the words speak of it.
    """
    known = {each for text in before for each in list_questions(text)}
    new = list_questions(after) - known
    return [describe_question(each) for each in sorted(new) if not _is_excused(each, words)]


def _is_excused(asked: str, words: str) -> bool:
    known = "|".join(_EXCUSES.get(asked, ()))
    if known and re.search(rf"(?i)(?<![a-z])(?:{known})", words):
        return True
    return re.search(rf"(?<!\w){re.escape(asked.rpartition('.')[2])}(?!\w)", words) is not None


def list_questions(text: str) -> set[str]:
    tree = parse_python(text)
    if tree is None:
        return set()
    names = _Names(tree)
    found: set[str] = set()
    for node in ast.walk(tree):
        found.update(_check_node(node, names))
    return found


class _Names:
    """What the names of a file stand for: modules, members of modules, constants."""

    def __init__(self, tree: ast.Module) -> None:
        self.known = dict(_list_imports(tree))
        self.bound = {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        self.bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
        for node in assigned:
            for target in node.targets:
                dotted = self.resolve(node.value) if isinstance(target, ast.Name) else ""
                if dotted and isinstance(target, ast.Name):
                    self.known.setdefault(target.id, dotted)
        self.made = {
            target.id
            for node in assigned
            for target in node.targets
            if isinstance(target, ast.Name) and self.is_computed(node.value)
        }

    def resolve(self, node: ast.expr) -> str:
        """Return the dotted name that an expression stands for, or ''."""
        match node:
            case ast.Name(id=name):
                return self.known.get(name, name if name in _BUILTINS - self.bound else "")
            case ast.Attribute(value=owner, attr=attr):
                return self._join(owner, attr)
            case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]) if (
                self.resolve(function) in _IMPORTS
            ):
                return name
        return next((self._find_member(*each) for each in _find_lookups(node)), "")

    def _join(self, owner: ast.expr, attr: str) -> str:
        dotted = self.resolve(owner)
        return f"{dotted}.{attr}" if dotted else ""

    def _find_member(self, owner: ast.expr, attr: str) -> str:
        """Resolve a lookup by name in a module, its dictionary, or the table of all modules."""
        match owner:
            case (
                ast.Attribute(value=inner, attr="__dict__")
                | ast.Call(func=ast.Name(id="vars"), args=[inner])
            ):
                return self._join(inner, attr)
        return attr if self.resolve(owner).endswith("sys.modules") else self._join(owner, attr)

    def is_computed(self, node: ast.expr) -> bool:
        """Return whether a value is put together of constants alone, and is no literal."""
        if isinstance(node, ast.Name):
            return node.id in getattr(self, "made", ())
        if isinstance(node, ast.Constant | ast.Lambda) or not isinstance(
            node, ast.BinOp | ast.Call | ast.Subscript | ast.JoinedStr
        ):
            return False
        inner = {
            each.id
            for part in ast.walk(node)
            if isinstance(part, ast.comprehension)
            for each in ast.walk(part.target)
            if isinstance(each, ast.Name)
        }
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} - inner
        closed = all(name in _BUILTINS - self.bound or name in self.known for name in names)
        return closed and any(
            isinstance(each, ast.Constant) and isinstance(each.value, str | bytes | int)
            for each in ast.walk(node)
        )


def _find_lookups(node: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """Yield what is asked for a member by its name, and the name."""
    match node:
        case (
            ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(attr)), *_])
            | ast.Call(
                func=ast.Call(
                    func=ast.Name(id="attrgetter") | ast.Attribute(attr="attrgetter"),
                    args=[ast.Constant(value=str(attr))],
                ),
                args=[owner],
            )
            | ast.Subscript(value=owner, slice=ast.Constant(value=str(attr)))
            | ast.Call(
                func=ast.Attribute(value=owner, attr="get" | "pop" | "__getitem__"),
                args=[ast.Constant(value=str(attr)), *_],
            )
        ):
            yield owner, attr


def _list_imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for each in names:
                    first = each.name.partition(".")[0]
                    yield each.asname or first, each.name if each.asname else first
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for each in names:
                    yield each.asname or each.name, f"{module}.{each.name}"


def _check_node(node: ast.AST, names: _Names) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)) if _PLACES.search(text):
            yield text
        case ast.Attribute(attr=attr) if attr in _ATTRIBUTES:
            yield attr
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=args) if name in _WORDS[
            "ways"
        ]["present"] and any(_is_fixed(each, names) for each in (*args[:1], owner)):
            yield "a file by a fixed name"
        case ast.Call(func=function, args=args):
            yield from _check_call(names.resolve(function), args, names)
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from _check_import(node)
    if isinstance(node, ast.Name) and node.id in _MODULES - names.bound:
        yield node.id
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
        yield from _check_change(names.resolve(node.value), node.attr)
    if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        yield from _match_dotted(names.resolve(node))


def _check_change(owner: str, name: str) -> Iterator[str]:
    """Yield the member of a standard module that is set or deleted."""
    if owner.rpartition(".")[2] in sys.stdlib_module_names:
        yield f"{_CHANGES}{owner}.{name}"


def _is_fixed(node: ast.expr, names: _Names) -> bool:
    """Return whether a path is a constant: `"a"`, `Path("a")`."""
    match node:
        case ast.Constant(value=str()) | ast.Call(args=[ast.Constant(value=str()), *_]):
            return True
    return names.is_computed(node)


def _check_import(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
    dotted = [f"{module}.{each.name}" if module else each.name for each in node.names]
    yield from (found for each in dotted for found in _match_dotted(each))
    yield from (
        f"{module}.*" for each in dotted if each == f"{module}.*" and module in {*_ASKED, *_QUIET}
    )


def _match_dotted(dotted: str) -> Iterator[str]:
    """Yield what a dotted name asks for; `os.sys.modules` is `sys.modules`."""
    parts = dotted.split(".")
    if parts[0] in _MODULES:
        yield parts[0]
    for one, other in pairwise(parts):
        if f"{one}.{other}" in _TELLING or (one in _QUIET and other not in _QUIET[one]):
            yield f"{one}.{other}"


def _check_call(function: str, args: list[ast.expr], names: _Names) -> Iterator[str]:
    last = function.rpartition(".")[2]
    if function in _RUNNING:
        yield last
    if function in _IMPORTS and args and not isinstance(args[0], ast.Constant):
        yield "import by a computed name"
    if last in ("setattr", "delattr") and args:
        yield from _check_change(names.resolve(args[0]), "*")
    if function in _WORDS["ways"]["digest"]:
        yield "a digest"
    if last in _WORDS["ways"]["unpack"] and args and _is_packed(args[0], names):
        yield "data packed into a text"
    at = 0 if last in ("attrgetter", "methodcaller") else 1
    if last in _BY_NAME and len(args) > at and names.is_computed(args[at]):
        yield "a member by a computed name"
    if last == "vars" and args and names.resolve(args[0]).rpartition(".")[2] == "sys":
        yield "sys.__dict__"


def _is_packed(node: ast.expr, names: _Names) -> bool:
    """Return whether a value is a constant text, or is computed of constants alone."""
    constant = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    return constant or names.is_computed(node)


def describe_question(asked: str) -> str:
    if asked in _HIDING:
        return f"hides what it uses ({asked})"
    if asked.startswith(_CHANGES):
        return asked
    if asked == "a digest":
        return "compares digests of what it is given"
    if asked in ("eval", "exec"):
        return f"runs code that it puts together ({asked})"
    return f"asks how it is run ({asked})"
