"""Ty: types of a Python project, read from its GitLab code quality report."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from punchlist.adapters.analyzers.entries import decoded, gathered, report_of
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.analyzers.tools.typechecker import TypeChecker, rank
from punchlist.adapters.process.run import Ran
from punchlist.intake.raw_finding import Note
from punchlist.intake.source_files import Sources
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree


class Spot(Struct, frozen=True):
    line: int
    column: int | None = None


class Span(Struct, frozen=True):
    begin: Spot
    end: Spot | None = None


class GitlabPlace(Struct, frozen=True):
    path: str
    positions: Span | None = None
    lines: dict[str, int] = {}


class GitlabEntry(Struct, frozen=True):
    description: str
    location: GitlabPlace
    check_name: str = ""
    severity: str = "major"


class Ty(TypeChecker):
    name = "ty"
    files = ("ty.toml",)
    steered_by = (*files, "pyproject.toml")
    suppressed_by = (r"#\s*(?:type|ty):\s*ignore",)
    unsuppressed = ()

    def command(self, program: Sequence[str], tree: Tree, kit: Kit) -> tuple[str, ...]:
        python = kit.python(tree)
        return (
            *program,
            "check",
            "--output-format=gitlab",
            *((f"--python={python}",) if python else ()),
            *self.args,
        )

    def read(self, ran: Ran, sources: Sources) -> Analysis:
        return parse(ran.stdout, sources, "ty")


@report_of("gitlab")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    """GitLab's code quality report, which ty writes."""
    entries = decoded(output, list[msgspec.Raw])
    return gathered(tool, entries, lambda raw: _note(decoded(raw, GitlabEntry)), sources)


def _note(entry: GitlabEntry) -> Note:
    span = entry.location.positions
    return Note(
        path=entry.location.path,
        title=entry.description.removeprefix(f"{entry.check_name}: "),
        severity=rank(entry.severity, entry.check_name),
        severity_word=entry.severity,
        rule=entry.check_name,
        category="typing",
        line=span.begin.line if span else entry.location.lines.get("begin"),
        end_line=span.end.line if span and span.end else entry.location.lines.get("end"),
        column=span.begin.column if span else None,
        end_column=span.end.column if span and span.end else None,
    )
