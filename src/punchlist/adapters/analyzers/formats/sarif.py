"""SARIF 2.1.0 reports as tools write them; a malformed result does not cost the others."""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from punchlist.adapters.analyzers.entries import (
    collect_findings,
    decode_json,
    join_analyses,
    report_parser,
)
from punchlist.adapters.analyzers.formats.sarif_locations import SarifPlaces
from punchlist.adapters.analyzers.formats.sarif_rules import SarifRules
from punchlist.adapters.formats.sarif import BareResult, Rule, SarifResult, SarifRun, Suppression
from punchlist.intake.raw_finding import (
    RawFinding,
    Unreadable,
    rank_severity,
    shorten_raw,
    split_headline,
)
from punchlist.intake.source_files import Sources
from punchlist.model.finding.finding import RefusedEntry
from punchlist.model.finding.severity import Severity
from punchlist.ports.analyzer import Analysis

_NO_PROBLEM = ("pass", "notApplicable")
_SCORES = ((7.0, Severity.CRITICAL), (4.0, Severity.MAJOR), (0.0, Severity.MINOR))
"""CVSS, as code scanning services cut it; high and critical are one rank here."""


class Log(Struct, frozen=True):
    runs: list[Raw] | None = None
    version: str | None = None


class BareRun(Struct, frozen=True):
    results: list[Raw] | None = None


@report_parser("sarif")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    """Parse the findings of every run in a log; it fails if a run's result list is not complete."""
    log = decode_json(output, Log)
    if log.version and not log.version.startswith("2."):
        return Analysis(failed=f"{tool} is SARIF {log.version}; 2.1.0 is read")
    if not log.runs:
        return Analysis(failed=f"{tool} has no runs: nothing says that a tool looked")
    return join_analyses(tool, [_read_run(tool, bytes(raw), sources) for raw in log.runs])


def _read_run(tool: str, raw: bytes, sources: Sources) -> Analysis:
    try:
        run = decode_json(raw, SarifRun, strict=False)
    except msgspec.DecodeError as error:
        return _salvage_run(tool, raw, sources, str(error))
    reader = _SarifReader(run, sources)
    analysis = collect_findings(tool, run.results or (), reader.make_note, sources)
    unread = (*analysis.unread, *_unread_files(run, SarifPlaces(run, sources)))
    doubt = _doubt_reason(run)
    return replace(analysis, unread=unread, failed=f"{tool}: {doubt}" if doubt else analysis.failed)


def _unread_files(run: SarifRun, places: SarifPlaces) -> Iterator[str]:
    """Yield the files for which the tool itself reports an error."""
    for call in run.invocations or ():
        for note in call.tool_execution_notifications or ():
            if note.level == "error":
                yield from places.list_files(note.locations or ())


def _salvage_run(tool: str, raw: bytes, sources: Sources, error: str) -> Analysis:
    """Parse only the results of a run that is otherwise malformed."""
    try:
        results = decode_json(raw, BareRun).results or []
    except msgspec.DecodeError:
        return Analysis(
            refused=(RefusedEntry(tool, shorten_raw(raw), error),),
            failed=f"{tool}: a run in it could not be read: {error}",
        )
    analysis = collect_findings(tool, results, _SarifReader(SarifRun(), sources).make_note, sources)
    return replace(analysis, failed=f"{tool}: a run in it could be read in part only: {error}")


def _doubt_reason(run: SarifRun) -> str:
    """Return why missing results of the run prove nothing, or ''."""
    driver = run.tool.driver.name or "a tool"
    if run.results is None:
        # In the standard an empty list means "no results", and no list "the tool did not run".
        return f"{driver} gave no list of results: nothing says that it looked"
    for call in run.invocations or ():
        if call.execution_successful is False:
            why = f": {call.exit_code_description}" if call.exit_code_description else ""
            return f"{driver} says itself that its run did not succeed{why}"
    return ""


