"""Ast-grep with the user's own rules, each of which may rewrite what it finds."""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from punchlist.adapters.analyzers.entries import decoded, gathered, report_of, with_unread
from punchlist.adapters.analyzers.tool import Kit, Tool
from punchlist.adapters.process.run import Ran
from punchlist.intake.raw_finding import Note
from punchlist.intake.source_files import Sources, proposed
from punchlist.model.finding.finding import Fix, Refused, Safety
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


class Span(Struct, frozen=True):
    start: int
    end: int


class Place(Struct, frozen=True):
    line: int


class Range(Struct, frozen=True, rename="camel"):
    byte_offset: Span
    start: Place
    end: Place


class Match(Struct, frozen=True, rename="camel"):
    file: str
    range: Range
    rule_id: str
    message: str = ""
    severity: str = ""
    note: str | None = None
    replacement: str | None = None
    replacement_offsets: Span | None = None


class AstGrep(Tool):
    """`rules` is YAML text, several rules set apart by `---`."""

    name = "ast-grep"
    suffixes = ("",)  # which languages matter is in the rules
    steered_by = ("sgconfig.yml",)
    suppressed_by = (r"(?:#|//|/\*)\s*ast-grep-ignore",)
    unsuppressed = ()

    def __init__(self, rules: str, args: Sequence[str] = ()) -> None:
        self._rules = rules
        super().__init__(args)

    def program(self, kit: Kit) -> tuple[str, ...]:
        return kit.bundled(self.name)

    def idle(self, tree: Tree) -> str:  # the same in every project
        return "" if self._rules.strip() else "no rules of your own are named (analyzers.ast-grep)"

    def command(
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

    def read(self, ran: Ran, sources: Sources) -> Analysis:
        said = _UNREAD.findall(ran.stderr.decode("utf-8", "replace"))
        unread = (
            (Refused(self.name, line, "ast-grep could not read the file"), sources.told(line))
            for line in said
        )
        return with_unread(parse(ran.stdout, sources), unread)


@report_of("ast-grep")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    matches = decoded(output, list[msgspec.Raw])
    return gathered(tool, matches, lambda raw: _note(decoded(raw, Match), sources), sources)


def _note(match: Match, sources: Sources) -> Note:
    positions = sources.positions_of(match.file)
    span = match.range.byte_offset
    start, end = (
        positions.of_units(units, UTF8) if positions else None for units in (span.start, span.end)
    )
    line, column = (
        positions.place(start)
        if positions and start is not None
        else (match.range.start.line + 1, None)
    )
    last, end_column = (
        positions.place(end) if positions and end is not None else (match.range.end.line + 1, None)
    )
    fix, marks = _fix(match, sources)
    return Note(
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


def _fix(match: Match, sources: Sources) -> tuple[Fix | None, tuple[str, ...]]:
    positions = sources.positions_of(match.file)
    if match.replacement is None or positions is None:
        return None, ()
    span = match.replacement_offsets or match.range.byte_offset
    start, end = positions.of_units(span.start, UTF8), positions.of_units(span.end, UTF8)
    return proposed([sources.splice(match.file, start, end, match.replacement)], Safety.UNSAFE)
