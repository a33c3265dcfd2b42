"""Semgrep with rules from the user's disk; no rules are fetched."""

import re
from collections.abc import Sequence
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.analyzers.entries import (
    collect_entries,
    decode_json,
    report_parser,
    with_unread,
)
from punchlist.adapters.analyzers.formats.byte_spans import (
    ByteSpan,
    locate_span,
    make_splice,
    span_characters,
)
from punchlist.adapters.analyzers.tool import AnalyzerTool, Kit, find_files
from punchlist.adapters.folders.look import is_file, path_exists
from punchlist.adapters.folders.walk import walk_files
from punchlist.errors import SettingsError
from punchlist.intake.raw_finding import RawFinding, shorten_raw, split_headline
from punchlist.intake.source_files import Sources, make_fix
from punchlist.model.finding.finding import Fix, RefusedEntry, Safety
from punchlist.model.finding.languages import find_language, find_rule_languages
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.severity import Severity, parse_severity
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

UNBOUND = "its fix names a part that the pattern does not bind, and was left out"
_REMOTE = late_pattern(r"auto$|[prs]/|r2c|https?:|[a-z]+://", re.IGNORECASE)
_IGNORED = ".semgrepignore"
_PLACES = late_pattern(r"^\s*-?\s*[\"']?paths[\"']?\s*:", re.MULTILINE)
_METAVARIABLE = late_pattern(r"\$[A-Z_][A-Z_0-9]*\b|\$\.\.\.")
_RANKS = {
    "ERROR": Severity.MAJOR,
    "WARNING": Severity.MAJOR,
    "INFO": Severity.MINOR,
    "CRITICAL": Severity.CRITICAL,
    "HIGH": Severity.CRITICAL,
}


class SemgrepPosition(Struct, frozen=True):
    line: int
    offset: int


class Extra(Struct, frozen=True):
    message: str
    severity: str = ""
    fix: str | None = None
    metadata: dict[str, Any] = {}


class SemgrepResult(Struct, frozen=True):
    check_id: str
    path: str
    start: SemgrepPosition
    end: SemgrepPosition
    extra: Extra


class SemgrepSpan(Struct, frozen=True):
    file: str = ""


class SemgrepError(Struct, frozen=True):
    """What it could not scan; the file is in `path` or `spans`, or unknown."""

    path: str | None = None
    spans: list[SemgrepSpan] | None = None


class SemgrepPaths(Struct, frozen=True):
    scanned: list[str] | None = None


class SemgrepReport(Struct, frozen=True):
    results: list[msgspec.Raw]
    errors: list[msgspec.Raw] = []
    paths: SemgrepPaths = SemgrepPaths()


@report_parser("semgrep")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    """Parse the results; what it could not scan becomes a refusal."""
    report = decode_json(output, SemgrepReport)
    analysis = collect_entries(tool, report.results, SemgrepResult, _make_note, sources)
    if report.paths.scanned is not None:
        looked = frozenset(filter(None, map(sources.tracked_path, report.paths.scanned)))
        analysis = replace(analysis, looked=looked)
    return with_unread(analysis, (_refuse_part(tool, bytes(raw), sources) for raw in report.errors))


def _refuse_part(tool: str, raw: bytes, sources: Sources) -> tuple[RefusedEntry, str]:
    """Return the refusal and the tracked file, '' if unknown."""
    refused = RefusedEntry(tool, shorten_raw(raw), "semgrep could not scan this")
    try:
        trouble = decode_json(raw, SemgrepError)
    except msgspec.MsgspecError:
        return refused, ""
    span = next(iter(trouble.spans or ()), SemgrepSpan())
    return refused, sources.tracked_path(trouble.path or span.file)


def _make_note(result: SemgrepResult, sources: Sources) -> RawFinding:
    span = ByteSpan(result.start.offset, result.end.offset)
    place = locate_span(sources, result.path, span, (result.start.line, result.end.line))
    fix, marks = _make_fix(result, span, sources)
    metadata, word = result.extra.metadata, result.extra.severity
    category, references = metadata.get("category"), metadata.get("references")
    title, detail = split_headline(result.extra.message)
    return RawFinding(
        path=result.path,
        title=title or result.check_id,
        detail=detail,
        severity=_RANKS.get(word.upper()) or parse_severity(word)[0],
        severity_word=word.lower(),
        rule=result.check_id,
        category=category if isinstance(category, str) else "",
        url=str(references[0]) if isinstance(references, list) and references else "",
        line=place.line,
        end_line=place.end_line,
        column=place.column,
        end_column=place.end_column,
        fix=fix,
        marks=marks,
    )


def _make_fix(
    result: SemgrepResult, span: ByteSpan, sources: Sources
) -> tuple[Fix | None, tuple[str, ...]]:
    text = result.extra.fix
    if text is None:
        return None, ()
    positions = sources.reported_positions(result.path)
    start, end = span_characters(sources, result.path, span)
    code = positions.text[start:end] if positions else ""
    if any(name not in code for name in _METAVARIABLE.findall(text)):
        return None, (UNBOUND,)
    return make_fix([make_splice(sources, result.path, span, text)], Safety.UNSAFE)


class Semgrep(AnalyzerTool):
    name = "semgrep"
    suffixes = ("",)  # which languages matter is in the rules
    steered_by = (".semgrep.yml", ".semgrep/**", _IGNORED)
    suppressed_by = (r"(?:#|//|/\*)\s*nosemgrep",)
    unsuppressed = ("--disable-nosem",)
    options = tuple(
        "scan --json --quiet --metrics=off --disable-version-check --no-rewrite-rule-ids".split()
    )
    parser = staticmethod(parse)
    env = MappingProxyType({"SEMGREP_ENABLE_VERSION_CHECK": "0", "SEMGREP_SEND_METRICS": "off"})

    def __init__(self, rules: Sequence[str], args: Sequence[str] = ()) -> None:
        for rule in filter(_REMOTE.match, rules):
            problem = f"semgrep: rules are files or folders on disk, not {rule!r}"
            raise SettingsError(problem, hint="download the rules and name their path")
        self._rules = tuple(rules)
        self.inputs = tuple(Path(rule) for rule in rules)
        super().__init__(args)

    def sees_file(self, path: str, tree: Tree) -> bool:
        known = self._languages
        return known is None or find_language(path, tree.text(path) or "") in known

    @cached_property
    def _languages(self) -> frozenset[str] | None:
        return find_rule_languages(_read_rules(self._rules))

    def find_exclusion(self, tree: Tree) -> str:
        ignored = find_files(tree, _IGNORED)
        leaves_out = self._languages is None or _PLACES.search(_read_rules(self._rules))
        return "its rules" if leaves_out else next(iter(ignored), "")

    def skip_reason(self, tree: Tree) -> str:
        return "" if self._rules else "no rules of your own are named (analyzers.semgrep)"

    def project_options(self, tree: Tree, kit: Kit) -> tuple[str, ...]:
        inner = ((rule, kit.inside_checkout(rule)) for rule in self._rules)
        places = (
            tree.root / name if name and path_exists(tree.root / name) else rule
            for rule, name in inner
        )
        return tuple(f"--config={place}" for place in places)


def _read_rules(rules: tuple[str, ...]) -> str:
    """Return the text of rule files and of those in rule folders; unreadable ones are left out."""
    texts = []
    for path in map(Path, rules):
        below = (each for each in walk_files(path) if fnmatch(each.name, "*.y*ml"))
        files = [path] if is_file(path) else sorted(below)
        texts += [file.read_text("utf-8", "replace") for file in files if is_file(file)]
    return "\n".join(texts)
