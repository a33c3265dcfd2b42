"""Ruff: Python, hundreds of rules, and fixes of several edits each."""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from punchlist.adapters.analyzers.entries import (
    decoded,
    gathered,
    report_of,
    with_unparsed,
    with_unread,
)
from punchlist.adapters.analyzers.tool import Kit, Tool, named
from punchlist.adapters.analyzers.tools.python_project import has_tool_table, oldest_python
from punchlist.adapters.analyzers.tools.ruff_rules import DEFAULT_IGNORE, DEFAULT_SELECT, meaning
from punchlist.adapters.process.run import Ran
from punchlist.intake.raw_finding import Note
from punchlist.intake.source_files import Sources, proposed
from punchlist.model.finding.finding import Fix, Refused, Safety, Splice
from punchlist.model.finding.severity import Severity
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

SYNTAX = "invalid-syntax"
CELL_FIX = "a fix inside a notebook cell is left to a person"
_OLDEST, _NEWEST = 7, 14
_SAFETY = {"safe": Safety.SAFE, "unsafe": Safety.UNSAFE}
_UNREAD = re.compile(r"^warning: (Failed to lint (.*))$", re.MULTILINE)
_BROKEN = frozenset({SYNTAX, "E902", "E999"})


class Place(Struct, frozen=True):
    row: int
    column: int


class Edit(Struct, frozen=True):
    content: str | None
    location: Place
    end_location: Place


class EntryFix(Struct, frozen=True):
    edits: list[Edit]
    applicability: str = ""
    message: str | None = None


class Entry(Struct, frozen=True):
    """One diagnostic of `--output-format json`; older versions give a syntax error no code."""

    filename: str
    message: str
    location: Place | None
    end_location: Place | None = None
    code: str | None = None
    cell: int | None = None
    fix: EntryFix | None = None
    url: str | None = None
    severity: str = ""


class Ruff(Tool):
    name = "ruff"
    suffixes = (".py", ".pyi", ".pyw", ".ipynb")
    steered_by = ("ruff.toml", ".ruff.toml", "pyproject.toml")
    suppressed_by = (r"#\s*(?:(?:ruff|flake8):\s*)?noqa", r"#\s*isort:\s*skip")
    unsuppressed = ("--ignore-noqa",)
    exits = frozenset({0})

    def __init__(self, select: Sequence[str] = (), args: Sequence[str] = ()) -> None:
        self._select = tuple(select)
        super().__init__(args)

    def program(self, kit: Kit) -> tuple[str, ...]:
        return kit.bundled(self.name)

    def command(
        self, program: Sequence[str], tree: Tree, kit: Kit
    ) -> tuple[str, ...]:  # the port's shape
        # A project's own settings may say fix = true; an analyzer never writes.
        fixed = (
            "check",
            "--output-format=json",
            "--no-cache",
            "--exit-zero",
            "--force-exclude",
            "--no-fix",
            "--no-fix-only",
        )
        return (*program, *fixed, *self._rules(tree), *self.args, "--")

    def _rules(self, tree: Tree) -> list[str]:
        configured = bool(named(tree, "ruff.toml", ".ruff.toml")) or any(
            has_tool_table(tree, path, "ruff") for path in named(tree, "pyproject.toml")
        )
        rules = [f"--select={','.join(self._select)}"] if self._select else []
        if configured:
            return rules
        # Settings of folders above the tree, and of the user, are not the project's.
        rules = [
            "--isolated",
            *(rules or [f"--select={DEFAULT_SELECT}", f"--ignore={DEFAULT_IGNORE}"]),
        ]
        oldest = oldest_python(tree)
        return (
            rules
            if oldest is None
            else [*rules, f"--target-version=py3{min(max(oldest, _OLDEST), _NEWEST)}"]
        )

    def read(self, ran: Ran, sources: Sources) -> Analysis:
        said = _UNREAD.findall(ran.stderr.decode("utf-8", "replace"))
        unread = (
            (Refused(self.name, line, "ruff could not read the file"), sources.told(named))
            for line, named in said
        )
        return with_unread(parse(ran.stdout, sources), unread)


@report_of("ruff")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    """The findings of ruff's JSON report."""
    entries = decoded(output, list[msgspec.Raw])
    return with_unparsed(
        gathered(tool, entries, lambda raw: _note(decoded(raw, Entry), sources), sources),
        _BROKEN.__contains__,
    )


def _note(entry: Entry, sources: Sources) -> Note:
    rule = entry.code or SYNTAX
    severity, category = (Severity.CRITICAL, "correctness") if rule == SYNTAX else meaning(rule)
    start, end = entry.location, entry.end_location
    fix, marks = _fix(entry, sources)
    return Note(
        path=entry.filename,
        title=entry.message,
        severity=severity,
        rule=rule,
        # Rows of a notebook count within a cell; the file itself has no such line.
        line=start.row if start and entry.cell is None else None,
        column=start.column if start and entry.cell is None else None,
        end_line=end.row if end else None,
        end_column=end.column if end else None,
        detail=f"cell {entry.cell}, line {start.row}" if start and entry.cell is not None else "",
        category=category,
        url=entry.url or "",
        severity_word=entry.severity,
        suggestion=(entry.fix.message or "") if entry.fix else "",
        fix=fix,
        marks=marks,
    )


def _fix(entry: Entry, sources: Sources) -> tuple[Fix | None, tuple[str, ...]]:
    if entry.fix is None or not entry.fix.edits:
        return None, ()
    if entry.cell is not None or entry.filename.endswith(".ipynb"):
        return None, (CELL_FIX,)
    splices = [_splice(entry.filename, edit, sources) for edit in entry.fix.edits]
    return proposed(
        splices,
        _SAFETY.get(entry.fix.applicability.casefold(), Safety.DISPLAY),
        entry.fix.message or "",
    )


def _splice(filename: str, edit: Edit, sources: Sources) -> Splice | None:
    positions = sources.positions_of(filename)
    if positions is None:
        return None
    start = positions.offset(edit.location.row, edit.location.column)
    end = positions.offset(edit.end_location.row, edit.end_location.column)
    return sources.splice(filename, start, end, edit.content or "")
