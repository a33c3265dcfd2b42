"""The result of `prove` as an in-toto statement of the type test-result."""

import base64
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from punchlist._version import __version__
from punchlist.adapters.formats.dsse import load_signer, sign_payload
from punchlist.app.after.prove.verdict import EXECUTABLE, ClaimVerdict, ProofReport, Verdict

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
PAYLOAD = "application/vnd.in-toto+json"
_RESULTS = {Verdict.AGREE: "PASSED", Verdict.CANNOT_TELL: "WARNED", Verdict.DISAGREE: "FAILED"}


def make_statement(report: ProofReport) -> dict[str, Any]:
    """Return the statement: its subjects are the commits, its tests the claims that can be
    executed; what could not be told is a warning, and never passed.
    """
    named: dict[Verdict, list[str]] = {verdict: [] for verdict in Verdict}
    for commit in report.commits:
        tested = [claim for claim in commit.claims if claim.claim in EXECUTABLE]
        for claim in tested:
            named[claim.verdict].append(_name_claim(commit.commit, claim))
        if commit.verdict is not Verdict.AGREE and all(
            claim.verdict is Verdict.AGREE for claim in tested
        ):
            why = commit.said or next(iter(commit.faults), "unproven item")
            named[commit.verdict].append(f"{commit.commit[:12]} {why}")
    for why in report.faults:
        verdict = Verdict.DISAGREE if report.verdict is Verdict.DISAGREE else Verdict.CANNOT_TELL
        named[verdict].append(f"{report.end[:12]} {why}")
    return {
        "_type": STATEMENT,
        "subject": [{"digest": {"gitCommit": commit.commit}} for commit in report.commits],
        "predicateType": PREDICATE,
        "predicate": {
            "result": _RESULTS[report.verdict],
            "configuration": _list_configuration(report),
            "passedTests": named[Verdict.AGREE],
            "warnedTests": named[Verdict.CANNOT_TELL],
            "failedTests": named[Verdict.DISAGREE],
        },
    }


def make_encoder(key: Path | None) -> Callable[[ProofReport], bytes]:
    """Return what encodes a report as a statement in JSON, in a DSSE envelope if there is a key to
    sign it with. Raise UsageError for a key that cannot be used, before anything is proven.
    """
    signer = load_signer(key) if key else None

    def encode_statement(report: ProofReport) -> bytes:
        payload = msgspec.json.encode(make_statement(report))
        return sign_payload(payload, PAYLOAD, signer) if signer else payload

    return encode_statement


def _name_claim(commit: str, claim: ClaimVerdict) -> str:
    return f"{commit[:12]} item {claim.item} {claim.claim}"


def _list_configuration(report: ProofReport) -> list[dict[str, Any]]:
    """Return what the proof rests on: what was chosen here (punchlist, base, analyzers, checks,
    unclaimed commits that were left out), and the evidence with its ledgers.
    """
    found: list[dict[str, Any]] = [
        {"name": "punchlist", "uri": f"pkg:pypi/punchlist@{__version__}"}
    ]
    if report.base:
        base = {"name": "base chosen here", "digest": {"gitCommit": report.base}}
        found.append({**base, "annotations": {"chosen": report.chosen}})
    found += [_name_text(f"analyzer {name}", name) for name in report.analyzers]
    if report.unclaimed_allowed and report.unclaimed:
        left_out = "\n".join(report.unclaimed)
        found.append(_name_text("commits that claim nothing, left out here", left_out))
    digests = {
        **{each.evidence: f"evidence of run {each.run}" for each in report.commits},
        **{each.ledger: f"ledger of run {each.run}" for each in report.commits},
    }
    found += [{"name": name, "digest": {"sha256": each}} for each, name in digests.items() if each]
    for command in report.checks:
        digest = sha256(command.encode(errors="replace")).hexdigest()
        found.append(_name_text(f"check {digest[:12]}", command))
    return found


def _name_text(name: str, text: str) -> dict[str, Any]:
    content = base64.b64encode(text.encode(errors="replace")).decode()
    return {"name": name, "content": content, "mediaType": "text/plain"}
