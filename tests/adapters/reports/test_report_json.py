"""report.json: stable, documented, and fit to be read back."""

import asyncio
import runpy
from pathlib import Path

import msgspec

from punchlist.adapters.documents.document import FindingsDocument
from punchlist.adapters.reports import json as document
from punchlist.model.ledger import codec as wire
from punchlist.views.report_document import ReportDocument, make_report

ROOT = Path(__file__).parents[3]


def test_it_decodes_to_the_documented_structs(run, unverified, nasty):
    for each in (run, unverified, nasty):
        assert wire.decode(document.render(each), ReportDocument) == make_report(each)


def test_the_reference_page_is_what_the_structs_say():
    tool = runpy.run_path(str(ROOT / "tools" / "report_reference.py"))
    assert tool["PAGE"].read_text("utf-8") == tool["page"](), "run tools/report_reference.py"


def test_it_is_plain_json_with_these_keys_at_the_top(run):
    keys = msgspec.json.decode(document.render(run))
    assert keys["schema"] == "punchlist-report/1"
    assert {
        "run",
        "change",
        "outcome",
        "counts",
        "items",
        "reviewers",
        "checks",
        "rounds",
        "trouble",
        "not_checked",
    } <= keys.keys()


def test_an_item_has_its_findings_attempts_proofs_commit_and_change(run):
    items = {item["number"]: item for item in msgspec.json.decode(document.render(run))["items"]}
    assert [finding["source"] for finding in items[2]["findings"]] == ["file:review.md", "ruff"]
    assert [proof["kind"] for proof in items[2]["proofs"]] == ["rechecked", "checked"]
    assert items[2]["commit"] == run.items[2].commit != ""
    assert "-def total(items, discounts=[]):" in items[2]["change"]["hunks"][0]["lines"]
    assert items[11]["attempts"][-1]["fact"] == "rejected"
    assert items[6]["unfiled"] == "the disk is full"


def test_its_findings_can_be_given_to_another_run(run, tmp_path):
    class Tree:
        root, commit = tmp_path, "0" * 40
        text = staticmethod(lambda _: "x\n" * 200)
        files = staticmethod(lambda: sorted({item.lead.spot.path for item in run.items.values()}))

    file = tmp_path / "report.json"
    file.write_bytes(document.render(run))
    analysis = asyncio.run(FindingsDocument.open(file).analyze(Tree(), None))
    assert len(analysis.findings) == sum(len(item.findings) for item in run.items.values())
    assert analysis.refused == ()
