"""What agents say is read with patience and believed with none: one bad entry costs only itself, and silence approves nothing."""

import json

import pytest

from punchlist.intake.source_files import Sources
from punchlist.model.finding.severity import Severity
from punchlist.model.item.claim import ClaimOutcome
from punchlist.model.item.doubt import Doubt
from punchlist.model.item.todo import Approach
from punchlist.roles.answers.fix_answer import parse_outcome, parse_statements
from punchlist.roles.answers.item_codes import parse_code
from punchlist.roles.answers.plan_answer import parse_plan, parse_questions, parse_tests
from punchlist.roles.answers.review_answer import parse_review
from punchlist.roles.answers.score_answer import parse_scores

GROUPED = {
    "groups": [
        {
            "description": "a",
            "findings": [
                {
                    "id": "F001",
                    "file": "src/a.py",
                    "line": "4-6",
                    "issue": "Raw SQL",
                    "severity": "major",
                }
            ],
        },
        {
            "findings": [
                {
                    "id": "F001",
                    "file": "./src/a.py",
                    "line": "1",
                    "issue": "Unused",
                    "severity": "nit",
                    "fix_hint": "Drop it",
                }
            ]
        },
    ]
}
FULL = {
    "severity": "critical",
    "category": "security",
    "title": "SQL injection in search",
    "description": "name is not bound",
    "file_path": "src/a.py",
    "line_start": 5,
    "line_end": 6,
    "suggested_fix": "Bind it",
}


@pytest.fixture
def reviewed(tree):
    def review(answer):
        return parse_review(
            answer if isinstance(answer, str) else json.dumps(answer), "technical", Sources(tree)
        )

    return review


