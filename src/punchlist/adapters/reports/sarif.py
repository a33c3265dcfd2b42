"""SARIF 2.1.0 out: one result an item; what is fixed is absent, what was dismissed is suppressed,
what is left has its fix.
"""

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
from punchlist.model.ledger.outcome import Outcome, outcome
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import ScopeKind
from punchlist.views.escaping import one_line, visible, web_address

FINGERPRINT = "punchlist/v1"
_ROOT = "SRCROOT"
_LEVELS = {Severity.CRITICAL: "error", Severity.MAJOR: "warning", Severity.MINOR: "note"}
_UNRULED = "punchlist/finding"
"""The rule of a finding whose reviewer names none: SARIF services want one."""


def render(run: Run) -> bytes:
    log = {"$schema": sarif.SCHEMA, "version": sarif.VERSION, "runs": [_run(run)]}
    return msgspec.json.format(msgspec.json.encode(log), indent=2) + b"\n"


def _run(run: Run) -> sarif.Run:
    items = sorted(run.items.values(), key=reading_order)
    rules = {_rule_id(item.lead): item.lead for item in reversed(items)}
    places = {rule: index for index, rule in enumerate(sorted(rules))}
    driver = sarif.Driver(
        name="punchlist",
        version=__version__,
        rules=[_raw(_rule(rule, rules[rule])) for rule in places],
    )
    return sarif.Run(
        tool=sarif.Tool(driver=driver),
        invocations=[_invocation(run)],
        automation_details=sarif.Automation(id=f"punchlist/{one_line(run.id)}"),
        original_uri_base_ids={_ROOT: sarif.ArtifactLocation()},
        results=[_raw(_result(item, run, places)) for item in items],
        column_kind="unicodeCodePoints",
        properties=_provenance(run),
    )


def _rule(rule: str, example: Finding) -> sarif.Rule:
    tags = [one_line(word) for word in (example.source, example.category) if word]
    said = example.title if rule == example.rule else "A finding that its reviewer gave no rule for"
    return sarif.Rule(
        id=rule,
        short_description=sarif.Message(text=one_line(said) or rule),
        help_uri=web_address(example.url) or None,
        properties={"tags": list(dict.fromkeys(tags))},
    )


def _result(item: Item, run: Run, places: dict[str, int]) -> sarif.Result:
    lead = item.current
    rule = _rule_id(item.lead)
    return sarif.Result(
        rule_id=rule,
        rule_index=places[rule],
        level=_LEVELS[item.severity],
        message=sarif.Message(text=_message(item.lead)),
        locations=_locations(lead),
        partial_fingerprints={FINGERPRINT: one_line(item.fingerprint)},
        baseline_state=_baseline(item, run),
        suppressions=_suppressions(item),
        fixes=_fixes(item),
        work_item_uris=[address] if (address := web_address(item.issue)) else None,
        properties=_properties(item, run),
    )


def _message(finding: Finding) -> str:
    text = visible(
        "\n\n".join(part for part in (finding.title, finding.detail) if part.strip())
    ).strip()
    if "](" in text:
        # In a message that would be a link.
        text = text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return text or "(no words)"


def _locations(finding: Finding) -> list[sarif.Location] | None:
    spot = finding.spot
    if not spot.path:
        return None
    region = None
    if spot.line:
        columns = (
            spot.column,
            spot.end_column if spot.end_column and (spot.column or spot.end_line) else None,
        )
        region = sarif.Region(
            start_line=spot.line,
            end_line=spot.end_line,
            start_column=columns[0],
            end_column=columns[1],
        )
    place = sarif.PhysicalLocation(artifact_location=_artifact(spot.path), region=region)
    symbol = one_line(finding.context.symbol)
    logical = [sarif.LogicalLocation(fully_qualified_name=symbol)] if symbol else None
    return [sarif.Location(physical_location=place, logical_locations=logical)]


def _artifact(path: str) -> sarif.ArtifactLocation:
    """A path of any bytes as a URI; only what lies below the root is given relative to it."""
    uri = quote(
        path.encode("utf-8", "surrogateescape" if _bytes_only(path) else "replace"), safe="/"
    )
    inside = not path.startswith(("/", "../")) and path != ".."
    return sarif.ArtifactLocation(uri=uri, uri_base_id=_ROOT if inside else None)


def _bytes_only(path: str) -> bool:
    """Whether the surrogates in it, if any, stand for odd bytes."""
    return all(not "\ud800" <= char <= "\udfff" or "\udc80" <= char <= "\udcff" for char in path)


