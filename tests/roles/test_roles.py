"""Roles: a typed question in, a typed answer out; what does not fit is asked for again once, and then it has failed."""

import asyncio
import json

import jsonschema
import pytest
from canned import Canned, item

from punchlist.model.finding.severity import Severity
from punchlist.model.item.claim import ClaimOutcome
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble, Reply
from punchlist.ports.roles import ROLES, Background, Exhibit, Reproduction, RoleTask
from punchlist.roles.answers import schemas
from punchlist.roles.crew import build_crew

NONE = Background()
FINDING = {"title": "Leak", "file_path": "src/a.py", "line_start": 5, "severity": "critical"}
DIFF = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-a\n+{1}\n"


def playing(role, *answers, limit=400_000, **options):
    agent = Canned(*answers, **options)
    heard = []
    return (
        build_crew({role: agent}, {}, limit, lambda label, piece: heard.append((label, piece))),
        agent,
        heard,
    )


def review(tree, *answers, role="technical", told=NONE, paths=None, **options):
    cast, agent, _ = playing(role, *answers, **options)
    return asyncio.run(cast.reviewers[role].review(tree, paths, told, "1 review")), agent


def fix(tree, *answers, items=None, limit=400_000, session="s1", **fields):
    cast, agent, _ = playing("fixer", *answers, limit=limit, session=session)
    task = RoleTask(label="2 fix", items=items or (item(7), item(8)), told=NONE, **fields)
    return asyncio.run(cast.fixer.fix(task, tree)), agent


def test_an_answer_that_fits_is_asked_for_once(tree):
    opinion, agent = review(tree, {"findings": [FINDING]})
    assert [finding.title for finding in opinion.findings] == ["Leak"]
    assert (opinion.agent, opinion.session, opinion.transcript, opinion.failed) == (
        "canned",
        "s1",
        "t1",
        "",
    )
    (ask,) = agent.asks
    assert (ask.role, ask.label, ask.folder, ask.writes, ask.session) == (
        "technical",
        "1 review",
        tree.root,
        False,
        "",
    )


def test_an_answer_that_does_not_fit_is_asked_for_again_in_the_same_conversation(tree):
    opinion, agent = review(tree, "LGTM", {"findings": [FINDING]})
    assert (len(opinion.findings), opinion.failed) == (1, "")
    assert opinion.usage == Usage(2, 20, 10)
    again = agent.asks[1]
    assert (again.label, again.session) == ("1 review again", "s1")
    assert "there is no JSON in the answer, which begins with 'LGTM'" in again.prompt
    assert len(again.prompt) < 1000


def test_without_a_conversation_everything_is_said_again(tree):
    _, agent = review(tree, "LGTM", {"findings": []}, session="")
    assert agent.asks[1].prompt.startswith(agent.prompt)


def test_after_the_second_time_it_has_failed_and_nothing_is_clean(tree):
    opinion, agent = review(tree, "LGTM", "Really, LGTM")
    assert opinion.failed == "there is no JSON in the answer, which begins with 'Really, LGTM'"
    assert len(agent.asks) == 2
    assert opinion.usage == Usage(2, 20, 10)


def test_an_agent_that_failed_is_not_asked_again(tree):
    opinion, agent = review(
        tree,
        Reply(
            agent="canned", failed="429", trouble=AgentTrouble.RATE_LIMIT, text='{"findings": []}'
        ),
    )
    assert (opinion.failed, opinion.findings, len(agent.asks)) == ("429", (), 1)


def test_an_agent_that_fails_the_second_time_says_both(tree):
    opinion, _ = review(tree, "", Reply(agent="canned", failed="crashed"))
    assert opinion.failed == "the answer is empty; asked again: crashed"


@pytest.mark.parametrize("role", ["unified", "spec", "technical", "adversarial"])
def test_repeating_the_prompt_is_no_answer(tree, role):
    class Echo(Canned):
        async def ask(self, ask, hear):
            self._answers = [f"You said:\n{ask.prompt}\nRight?"]
            return await super().ask(ask, hear)

    agent = Echo()
    opinion = asyncio.run(
        build_crew({role: agent}, {}, 90_000).reviewers[role].review(tree, None, NONE, "x")
    )
    assert opinion.failed.startswith("there is no JSON in the answer")
    # Nor is it clean where only a part of it is repeated.
    opinion, _ = review(tree, agent.prompt[5:], role=role)
    assert opinion.failed or opinion.findings


