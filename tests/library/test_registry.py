"""The registry of findings, what a fixer gets and reports, and how the loop ends."""

import asyncio
import json

import pytest

from punchlist.library import (
    FindingCategory,
    FindingStatus,
    FixerInput,
    FixerOutput,
    FixerOutputItem,
    IssueRegistry,
    ReviewFinding,
    ReviewFindings,
    Severity,
    UsageError,
    check_fix_loop_exit,
    create_issue_registry,
    create_tech_debt_issues,
    detect_deleted_files,
    open_tracker,
    prepare_fixer_input,
    update_issue_registry,
)

FINDINGS = """
{
  "findings": [
    {
      "severity": "critical",
      "category": "security",
      "title": "SQL injection in user search",
      "description": "...",
      "file_path": "src/api/users.py",
      "line_start": 87,
      "line_end": 92,
      "suggested_fix": "Use parameterized queries"
    }
  ],
  "summary": "Found 3 issues: 1 critical, 2 major"
}
"""
FIXED, BLOCKED, DEFERRED = FindingStatus.FIXED, FindingStatus.BLOCKED, FindingStatus.DEFERRED

pure = pytest.mark.pure


def finding(title: str, line: int, severity=Severity.MAJOR, **more) -> ReviewFinding:
    fields = {"file_path": "a.py", "line_start": line, "description": f"{title}, at length"}
    return ReviewFinding(severity, FindingCategory.CORRECTNESS, title, **{**fields, **more})


def registry(*titles: str, **more) -> IssueRegistry:
    found = [finding(title, 20 * at) for at, title in enumerate(titles, 1)]
    return create_issue_registry(found, **more)


def report(*items: tuple[str, FindingStatus, str]) -> FixerOutput:
    return FixerOutput(tuple(FixerOutputItem(*each) for each in items))


@pure
def test_a_review_in_its_own_form_is_read_and_written_unchanged():
    review = ReviewFindings.from_json(FINDINGS)
    assert review.to_dict() == json.loads(FINDINGS)
    (found,) = review.findings
    assert (found.severity, found.category) == (Severity.CRITICAL, FindingCategory.SECURITY)
    wrong = FINDINGS.replace('"critical",', '"terrible",')
    with pytest.raises(UsageError, match=r"findings\[0\].severity"):
        ReviewFindings.from_json(wrong)


@pure
def test_plain_words_are_taken_for_what_they_mean_and_others_are_refused():
    found = ReviewFinding("major", "security", "one", file_path="a.py")
    assert (found.severity, found.category) == (Severity.MAJOR, FindingCategory.SECURITY)
    made = update_issue_registry(
        create_issue_registry([found]), FixerOutput((FixerOutputItem("F001", "fixed"),))
    )
    assert made.get("F001").status is FIXED
    assert made.get_unresolved() == ()
    with pytest.raises(ValueError, match="severity of ReviewFinding is 'urgent', not one of"):
        ReviewFinding("urgent", "security", "one")
    with pytest.raises(ValueError, match="status of FixerOutputItem is 'done', not one of"):
        FixerOutputItem("F001", "done")


@pure
def test_an_unstructured_review_is_read_as_well():
    text = "## Critical Issues\n\n1. **[Concurrency]:** two writers race\n   - **File:** a.py:7-9\n"
    (found,) = ReviewFindings.from_answer(text, "technical").findings
    assert (found.severity, found.category, found.category_word) == (
        Severity.CRITICAL, FindingCategory.OTHER, "Concurrency",
    )  # fmt: skip
    assert (found.file_path, found.line_start, found.line_end) == ("a.py", 7, 9)
    with pytest.raises(UsageError, match="cannot be used"):
        ReviewFindings.from_answer("It looks fine to me.")


@pure
def test_near_duplicates_of_two_reviewers_are_one_of_the_higher_severity_with_both_texts():
    spec = [finding("mean() fails for no prices", 9, description="no rows", suggested_fix="guard")]
    tech = [
        finding("mean() fails for no price", 14, Severity.CRITICAL, description="division by zero"),
        finding("mean() fails for no price", 20, description="too far away"),
        finding("something else entirely", 9),
        finding("mean() fails for no prices", 9, file_path="b.py"),
    ]
    made = create_issue_registry(spec, tech)
    assert len(made.findings) == 4
    (merged,) = made.get_by_severity(Severity.CRITICAL)
    assert merged.finding.id == "F001"
    assert merged.finding.reviewer == "technical, spec"
    assert "division by zero" in merged.finding.description
    assert "mean() fails for no prices: no rows" in merged.finding.description
    assert merged.finding.suggested_fix == "guard"
    assert [each.finding.file_path for each in made.get_by_file("./b.py")] == ["b.py"]


@pure
def test_only_open_and_deferred_findings_go_to_the_fixer_with_their_attempts():
    made = registry("one", "two", "three", "four")
    said = report(
        ("F001", FIXED, ""),
        ("F002", BLOCKED, "needs a key that is not here"),
        ("F003", DEFERRED, "the import cycle must be broken first; I split a.py"),
    )
    made = update_issue_registry(made, said)
    asked = prepare_fixer_input(made)
    assert asked.ids == ["F003", "F004"]
    assert asked.iteration == 2
    assert [each.justification for each in asked.items[0].previous_attempts] == [
        "the import cycle must be broken first; I split a.py"
    ]
    assert FixerInput.from_json(asked.to_json()) == asked
    assert made.count_by_status() == {"open": 0, "fixed": 1, "blocked": 1, "deferred": 2}
    assert [each.finding.id for each in made.get_unresolved()] == ["F002", "F003", "F004"]
    assert made.get("F004").attempts[0].explanation == "no status was given"