class _SarifReader:
    def __init__(self, run: SarifRun, sources: Sources) -> None:
        self._tool = run.tool.driver.name
        self._rules = SarifRules(run.tool)
        self._places = SarifPlaces(run, sources)

    def make_note(self, raw: bytes) -> RawFinding | None:
        """Return None for a result that passed or is absent now."""
        result, trouble = _decode_result(raw)
        if result.kind in _NO_PROBLEM or result.baseline_state == "absent":
            return None
        rule_id, rule = self._rules.find_rule(result)
        title, detail = split_headline(self._message_text(result, rule) or rule_id)
        if not title:
            raise Unreadable("has no message and no rule that describes it")
        severity, word, odd = _rank_result(result, rule)
        place, elsewhere = self._places.locate(result)
        fix, lost = self._places.find_fix(result)
        also = "Also at " + ", ".join(elsewhere) if elsewhere else ""
        marks = (trouble, odd, _suppression_mark(result.suppressions or ()), *lost)
        return RawFinding(
            path=place.path,
            title=title,
            severity=severity,
            rule=rule_id,
            line=place.line,
            end_line=place.end_line,
            column=place.column,
            end_column=place.end_column,
            label=_find_label(result),
            detail="\n\n".join(part for part in (detail, also) if part),
            impact=_find_impact(result),
            category=_rule_category(rule) or self._tool,
            url=(rule.help_uri if rule else None) or result.hosted_viewer_uri or "",
            severity_word=word,
            fix=fix,
            marks=tuple(mark for mark in marks if mark),
        )

    def _message_text(self, result: SarifResult, rule: Rule | None) -> str:
        text = self._rules.render_message(result.message, rule) if result.message else ""
        if text.strip() or rule is None:
            return text
        for message in (rule.short_description, rule.full_description):
            if message and message.text:
                return message.text
        return rule.name or ""


def _decode_result(raw: bytes) -> tuple[SarifResult, str]:
    """Return the result, and an error text if parts of it could not be decoded."""
    try:
        return decode_json(raw, SarifResult, strict=False), ""
    except msgspec.ValidationError as error:
        bare = decode_json(raw, BareResult, strict=False)
        result = SarifResult(
            rule_id=bare.rule_id, level=bare.level, message=bare.message, locations=bare.locations
        )
        return result, f"parts of it could not be read: {error}"


def _rank_result(result: SarifResult, rule: Rule | None) -> tuple[Severity, str, str]:
    """Return severity, its word, and what is odd; a security score goes before the level."""
    score = _security_score(result.properties or {}, (rule.properties if rule else None) or {})
    if score is not None:
        severity = next(rank for least, rank in _SCORES if score >= least)
        return severity, f"security-severity {score:g}", ""
    configured = rule.default_configuration.level if rule and rule.default_configuration else None
    word = result.level or configured or ("note" if result.kind == "informational" else "warning")
    severity, odd = rank_severity(word)
    return severity, word, odd


def _security_score(*bags: dict[str, object]) -> float | None:
    for bag in bags:
        value = bag.get("security-severity")
        try:
            score = float(value) if isinstance(value, (str, int, float)) else -1.0
        except ValueError:
            continue
        if score >= 0:
            return score
    return None


def _rule_category(rule: Rule | None) -> str:
    bag = (rule.properties if rule else None) or {}
    tags = bag.get("tags")
    if "security-severity" in bag or (isinstance(tags, list) and "security" in tags):
        return "security"
    category = bag.get("category")
    return category if isinstance(category, str) else ""


def _suppression_mark(suppressions: Iterable[Suppression]) -> str:
    for suppression in suppressions:
        if suppression.status in (None, "accepted"):
            why = f": {suppression.justification}" if suppression.justification else ""
            return f"suppressed in the report ({suppression.kind or 'no kind given'}){why}"
    return ""


def _find_impact(result: SarifResult) -> str:
    """Return why it matters, as our own reports say it."""
    said = (result.properties or {}).get("impact")
    return said.strip() if isinstance(said, str) else ""


def _find_label(result: SarifResult) -> str:
    """Return the tool's own identifier: a fingerprint, else the GUID, else ''."""
    for named in (result.fingerprints, result.partial_fingerprints):
        if named:
            return named[min(named)]
    return result.guid or ""
