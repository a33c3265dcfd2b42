"""Findings in groups and their tracker, as values that a program uses."""

import asyncio
import json

import pytest

from punchlist.library import (
    Finding,
    FindingGroup,
    FindingStatus,
    FindingTracker,
    Outcome,
    Outcomes,
    ReviewResult,
    UsageError,
    create_issues,
)
from punchlist.ports.tracker import Filing

REVIEW = """
{
  "groups": [
    {
      "description": "Independent fixes - batch 1",
      "findings": [
        {
          "id": "F001",
          "file": "src/maverick/foo.py",
          "line": "45-67",
          "issue": "Uses raw subprocess instead of CommandRunner",
          "severity": "major",
          "category": "library_standards",
          "fix_hint": "Use CommandRunner from maverick.runners.command"
        }
      ]
    }
  ]
}
"""
OUTCOMES = """
{
  "outcomes": [
    {"id": "F001", "outcome": "fixed", "explanation": "Replaced subprocess.run with CommandRunner"},
    {"id": "F002", "outcome": "blocked", "explanation": "Requires GitPython which is not installed"}
  ]
}
"""


def finding(name: str, file: str = "shop.py", **more) -> Finding:
    fields = {"line": "4", "issue": f"fault {name}", "severity": "major", "category": "testing"}
    return Finding(**{"id": name, "file": file, **fields, **more})


def track(*names: str) -> FindingTracker:
    return FindingTracker(ReviewResult((FindingGroup("one", tuple(map(finding, names))),)))


class Folder:
    """A tracker that keeps what it was given."""

    name = "folder"

    def __init__(self) -> None:
        self.texts = []

    async def file(self, dossiers):
        self.texts += dossiers
        return [Filing(item=each.item.number, ref=f"issue-{each.item.number}") for each in dossiers]

    def close(self, fingerprints, by, why):
        return None

    def reopen(self, fingerprints):
        return None


pytestmark = pytest.mark.pure


def test_a_review_in_its_own_form_is_read_and_written_unchanged():
    result = ReviewResult.from_json(REVIEW)
    assert result.to_dict() == json.loads(REVIEW)
    assert json.loads(result.to_json()) == json.loads(REVIEW)
    (found,) = result.findings
    assert (found.id, found.line, found.fix_hint) == (
        "F001", "45-67", "Use CommandRunner from maverick.runners.command",
    )  # fmt: skip
    assert Outcomes.from_json(OUTCOMES).to_dict() == json.loads(OUTCOMES)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"severity": "urgent"}, r"findings\[0\].severity"),
        ({"file": 7}, r"groups\[0\].findings\[0\].file"),
        ({"issue": None}, "issue"),
    ],
)
def test_a_wrong_field_is_named(change, names):
    fields = json.loads(REVIEW)
    fields["groups"][0]["findings"][0] |= change
    with pytest.raises(UsageError, match=names):
        ReviewResult.from_dict(fields)
    with pytest.raises(UsageError, match="this is no ReviewResult"):
        ReviewResult.from_json("{")
    with pytest.raises(ValueError, match="urgent"):
        finding("F001", severity="urgent")


def test_an_agents_answer_is_read_in_any_spelling_and_no_finding_is_lost():
    said = json.loads(REVIEW)["groups"][0]["findings"][0]
    wild = {"groups": [{"findings": [said, {**said, "severity": "P0", "line": 3}, {"file": "a"}]}]}
    result = ReviewResult.from_answer(f"Here it is:\n```json\n{json.dumps(wild)}\n```\nBye.")
    assert [(each.id, each.severity, each.line) for each in result.findings] == [
        ("F001", "major", "45-67"),
        ("F002", "critical", "3"),
    ]
    assert "has no title" in result.problems[0]
    assert ReviewResult.from_answer('{"groups": []}').findings == ()
    with pytest.raises(UsageError, match="cannot be used"):
        ReviewResult.from_answer("I could not do it.")


