"""Bandit: security of Python code."""

import sys
from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from punchlist.adapters.analyzers.entries import decoded, gathered, report_of, with_unread
from punchlist.adapters.analyzers.tool import Kit, Tool
from punchlist.adapters.analyzers.tools.python_project import has_tool_table
from punchlist.adapters.process.run import Ran
from punchlist.intake.raw_finding import Note, shortened
from punchlist.intake.source_files import Sources
from punchlist.model.finding.finding import Refused
from punchlist.model.finding.severity import Severity
from punchlist.model.patch.text_positions import UTF8
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

DEFAULT_SKIP = "B101"
"""Where a project has no bandit settings: every assert of every test is no news."""

_YAML = ("bandit.yaml", "bandit.yml", ".bandit.yaml", ".bandit.yml")
_RANKS = {
    ("HIGH", "HIGH"): Severity.CRITICAL,
    ("HIGH", "MEDIUM"): Severity.MAJOR,
    ("HIGH", "LOW"): Severity.MAJOR,
    ("MEDIUM", "HIGH"): Severity.MAJOR,
    ("MEDIUM", "MEDIUM"): Severity.MAJOR,
    ("MEDIUM", "LOW"): Severity.MINOR,
    ("LOW", "HIGH"): Severity.MINOR,
    ("LOW", "MEDIUM"): Severity.MINOR,
    ("LOW", "LOW"): Severity.MINOR,
}


class Cwe(Struct, frozen=True):
    link: str = ""


class Result(Struct, frozen=True):
    filename: str
    test_id: str
    issue_text: str
    issue_severity: str
    issue_confidence: str
    line_number: Annotated[int, Meta(ge=0)]
    line_range: list[int] = []
    col_offset: int = -1
    end_col_offset: int = -1
    test_name: str = ""
    more_info: str = ""
    issue_cwe: Cwe = Cwe()


class Unread(Struct, frozen=True):
    filename: str
    reason: str


class Report(Struct, frozen=True):
    results: list[msgspec.Raw]
    errors: list[msgspec.Raw] = []


class Bandit(Tool):
    name = "bandit"
    suffixes = (".py",)
    steered_by = (*_YAML, ".bandit", "pyproject.toml")
    suppressed_by = (r"#\s*nosec",)
    unsuppressed = ("--ignore-nosec",)
    slow = True

    def program(self, kit: Kit) -> tuple[str, ...]:  # the port's shape
        return (sys.executable, "-I", "-m", "bandit")

    def command(
        self, program: Sequence[str], tree: Tree, kit: Kit
    ) -> tuple[str, ...]:  # the port's shape
        return (*program, "--format=json", "--quiet", *self._settings(tree), *self.args, "--")

    def _settings(self, tree: Tree) -> tuple[str, ...]:
        if has_tool_table(tree, "pyproject.toml", "bandit"):
            return ("--configfile=pyproject.toml",)
        for name in _YAML:
            if tree.text(name) is not None:
                return (f"--configfile={name}",)
        return (
            ("--ini=.bandit",)
            if "[bandit]" in (tree.text(".bandit") or "")
            else (f"--skip={DEFAULT_SKIP}",)
        )

    def read(self, ran: Ran, sources: Sources) -> Analysis:
        return parse(ran.stdout, sources)


@report_of("bandit")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    """The findings of bandit's JSON report; a file that it could not read is a refusal."""
    report = decoded(output, Report)
    analysis = gathered(
        tool, report.results, lambda raw: _note(decoded(raw, Result), sources), sources
    )
    return with_unread(analysis, (_unread(tool, bytes(raw), sources) for raw in report.errors))


def _note(result: Result, sources: Sources) -> Note:
    severity = result.issue_severity.upper()
    confidence = result.issue_confidence.upper()
    positions = sources.positions_of(result.filename)
    line = result.line_number or None
    last = max(result.line_range, default=line)
    return Note(
        path=result.filename,
        title=result.issue_text,
        severity=_RANKS.get((severity, confidence), Severity.MAJOR),
        severity_word=f"{severity.lower()}, confidence {confidence.lower()}",
        rule=result.test_id,
        label=result.test_name,
        line=line,
        end_line=last,
        column=positions.column(line, result.col_offset, UTF8) if positions else None,
        end_column=positions.column(last, result.end_col_offset, UTF8)
        if positions and result.end_col_offset > 0
        else None,
        category="security",
        url=result.more_info or result.issue_cwe.link,
    )


def _unread(tool: str, raw: bytes, sources: Sources) -> tuple[Refused, str]:
    """The refusal, and the file that is meant, if that can be told."""
    said = "bandit could not look at this file"
    try:
        entry = decoded(raw, Unread)
    except msgspec.MsgspecError:
        return Refused(tool, shortened(raw), said), ""
    return Refused(
        tool, shortened(raw), f"{said}: {' '.join(entry.reason.split())}"
    ), sources.tracked(entry.filename)