class TestReviews:
    def test_groups_are_findings_with_hints_which_are_independent(self, reviewed):
        review = reviewed(GROUPED)
        assert [
            (f.title, f.spot.path, f.spot.line, f.spot.end_line, f.severity)
            for f in review.findings
        ] == [
            ("Raw SQL", "src/a.py", 4, 6, Severity.MAJOR),
            ("Unused", "src/a.py", 1, None, Severity.MINOR),
        ]
        assert review.groups == ((0,), (1,))
        assert [f.label for f in review.findings] == ["F001", "F001"]
        assert len({f.id for f in review.findings}) == 2

    def test_a_flat_list_is_read_with_all_its_fields(self, reviewed):
        (finding,) = reviewed({"findings": [FULL], "summary": "1"}).findings
        assert (finding.title, finding.detail, finding.suggestion) == (
            "SQL injection in search",
            "name is not bound",
            "Bind it",
        )
        assert (finding.severity, finding.category, finding.source) == (
            Severity.CRITICAL,
            "security",
            "technical",
        )
        assert finding.context.symbol == "search"

    @pytest.mark.parametrize(
        "said",
        [
            [FULL],
            {"issues": [FULL]},
            {"comments": [FULL]},
            {"type": "x", "input": {"findings": [FULL]}},
        ],
    )
    def test_findings_under_other_names_are_findings(self, reviewed, said):
        assert [f.title for f in reviewed(said).findings] == ["SQL injection in search"]

    @pytest.mark.parametrize(
        "said",
        [
            '{"findings": []}',
            '{"groups": []}',
            '{"verdict": "APPROVED", "findings": [], "summary": "clean"}',
            '{"verdict": "No changes requested", "findings": []}',
            '{"recommendation": "No blocking issues: does not need work", "findings": []}',
            '```json\n{"issues": []}\n```',
        ],
    )
    def test_an_explicit_empty_list_is_a_clean_review(self, reviewed, said):
        review = reviewed(said)
        assert (review.failed, review.findings, review.refused) == ("", (), ())

    @pytest.mark.parametrize(
        "said",
        [
            "",
            "LGTM, APPROVED!",
            "<html><body>502 Bad Gateway</body></html>",
            "quota exceeded",
            '{"error": {"type": "rate_limit_error", "message": "quota exceeded"}}',
            '{"verdict": "APPROVED"}',
            "[]",
            "There were none: []",
            '{"results": []}',
            '{"findings": null}',
            '{"findings": "none"}',
            '{"findings": [], "error": "quota exceeded"}',
            '{"findings": [], "verdict": "changes requested"}',
            '{"findings": [], "approved": false}',
            '{"findings": [], "verdict": "NOT APPROVED"}',
            '{"findings": [{"tit',
            '{"summary": "fine", "findings": [',
            '{"findings": [null, 5, "text"]}',
        ],
    )
    def test_whatever_else_has_no_finding_is_a_failed_review(self, reviewed, said):
        review = reviewed(said)
        assert review.failed
        assert review.findings == ()

    @pytest.mark.parametrize(
        ("said", "severity"),
        [
            (
                (
                    "# Review\n\n## Critical Issues (Must Fix)\n\n1. **[Security]:** Raw SQL\n"
                    "   - **File:** `src/a.py:4-6`\n   - **Problem:** name is not bound\n"
                ),
                Severity.CRITICAL,
            ),
            ("Two things.\n\n### Important\n\n- Raw SQL in `src/a.py:4-6`\n", Severity.MAJOR),
            (
                (
                    "## Findings\n\n### 1. Raw SQL (critical)\n\n**File:** src/a.py\n**Lines:** 4-6\n\n"
                    "### 2. Not ranked\n\n- Location: src/b.py\n\n## Summary\n\nTwo.\n"
                ),
                Severity.CRITICAL,
            ),
            (
                (
                    "I found two:\n\n| # | Severity | File | Lines | Issue | Fix |\n|--|:-:|---|---|---|---|\n"
                    "| 1 | **High** | `src/a.py` | 4-6 | Raw SQL `a \\| b` | Bind it |\n"
                    "| 2 | low | src/b.py:3 | | No docs | |\n\nThat is all.\n"
                ),
                Severity.CRITICAL,
            ),
            ('## Minor\n\n1. Raw SQL\n   - File: src/a.py:4-6\n\n{"findings": []}', Severity.MINOR),
        ],
    )
    def test_an_answer_in_markdown_is_a_review(self, reviewed, said, severity):
        review = reviewed(said)
        first = review.findings[0]
        assert (review.failed, review.refused, first.severity) == ("", (), severity)
        assert first.title.startswith("Raw SQL")
        assert (first.spot.path, first.spot.line, first.spot.end_line) == ("src/a.py", 4, 6)
        assert [finding.spot.path for finding in review.findings[1:]] in ([], ["src/b.py"])

    @pytest.mark.parametrize(
        "said",
        [
            "# Review\n\nEverything is fine.\n",
            "## Critical\n\nNone.\n\n## Minor\n\n- none\n",
            "I looked at:\n\n1. `src/a.py:1-40`, which is fine\n2. the tests\n",
            "## Findings\n\nI could not read the files.\n",
            "## Critical\n\n- Nothing to report\n",
        ],
    )
    def test_markdown_without_a_finding_is_a_failed_review(self, reviewed, said):
        review = reviewed(said)
        assert (bool(review.failed), review.findings) == (True, ())
        clean = reviewed(f'{said}\n{{"findings": []}}')
        assert (clean.failed, clean.findings) == ("", ())

    def test_a_finding_about_quotas_is_a_finding(self, reviewed):
        said = {
            **FULL,
            "title": "Rate limit: quota exceeded is not handled",
            "description": "HTTP 429 is lost",
        }
        review = reviewed({"findings": [said]})
        assert (len(review.findings), review.failed) == (1, "")

    def test_approval_beside_a_critical_finding_hides_nothing(self, reviewed):
        assert len(reviewed({"verdict": "APPROVED", "findings": [FULL]}).findings) == 1

    def test_one_bad_entry_never_costs_the_others(self, reviewed):
        review = reviewed(
            {
                "findings": [
                    None,
                    {"severity": "major"},
                    {**FULL, "line_start": 0},
                    7,
                    {**FULL, "line_start": "42"},
                ]
            }
        )
        assert [f.spot.line for f in review.findings] == [None, 42]
        assert len(review.refused) == 3
        assert all(entry.reason and entry.source == "technical" for entry in review.refused)
        assert review.failed == ""

    def test_a_truncated_review_keeps_what_is_complete_and_the_rest_as_refused(self, reviewed):
        text = json.dumps({"findings": [FULL, {**FULL, "title": "Second"}]})
        review = reviewed(text[: text.index("Second") + 20])
        assert [f.title for f in review.findings] == ["SQL injection in search"]
        assert "breaks off" in review.refused[0].reason
        assert review.incomplete

    def test_an_entry_that_cannot_be_read_costs_none_of_those_behind_it(self, reviewed):
        entries = [
            json.dumps({**FULL, "title": title})
            for title in ("first", "say QUOTES here", "third", "fourth")
        ]
        listed = ", ".join(entries).replace("QUOTES", '"no"')
        review = reviewed(f'{{"findings": [{listed}]}}')
        assert [f.title for f in review.findings] == ["first", "third", "fourth"]
        assert (len(review.refused), bool(review.incomplete)) == (1, True)

    def test_one_finding_a_line_is_a_review(self, reviewed):
        review = reviewed(
            "\n".join(json.dumps({**FULL, "title": title}) for title in ("first", "second"))
        )
        assert [f.title for f in review.findings] == ["first", "second"]
        assert (review.failed, review.incomplete) == ("", "")

    def test_a_path_outside_and_an_unknown_severity_are_kept_and_marked(self, reviewed):
        (finding,) = reviewed(
            {"findings": [{**FULL, "file_path": "../x.py", "severity": "spicy"}]}
        ).findings
        assert len(finding.marks) == 2
        assert finding.severity is Severity.MAJOR


