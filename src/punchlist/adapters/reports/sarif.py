"""SARIF 2.1.0: one result per item; fixed ones are absent, dismissed and left out suppressed."""

from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import quote

import msgspec
from msgspec import Raw

from punchlist._version import __version__
from punchlist.adapters.formats import sarif
from punchlist.model.finding.finding import Finding, Fix
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Fact, Item, Status, reading_order
from punchlist.model.ledger.outcome import RunOutcome, run_outcome
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import ScopeKind
from punchlist.views.escaping import escape_controls, one_line, web_address

FINGERPRINT = "punchlist/v1"
_ROOT = "SRCROOT"
_LEVELS = {Severity.CRITICAL: "error", Severity.MAJOR: "warning", Severity.MINOR: "note"}
_UNRULED = "punchlist/finding"
"""The rule of a finding whose reviewer names none: SARIF services want one."""


def render(run: Run) -> bytes:
    log = {"$schema": sarif.SCHEMA, "version": sarif.VERSION, "runs": [_build_run(run)]}
    return msgspec.json.format(msgspec.json.encode(log), indent=2) + b"\n"


def _build_run(run: Run) -> sarif.SarifRun:
    items = sorted(run.items.values(), key=reading_order)
    rules = {_rule_id(item.lead): item.lead for item in reversed(items)}
    places = {rule: index for index, rule in enumerate(sorted(rules))}
    driver = sarif.Driver(
        name="punchlist",
        version=__version__,
        rules=[_encode_raw(_build_rule(rule, rules[rule])) for rule in places],
    )
    return sarif.SarifRun(
        tool=sarif.SarifTool(driver=driver),
        invocations=[_build_invocation(run)],
        automation_details=sarif.Automation(id=f"punchlist/{one_line(run.id)}"),
        original_uri_base_ids={_ROOT: sarif.ArtifactLocation()},
        results=[_encode_raw(_build_result(item, run, places)) for item in items],
        column_kind="unicodeCodePoints",
        properties=_run_properties(run),
    )


def _build_rule(rule: str, example: Finding) -> sarif.Rule:
    tags = [one_line(word) for word in (example.source, example.category) if word]
    text = example.title if rule == example.rule else "A finding that its reviewer gave no rule for"
    return sarif.Rule(
        id=rule,
        short_description=sarif.SarifMessage(text=one_line(text) or rule),
        help_uri=web_address(example.url) or None,
        properties={"tags": list(dict.fromkeys(tags))},
    )


def _build_result(item: Item, run: Run, places: dict[str, int]) -> sarif.SarifResult:
    lead = item.current
    rule = _rule_id(item.lead)
    return sarif.SarifResult(
        rule_id=rule,
        rule_index=places[rule],
        level=_LEVELS[item.severity],
        message=sarif.SarifMessage(text=_format_message(item.lead)),
        locations=_build_locations(lead),
        partial_fingerprints={FINGERPRINT: one_line(item.fingerprint)},
        baseline_state=_baseline_state(item, run),
        suppressions=_list_suppressions(item),
        fixes=_list_fixes(item),
        work_item_uris=[address] if (address := web_address(item.issue)) else None,
        properties=_item_properties(item, run),
    )


def _format_message(finding: Finding) -> str:
    parts = [part for part in (finding.title, finding.detail) if part.strip()]
    text = escape_controls("\n\n".join(parts)).strip()
    if "](" in text:  # in a message that would be a link
        text = text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return text or "(no words)"


def _build_locations(finding: Finding) -> list[sarif.SarifLocation] | None:
    spot = finding.spot
    if not spot.path:
        return None
    region = None
    if spot.line:
        region = sarif.Region(
            start_line=spot.line,
            end_line=spot.end_line,
            start_column=spot.column,
            end_column=(spot.end_column or None) if spot.column or spot.end_line else None,
        )
    place = sarif.PhysicalLocation(artifact_location=_build_artifact(spot.path), region=region)
    symbol = one_line(finding.context.symbol)
    logical = [sarif.LogicalLocation(fully_qualified_name=symbol)] if symbol else None
    return [sarif.SarifLocation(physical_location=place, logical_locations=logical)]


def _build_artifact(path: str) -> sarif.ArtifactLocation:
    """Return any path as a URI; relative to the root only if it is below it."""
    errors = "surrogateescape" if _is_decodable(path) else "replace"
    uri = quote(path.encode("utf-8", errors), safe="/")
    inside = not path.startswith(("/", "../")) and path != ".."
    return sarif.ArtifactLocation(uri=uri, uri_base_id=_ROOT if inside else None)


def _is_decodable(path: str) -> bool:
    """Return whether all surrogates in the path stand for undecodable bytes."""
    return all(not "\ud800" <= char <= "\udfff" or "\udc80" <= char <= "\udcff" for char in path)


