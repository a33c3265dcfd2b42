"""ast-grep with the user's own rules, which may rewrite their matches."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.analyzers.entries import (
    collect_entries,
    decode_json,
    list_unread,
    report_parser,
    with_unread,
)
from punchlist.adapters.analyzers.formats.byte_spans import ByteSpan, locate_span, make_splice
from punchlist.adapters.analyzers.looked import believe_names, split_records
from punchlist.adapters.analyzers.tool import AnalyzerTool, Kit
from punchlist.adapters.process.run import ProcessResult
from punchlist.intake.raw_finding import RawFinding
from punchlist.intake.source_files import Sources, make_fix
from punchlist.model.finding.finding import Fix, Safety
from punchlist.model.finding.languages import find_language, find_rule_languages
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.severity import Severity
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

_RECORD = late_pattern(r"^sg: (?:entity|summary)\|", re.MULTILINE)
_FILE = late_pattern(
    r"sg: entity\|file\|(?P<file>.+): (?:.*\bappliedRuleCount=[1-9]\d*|skipped=emptyFile)\s*$",
    re.DOTALL,
)
_COUNT = late_pattern(r"sg: summary\|file: .*\bscannedFileCount=(?P<count>\d+)")
_PLACES = late_pattern(r"^\s*(?:files|ignores):", re.MULTILINE)
_UNREAD = late_pattern(r"^ERROR: (?P<line>(?P<file>.+))$", re.MULTILINE)


class AstGrepPosition(Struct, frozen=True):
    line: int


class AstGrepRange(Struct, frozen=True, rename="camel"):
    byte_offset: ByteSpan
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
    replacement_offsets: ByteSpan | None = None


def join_rules(texts: Iterable[str]) -> str:
    return "\n---\n".join(text.strip().removeprefix("---") for text in texts if text.strip())


class AstGrep(AnalyzerTool):
    """`rules` is YAML text, several rules separated by `---`."""

    name = "ast-grep"
    suffixes = ("",)  # which languages matter is in the rules
    steered_by = ("sgconfig.yml",)
    suppressed_by = (r"(?:#|//|/\*)\s*ast-grep-ignore",)
    # An sgconfig.yml of the tree could load libraries; /dev/null stands in its place.
    # --inspect: it says of each file how many rules it applied to it, or why it skipped it.
    options = ("scan", "--json=compact", "--config=/dev/null", "--inspect=entity")
    log = _RECORD
    install = 'pip install "punchlist[ast-grep]"'

    def __init__(
        self, rules: str, args: Sequence[str] = (), *, files: Mapping[str, str] | None = None
    ) -> None:
        """`files`: texts of rule files; where a tree has one of them, it comes from the tree."""
        self._own = rules
        self._files = dict(files or {})
        self._rules = join_rules((rules, *self._files.values()))
        super().__init__(args)

    def find_program(self, kit: Kit) -> tuple[str, ...]:
        return kit.find_bundled(self.name)

    def sees_file(self, path: str, tree: Tree) -> bool:
        known = self._languages
        return known is None or find_language(path, tree.text(path) or "") in known

    @cached_property
    def _languages(self) -> frozenset[str] | None:
        return find_rule_languages(self._rules)

    def skip_reason(self, tree: Tree) -> str:
        return "" if self._rules.strip() else "no rules of your own are named (analyzers.ast-grep)"

    def project_options(self, tree: Tree, kit: Kit) -> tuple[str, ...]:
        texts = (tree.text(name) or text for name, text in self._files.items())
        return (f"--inline-rules={join_rules((self._own, *texts))}",)

    def find_exclusion(self, tree: Tree) -> str:
        leaves_out = self._languages is None or _PLACES.search(self._rules)
        return "its rules" if leaves_out else ""

    def parse_output(self, ran: ProcessResult, sources: Sources) -> Analysis:
        unread = list_unread(self.name, ran.stderr, _UNREAD, sources)
        analysis = with_unread(parse(ran.stdout, sources), unread)
        return replace(analysis, looked=_list_looked(ran.stderr, sources))


def _list_looked(log: bytes, sources: Sources) -> frozenset[str] | None:
    """Return the files that a rule was applied to, or that are empty."""
    names: list[str] = []
    count = None
    for record in split_records(log, _RECORD):
        if found := _FILE.match(record):
            names.append(found["file"])
        elif found := _COUNT.match(record):
            count = int(found["count"])
    return believe_names(names, sources, count)


@report_parser("ast-grep")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    matches = decode_json(output, list[msgspec.Raw])
    return collect_entries(tool, matches, Match, _make_note, sources)


def _make_note(match: Match, sources: Sources) -> RawFinding:
    span = match.range
    place = locate_span(
        sources, match.file, span.byte_offset, (span.start.line + 1, span.end.line + 1)
    )
    fix, marks = _make_fix(match, sources)
    return RawFinding(
        path=match.file,
        title=match.message or match.rule_id,
        detail=match.note or "",
        severity=Severity.MINOR if match.severity in ("info", "hint") else Severity.MAJOR,
        severity_word=match.severity,
        rule=match.rule_id,
        line=place.line,
        end_line=place.end_line,
        column=place.column,
        end_column=place.end_column,
        fix=fix,
        marks=marks,
    )


def _make_fix(match: Match, sources: Sources) -> tuple[Fix | None, tuple[str, ...]]:
    if match.replacement is None or sources.reported_positions(match.file) is None:
        return None, ()
    span = match.replacement_offsets or match.range.byte_offset
    return make_fix([make_splice(sources, match.file, span, match.replacement)], Safety.UNSAFE)
