"""ty: types of a Python project, by its GitLab code quality report."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from punchlist.adapters.analyzers.entries import collect_findings, decode_json, report_parser
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.analyzers.tools.typechecker import TypeChecker, rank_severity
from punchlist.adapters.process.run import ProcessResult
from punchlist.intake.raw_finding import RawFinding
from punchlist.intake.source_files import Sources
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree


class GitlabPosition(Struct, frozen=True):
    line: int
    column: int | None = None


class GitlabSpan(Struct, frozen=True):
    begin: GitlabPosition
    end: GitlabPosition | None = None


class GitlabPlace(Struct, frozen=True):
    path: str
    positions: GitlabSpan | None = None
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

    def build_command(self, program: Sequence[str], tree: Tree, kit: Kit) -> tuple[str, ...]:
        python = kit.find_python(tree)
        return (
            *program,
            "check",
            "--output-format=gitlab",
            *((f"--python={python}",) if python else ()),
            *self.args,
        )

    def parse_output(self, ran: ProcessResult, sources: Sources) -> Analysis:
        return parse(ran.stdout, sources, "ty")


@report_parser("gitlab")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    """Parse GitLab's code quality report."""
    entries = decode_json(output, list[msgspec.Raw])
    return collect_findings(
        tool, entries, lambda raw: _make_note(decode_json(raw, GitlabEntry)), sources
    )


def _make_note(entry: GitlabEntry) -> RawFinding:
    span = entry.location.positions
    return RawFinding(
        path=entry.location.path,
        title=entry.description.removeprefix(f"{entry.check_name}: "),
        severity=rank_severity(entry.severity, entry.check_name),
        severity_word=entry.severity,
        rule=entry.check_name,
        category="typing",
        line=span.begin.line if span else entry.location.lines.get("begin"),
        end_line=span.end.line if span and span.end else entry.location.lines.get("end"),
        column=span.begin.column if span else None,
        end_column=span.end.column if span and span.end else None,
    )