def _baseline_state(item: Item, run: Run) -> str:
    """Return the state against the reviewed code: absent if fixed, new if in the change."""
    if item.status is Status.FIXED:
        return "absent"
    whole = run.started.change.kind is ScopeKind.ALL
    return "new" if item.in_scope and not whole else "unchanged"


def _list_suppressions(item: Item) -> list[sarif.Suppression] | None:
    if item.left_out:
        why = one_line(f"left out by {item.left_out}")
        return [sarif.Suppression(kind="external", status="accepted", justification=why)]
    if item.status is not Status.DISMISSED:
        return None
    facts = (Fact.DISMISSED, Fact.CONTEST_AGREED)
    reasons = [f"{each.by}: {each.why}" for each in item.attempts if each.fact in facts]
    why = one_line(reasons[-1]) if reasons else ""
    return [sarif.Suppression(kind="external", status="accepted", justification=why or None)]


def _list_fixes(item: Item) -> list[sarif.SarifFix] | None:
    fix = item.current.fix
    if fix is None or item.status in (Status.FIXED, Status.DISMISSED) or not _is_writable(fix):
        return None
    changes: dict[str, list[sarif.SarifReplacement]] = {}
    for splice in fix.splices:
        region = sarif.Region(char_offset=splice.start, char_length=splice.end - splice.start)
        replacement = sarif.SarifReplacement(
            deleted_region=region, inserted_content=sarif.Content(text=splice.text)
        )
        changes.setdefault(splice.path, []).append(replacement)
    parts = [
        sarif.ArtifactChange(artifact_location=_build_artifact(path), replacements=edits)
        for path, edits in changes.items()
    ]
    title = sarif.SarifMessage(text=one_line(fix.title) or f"{fix.safety} fix")
    return [sarif.SarifFix(description=title, artifact_changes=parts)]


def _is_writable(fix: Fix) -> bool:
    """Return whether JSON can hold all splices (no surrogates)."""
    return bool(fix.splices) and not any(
        "\ud800" <= char <= "\udfff" for splice in fix.splices for char in splice.text
    )


def _item_properties(item: Item, run: Run) -> sarif.Properties:
    properties: sarif.Properties = {
        "item": item.number,
        "status": str(item.status),
        "inScope": item.in_scope,
        "reportedBy": list(dict.fromkeys(one_line(finding.source) for finding in item.findings)),
        "proofs": [f"{proof.kind}: {one_line(proof.said)}" for proof in item.proofs],
        "impact": escape_controls(item.lead.impact),
        "commit": item.commit,
        "issue": one_line(item.issue),
        "notFiled": one_line(run.filing.unfiled.get(item.number, "")),
        "flags": [one_line(flag) for flag in (*item.flags, *item.lead.marks)],
    }
    return {name: value for name, value in properties.items() if value not in ("", [])}


def _build_invocation(run: Run) -> sarif.Invocation:
    notes = [
        sarif.Notification(message=sarif.SarifMessage(text=text), level=level)
        for text, level in _list_notes(run)
    ]
    return sarif.Invocation(
        execution_successful=bool(run.ended) and run_outcome(run) is not RunOutcome.INCOMPLETE,
        start_time_utc=_format_time(run.started_at),
        end_time_utc=_format_time(run.last_at),
        tool_execution_notifications=notes or None,
    )


def _list_notes(run: Run) -> Iterator[tuple[str, str]]:
    """Yield (text, level) of all that was not done or not understood."""
    yield from ((f"Not reviewed: {one_line(why)}", "error") for why in run.blind)
    yield from ((one_line(trouble), "error") for trouble in run.trouble)
    if run.halted:
        yield f"Halted: {one_line(run.halted)}", "error"
    if not run.ended:
        yield "The run had not ended when this was written", "warning"
    if run.checks.unverified:
        yield f"No check judged the fixes: {one_line(run.checks.unverified)}", "warning"
    for entry in run.reviewing.refused:
        source, reason = one_line(entry.source), one_line(entry.reason)
        yield f"An entry of {source} was not understood: {reason}", "warning"
    if run.reviewing.fresh:
        yield f"{len(run.reviewing.fresh)} findings were not yet sorted into items", "warning"


def _run_properties(run: Run) -> sarif.Properties:
    change = run.started.change
    return {
        "run": one_line(run.id),
        "branch": one_line(run.landing.branch),
        "tip": run.landing.shown_tip,
        "base": change.base,
        "head": change.head,
        "scope": str(change.kind),
    }


def _rule_id(finding: Finding) -> str:
    return one_line(finding.rule) or _UNRULED


def _format_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _encode_raw(part: sarif.SarifPart) -> Raw:
    return Raw(msgspec.json.encode(part))