@pytest.mark.parametrize(
    "name",
    [
        "F007",
        "f007",
        "7",
        "F7",
        "f-7",
        "F 7",
        "#7",
        "item 7",
        "[F007]",
        "`F007`",
        " F007 ",
        "Finding 7",
    ],
)
def test_an_item_is_known_by_many_names(name):
    assert parse_code(name) == (7, "")


@pytest.mark.parametrize(
    ("name", "part"),
    [("F007-2", "2"), ("F007.a", "a"), ("F007a", "a"), ("f007 (part 2)", "part2"), ("7/b", "b")],
)
def test_a_part_of_an_item_is_known_as_such(name, part):
    assert parse_code(name) == (7, part)


@pytest.mark.parametrize("name", ["", "BE-001x7", "seven", "R7", "F", "src/a.py:7", "F" + "7" * 90])
def test_other_names_are_no_item(name):
    assert parse_code(name) is None


def stated(answer, asked=(1, 2, 3)):
    return parse_statements(
        answer if isinstance(answer, str) else json.dumps(answer), frozenset(asked), "/project"
    )


class TestFixers:
    @pytest.mark.parametrize(
        ("word", "outcome"),
        [
            ("fixed", ClaimOutcome.FIXED),
            (" FIXED ", ClaimOutcome.FIXED),
            ("Fixed.", ClaimOutcome.FIXED),
            ("BLOCKED", ClaimOutcome.BLOCKED),
            ("won't fix", ClaimOutcome.BLOCKED),
            ("deferred", ClaimOutcome.DEFERRED),
            ("in_progress", ClaimOutcome.DEFERRED),
            ("partially-fixed", ClaimOutcome.DEFERRED),
            ("NOT FIXED", ClaimOutcome.DEFERRED),
            ("contested", ClaimOutcome.CONTESTED),
            ("Not a bug", ClaimOutcome.CONTESTED),
            ("already_fixed", ClaimOutcome.CONTESTED),
            ("fixed | blocked | deferred | contested", None),
            ("maybe", None),
        ],
    )
    def test_outcomes_are_understood_in_any_case_and_spacing(self, word, outcome):
        assert parse_outcome(word) == outcome

    @pytest.mark.parametrize(
        "answer",
        [
            {"outcomes": [{"id": "F001", "outcome": "fixed", "explanation": "bound it"}]},
            {"results": [{"finding_id": 1, "status": "Fixed", "justification": "bound it"}]},
            {"outcomes": {"F001": {"outcome": "fixed", "why": "bound it"}}},
            [{"id": "1", "outcome": "FIXED", "reason": "bound it"}],
            {"F001": {"status": "fixed", "explanation": "bound it"}},
        ],
    )
    def test_reports_are_read_in_many_shapes(self, answer):
        (report,) = stated(answer).reports
        assert (report.item, report.outcome, report.why) == (1, ClaimOutcome.FIXED, "bound it")

    def test_files_and_tests_are_paths_below_the_root(self):
        entry = {
            "id": "F001",
            "outcome": "fixed",
            "files": [
                "./src/a.py",
                "/project/src/b.py",
                "/etc/passwd",
                "../x",
                {"path": "c.py"},
                5,
            ],
            "tests": "tests/test_a.py",
        }
        (report,) = stated({"outcomes": [entry]}).reports
        assert (report.files, report.tests) == (
            ("src/a.py", "src/b.py", "c.py"),
            ("tests/test_a.py",),
        )

    @pytest.mark.parametrize(
        ("parts", "outcome"),
        [
            ({"F001-1": "fixed", "F001-2": "fixed"}, ClaimOutcome.FIXED),
            ({"F001-1": "fixed", "F001-2": "failed"}, ClaimOutcome.DEFERRED),
            ({"F001.a": "fixed", "F001.b": "blocked"}, ClaimOutcome.BLOCKED),
            ({"F001": "fixed", "F001.b": "deferred"}, ClaimOutcome.DEFERRED),
            ({"F001.a": "contested", "F001.b": "fixed"}, ClaimOutcome.DEFERRED),
        ],
    )
    def test_parts_fold_into_their_item(self, parts, outcome):
        said = stated(
            {
                "outcomes": [
                    {"id": name, "outcome": word, "why": name} for name, word in parts.items()
                ]
            }
        )
        assert [(report.item, report.outcome) for report in said.reports] == [(1, outcome)]

    def test_two_contradictory_answers_for_one_item_are_none(self):
        said = stated(
            {
                "outcomes": [
                    {"id": "F001", "outcome": "fixed"},
                    {"id": "1", "outcome": "blocked"},
                    {"id": "2", "outcome": "fixed"},
                ]
            }
        )
        assert said.contradicted == (1,)
        assert [report.item for report in said.reports] == [2]

    def test_a_contradiction_under_one_name_of_an_object_is_seen(self):
        said = stated(
            '{"outcomes": {"F001": {"outcome": "blocked", "why": "x"}, "F001": {"outcome": "fixed"}}}'
        )
        assert (said.contradicted, said.reports) == ((1,), ())

    def test_the_same_answer_twice_is_one(self):
        said = stated(
            {
                "outcomes": [
                    {"id": "F001", "outcome": "fixed", "why": "a"},
                    {"id": "F1", "outcome": "Fixed", "why": "b"},
                ]
            }
        )
        assert [(report.item, report.outcome, report.why) for report in said.reports] == [
            (1, ClaimOutcome.FIXED, "a\nb")
        ]

    def test_unknown_names_are_noted_and_cost_nothing(self):
        said = stated(
            {
                "outcomes": [
                    {"id": "F099", "outcome": "fixed"},
                    {"outcome": "fixed"},
                    None,
                    5,
                    {"id": "2", "outcome": "fixed"},
                ]
            }
        )
        assert said.unknown == ("F099", "(no name)")
        assert [report.item for report in said.reports] == [2]

    @pytest.mark.parametrize(
        ("why", "outcome"),
        [
            ("Partially fixed; the callers remain.", ClaimOutcome.DEFERRED),
            ("**Partly done**: the lock is missing", ClaimOutcome.DEFERRED),
            ("Partial reads are handled now", ClaimOutcome.FIXED),
            ("fixed the half-open interval", ClaimOutcome.FIXED),
        ],
    )
    def test_partly_fixed_is_deferred_whatever_the_outcome_says(self, why, outcome):
        answer = {"outcomes": [{"id": "F007", "outcome": "fixed", "explanation": why}]}
        (report,) = parse_statements(json.dumps(answer), {7, 8}, "/tree").reports
        assert (report.outcome, report.why) == (outcome, why)

    def test_a_word_that_is_no_outcome_defers(self):
        (report,) = stated({"outcomes": [{"id": "F001", "outcome": "sort of"}]}).reports
        assert report.outcome is ClaimOutcome.DEFERRED
        assert "sort of" in report.why

    def test_an_entry_that_breaks_off_is_no_report(self):
        said = stated(
            '{"outcomes": [{"id": "F001", "outcome": "fixed"}, {"id": "F002", "outcome": "fixed", "expl'
        )
        assert [report.item for report in said.reports] == [1]

    @pytest.mark.parametrize(
        "answer",
        [
            "",
            "I fixed all of them.",
            "quota exceeded",
            "[]",
            '{"done": true}',
            '{"outcomes": {"fixed": ["F001"]}}',
            '{"outcomes": "all fixed"}',
            "5",
        ],
    )
    def test_an_answer_of_the_wrong_kind_has_failed(self, answer):
        assert stated(answer).failed