def test_what_an_agent_says_is_heard_under_the_label_of_the_call(tree):
    cast, _, heard = playing("technical", "hm", {"findings": []})
    asyncio.run(cast.reviewers["technical"].review(tree, None, NONE, "x"))
    assert heard == [("x", "hm"), ("x again", '{"findings": []}')]


def test_files_whose_diff_did_not_fit_are_named_and_those_opened_are_told(tree):
    told = Background(diff=DIFF.format("src/a.py", "b") + DIFF.format("big.py", "x" * 9000))
    reply = Reply(agent="canned", text='{"findings": []}', opened=("src/a.py",))
    opinion, agent = review(tree, reply, told=told, limit=10_000)
    assert (opinion.unshown, opinion.opened) == (("big.py",), ("src/a.py",))
    assert opinion.cut == ("diff: big.py did not fit",)
    assert opinion.cut[0] in agent.prompt
    assert len(agent.prompt) <= 10_000


def test_files_without_a_diff_are_named_for_reading(tree):
    _, agent = review(
        tree,
        {"findings": []},
        told=Background(diff=DIFF.format("src/a.py", "b")),
        paths=["src/a.py", "other.py"],
    )
    assert "- `other.py`" in agent.prompt
    assert "- `src/a.py`" not in agent.prompt


@pytest.mark.parametrize("role", ["unified", "spec", "technical", "adversarial"])
def test_each_reviewer_is_told_its_own_task_and_the_change(tree, role):
    told = Background(
        diff=DIFF.format("src/a.py", "b"),
        specification={"spec.md": "It shall search."},
        base="main",
    )
    opinion, agent = review(tree, {"findings": [FINDING]}, role=role, told=told)
    assert opinion.findings[0].source == role
    assert "since `main`" in agent.prompt
    assert ("It shall search." in agent.prompt) == (role != "technical")
    telling = {
        "unified": "subagents",
        "spec": "requirement",
        "technical": "technique",
        "adversarial": "for the first time",
    }
    assert telling[role] in agent.prompt


def test_the_unified_reviewer_sends_out_two_experts_and_groups_what_is_independent(tree):
    told = Background(
        diff=DIFF.format("src/a.py", "b"),
        specification={"specs/search/spec.md": "It shall search."},
        conventions={"CLAUDE.md": "Use CommandRunner."},
    )
    _, agent = review(tree, {"groups": []}, role="unified", told=told)
    prompt = " ".join(agent.prompt.split())
    for said in (
        "send out at least two experts at the same time, and wait for both",
        "**The language expert** looks at",
        "types, idiom, the right use of the standard library and of third-party libraries",
        "concurrency",
        "**The specification expert** looks at completeness",
        "data models, contracts between parts",
        "put everything into one list. Report each problem once",
        "fixed independently of all others (other files, no dependency) into groups of their own",
        "It shall search.",
        "Use CommandRunner.",
        '"line": "45 or 45-67',
        '"severity": "critical | major | minor"',
        "fix_hint",
    ):
        assert said in prompt
    six = "spec_gap library_standards clean_code type_hints testing data_model".split()
    assert all(word in prompt for word in six)


def test_a_truncated_review_is_kept_and_marked_and_not_asked_for_again(tree):
    text = json.dumps({"findings": [FINDING, FINDING]})[:-20]
    opinion, agent = review(tree, text)
    assert (len(opinion.findings), len(opinion.refused), len(agent.asks)) == (1, 1, 1)
    assert opinion.incomplete


def test_a_fixer_may_write_and_goes_on_with_its_conversation(tree):
    claims, agent = fix(tree, {"outcomes": [{"id": "F007", "outcome": "fixed"}]}, session="s2")
    assert [(report.item, report.outcome) for report in claims.reports] == [(7, ClaimOutcome.FIXED)]
    (ask,) = agent.asks
    assert (ask.role, ask.writes, ask.fork) == ("fixer", True, False)