def test_the_fixer_reports_on_every_finding_or_it_is_deferred():
    asked = [finding("F001"), finding("PY-2"), finding("F003")]
    answer = {
        "outcomes": [
            {"id": "f001", "outcome": "Fixed", "explanation": "done"},
            {"id": "PY-2", "outcome": "partially fixed", "explanation": "half of it remains"},
        ]
    }
    told = Outcomes.from_answer(f"{json.dumps(answer)}", asked)
    assert told.outcomes == (
        Outcome("F001", "fixed", "done"),
        Outcome("PY-2", "deferred", "half of it remains"),
        Outcome("F003", "deferred", "no status was given"),
    )
    with pytest.raises(UsageError, match="cannot be used"):
        Outcomes.from_answer("All done!", asked)


def test_round_by_round_deferred_comes_back_and_is_blocked_the_third_time():
    tracker = track("F001", "F002", "F003")
    assert [each.id for each in tracker.get_open_findings()] == ["F001", "F002", "F003"]
    tracker.record_outcome("F001", "fixed", "done")
    tracker.record_outcome("F002", "blocked", "needs a database that is not here")
    tracker.record_outcome("F003", "deferred", "the test hangs")
    assert tracker.get_open_findings() == []
    assert [each.id for each in tracker.get_actionable_findings()] == ["F003"]
    assert not tracker.is_complete()
    tracker.record_outcome("F003", "deferred", "it still hangs")
    assert [each.id for each in tracker.get_actionable_findings()] == ["F003"]
    tracker.record_outcome("F003", "deferred", "and again")
    assert tracker.get_actionable_findings() == []
    assert tracker.is_complete()
    left = {each.finding.id: each for each in tracker.get_unresolved()}
    assert {name: each.status for name, each in left.items()} == {
        "F002": FindingStatus.BLOCKED,
        "F003": FindingStatus.BLOCKED,
    }
    assert [each.outcome for each in left["F003"].attempts] == ["deferred"] * 3
    assert left["F003"].attempts[0].timestamp.tzinfo is not None


def test_what_no_fixer_reported_on_is_unresolved_too():
    tracker = track("F001")
    assert [each.finding.id for each in tracker.get_unresolved()] == ["F001"]
    assert track().is_complete()


def test_unknown_names_and_words_are_refused():
    tracker = track("F001")
    with pytest.raises(UsageError, match="no finding is called F009"):
        tracker.record_outcome("F009", "fixed", "")
    with pytest.raises(UsageError, match="'done' of F001 is no outcome"):
        tracker.record_outcome("F001", "done", "")
    with pytest.raises(ValueError, match="outcome of F001"):
        Outcome("F001", "done", "")
    with pytest.raises(UsageError, match="two findings are called F001"):
        track("F001", "F001")
    assert tracker.get_open_findings() == [finding("F001")]


def test_a_finding_whose_file_is_gone_is_blocked_before_the_fixer_is_asked(tmp_path):
    (tmp_path / "shop.py").write_text("")
    groups = (FindingGroup("", (finding("F001"), finding("F002", "gone.py"))),)
    tracker = FindingTracker(ReviewResult(groups))
    assert [each.id for each in tracker.block_deleted_files(tmp_path)] == ["F002"]
    assert [each.id for each in tracker.get_actionable_findings()] == ["F001"]
    (_, gone) = tracker.get_unresolved()
    assert gone.attempts[0].explanation == "Referenced file deleted"
    assert gone.flags == ()


def test_issues_tell_every_attempt_and_flag_suspicious_reasons():
    tracker, folder = track("F001", "F002"), Folder()
    tracker.record_outcome("F001", "deferred", "the lock is held")
    tracker.record_outcome("F001", "blocked", "out of scope")
    results = asyncio.run(create_issues(tracker.get_unresolved(), folder))
    assert [(each.finding_id, each.issue_url, each.success) for each in results] == [
        ("F001", "issue-1", True),
        ("F002", "issue-2", True),
    ]
    body = folder.texts[0].body
    assert "the lock is held" in body
    assert 'blocked for a weak reason: "out of scope"' in body
    same = [finding("F001"), finding("F002", issue="fault F001")]
    twins = FindingTracker(ReviewResult((FindingGroup("", tuple(same)),)))
    asyncio.run(create_issues(twins.get_unresolved(), folder))
    assert len({each.item.fingerprint for each in folder.texts[2:]}) == 2