def scored(answer, asked=(7,)):
    return parse_scores(answer if isinstance(answer, str) else json.dumps(answer), list(asked))


class TestChallengers:
    def test_a_score_has_all_it_was_given(self):
        answer = {
            "issues": {
                "F007": {
                    "score": 95,
                    "status": "SOLVED",
                    "feedback": "right",
                    "improvements_needed": ["tests", "names"],
                    "quality_scores": {"correctness": 100, "safety": 90, "style": "95"},
                }
            }
        }
        (score,) = scored(answer).scores
        assert (score.item, score.score, score.status, score.feedback) == (7, 95, "SOLVED", "right")
        assert (score.correctness, score.safety, score.style) == (100, 90, 95)
        assert score.improvements == ("tests", "names")
        assert score.approves()

    def test_the_number_beats_the_word(self):
        (score,) = scored({"issues": {"F007": {"score": 3, "status": "SOLVED"}}}).scores
        assert not score.approves()

    @pytest.mark.parametrize(
        ("raw", "number"),
        [
            (90, 90),
            (89.9, 89),
            ("95", 95),
            ("95/100", 95),
            ("95 %", 95),
            ({"value": 91}, 91),
            (0.95, 0),
        ],
    )
    def test_numbers_are_read_and_never_rounded_up(self, raw, number):
        assert scored({"issues": {"F007": {"score": raw}}}).scores[0].score == number

    @pytest.mark.parametrize(
        "raw",
        [
            None,
            "high",
            "9/10",
            True,
            [],
            [95],
            -1,
            101,
            "101",
            1e300,
            "95 or so",
            "SOLVED",
            {},
            "95x",
        ],
    )
    def test_what_is_no_score_between_0_and_100_approves_nothing_and_says_why(self, raw):
        (score,) = scored(
            {"issues": {"F007": {"score": raw, "status": "SOLVED", "feedback": "fine"}}}
        ).scores
        assert score.score is None
        assert "score" in score.feedback
        assert not score.approves()

    def test_an_item_that_is_not_mentioned_has_no_score(self):
        scores = scored({"issues": {"F007": {"score": 95}}}, asked=(7, 8)).scores
        assert [(score.item, score.score) for score in scores] == [(7, 95), (8, None)]
        assert scores[1].feedback

    @pytest.mark.parametrize(
        "answer",
        [
            "",
            "All good, 100/100!",
            '{"score": 95}',
            '{"issues": {}}',
            "null",
            '{"issues": {"F007": {"status": "SOLVED"}}}',
        ],
    )
    def test_an_answer_without_scores_has_failed_and_scores_nobody(self, answer):
        said = scored(answer)
        assert said.failed
        assert [score.score for score in said.scores] == [None]

    def test_of_several_scores_for_one_item_the_lowest_counts(self):
        listed = {
            "scores": [
                {"id": "F007-1", "score": 95},
                {"id": "F007-2", "score": 40},
                {"id": "F007", "score": 99},
            ]
        }
        assert scored(listed).scores[0].score == 40
        assert (
            scored('{"issues": {"F007": {"score": 20}, "F007": {"score": 99}}}').scores[0].score
            == 20
        )

    def test_a_score_that_breaks_off_does_not_count(self):
        said = scored(
            '{"issues": {"F007": {"score": 95}, "F008": {"score": 95, "feedback": "but',
            asked=(7, 8),
        )
        assert [score.score for score in said.scores] == [95, None]


