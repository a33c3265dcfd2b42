"""Bandit: security of Python code."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from punchlist.adapters.analyzers.configuration.declared import ConfigurationKeys
from punchlist.adapters.analyzers.entries import (
    collect_entries,
    decode_json,
    report_parser,
    with_unread,
)
from punchlist.adapters.analyzers.identity import identify_package
from punchlist.adapters.analyzers.tool import AnalyzerTool, Kit
from punchlist.adapters.analyzers.tools.python_project import has_tool_table, is_test_code
from punchlist.intake.raw_finding import RawFinding, shorten_raw
from punchlist.intake.source_files import Sources
from punchlist.model.finding.finding import RefusedEntry
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.severity import Severity
from punchlist.model.patch.text_positions import UTF8
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

DEFAULT_LEVEL = "medium"
"""What is worth a stranger's time where a project has no settings for bandit."""

_INI = ".bandit"
_ALL_PATHS = "--exclude="
_EXCLUDES = late_pattern(r"^\s*[\"']?exclude(?:_dirs)?[\"']?\s*[:=]", re.MULTILINE)
_YAML = ("bandit.yaml", "bandit.yml", ".bandit.yaml", ".bandit.yml")
_RANKS = {
    ("HIGH", "HIGH"): Severity.CRITICAL,
    ("MEDIUM", "LOW"): Severity.MINOR,
    ("LOW", "HIGH"): Severity.MINOR,
    ("LOW", "MEDIUM"): Severity.MINOR,
    ("LOW", "LOW"): Severity.MINOR,
}
"""By severity and confidence; all others are major."""


class Cwe(Struct, frozen=True):
    link: str = ""


class BanditResult(Struct, frozen=True):
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


class BanditError(Struct, frozen=True):
    filename: str
    reason: str


class BanditReport(Struct, frozen=True):
    """`metrics` has an entry for each file that it read."""

    results: list[msgspec.Raw]
    errors: list[msgspec.Raw] = []
    metrics: dict[str, msgspec.Raw] | None = None


@report_parser("bandit")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    """Parse bandit's JSON report; a file that it could not read is a refusal."""
    report = decode_json(output, BanditReport)
    analysis = collect_entries(tool, report.results, BanditResult, _make_note, sources)
    if report.metrics is not None:
        looked = frozenset(filter(None, map(sources.tracked_path, report.metrics)))
        analysis = replace(analysis, looked=looked)
    return with_unread(analysis, (_refuse_file(tool, bytes(raw), sources) for raw in report.errors))


def _make_note(result: BanditResult, sources: Sources) -> RawFinding:
    severity = result.issue_severity.upper()
    confidence = result.issue_confidence.upper()
    positions = sources.reported_positions(result.filename)
    line = result.line_number or None
    last = max(result.line_range, default=line)
    end = result.end_col_offset
    return RawFinding(
        path=result.filename,
        title=result.issue_text,
        severity=_RANKS.get((severity, confidence), Severity.MAJOR),
        severity_word=f"{severity.lower()}, confidence {confidence.lower()}",
        rule=result.test_id,
        label=result.test_name,
        line=line,
        end_line=last,
        column=positions.convert_column(line, result.col_offset, UTF8) if positions else None,
        end_column=positions.convert_column(last, end or None, UTF8) if positions else None,
        category="security",
        url=result.more_info or result.issue_cwe.link,
    )


def _refuse_file(tool: str, raw: bytes, sources: Sources) -> tuple[RefusedEntry, str]:
    """Return the refusal and the tracked file, '' if unknown."""
    refused = RefusedEntry(tool, shorten_raw(raw), "bandit could not look at this file")
    try:
        entry = decode_json(raw, BanditError)
    except msgspec.MsgspecError:
        return refused, ""
    reason = f"{refused.reason}: {' '.join(entry.reason.split())}"
    return replace(refused, reason=reason), sources.tracked_path(entry.filename)


class Bandit(AnalyzerTool):
    name = "bandit"
    suffixes = (".py",)
    steered_by = (*_YAML, _INI, "pyproject.toml")
    suppressed_by = (r"#\s*nosec",)
    unsuppressed = ("--ignore-nosec",)
    configuration = ConfigurationKeys(
        files={_INI: "bandit"},
        named=("baseline", "configfile"),
        reads=("targets",),
        forbidden=("output", "format"),
        anywhere=False,
    )
    slow = True
    install = 'pip install "punchlist[bandit]"'
    options = ("--format=json", "--quiet")
    parser = staticmethod(parse)

    def wants_file(self, path: str, tree: Tree) -> bool:
        """Leave tests out where neither the user nor the project asks for bandit."""
        if not super().wants_file(path, tree):
            return False
        return self.asked or not is_test_code(path) or bool(_find_settings(tree))

    def identify_program(self, program: Sequence[str]) -> str:
        """Return what identifies the bandit beside our Python; '' for any other."""
        ours = Path(program[0]).parent == Path(sys.executable).parent
        return identify_package(self.name) if ours else ""

    def project_options(self, tree: Tree, kit: Kit) -> tuple[str, ...]:
        """Return the options for the project's settings; bandit's own list of what to leave out,
        which are parts of paths, is switched off unless an ini file has another.
        """
        name = _find_settings(tree)
        if not name:
            return (f"--severity-level={DEFAULT_LEVEL}", _ALL_PATHS)
        if name != _INI:
            return (f"--configfile={name}", _ALL_PATHS)
        own = _EXCLUDES.search(tree.text(name) or "")
        return (f"--ini={name}",) if own else (f"--ini={name}", _ALL_PATHS)

    def find_exclusion(self, tree: Tree) -> str:
        name = _find_settings(tree)
        return name if name and _EXCLUDES.search(tree.text(name) or "") else ""


def _find_settings(tree: Tree) -> str:
    """Return the file with the project's settings for bandit, or ''."""
    if has_tool_table(tree, "pyproject.toml", "bandit"):
        return "pyproject.toml"
    for name in _YAML:
        if tree.text(name) is not None:
            return name
    return _INI if "[bandit]" in (tree.text(_INI) or "") else ""
