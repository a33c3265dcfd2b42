"""Semgrep with rules from the user's own disk; nothing is ever fetched from a registry."""

import re
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct

from punchlist.adapters.analyzers.entries import decoded, gathered, report_of, with_unread
from punchlist.adapters.analyzers.tool import Kit, Tool
from punchlist.adapters.process.run import Ran
from punchlist.errors import SettingsError
from punchlist.intake.raw_finding import Note, headline, shortened
from punchlist.intake.source_files import Sources, proposed
from punchlist.model.finding.finding import Fix, Refused, Safety
from punchlist.model.finding.severity import Severity, severity_of
from punchlist.model.patch.text_positions import UTF8
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

UNBOUND = "its fix names a part that the pattern does not bind, and was left out"
_REMOTE = re.compile(r"auto$|[prs]/|r2c|https?:|[a-z]+://", re.IGNORECASE)
_METAVARIABLE = re.compile(r"\$[A-Z_][A-Z_0-9]*\b|\$\.\.\.")
_RANKS = {
    "ERROR": Severity.MAJOR,
    "WARNING": Severity.MAJOR,
    "INFO": Severity.MINOR,
    "CRITICAL": Severity.CRITICAL,
    "HIGH": Severity.CRITICAL,
}


class Place(Struct, frozen=True):
    line: int
    offset: int


class Extra(Struct, frozen=True):
    message: str
    severity: str = ""
    fix: str | None = None
    metadata: dict[str, Any] = {}


class Result(Struct, frozen=True):
    check_id: str
    path: str
    start: Place
    end: Place
    extra: Extra


class Span(Struct, frozen=True):
    file: str = ""


class Trouble(Struct, frozen=True):
    """What it could not scan; where that is stands in one of two places, or nowhere."""

    path: str | None = None
    spans: list[Span] | None = None


class Report(Struct, frozen=True):
    results: list[msgspec.Raw]
    errors: list[msgspec.Raw] = []


class Semgrep(Tool):
    name = "semgrep"
    suffixes = ("",)  # which languages matter is in the rules
    steered_by = (".semgrep.yml", ".semgrep/**", ".semgrepignore")
    suppressed_by = (r"(?:#|//|/\*)\s*nosemgrep",)
    unsuppressed = ("--disable-nosem",)
    env = MappingProxyType({"SEMGREP_ENABLE_VERSION_CHECK": "0", "SEMGREP_SEND_METRICS": "off"})

    def __init__(self, rules: Sequence[str], args: Sequence[str] = ()) -> None:
        for rule in rules:
            if _REMOTE.match(rule):
                raise SettingsError(
                    f"semgrep: rules are files or folders on disk, not {rule!r}",
                    hint="download the rules and name their path",
                )
        self._rules = tuple(rules)
        self.inputs = tuple(Path(rule) for rule in rules)
        super().__init__(args)

    def idle(self, tree: Tree) -> str:  # the same in every project
        return "" if self._rules else "no rules of your own are named (analyzers.semgrep)"

    def command(
        self, program: Sequence[str], tree: Tree, kit: Kit
    ) -> tuple[str, ...]:  # the port's shape
        quiet = (
            "scan",
            "--json",
            "--quiet",
            "--metrics=off",
            "--disable-version-check",
            "--no-rewrite-rule-ids",
        )
        return (*program, *quiet, *(f"--config={rule}" for rule in self._rules), *self.args, "--")

    def read(self, ran: Ran, sources: Sources) -> Analysis:
        return parse(ran.stdout, sources)


@report_of("semgrep")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    """The results; what it could not scan is kept as refusals."""
    report = decoded(output, Report)
    analysis = gathered(
        tool, report.results, lambda raw: _note(decoded(raw, Result), sources), sources
    )
    said = [
        (raw, Refused(tool, shortened(raw), "semgrep could not scan this"))
        for raw in map(bytes, report.errors)
    ]
    return with_unread(analysis, ((entry, _unscanned(raw, sources)) for raw, entry in said))


def _unscanned(raw: bytes, sources: Sources) -> str:
    try:
        trouble = decoded(raw, Trouble)
    except msgspec.MsgspecError:
        return ""
    return sources.tracked(trouble.path or next((span.file for span in trouble.spans or ()), ""))


def _note(result: Result, sources: Sources) -> Note:
    start, end = _offsets(result, sources)
    positions = sources.positions_of(result.path)
    line, column = (
        positions.place(start) if positions and start is not None else (result.start.line, None)
    )
    last, end_column = (
        positions.place(end) if positions and end is not None else (result.end.line, None)
    )
    fix, marks = _fix(result, sources, start, end)
    metadata, word = result.extra.metadata, result.extra.severity
    category, references = metadata.get("category"), metadata.get("references")
    title, detail = headline(result.extra.message)
    return Note(
        path=result.path,
        title=title or result.check_id,
        detail=detail,
        severity=_RANKS.get(word.upper()) or severity_of(word)[0],
        severity_word=word.lower(),
        rule=result.check_id,
        category=category if isinstance(category, str) else "",
        url=str(references[0]) if isinstance(references, list) and references else "",
        line=line,
        end_line=last,
        column=column,
        end_column=end_column,
        fix=fix,
        marks=marks,
    )


def _offsets(result: Result, sources: Sources) -> tuple[int | None, int | None]:
    positions = sources.positions_of(result.path)
    if positions is None:
        return None, None
    return positions.of_units(result.start.offset, UTF8), positions.of_units(
        result.end.offset, UTF8
    )


def _fix(
    result: Result, sources: Sources, start: int | None, end: int | None
) -> tuple[Fix | None, tuple[str, ...]]:
    text = result.extra.fix
    if text is None:
        return None, ()
    positions = sources.positions_of(result.path)
    code = positions.text[start:end] if positions else ""
    if any(name not in code for name in _METAVARIABLE.findall(text)):
        return None, (UNBOUND,)
    return proposed([sources.splice(result.path, start, end, text)], Safety.UNSAFE)
