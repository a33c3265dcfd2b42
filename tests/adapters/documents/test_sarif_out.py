"""SARIF out: it validates against the official schema, and reads back as what it was."""

import asyncio
import json
from pathlib import Path

import jsonschema
import pytest
from folder_tree import CODE, Folder
from hypothesis import given, settings
from hypothesis import strategies as st

from made import made_run
from punchlist.adapters.documents.document import FindingsDocument
from punchlist.adapters.reports.sarif import render
from punchlist.model.finding.finding import Context, Finding, Fix, RefusedEntry, Splice, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Attempt, Fact, Item, Status
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.ledger.events import Started
from punchlist.model.ledger.run import LatestReview, Reviewing, Run
from punchlist.model.patch.change import Change, ScopeKind

SCHEMA = json.loads((Path(__file__).parents[2] / "data" / "sarif-2.1.0.json").read_text())
VALIDATOR = jsonschema.validators.validator_for(SCHEMA)(
    SCHEMA, format_checker=jsonschema.FormatChecker()
)


def started(kind=ScopeKind.BRANCH):
    change = Change(kind=kind, base="b" * 40, head="d" * 40)
    return Started(
        repository="/r",
        change=change,
        workflow_name="proven",
        workflow="",
        settings="{}",
        checks=(),
        checks_allowed=True,
        reviewers=("ruff",),
        version="1",
    )


def finding(**more):
    values = {
        "id": "f",
        "source": "ruff",
        "title": "Bad",
        "spot": Spot("src/a.py", 5, 5, 5, 10),
        "severity": Severity.MAJOR,
        "rule": "R1",
    }
    return Finding(**{**values, **more})


def item(number, *findings, **more):
    return Item(
        number=number, fingerprint=f"print{number}", findings=findings or (finding(),), **more
    )


def run_of(*items, **more):
    return Run(
        id="r1",
        items={each.number: each for each in items},
        started=more.pop("started", started()),
        **more,
    )


def log(run):
    content = json.loads(render(run))
    problems = [
        f"{list(error.absolute_path)}: {error.message}" for error in VALIDATOR.iter_errors(content)
    ]
    assert problems == []
    return content["runs"][0]


def results(run):
    return {result["properties"]["item"]: result for result in log(run)["results"]}


FIX = Fix((Splice("src/a.py", 7, 9, "sys"),), title="Use sys")


def test_every_end_of_an_item_is_told():
    run = run_of(
        item(1, status=Status.FIXED, proofs=(Proof(ProofClass.CHECKED, "12 tests"),), commit="c1"),
        item(
            2, status=Status.DISMISSED, attempts=(Attempt(1, Fact.DISMISSED, "ann", "by design"),)
        ),
        item(3, finding(fix=FIX, severity=Severity.CRITICAL)),
        item(4, status=Status.FILED, issue="https://example.org/4", in_scope=False),
    )
    told = results(run)
    assert [told[n]["baselineState"] for n in (1, 2, 3, 4)] == ["absent", "new", "new", "unchanged"]
    assert told[1]["properties"]["proofs"] == ["checked: 12 tests"]
    assert told[2]["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "ann: by design"}
    ]
    assert told[3]["level"] == "error"
    assert told[3]["fixes"][0]["artifactChanges"][0]["replacements"] == [
        {"deletedRegion": {"charOffset": 7, "charLength": 2}, "insertedContent": {"text": "sys"}}
    ]
    assert told[3]["partialFingerprints"] == {"punchlist/v1": "print3"}
    assert told[4]["workItemUris"] == ["https://example.org/4"]


def test_only_a_run_that_ended_and_saw_everything_was_successful():
    reviews = {"ruff": LatestReview("ruff", "c")}
    good = run_of(reviewing=Reviewing(reviews=reviews), ended="clean")
    assert log(good)["invocations"][0]["executionSuccessful"] is True
    for bad in (
        run_of(reviewing=Reviewing(reviews=reviews)),
        run_of(ended="clean"),
        run_of(
            reviewing=Reviewing(reviews={"ruff": LatestReview("ruff", "c", failed="crashed")}),
            ended="x",
        ),
        run_of(reviewing=Reviewing(reviews=reviews), ended="x", halted="time"),
        run_of(reviewing=Reviewing(reviews=reviews), ended="x", trouble=("verify: no",)),
    ):
        assert log(bad)["invocations"][0]["executionSuccessful"] is False
    refused = log(
        run_of(
            ended="x",
            reviewing=Reviewing(
                reviews=reviews, refused=(RefusedEntry("file:x", "null", "is null"),)
            ),
        )
    )
    assert (
        "is null" in refused["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    )


def test_what_was_written_reads_back(tmp_path):
    (tmp_path / "tree/src").mkdir(parents=True)
    (tmp_path / "tree/src/with space.py").write_text(CODE)
    (tmp_path / "tree/src/a.py").write_text(CODE)
    left = finding(
        spot=Spot("src/with space.py", 5, 6, 5, 7),
        title="[x](y) {0} \\ is bad",
        rule="",
        detail="More\nof it",
        fix=FIX,
    )
    run = run_of(item(1, left), item(2, status=Status.FIXED), item(3, status=Status.DISMISSED))
    (tmp_path / "out.sarif").write_bytes(render(run))
    analysis = asyncio.run(
        FindingsDocument.open(tmp_path / "out.sarif").analyze(Folder(tmp_path / "tree"), None)
    )
    dismissed, again = analysis.findings
    assert (again.spot, again.title, again.severity, again.label) == (
        left.spot,
        left.title,
        left.severity,
        "print1",
    )
    assert again.fix.splices == FIX.splices
    assert "More\nof it" in again.detail
    assert "suppressed" in dismissed.marks[0]
    assert analysis.refused == ()
    assert analysis.failed, "the run had not ended: it cannot vouch"


texts = st.text(st.characters(codec=None), max_size=20)
lines = st.none() | st.integers(1, 50)


@settings(max_examples=40, deadline=None)
@given(
    st.builds(
        Finding,
        id=texts,
        source=texts,
        title=texts,
        spot=st.builds(Spot, texts, lines, lines, lines, lines),
        severity=st.sampled_from(Severity),
        rule=texts,
        detail=texts,
        category=texts,
        url=texts,
        fix=st.none()
        | st.builds(
            Fix,
            st.lists(
                st.builds(Splice, texts, st.integers(0, 5), st.integers(5, 9), texts), max_size=2
            ).map(tuple),
        ),
        context=st.builds(Context, symbol=texts),
        marks=st.tuples(texts),
    ),
    st.sampled_from(Status),
    st.sampled_from(ScopeKind),
)
def test_whatever_findings_hold_the_log_validates(found, status, kind):
    told = results(run_of(item(1, found, status=status), started=started(kind), ended="x"))
    assert len(told) == 1


def test_a_run_without_anything_validates():
    log(made_run(id="r1"))


@pytest.mark.parametrize(
    "path", ["src/a b.py", "src/\udce9.py", "../x.py", "/abs/x.py", "a#b?c%20.py", "日本.py"]
)
def test_any_path_is_a_uri(path):
    location = results(run_of(item(1, finding(spot=Spot(path, 1)))))[1]["locations"][0][
        "physicalLocation"
    ]["artifactLocation"]
    assert location["uri"].isascii()
    assert ("uriBaseId" in location) == (not path.startswith(("/", "..")))