def _baseline(item: Item, run: Run) -> str:
    """Against the code as it was reviewed: fixed is gone; in a change's own lines it is new."""
    if item.status is Status.FIXED:
        return "absent"
    whole = run.started.change.kind is ScopeKind.ALL
    return "new" if item.in_scope and not whole else "unchanged"


def _suppressions(item: Item) -> list[sarif.Suppression] | None:
    if item.status is not Status.DISMISSED:
        return None
    by = [
        attempt
        for attempt in item.attempts
        if attempt.fact in (Fact.DISMISSED, Fact.CONTEST_AGREED)
    ]
    why = f"{by[-1].by}: {by[-1].why}" if by else ""
    return [
        sarif.Suppression(kind="external", status="accepted", justification=one_line(why) or None)
    ]


def _fixes(item: Item) -> list[sarif.Fix] | None:
    fix = item.current.fix
    if fix is None or item.status in (Status.FIXED, Status.DISMISSED) or not _writable(fix):
        return None
    changes: dict[str, list[sarif.Replacement]] = {}
    for splice in fix.splices:
        region = sarif.Region(char_offset=splice.start, char_length=splice.end - splice.start)
        replacement = sarif.Replacement(
            deleted_region=region, inserted_content=sarif.Content(text=splice.text)
        )
        changes.setdefault(splice.path, []).append(replacement)
    parts = [
        sarif.ArtifactChange(artifact_location=_artifact(path), replacements=edits)
        for path, edits in changes.items()
    ]
    return [
        sarif.Fix(
            description=sarif.Message(text=one_line(fix.title) or f"{fix.safety} fix"),
            artifact_changes=parts,
        )
    ]


def _writable(fix: Fix) -> bool:
    """JSON has no odd bytes: half of a fix would be none."""
    return bool(fix.splices) and not any(
        "\ud800" <= char <= "\udfff" for splice in fix.splices for char in splice.text
    )


def _properties(item: Item, run: Run) -> sarif.Properties:
    told: sarif.Properties = {
        "item": item.number,
        "status": str(item.status),
        "inScope": item.in_scope,
        "reportedBy": list(dict.fromkeys(one_line(finding.source) for finding in item.findings)),
        "proofs": [f"{proof.kind}: {one_line(proof.said)}" for proof in item.proofs],
        "commit": item.commit,
        "issue": one_line(item.issue),
        "notFiled": one_line(run.filing.unfiled.get(item.number, "")),
        "flags": [one_line(flag) for flag in (*item.flags, *item.lead.marks)],
    }
    return {name: value for name, value in told.items() if value not in ("", [])}


def _invocation(run: Run) -> sarif.Invocation:
    notes = [
        sarif.Notification(message=sarif.Message(text=text), level=level)
        for text, level in _notes(run)
    ]
    return sarif.Invocation(
        execution_successful=bool(run.ended) and outcome(run) is not Outcome.INCOMPLETE,
        start_time_utc=_time(run.started_at),
        end_time_utc=_time(run.last_at),
        tool_execution_notifications=notes or None,
    )


def _notes(run: Run) -> Iterator[tuple[str, str]]:
    """What was not done, so that silence is not taken for health."""
    yield from ((f"Not reviewed: {one_line(why)}", "error") for why in run.blind)
    yield from ((one_line(trouble), "error") for trouble in run.trouble)
    if run.halted:
        yield f"Halted: {one_line(run.halted)}", "error"
    if not run.ended:
        yield "The run had not ended when this was written", "warning"
    if run.checks.unverified:
        yield f"No check judged the fixes: {one_line(run.checks.unverified)}", "warning"
    yield from (
        (
            f"An entry of {one_line(each.source)} was not understood: {one_line(each.reason)}",
            "warning",
        )
        for each in run.reviewing.refused
    )
    if run.reviewing.fresh:
        yield f"{len(run.reviewing.fresh)} findings were not yet sorted into items", "warning"


def _provenance(run: Run) -> sarif.Properties:
    change = run.started.change
    told = {"run": one_line(run.id), "branch": one_line(run.landing.branch), "tip": run.landing.tip}
    return {**told, "base": change.base, "head": change.head, "scope": str(change.kind)}


def _rule_id(finding: Finding) -> str:
    return one_line(finding.rule) or _UNRULED


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _raw(part: sarif.Part) -> Raw:
    return Raw(msgspec.json.encode(part))