def test_a_conversation_is_taken_up_where_it_was_left(tree):
    cast, agent, _ = playing("fixer", "hm", {"outcomes": []})
    task = RoleTask(label="2 fix", items=(item(7),), told=NONE, session="before", fork=True)
    asyncio.run(cast.fixer.fix(task, tree))
    assert [(ask.session, ask.fork) for ask in agent.asks] == [("before", True), ("s1", False)]
    assert "Do not change any file now" in agent.asks[1].prompt


def test_items_that_did_not_fit_are_left_out_and_not_reported_on(tree):
    items = (
        *(item(n, Severity.MINOR, detail="x" * 5000) for n in range(1, 9)),
        item(9, Severity.CRITICAL),
    )
    claims, agent = fix(
        tree,
        {"outcomes": [{"id": f"F{n:03}", "outcome": "fixed"} for n in range(1, 10)]},
        items=items,
        limit=14_000,
    )
    assert 9 not in claims.left_out
    assert {report.item for report in claims.reports} == set(range(1, 10)) - set(claims.left_out)
    assert claims.left_out
    assert set(claims.unknown) == {f"F{n:03}" for n in claims.left_out}
    assert claims.cut[0] in agent.prompt


def test_where_not_even_one_item_fits_nobody_is_asked_and_the_attempt_counts(tree):
    claims, agent = fix(tree, limit=500)
    assert "raise agents.prompt-limit" in claims.failed
    assert claims.left_out == ()
    assert agent.asks == []


def test_a_prompt_too_long_for_the_agent_is_halved_once_and_what_is_left_out_is_said(tree):
    items = tuple(item(n, detail=f"{n}" * 3000) for n in range(1, 9))
    too_long = Reply(
        agent="canned",
        failed="prompt is too long",
        trouble=AgentTrouble.TOO_LONG,
        usage=Usage(1, 1, 1),
    )
    claims, agent = fix(
        tree, too_long, {"outcomes": [{"id": "F001", "outcome": "fixed"}]}, items=items
    )
    assert [ask.label for ask in agent.asks] == ["2 fix", "2 fix"]
    assert len(agent.asks[1].prompt) <= len(agent.prompt) // 2
    assert (claims.failed, claims.usage) == ("", Usage(2, 11, 6))
    assert claims.left_out
    opinion, agent = review(
        tree, too_long, too_long, told=Background(diff=DIFF.format("src/a.py", "b" * 50_000))
    )
    assert (opinion.failed, opinion.unshown, len(agent.asks)) == (
        "prompt is too long",
        ("src/a.py",),
        2,
    )


def test_a_challenger_scores_every_item_or_says_why_not(tree):
    cast, agent, _ = playing("challenger", {"issues": {"F007": {"score": 95, "status": "SOLVED"}}})
    task = RoleTask(label="3", items=(item(7), item(8)), told=NONE)
    judgement = asyncio.run(
        cast.challenger.judge(task, [Exhibit(1, DIFF.format("src/a.py", "b"), (7, 8))], tree)
    )
    assert [(score.item, score.score) for score in judgement.scores] == [(7, 95), (8, None)]
    assert not agent.asks[0].writes
    assert set(agent.asks[0].schema["properties"]["issues"]["properties"]) == {"F007", "F008"}


@pytest.mark.parametrize(
    "answers", [("fine", "all fine"), (Reply(agent="canned", failed="crashed"),)]
)
def test_a_challenger_that_fails_approves_nothing(tree, answers):
    cast, _, _ = playing("challenger", *answers)
    judgement = asyncio.run(
        cast.challenger.judge(
            RoleTask(label="3", items=(item(7),), told=NONE), [Exhibit(1, "", (7,))], tree
        )
    )
    assert judgement.failed
    assert [(score.item, score.score, bool(score.feedback)) for score in judgement.scores] == [
        (7, None, True)
    ]


def test_a_clarifier_asks(tree):
    cast, _, _ = playing(
        "clarifier", {"questions": [{"item": "F007", "question": "Null?"}], "ready": False}
    )
    doubts = asyncio.run(
        cast.clarifier.clarify(RoleTask(label="4", items=(item(7),), told=NONE), tree)
    )
    assert [(doubt.id, doubt.question) for doubt in doubts.doubts] == [("F007-q1", "Null?")]
    assert not doubts.ready