class TestClarifiers:
    def test_questions_are_numbered_on_from_those_before(self):
        answer = {
            "questions_by_issue": [
                {
                    "issue_code": "F003",
                    "questions": [{"id": "F003-q1", "question": "Null?", "context": "API"}],
                }
            ]
        }
        asked = parse_questions(
            json.dumps(answer), {3}, [Doubt("F003-q1", 3, "Before?", answer="yes")]
        )
        assert asked.doubts == (Doubt("F003-q2", 3, "Null?", "API"),)
        assert not asked.ready

    def test_no_questions_and_ready(self):
        assert parse_questions(
            '{"has_questions": false, "questions_by_issue": [], "ready_to_plan": true}', {3}, ()
        ).ready

    @pytest.mark.parametrize(
        "answer",
        [
            '{"questions": ["Null?"]}',
            '{"questions_by_issue": {"F003": ["Null?"]}}',
            '{"questions": [{"question": "Null?"}], "ready": true}',
        ],
    )
    def test_questions_without_much_around_them_are_questions(self, answer):
        asked = parse_questions(answer, {3, 4}, ())
        assert [(doubt.id, doubt.question) for doubt in asked.doubts] == [("F003-q1", "Null?")]
        assert not asked.ready

    def test_ready_with_questions_is_not_ready(self):
        asked = parse_questions(
            '{"ready": true, "questions": [{"item": "F003", "question": "Null?"}]}', {3}, ()
        )
        assert (len(asked.doubts), asked.ready) == (1, False)

    @pytest.mark.parametrize(
        "answer",
        [
            "",
            "ready!",
            '{"ready_to_plan": false, "questions_by_issue": []}',
            '{"has_questions": true, "questions_by_issue": []}',
            '{"ready_to_plan": true, "questions": [{"severity": "x"}]}',
            '{"questions_by_issue": [{"issue',
        ],
    )
    def test_anything_else_has_failed(self, answer):
        asked = parse_questions(answer, {3}, ())
        assert asked.failed
        assert not asked.ready


