"""Pyright and basedpyright: types of a Python project."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from punchlist.adapters.analyzers.entries import decoded, gathered, report_of
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.analyzers.tools.typechecker import TypeChecker, rank
from punchlist.adapters.process.run import Ran
from punchlist.intake.raw_finding import Note, headline
from punchlist.intake.source_files import Sources
from punchlist.model.patch.text_positions import UTF16, Positions
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree


class Place(Struct, frozen=True):
    line: int
    character: int = 0


class Extent(Struct, frozen=True):
    start: Place
    end: Place


class PyrightEntry(Struct, frozen=True):
    message: str
    severity: str
    file: str = ""
    range: Extent | None = None
    rule: str | None = None


class PyrightReport(Struct, frozen=True, rename="camel"):
    general_diagnostics: list[msgspec.Raw]


class Pyright(TypeChecker):
    name = "pyright"
    files = ("pyrightconfig.json",)
    steered_by = (*files, "pyproject.toml")
    suppressed_by = (r"#\s*type:\s*ignore", r"#\s*pyright:\s*(?:ignore|basic|report\w+=false)")
    unsuppressed = ()

    def command(self, program: Sequence[str], tree: Tree, kit: Kit) -> tuple[str, ...]:
        python = kit.python(tree)
        return (
            *program,
            "--outputjson",
            *((f"--pythonpath={python}",) if python else ()),
            *self.args,
        )

    def read(self, ran: Ran, sources: Sources) -> Analysis:
        return parse(ran.stdout, sources, self.name)


class Basedpyright(Pyright):
    name = "basedpyright"


@report_of("pyright")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    report = decoded(output, PyrightReport)
    return gathered(
        tool,
        report.general_diagnostics,
        lambda raw: _note(decoded(raw, PyrightEntry), sources),
        sources,
    )


def _note(entry: PyrightEntry, sources: Sources) -> Note:
    positions = sources.positions_of(entry.file)
    start, end = (entry.range.start, entry.range.end) if entry.range else (None, None)
    rule = entry.rule or ("" if entry.severity != "error" else "syntax")
    title, detail = headline(entry.message)
    return Note(
        path=entry.file,
        title=title,
        detail=detail,
        severity=rank(entry.severity, rule),
        severity_word=entry.severity,
        rule=rule,
        category="typing",
        url=f"https://github.com/microsoft/pyright/blob/main/docs/configuration.md#{entry.rule}"
        if entry.rule
        else "",
        line=start.line + 1 if start else None,
        end_line=end.line + 1 if end else None,
        column=_column(start, positions),
        end_column=_column(end, positions),
    )


def _column(place: Place | None, positions: Positions | None) -> int | None:
    if place is None or positions is None:
        return None
    column = positions.column(place.line + 1, place.character, UTF16)
    return None if column is None else positions.without_mark(place.line + 1, column)
