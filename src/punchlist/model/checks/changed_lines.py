"""How many of the lines that a patch changes the checks execute."""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct

from punchlist.model.finding.finding import Splice
from punchlist.model.finding.python_source import parse_python
from punchlist.model.patch.line_table import LineTable


class ExecutedLines(Struct, frozen=True):
    """What one check executes: line numbers by file, or in `unknown` why that is not known."""

    files: dict[str, tuple[int, ...]] = {}
    unknown: str = ""
    statements: dict[str, tuple[int, ...]] = {}
    """By file that was asked about: the lines that can be executed, as coverage.py counts them."""


class LineCount(Struct, frozen=True):
    """Of the changed lines: how many can be executed, and how many the checks execute."""

    executed: int = 0
    of: int = 0

    def __add__(self, other: "LineCount") -> "LineCount":
        return LineCount(self.executed + other.executed, self.of + other.of)

    @property
    def words(self) -> str:
        """The share in words; '' if no changed line can be executed."""
        if not self.of:
            return ""
        lines = "changed line" if self.of == 1 else "changed lines"
        return f"executing {self.executed or 'none'} of its {self.of} {lines}"

    @property
    def missing(self) -> str:
        """The changed lines that are not executed, in words; '' if there are none."""
        left = self.of - self.executed
        if not left:
            return ""
        if self.of == 1:
            return "its changed line"
        return f"{'any' if left == self.of else left} of its {self.of} changed lines"


def find_changed_lines(before: str, splices: Iterable[Splice]) -> frozenset[int]:
    """Return the lines of the old text that are replaced or removed, or that text is put into."""
    table = LineTable(before)
    changed: set[int] = set()
    for splice in splices:
        first, _ = table.find_place(splice.start)
        last, _ = table.find_place(max(splice.start, splice.end - 1))
        changed.update(range(first, last + 1))
    return frozenset(changed)


def translate_lines(old: str, new: str, executed: Collection[int]) -> frozenset[int]:
    """Return which lines of the new text were executed as lines of the old one; in a part that
    differs, all if one of the old part was.
    """
    if old == new:
        return frozenset(executed)
    from difflib import SequenceMatcher

    known = set(executed)
    matcher = SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    found: set[int] = set()
    for tag, first, last, new_first, new_last in matcher.get_opcodes():
        if tag == "equal":
            found.update(
                new_first + at + 1 for at in range(last - first) if first + at + 1 in known
            )
        elif known.intersection(range(first + 1, last + 1)):
            found.update(range(new_first + 1, new_last + 1))
    return frozenset(found)


def count_lines(text: str, changed: Collection[int], executed: Collection[int]) -> LineCount:
    """Count the changed lines of statements, and those whose statement was executed. Comments,
    docstrings and empty lines cannot be executed.
    """
    module = parse_python(text)
    if module is None:
        return LineCount()
    owners, written = _find_owners(module), LineTable(text)
    own = [owners[line] for line in changed if _is_code(line, owners, written)]
    ran = set(executed)
    return LineCount(sum(not ran.isdisjoint(lines) for lines in own), len(own))


def _is_code(line: int, owners: Mapping[int, range], text: LineTable) -> bool:
    """Return whether a line belongs to a statement, and is no comment or empty line in its body."""
    if line not in owners:
        return False
    words = "".join(text.lines(line, line)).strip()
    return line in owners[line] or bool(words and not words.startswith("#"))


def _find_owners(module: ast.Module) -> Mapping[int, range]:
    """Return, by line, the lines of the innermost statement there, without the body of a compound
    one.
    """
    owners: dict[int, range] = {}
    for node in _walk_statements(module):
        if _is_idle(node):
            continue
        lines = range(_first_line(node), (node.end_lineno or node.lineno) + 1)
        head = lines
        body = getattr(node, "body", None)
        if isinstance(body, list) and body:
            head = range(lines.start, max(_first_line(body[0]), lines.start + 1))
        owners.update(dict.fromkeys(lines, head))
        for inner in _list_inner(node):
            for line in range(_first_line(inner), (inner.end_lineno or inner.lineno) + 1):
                owners.pop(line, None)
    return owners


def _walk_statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield statements, outer ones first."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        yield from _walk_statements(child)


def _list_inner(node: ast.AST) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for child in ast.iter_child_nodes(node):
        found += [child] if isinstance(child, ast.stmt) else _list_inner(child)
    return found


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _is_idle(node: ast.stmt) -> bool:
    """Return whether a statement does nothing: a docstring, another constant, an annotation."""
    if isinstance(node, ast.AnnAssign):
        return node.value is None
    idle = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return idle or isinstance(node, ast.Global | ast.Nonlocal)
