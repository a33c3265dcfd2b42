"""SARIF 2.1.0 as tools really write it: all runs and results with what their rules add; no odd one
costs the others.
"""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from punchlist.adapters.analyzers.entries import decoded, gathered, joined, report_of
from punchlist.adapters.analyzers.formats.sarif_locations import Places
from punchlist.adapters.analyzers.formats.sarif_rules import Rules
from punchlist.adapters.formats.sarif import BareResult, Result, Rule, Run, Suppression
from punchlist.intake.raw_finding import Note, Unreadable, headline, ranked, shortened
from punchlist.intake.source_files import Sources
from punchlist.model.finding.finding import Refused
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


@report_of("sarif")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    """The findings of every run in a log; one run that cannot vouch for what it does not mention
    fails the whole.
    """
    log = decoded(output, Log)
    if log.version and not log.version.startswith("2."):
        return Analysis(failed=f"{tool} is SARIF {log.version}; 2.1.0 is read")
    if not log.runs:
        return Analysis(failed=f"{tool} has no runs: nothing says that anyone looked")
    return joined(tool, [_read_run(tool, bytes(raw), sources) for raw in log.runs])


def _read_run(tool: str, raw: bytes, sources: Sources) -> Analysis:
    try:
        run = decoded(raw, Run, strict=False)
    except msgspec.DecodeError as error:
        return _salvaged(tool, raw, sources, str(error))
    analysis = gathered(tool, run.results or (), _Reader(run, sources).note, sources)
    analysis = replace(analysis, unread=(*analysis.unread, *_unread(run, Places(run, sources))))
    doubt = _doubt(run)
    return replace(analysis, failed=f"{tool}: {doubt}") if doubt else analysis


def _unread(run: Run, places: Places) -> Iterator[str]:
    """The files where it says itself that something went wrong while it looked."""
    for call in run.invocations or ():
        for note in call.tool_execution_notifications or ():
            if note.level == "error":
                yield from places.files(note.locations or ())


def _salvaged(tool: str, raw: bytes, sources: Sources, error: str) -> Analysis:
    """Of a run with something odd around its results, the results."""
    try:
        results = decoded(raw, BareRun).results or []
    except msgspec.DecodeError:
        return Analysis(
            refused=(Refused(tool, shortened(raw), error),),
            failed=f"{tool}: a run in it could not be read: {error}",
        )
    analysis = gathered(tool, results, _Reader(Run(), sources).note, sources)
    return replace(analysis, failed=f"{tool}: a run in it could be read in part only: {error}")


def _doubt(run: Run) -> str:
    """Why the run cannot vouch for what it does not mention."""
    driver = run.tool.driver.name or "a tool"
    if run.results is None:
        # The standard keeps "there was nothing" (an empty list) apart from "nobody looked" (none).
        return f"{driver} gave no list of results: nothing says that it looked"
    failed = next(
        (call for call in run.invocations or () if call.execution_successful is False), None
    )
    if failed is None:
        return ""
    why = f": {failed.exit_code_description}" if failed.exit_code_description else ""
    return f"{driver} says itself that its run did not succeed{why}"


class _Reader:
    """One run's results, with what stands elsewhere in the run."""

    def __init__(self, run: Run, sources: Sources) -> None:
        self._tool = run.tool.driver.name
        self._rules = Rules(run.tool)
        self._places = Places(run, sources)

    def note(self, raw: bytes) -> Note | None:
        """None for a result that reports no problem: the rule holds here, or what it once reported
        is gone.
        """
        result, trouble = _result(raw)
        if result.kind in _NO_PROBLEM or result.baseline_state == "absent":
            return None
        rule_id, rule = self._rules.of(result)
        title, detail = headline(self._said(result, rule) or rule_id)
        if not title:
            raise Unreadable("has no message and no rule that describes it")
        severity, word, odd = _severity(result, rule)
        place, elsewhere = self._places.of(result)
        fix, lost = self._places.fix(result)
        also = "Also at " + ", ".join(elsewhere) if elsewhere else ""
        marks = (trouble, odd, _suppressed(result.suppressions or ()), *lost)
        return Note(
            path=place.path,
            title=title,
            severity=severity,
            rule=rule_id,
            line=place.line,
            end_line=place.end_line,
            column=place.column,
            end_column=place.end_column,
            label=_label(result),
            detail="\n\n".join(part for part in (detail, also) if part),
            category=_category(rule) or self._tool,
            url=(rule.help_uri if rule else None) or result.hosted_viewer_uri or "",
            severity_word=word,
            fix=fix,
            marks=tuple(mark for mark in marks if mark),
        )

    def _said(self, result: Result, rule: Rule | None) -> str:
        text = self._rules.text(result.message, rule) if result.message else ""
        if text.strip() or rule is None:
            return text
        described = (rule.short_description, rule.full_description)
        return next(
            (message.text for message in described if message and message.text), rule.name or ""
        )


def _result(raw: bytes) -> tuple[Result, str]:
    """The result, and what of it could not be read."""
    try:
        return decoded(raw, Result, strict=False), ""
    except msgspec.ValidationError as error:
        bare = decoded(raw, BareResult, strict=False)
        result = Result(
            rule_id=bare.rule_id, level=bare.level, message=bare.message, locations=bare.locations
        )
        return result, f"parts of it could not be read: {error}"


def _severity(result: Result, rule: Rule | None) -> tuple[Severity, str, str]:
    """The rank, the word for it, and what is odd: a security score says more than a level."""
    score = _score(result.properties or {}, (rule.properties if rule else None) or {})
    if score is not None:
        return (
            next(rank for least, rank in _SCORES if score >= least),
            f"security-severity {score:g}",
            "",
        )
    configured = rule.default_configuration.level if rule and rule.default_configuration else None
    word = result.level or configured or ("note" if result.kind == "informational" else "warning")
    severity, odd = ranked(word)
    return severity, word, odd


def _score(*bags: dict[str, object]) -> float | None:
    for bag in bags:
        said = bag.get("security-severity")
        try:
            score = float(said) if isinstance(said, (str, int, float)) else -1.0
        except ValueError:
            continue
        if score >= 0:
            return score
    return None


def _category(rule: Rule | None) -> str:
    bag = (rule.properties if rule else None) or {}
    tags = bag.get("tags")
    if "security-severity" in bag or (isinstance(tags, list) and "security" in tags):
        return "security"
    category = bag.get("category")
    return category if isinstance(category, str) else ""


def _suppressed(suppressions: Iterable[Suppression]) -> str:
    for suppression in suppressions:
        if suppression.status in (None, "accepted"):
            why = f": {suppression.justification}" if suppression.justification else ""
            return f"suppressed in the report ({suppression.kind or 'no kind given'}){why}"
    return ""


def _label(result: Result) -> str:
    """The tool's own name for it, the strongest there is."""
    for named in (result.fingerprints, result.partial_fingerprints):
        if named:
            return named[min(named)]
    return result.guid or ""