class TestPlanners:
    def test_a_plan_has_all_it_was_given(self):
        answer = {
            "todos": [
                {
                    "code": "F003",
                    "approach": "Refactor",
                    "steps": ["one", "two"],
                    "files": ["./src/a.py", "/etc/passwd"],
                    "related_files": [{"path": "src/b.py", "reason": "model"}, "src/c.py"],
                    "existing_patterns": ["404 elsewhere"],
                    "estimated_lines_changed": 5,
                    "risks": [],
                    "verification": "call it",
                    "after": ["F004", "F003", "F099"],
                }
            ]
        }
        planned = parse_plan(json.dumps(answer), {3, 4}, "/project")
        (todo,) = planned.todos
        assert (todo.item, todo.approach, todo.steps, todo.files) == (
            3,
            Approach.REFACTOR,
            ("one", "two"),
            ("src/a.py",),
        )
        assert [(each.path, each.reason) for each in todo.related] == [
            ("src/b.py", "model"),
            ("src/c.py", ""),
        ]
        assert (todo.patterns, todo.lines_changed, todo.verification) == (
            ("404 elsewhere",),
            5,
            "call it",
        )
        assert planned.after == {3: (4,)}

    def test_plan_and_context_may_stand_one_level_down(self):
        answer = {
            "todos": [
                {
                    "issue_code": "F003",
                    "plan": {"steps": ["x"]},
                    "context": {"existing_patterns": ["p"]},
                }
            ]
        }
        (todo,) = parse_plan(json.dumps(answer), {3}, "/project").todos
        assert (todo.steps, todo.patterns) == (("x",), ("p",))

    def test_what_would_wait_for_itself_does_not_wait(self):
        answer = {
            "todos": [
                {"code": name, "steps": ["x"], "after": [after]}
                for name, after in (("F1", "F2"), ("F2", "F3"), ("F3", "F1"))
            ]
        }
        assert parse_plan(json.dumps(answer), {1, 2, 3}, "/project").after == {1: (2,), 2: (3,)}

    @pytest.mark.parametrize(
        "answer", ["", "Fix it.", '{"todos": []}', '{"todos": [{"code": "F099", "steps": ["x"]}]}']
    )
    def test_a_plan_for_nothing_has_failed(self, answer):
        assert parse_plan(answer, {3}, "/project").failed


