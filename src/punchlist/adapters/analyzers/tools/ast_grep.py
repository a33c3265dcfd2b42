"""ast-grep with the user's own rules, which may rewrite their matches."""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from punchlist.adapters.analyzers.entries import (
    collect_findings,
    decode_json,
    report_parser,
    with_unread,
)
from punchlist.adapters.analyzers.tool import AnalyzerTool, Kit
from punchlist.adapters.process.run import ProcessResult
from punchlist.intake.raw_finding import RawFinding
from punchlist.intake.source_files import Sources, make_fix
from punchlist.model.finding.finding import Fix, RefusedEntry, Safety
from punchlist.model.finding.severity import Severity
from punchlist.model.patch.text_positions import UTF8
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

_RANKS = {
    "error": Severity.MAJOR,
    "warning": Severity.MAJOR,
    "info": Severity.MINOR,
    "hint": Severity.MINOR,
}
_UNREAD = re.compile(r"^ERROR: (.+)$", re.MULTILINE)


class AstGrepSpan(Struct, frozen=True):
    start: int
    end: int


class AstGrepPosition(Struct, frozen=True):
    line: int


class AstGrepRange(Struct, frozen=True, rename="camel"):
    byte_offset: AstGrepSpan
    start: AstGrepPosition
    end: AstGrepPosition


class Match(Struct, frozen=True, rename="camel"):
    file: str
    range: AstGrepRange
    rule_id: str
    message: str = ""
    severity: str = ""
    note: str | None = None
    replacement: str | None = None
    replacement_offsets: AstGrepSpan | None = None


class AstGrep(AnalyzerTool):
    """`rules` is YAML text, several rules separated by `---`."""

    name = "ast-grep"
    suffixes = ("",)  # which languages matter is in the rules
    steered_by = ("sgconfig.yml",)
    suppressed_by = (r"(?:#|//|/\*)\s*ast-grep-ignore",)
    unsuppressed = ()

    def __init__(self, rules: str, args: Sequence[str] = ()) -> None:
        self._rules = rules
        super().__init__(args)

    def find_program(self, kit: Kit) -> tuple[str, ...]:
        return kit.find_bundled(self.name)

    def skip_reason(self, tree: Tree) -> str:  # the same in every project
        return "" if self._rules.strip() else "no rules of your own are named (analyzers.ast-grep)"

    def build_command(
        self, program: Sequence[str], tree: Tree, kit: Kit
    ) -> tuple[str, ...]:  # the port's shape
        # An sgconfig.yml of the tree could load libraries; /dev/null stands in its place.
        return (
            *program,
            "scan",
            "--json=compact",
            "--config=/dev/null",
            f"--inline-rules={self._rules}",
            *self.args,
            "--",
        )

    def parse_output(self, ran: ProcessResult, sources: Sources) -> Analysis:
        said = _UNREAD.findall(ran.stderr.decode("utf-8", "replace"))
        unread = (
            (
                RefusedEntry(self.name, line, "ast-grep could not read the file"),
                sources.parse_path(line),
            )
            for line in said
        )
        return with_unread(parse(ran.stdout, sources), unread)


@report_parser("ast-grep")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    matches = decode_json(output, list[msgspec.Raw])
    return collect_findings(
        tool, matches, lambda raw: _make_note(decode_json(raw, Match), sources), sources
    )


def _make_note(match: Match, sources: Sources) -> RawFinding:
    positions = sources.reported_positions(match.file)
    span = match.range.byte_offset
    start, end = (
        positions.convert_offset(units, UTF8) if positions else None
        for units in (span.start, span.end)
    )
    line, column = (
        positions.find_place(start)
        if positions and start is not None
        else (match.range.start.line + 1, None)
    )
    last, end_column = (
        positions.find_place(end)
        if positions and end is not None
        else (match.range.end.line + 1, None)
    )
    fix, marks = _make_fix(match, sources)
    return RawFinding(
        path=match.file,
        title=match.message or match.rule_id,
        detail=match.note or "",
        severity=_RANKS.get(match.severity, Severity.MAJOR),
        severity_word=match.severity,
        rule=match.rule_id,
        line=line,
        end_line=last,
        column=column,
        end_column=end_column,
        fix=fix,
        marks=marks,
    )


def _make_fix(match: Match, sources: Sources) -> tuple[Fix | None, tuple[str, ...]]:
    positions = sources.reported_positions(match.file)
    if match.replacement is None or positions is None:
        return None, ()
    span = match.replacement_offsets or match.range.byte_offset
    start, end = (
        positions.convert_offset(span.start, UTF8),
        positions.convert_offset(span.end, UTF8),
    )
    return make_fix([sources.make_splice(match.file, start, end, match.replacement)], Safety.UNSAFE)
