"""JUnit XML: one test case for each item, reviewer and check."""

from collections.abc import Iterable
from xml.etree import ElementTree as ET

from punchlist.model.item.item import Item, Status, reading_order
from punchlist.model.ledger.run import LatestReview, Run
from punchlist.views.escaping import escape_controls, one_line
from punchlist.views.issue_text import format_place
from punchlist.views.item_words import describe_attempt, describe_proof
from punchlist.views.run_state import OUTCOME_WORDS
from punchlist.views.summary import summarize_run

_WORST = 4000


def render(run: Run) -> bytes:
    told = summarize_run(run)
    root = ET.Element(
        "testsuites",
        name=one_line(f"punchlist {run.id}: {OUTCOME_WORDS[told.outcome][0]}: {told.headline}"),
    )
    _add_suite(
        root,
        "items",
        (_item_case(item, run) for item in sorted(run.items.values(), key=reading_order)),
    )
    _add_suite(
        root, "reviewers", (_review_case(review) for review in run.reviewing.reviews.values())
    )
    _add_suite(root, "checks", _check_cases(run))
    gaps = (
        _case("not-checked", f"{gap.what}: {gap.why}", "skipped", gap.why or gap.what)
        for gap in told.gaps
        if gap.about == "scope"
    )
    _add_suite(root, "not checked", (*gaps, *_error_cases(run)))
    for tally in ("tests", "failures", "errors", "skipped"):
        root.set(tally, str(sum(int(suite.get(tally, "0")) for suite in root)))
    root.set("time", f"{run.active:.3f}")
    ET.indent(root)
    return (
        b'<?xml version="1.0" encoding="UTF-8"?>\n'
        + ET.tostring(root, encoding="unicode").encode("utf-8", "replace")
        + b"\n"
    )


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
    if not item.in_scope:
        return _case(group, name, "skipped", "outside the change: listed, not worked on")
    if item.status is Status.DISMISSED:
        return _case(group, name, "skipped", f"dismissed: {last}")
    if item.status is Status.FIXED:
        proofs = "\n".join(f"proof: {describe_proof(proof)}" for proof in item.proofs)
        return _case(group, name, text=f"fixed in {item.commit}\n{proofs}")
    where = f"filed as {item.issue}" if item.issue else item.status.value
    unfiled = (
        f"; could not be filed: {run.filing.unfiled[item.number]}"
        if item.number in run.filing.unfiled
        else ""
    )
    case = _case(
        group,
        name,
        "failure",
        f"{where}{': ' + last if last else ''}{unfiled}",
        _describe_history(item),
    )
    case[0].set("type", item.severity.value)
    return case


def _describe_history(item: Item) -> str:
    said = [
        f"{format_place(finding)}: {finding.source}: {finding.title}\n{finding.detail}".strip()
        for finding in item.findings
    ]
    tried = [f"{describe_attempt(each)}\n{each.evidence}".strip() for each in item.attempts]
    return "\n\n".join((*said, *tried))


def _review_case(review: LatestReview) -> ET.Element:
    if review.failed:
        return _case("reviewers", review.reviewer, "error", "the reviewer failed", review.failed)
    if review.skipped:
        return _case("reviewers", review.reviewer, "skipped", review.skipped)
    return _case(
        "reviewers",
        review.reviewer,
        text=f"{review.findings} findings, {review.looked_at} files, at {review.commit}",
    )


def _check_cases(run: Run) -> Iterable[ET.Element]:
    for check in run.started.checks:
        baseline = run.checks.baselines.get(check.name)
        if baseline is None:
            yield _case(
                "checks",
                check.name,
                "skipped",
                run.checks.unverified or "not run: there was no fix to judge",
            )
        elif baseline.unusable:
            yield _case(
                "checks", check.name, "error", "the check could not judge", baseline.unusable
            )
        else:
            yield _case(
                "checks",
                check.name,
                text=f"on the base: {baseline.passed} pass, {baseline.failed} fail",
            )


def _error_cases(run: Run) -> Iterable[ET.Element]:
    yield from (
        _case("run", f"action {number}", "error", said)
        for number, said in enumerate(run.trouble, 1)
    )
    yield from (
        _case("run", f"entry {n} of {each.source}", "error", each.reason, each.raw)
        for n, each in enumerate(run.reviewing.refused, 1)
    )
    if run.halted:
        yield _case("run", "limit", "error", run.halted)
