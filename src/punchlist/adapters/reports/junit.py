"""JUnit XML: one test case for each item, reviewer and check."""

from collections.abc import Iterable
from xml.etree import ElementTree as ET

from punchlist.model.finding.finding import Finding
from punchlist.model.item.item import Item, Status, reading_order
from punchlist.model.ledger.run import LatestReview, Run
from punchlist.views.escaping import escape_controls, one_line
from punchlist.views.issue_text import format_place
from punchlist.views.item_words import describe_attempt, describe_proof
from punchlist.views.run_state import OUTCOME_WORDS
from punchlist.views.summary import summarize_run

_WORST = 4000


def render(run: Run) -> bytes:
    summary = summarize_run(run)
    title = f"punchlist {run.id}: {OUTCOME_WORDS[summary.outcome][0]}: {summary.headline}"
    root = ET.Element("testsuites", name=one_line(title))
    items = sorted(run.items.values(), key=reading_order)
    _add_suite(root, "items", (_item_case(item, run) for item in items))
    _add_suite(root, "reviewers", map(_review_case, run.shown_reviews))
    _add_suite(root, "checks", _check_cases(run))
    gaps = (
        _case("not-checked", f"{gap.what}: {gap.why}", "skipped", gap.why or gap.what)
        for gap in summary.gaps
        if gap.about == "scope"
    )
    _add_suite(root, "not checked", (*gaps, *_error_cases(run)))
    for tally in ("tests", "failures", "errors", "skipped"):
        root.set(tally, str(sum(int(suite.get(tally, "0")) for suite in root)))
    root.set("time", f"{run.active:.3f}")
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode").encode("utf-8", "replace")
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + text + b"\n"


def _add_suite(root: ET.Element, name: str, cases: Iterable[ET.Element]) -> None:
    suite = ET.SubElement(root, "testsuite", name=f"punchlist.{name}")
    suite.extend(cases)
    suite.set("tests", str(len(suite)))
    for tally, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(tally, str(sum(case.find(tag) is not None for case in suite)))


def _case(
    group: str, name: str, verdict: str = "", message: str = "", text: str = ""
) -> ET.Element:
    case = ET.Element("testcase", classname=one_line(group), name=one_line(name), time="0")
    if verdict:
        mark = ET.SubElement(case, verdict, message=one_line(message))
        mark.text = escape_controls(text)[:_WORST] or None
    elif text:
        ET.SubElement(case, "system-out").text = escape_controls(text)[:_WORST]
    return case


def _item_case(item: Item, run: Run) -> ET.Element:
    """Fixed items pass; dismissed and out of scope are skipped; all others fail."""
    lead = item.lead
    rule = f"{lead.rule}: " if lead.rule else ""
    name = f"item {item.number}: {rule}{lead.title} ({format_place(lead)})"
    group = lead.spot.path or "no file"
    last = item.attempts[-1].why if item.attempts else ""
    if item.left_out:
        return _case(group, name, "skipped", f"left out by {item.left_out}")
    if not item.in_scope:
        return _case(group, name, "skipped", "outside the change: listed, not worked on")
    if item.status is Status.DISMISSED:
        return _case(group, name, "skipped", f"dismissed: {last}")
    if item.status is Status.FIXED:
        proofs = "\n".join(f"proof: {describe_proof(proof)}" for proof in item.proofs)
        return _case(group, name, text=f"fixed in {item.commit}\n{proofs}")
    message = f"filed as {item.issue}" if item.issue else item.status.value
    if last:
        message += f": {last}"
    if item.number in run.filing.unfiled:
        message += f"; could not be filed: {run.filing.unfiled[item.number]}"
    case = _case(group, name, "failure", message, _describe_history(item))
    case[0].set("type", item.severity.value)
    return case


def _describe_finding(finding: Finding) -> str:
    head = f"{format_place(finding)}: {finding.source}: {finding.title}"
    return "\n".join(filter(None, (head, finding.detail.strip(), finding.impact.strip())))


def _describe_history(item: Item) -> str:
    findings = map(_describe_finding, item.findings)
    tried = [f"{describe_attempt(each)}\n{each.evidence}".strip() for each in item.attempts]
    return "\n\n".join((*findings, *tried))


def _review_case(review: LatestReview) -> ET.Element:
    name = review.reviewer
    if review.failed:
        return _case("reviewers", name, "error", "the reviewer failed", review.failed)
    if review.skipped:
        return _case("reviewers", name, "skipped", review.skipped)
    text = f"{review.findings} findings, {review.looked_at} files, at {review.commit}"
    return _case("reviewers", name, text=text)


def _check_cases(run: Run) -> Iterable[ET.Element]:
    for name in (check.name for check in run.started.checks):
        baseline = run.checks.find_baseline(name)
        if baseline is None:
            why = run.checks.unverified or "not run: there was no fix to judge"
            yield _case("checks", name, "skipped", why)
        elif baseline.unusable:
            yield _case("checks", name, "error", "the check could not judge", baseline.unusable)
        else:
            text = f"on the base: {baseline.passed} pass, {baseline.failed} fail"
            yield _case("checks", name, text=text)


def _error_cases(run: Run) -> Iterable[ET.Element]:
    for number, trouble in enumerate(run.trouble, 1):
        yield _case("run", f"action {number}", "error", trouble)
    for number, entry in enumerate(run.reviewing.refused, 1):
        yield _case("run", f"entry {number} of {entry.source}", "error", entry.reason, entry.raw)
    if run.halted:
        yield _case("run", "limit", "error", run.halted)