@pure
def test_each_registry_stands_alone_and_stays_as_it_is_when_a_report_is_applied():
    first, second = registry("one", "two"), registry("one", "two")
    before = first.to_json()
    after = update_issue_registry(first, report(("F001", FIXED, ""), ("F002", FIXED, "")))
    assert (first.to_json(), second.to_json()) == (before, before)
    assert (len(after.get_unresolved()), len(second.get_unresolved())) == (0, 2)


@pure
def test_a_weak_reason_is_refused_for_deferring_and_flagged_for_blocking():
    said = report(("F001", DEFERRED, "out of scope"), ("F002", BLOCKED, "too complex"))
    made = update_issue_registry(registry("one", "two"), said)
    one, two = made.findings
    assert (one.status, two.status) == (FindingStatus.OPEN, BLOCKED)
    assert 'not accepted: "out of scope"' in one.attempts[0].refused
    assert two.flags == ('blocked for a weak reason: "too complex"',)
    assert prepare_fixer_input(made).ids == ["F001"]


@pure
def test_a_report_must_be_complete_and_reasons_are_needed():
    asked = prepare_fixer_input(registry("one", "two", "three"))
    said = report(
        ("F001", BLOCKED, " "), ("F009", FIXED, ""), ("F002", FIXED, ""), ("F002", DEFERRED, "no")
    )
    assert said.validate(asked) == (
        "F003: no status was given",
        "F009: was not asked about",
        "F002: is reported 2 times",
        "F001: blocked, and no reason was given",
    )
    whole = said.complete(asked)
    assert [(each.finding_id, each.status) for each in whole.items] == [
        ("F001", BLOCKED), ("F002", DEFERRED), ("F003", DEFERRED),
    ]  # fmt: skip
    made = update_issue_registry(registry("one", "two", "three"), said)
    assert made.get("F001").status is DEFERRED
    assert report(*((name, FIXED, "") for name in asked.ids)).validate(asked) == ()
    with pytest.raises(ValueError, match="not one of"):
        FixerOutputItem("F001", FindingStatus.OPEN)
    with pytest.raises(UsageError, match="is not one of"):
        FixerOutput.from_dict({"items": [{"finding_id": "F001", "status": "open"}]})


@pure
def test_a_fixers_answer_is_read_in_any_spelling():
    asked = prepare_fixer_input(registry("one", "two", "three"))
    text = '{"results": {"F001": "done", "F002": {"status": "false positive", "reason": "no"}}}'
    said = FixerOutput.from_answer(f"So:\n{text}", asked)
    assert [(each.status, each.justification) for each in said.items] == [
        (FIXED, ""), (DEFERRED, "contested: no"), (DEFERRED, "no status was given"),
    ]  # fmt: skip


@pure
def test_the_loop_ends_at_its_limit_or_when_nothing_is_left_to_do():
    made = registry("one", max_iterations=2)
    assert check_fix_loop_exit(made).to_dict() == {"should_exit": False, "actionable": 1}
    stuck = report(("F001", DEFERRED, "the server answers 500; I retried and read its log"))
    once = update_issue_registry(made, stuck)
    assert not check_fix_loop_exit(once).should_exit
    twice = check_fix_loop_exit(update_issue_registry(once, stuck))
    assert (twice.should_exit, twice.reason) == (True, "the limit of 2 iterations is reached")
    ended = check_fix_loop_exit(update_issue_registry(made, report(("F001", FIXED, ""))))
    assert (ended.should_exit, ended.reason) == (True, "no finding is open or deferred")
    assert check_fix_loop_exit(create_issue_registry([])).should_exit
    with pytest.raises(UsageError, match="without a round"):
        registry("one", max_iterations=0)


@pure
def test_findings_in_deleted_files_are_blocked_and_not_given_to_the_fixer(tmp_path):
    (tmp_path / "a.py").write_text("")
    found = [finding("one", 1), finding("two", 1, file_path="gone/b.py"), finding("three", 9)]
    made = detect_deleted_files(create_issue_registry(found), tmp_path)
    (gone,) = made.get_by_status(BLOCKED)
    assert gone.finding.file_path == "gone/b.py"
    assert gone.attempts[0].justification == "Referenced file deleted"
    assert len(prepare_fixer_input(made).items) == 2


@pure
def test_a_registry_survives_as_json():
    made = update_issue_registry(registry("one", "two"), report(("F001", DEFERRED, "too risky")))
    assert IssueRegistry.from_dict(made.to_dict()) == made
    assert IssueRegistry.from_json(json.dumps(made.to_dict())) == made
    with pytest.raises(UsageError, match="no finding is called F007"):
        made.get("F007")


def test_what_is_left_becomes_issues_with_every_attempt_once(repo, tmp_path, monkeypatch):
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / "state"))
    repo.commit({"a.py": ""})
    made = registry("one", "two", "three")
    said = report(("F001", FIXED, ""), ("F002", DEFERRED, "out of scope"))
    made = update_issue_registry(made, said)

    async def file():
        async with open_tracker(repo.root, {"track.folder": str(tmp_path / "issues")}) as tracker:
            first = await create_tech_debt_issues(made, tracker, ["tech-debt", "review"])
            return first, await create_tech_debt_issues(made, tracker)

    first, again = asyncio.run(file())
    assert [each.finding_id for each in first] == ["F002", "F003"]
    assert first[0].labels == ("tech-debt", "review", "major")
    assert [each.issue_url for each in again] == [each.issue_url for each in first]
    text = next(path.read_text() for path in (tmp_path / "issues").glob("*two*.md"))
    assert "out of scope" in text
    assert "not accepted" in text