class TestReproducers:
    def test_test_files_by_item(self):
        answer = {
            "tests": [
                {"id": "F003", "path": "tests/test_x.py", "content": "assert 1"},
                {"id": "F004", "path": "/etc/x", "content": "y"},
            ]
        }
        written = parse_tests(json.dumps(answer), {3, 4}, "/project")
        assert (written.tests, written.failed) == (((3, "tests/test_x.py", "assert 1\n"),), "")

    def test_where_no_test_can_be_used_it_says_why(self):
        answer = {
            "tests": [
                {"id": "F004", "path": "/etc/x", "content": "y"},
                {"id": "F009", "path": "a.py", "content": "y"},
            ]
        }
        why = "F004 has no test file with a path in the project and a content; F009 is none of the items"
        assert parse_tests(json.dumps(answer), {3, 4}, "/project").failed == why

    def test_no_test_at_all_is_an_answer(self):
        assert parse_tests('{"tests": []}', {3}, "/project").failed == ""

    def test_prose_is_none(self):
        assert parse_tests("I cannot.", {3}, "/project").failed


@pytest.mark.parametrize(
    ("said", "sure"),
    [
        ({"confidence": 85}, 85),
        ({"confidence": 0.29}, 29),
        ({"confidence": "0.9"}, 90),
        ({"confidence": "70%"}, 70),
        ({"self_evaluation": {"confidence": 60}}, 60),
        ({"confidence": 0}, 0),
        ({"confidence": 101}, None),
        ({"confidence": True}, None),
        ({"confidence": "very"}, None),
        ({}, None),
    ],
)
def test_how_sure_a_fixer_is_is_read_in_any_spelling(said, sure):
    answer = json.dumps({"outcomes": [{"id": "F003", "outcome": "fixed", **said}]})
    (claim,) = parse_statements(answer, {3}, "/project").reports
    assert (claim.outcome, claim.confidence) == (ClaimOutcome.FIXED, sure)