def test_a_clarifier_that_fails_is_not_ready(tree):
    cast, _, _ = playing("clarifier", Reply(agent="canned", failed="crashed"))
    doubts = asyncio.run(
        cast.clarifier.clarify(RoleTask(label="4", items=(item(7),), told=NONE), tree)
    )
    assert (doubts.failed, doubts.ready) == ("crashed", False)


def test_a_planner_plans(tree):
    cast, agent, _ = playing(
        "planner",
        {"todos": [{"code": "F007", "approach": "patch", "steps": ["x"], "files": ["src/a.py"]}]},
    )
    plans = asyncio.run(
        cast.planner.plan(RoleTask(label="5", items=(item(7),), told=NONE, session="clarify"), tree)
    )
    assert [(todo.item, todo.files) for todo in plans.todos] == [(7, ("src/a.py",))]
    assert agent.asks[0].session == "clarify"


def test_a_reproducer_writes_tests(tree):
    cast, _, _ = playing(
        "reproducer", {"tests": [{"id": "F007", "path": "tests/test_x.py", "content": "assert 0"}]}
    )
    said = asyncio.run(
        cast.reproducer.reproduce(RoleTask(label="6", items=(item(7),), told=NONE), tree)
    )
    assert said.tests == (Reproduction(7, "tests/test_x.py", "assert 0\n"),)


def test_a_role_nobody_plays_is_missing():
    empty = build_crew({}, {}, 1000)
    assert (
        dict(empty.reviewers),
        empty.fixer,
        empty.challenger,
        empty.clarifier,
        empty.planner,
        empty.reproducer,
    ) == ({}, *[None] * 5)
    full = build_crew({role: Canned() for role in ROLES}, {}, 1000)
    assert set(full.reviewers) == {"unified", "spec", "technical", "adversarial"}
    assert None not in (full.fixer, full.challenger, full.clarifier, full.planner, full.reproducer)


SCHEMAS = {
    "grouped": schemas.GROUPED,
    "findings": schemas.FINDINGS,
    "outcomes": schemas.OUTCOMES,
    "questions": schemas.QUESTIONS,
    "todos": schemas.TODOS,
    "tests": schemas.TESTS,
    "scores": schemas.build_scores([7, 8]),
}


def objects(schema):
    if schema.get("type") == "object":
        yield schema
    for inner in (
        *schema.get("properties", {}).values(),
        *([schema["items"]] if "items" in schema else []),
    ):
        yield from objects(inner)


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_of_the_strict_dialect(name):
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])
    for each in objects(SCHEMAS[name]):
        assert each["required"] == list(each["properties"])
        assert each["additionalProperties"] is False


def test_too_many_items_for_a_schema_have_none():
    assert schemas.build_scores(range(1, 500)) is None
    assert schemas.build_scores([]) is None


def test_the_example_in_a_prompt_is_of_the_shape_that_its_schema_asks_for():
    from punchlist.roles.prompting.template import load_prompt
    from punchlist.roles.reviewer import LENSES

    own = {
        "fixer": schemas.OUTCOMES,
        "clarifier": schemas.QUESTIONS,
        "planner": schemas.TODOS,
        "reproducer": schemas.TESTS,
    }
    wanted = {
        **{role: lens.schema for role, lens in LENSES.items()},
        **own,
        "challenger": schemas.build_scores([3]),
    }
    for role, schema in wanted.items():
        prompt = load_prompt(role).replace("{{ code }}", "F003")
        example = json.loads(prompt.split("```json\n")[-1].split("\n```")[0])
        assert shape(example) == shape_of(schema), role


def shape(value):
    """Names and nesting, whatever the values."""
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    return (
        [shape(value[0])]
        if isinstance(value, list) and value and isinstance(value[0], dict)
        else ()
    )


def shape_of(schema):
    if schema.get("type") == "object":
        return {name: shape_of(each) for name, each in schema["properties"].items()}
    return [shape_of(schema["items"])] if schema.get("items", {}).get("type") == "object" else ()
