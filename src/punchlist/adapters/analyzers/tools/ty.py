"""ty: types of a Python project, by its GitLab code quality report."""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.analyzers.entries import collect_entries, decode_json, report_parser
from punchlist.adapters.analyzers.tools.typechecker import TypeChecker, rank_severity
from punchlist.adapters.process.run import ProcessResult
from punchlist.intake.raw_finding import RawFinding
from punchlist.intake.source_files import Sources
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

_LOG = late_pattern(r"^\d{4}-\S+ \S+ +(?:TRACE|DEBUG|INFO) ", re.MULTILINE)
_CHECKING = late_pattern(r"^\d{4}-\S+ \S+ +DEBUG Checking file '(.+)'$", re.MULTILINE)


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


@report_parser("gitlab")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    """Parse GitLab's code quality report."""
    entries = decode_json(output, list[msgspec.Raw])
    return collect_entries(tool, entries, GitlabEntry, _make_note, sources)


def _make_note(entry: GitlabEntry, _: Sources) -> RawFinding:
    location, span = entry.location, entry.location.positions
    end = span.end if span else None
    return RawFinding(
        path=location.path,
        title=entry.description.removeprefix(f"{entry.check_name}: "),
        severity=rank_severity(entry.severity, entry.check_name),
        severity_word=entry.severity,
        rule=entry.check_name,
        category="typing",
        line=span.begin.line if span else location.lines.get("begin"),
        end_line=end.line if end else location.lines.get("end"),
        column=span.begin.column if span else None,
        end_column=end.column if end else None,
    )


class Ty(TypeChecker):
    name = "ty"
    files = ("ty.toml",)
    steered_by = (*files, "pyproject.toml")
    suppressed_by = (r"#\s*(?:type|ty):\s*ignore",)
    # -vv: it says of each file that it checks it.
    options = ("check", "--output-format=gitlab", "-vv")
    log = _LOG
    python_option = "--python"
    parser = staticmethod(parse)

    def list_hidden(self, files: Sequence[str], tree: Tree) -> Sequence[str]:
        texts = (tree.text(name) or "" for name in self.steered_by)
        return () if any("clude" in text for text in texts) else files

    def name_files(self, head: Sequence[str]) -> Sequence[str]:
        return (*head, "--")

    def parse_output(self, ran: ProcessResult, sources: Sources) -> Analysis:
        analysis = super().parse_output(ran, sources)
        names = _CHECKING.findall(ran.stderr.decode("utf-8", "replace"))
        looked = frozenset(filter(None, map(sources.tracked_path, names)))
        stated = bool(names) and not sources.has_line_breaks()
        return replace(analysis, looked=looked if stated else None)
