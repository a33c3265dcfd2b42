"""ShellCheck: shell scripts, by suffix or shebang."""

import msgspec
from msgspec import Struct

from punchlist.adapters.analyzers.entries import (
    collect_entries,
    decode_json,
    report_parser,
    with_unparsed,
)
from punchlist.adapters.analyzers.tool import AnalyzerTool
from punchlist.intake.raw_finding import RawFinding
from punchlist.intake.source_files import Sources, make_fix
from punchlist.model.finding.finding import Fix, Safety, Splice
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.severity import Severity
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

_SHEBANG = late_pattern(r"#!.*\b(?:ba|da|k|a)?sh\b")
_PARSER = range(1000, 2000)
_STOPPED = frozenset({"SC1070", "SC1071", "SC1072", "SC1088", "SC1089"})
"""With these it says that it read no further, or not at all."""


class ShellcheckEdit(Struct, frozen=True, rename="camel"):
    line: int
    column: int
    end_line: int
    end_column: int
    replacement: str


class Replacements(Struct, frozen=True):
    replacements: list[ShellcheckEdit]


class Comment(Struct, frozen=True, rename="camel"):
    file: str
    line: int
    column: int
    level: str
    code: int
    message: str
    end_line: int | None = None
    end_column: int | None = None
    fix: Replacements | None = None


class ShellcheckReport(Struct, frozen=True):
    comments: list[msgspec.Raw]


@report_parser("shellcheck")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    """Parse a `json1` report, in which a tab is one column."""
    report = decode_json(output, ShellcheckReport)
    analysis = collect_entries(tool, report.comments, Comment, _make_note, sources)
    return with_unparsed(analysis, _STOPPED.__contains__)


def _make_note(entry: Comment, sources: Sources) -> RawFinding:
    fix, marks = _make_fix(entry, sources)
    severity = Severity.MINOR if entry.level in ("info", "style") else Severity.MAJOR
    if entry.code in _PARSER and entry.level == "error":
        severity = Severity.CRITICAL
    return RawFinding(
        path=entry.file,
        title=entry.message.strip(),
        severity=severity,
        severity_word=entry.level,
        rule=f"SC{entry.code}",
        category="style" if entry.level == "style" else "correctness",
        url=f"https://www.shellcheck.net/wiki/SC{entry.code}",
        line=entry.line,
        end_line=entry.end_line,
        column=entry.column,
        end_column=entry.end_column,
        fix=fix,
        marks=marks,
    )


def _make_fix(entry: Comment, sources: Sources) -> tuple[Fix | None, tuple[str, ...]]:
    if entry.fix is None:
        return None, ()
    splices = [_make_splice(entry.file, part, sources) for part in entry.fix.replacements]
    return make_fix(splices, Safety.UNSAFE)


def _make_splice(file: str, part: ShellcheckEdit, sources: Sources) -> Splice | None:
    positions = sources.reported_positions(file)
    if positions is None:
        return None
    start = positions.offset(part.line, part.column)
    end = positions.offset(part.end_line, part.end_column)
    return sources.make_splice(file, start, end, part.replacement)


class Shellcheck(AnalyzerTool):
    name = "shellcheck"
    suffixes = (".sh", ".bash", ".dash", ".ksh", ".bats")
    steered_by = (".shellcheckrc", "shellcheckrc")
    suppressed_by = (r"#\s*shellcheck\s+disable",)
    options = ("--format=json1",)
    parser = staticmethod(parse)

    def wants_file(self, path: str, tree: Tree) -> bool:
        if path.endswith(self.suffixes):
            return True
        name = path.rpartition("/")[2]
        return "." not in name and bool(_SHEBANG.match((tree.text(path) or "")[:100]))
