"""proven with agents: everything the other workflows have, and every fixed item shows what stands behind it."""

from watching import Watch
from workbench import EDITS, FAULTS, finding, fix, fixer, review, scores

from punchlist.model.item.item import Fact, Status
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger.events import Attempted, Challenged, Examined, Reproduced
from punchlist.views.summary import find_gaps

TEST = (
    "import unittest\n\nfrom shop.prices import mean\n\n\n"
    "class Mean(unittest.TestCase):\n    def test_nothing(self):\n        self.assertIsNone(mean([]))\n"
)
VACUOUS = TEST.replace("self.assertIsNone(mean([]))", "self.assertEqual(mean([2]), 2)")
PRIVATE = {
    "role": "reproducer",
    "answer": {"tests": [{"id": "F001", "path": "tests/test_private.py", "content": TEST}]},
}
CLEAN = review()


TWO = ("robot", "critic")


def with_test(text=TEST, **more):
    """A fix of mean() with a test of the fixer's own."""
    done = fix("mean", tests=["tests/test_mean.py"])
    return fixer(
        {**done, "edits": [*done["edits"], {"path": "tests/test_mean.py", "content": text}]}, **more
    )


def kinds(item) -> set[ProofClass]:
    return {proof.kind for proof in item.proofs}


def test_a_fixed_item_shows_every_proof_it_has(bench):
    lines = (review("mean", times=1), CLEAN, PRIVATE, with_test(), scores(F001=95))
    bench.play(*lines, agents=TWO)
    run = bench.run()
    assert run.items[1].status is Status.FIXED
    assert kinds(run.items[1]) == {
        ProofClass.CLAIM, ProofClass.REVIEWED, ProofClass.CHECKED, ProofClass.WITNESSED, ProofClass.REPRODUCED,
    }  # fmt: skip
    assert "test_mean.py" in bench.repo.git("ls-tree", "-r", "--name-only", run.landing.branch), (
        "the witness lands with the fix"
    )
    assert "private" not in bench.repo.git("ls-tree", "-r", "--name-only", run.landing.branch)


def test_a_vacuous_test_is_reported_and_does_not_count(bench):
    bench.play(
        review("mean", times=1),
        CLEAN,
        with_test(VACUOUS),
        scores(F001=95),
        {"role": "reproducer", "answer": {"tests": []}},
    )
    watch = Watch()
    run = bench.run(watch=watch)
    assert ProofClass.WITNESSED not in kinds(run.items[1])
    assert any(
        "vacuous" in note or "without the fix" in note
        for event in watch.of(Examined)
        for note in event.noted
    )


def test_a_private_test_that_stays_red_sends_a_plausible_fix_back(bench):
    wrong = {
        "path": "shop/prices.py",
        "replace": EDITS["mean"][1],
        "with": "total(prices) / max(len(prices), 1)",
    }
    bench.play(
        review("mean", times=1),
        CLEAN,
        PRIVATE,
        fixer({**fix("mean"), "edits": [wrong]}, round=1),
        fixer(fix("mean")),
        scores(F001=95),
    )
    watch = Watch()
    run = bench.run(watch=watch)
    item = run.items[1]
    assert item.attempts[1].fact is Fact.REJECTED
    assert "assertIsNone(mean" not in item.attempts[1].why + item.attempts[1].evidence, (
        "the private test stays private"
    )
    assert item.status is Status.FIXED
    assert [event.red for event in watch.of(Reproduced)] == [True]


def test_tools_fix_what_they_can_and_agents_the_rest(bench):
    bench.repo.commit(
        {"shop/names.py": "import os\n\n\ndef initials(name):\n    return name\n"},
        "an unused import",
    )
    bench.play(review("mean", times=1), CLEAN, fixer(fix("mean")), scores(F002=95, F001=95))
    run = bench.run()
    by_source = {item.lead.source: item for item in run.items.values()}
    assert by_source["ruff"].status is Status.FIXED
    assert ProofClass.RECHECKED in kinds(by_source["ruff"])
    assert by_source["technical"].status is Status.FIXED


def test_what_a_fixer_put_off_is_no_burden_for_what_it_fixed_beside_it(bench):
    bench.repo.commit(
        {"shop/names.py": "KEY_PASSWORD = 'changeme'\n\n\ndef run(text):\n    return eval(text)\n"},
        "two complaints",
    )
    cured = {
        "when": "S307",
        "edits": [{"path": "shop/names.py", "replace": "eval(text)", "with": "text.strip()"}],
        "outcome": {"outcome": "fixed", "explanation": "no code is run"},
    }
    put_off = {
        "outcome": {
            "outcome": "deferred",
            "explanation": "tried, and the vault is not reachable from here",
        }
    }
    bench.play(CLEAN, fixer(cured, put_off), scores(F001=95, F002=95))
    run = bench.run(flags={"analyzers.select": "S105,S307"})
    by_rule = {item.current.rule: item for item in run.items.values()}
    assert by_rule["S307"].status is Status.FIXED
    assert [attempt.fact for attempt in by_rule["S307"].attempts] == [
        Fact.SAID_FIXED,
        Fact.COMMITTED,
    ]
    assert by_rule["S105"].status is Status.FILED
    assert "password" not in bench.repo.git("log", "-1", "--format=%s", run.landing.branch), (
        "a commit names only what it fixes"
    )


def test_a_fix_that_satisfies_the_analyzer_lands_though_no_answer_differs(bench):
    code = (
        "def level(text):\n    try:\n        return int(text)\n    except ValueError:\n"
        '        raise KeyError("no level")\n'
    )
    bench.repo.commit({"shop/names.py": code}, "an error that hides another")
    raised = {"path": "shop/names.py", "replace": 'level")', "with": 'level") from None'}
    cured = {"when": "B904", "edits": [raised], "outcome": {"outcome": "fixed", "explanation": "x"}}
    bench.play(CLEAN, fixer(cured), scores(F001=95))
    run = bench.run(flags={"analyzers.select": "B904"})
    (item,) = run.items.values()
    assert [attempt.fact for attempt in item.attempts] == [Fact.SAID_FIXED, Fact.COMMITTED]
    assert {ProofClass.RECHECKED, ProofClass.CHECKED} <= kinds(item)


def test_without_an_agent_the_analyzers_do_it_alone(bench):
    bench.play(agents=())
    run = bench.run()
    assert run.started.crew == {}
    assert bench.calls == []
    assert run.ended == "clean"


def test_two_batches_in_one_file_are_done_one_on_top_of_the_other(bench):
    flags = {"limits.width": "4"}
    text = bench.folder / "alone.yaml"
    text.write_text(
        "about: each item alone\nsteps:\n  - review: {by: [technical], analyzers: false}\n  - consolidate: {}\n"
        "  - plan: {group: item}\n  - fix: {}\n  - verify: {}\n  - commit: {}\n  - report: {}\n"
    )
    bench.play(review("mean", "cheapest", "page"), fixer(*map(fix, FAULTS), seconds=0.3))
    watch = Watch()
    run = bench.run(str(text), watch=watch, flags=flags)
    assert {item.status for item in run.items.values()} == {Status.FIXED}
    assert len(run.landing.landed) == 3
    assert len(watch.of(Attempted)) == 3


def test_two_batches_that_change_the_same_line_are_judged_as_one(bench):
    text = bench.folder / "alone.yaml"
    text.write_text(
        "about: each item alone\nsteps:\n  - review: {by: [technical], analyzers: false}\n  - consolidate: {}\n"
        "  - plan: {group: item}\n  - fix: {}\n  - verify: {}\n  - commit: {}\n  - report: {}\n"
    )
    other = finding(
        "cheapest",
        title="cheapest() sorts for nothing",
        description="min() is enough",
        severity="minor",
    )
    said = {"role": "technical", "answer": {"findings": [finding("cheapest"), other]}}
    first = fix("cheapest")
    second = {
        "when": other["title"],
        "edits": [
            {"path": "shop/prices.py", "replace": "sorted(prices)[0]", "with": "min(prices)"}
        ],
        "outcome": {"outcome": "fixed", "explanation": "simpler"},
    }
    bench.play(said, fixer(first, prompt=FAULTS["cheapest"][0]), fixer(second))
    watch = Watch()
    run = bench.run(str(text), watch=watch)
    assert [event.absorbed for event in watch.of(Attempted)] == [{}, {1: 2}]
    assert {item.status for item in run.items.values()} == {Status.FIXED}
    assert len(run.landing.landed) == 1
    assert "min(prices)" in bench.landed("shop/prices.py")


def test_a_contest_that_the_challenger_agrees_with_ends_the_item(bench):
    bench.play(
        review("mean", times=1),
        CLEAN,
        fixer(fix("mean", "contested", "callers check for an empty list first")),
        scores(F001=95),
        agents=TWO,
    )
    run = bench.run()
    assert run.items[1].status is Status.DISMISSED
    assert run.items[1].attempts[-1].fact is Fact.CONTEST_AGREED
    assert run.items[1].attempts[-1].by == "critic"


def test_a_contest_that_nobody_agrees_with_leaves_the_item_open(bench):
    bench.play(
        review("mean", times=1),
        CLEAN,
        fixer(fix("mean", "contested", "callers check first")),
        scores(F001=20),
    )
    assert bench.run().items[1].status is Status.FILED


def test_where_the_first_agent_fails_the_next_one_is_asked(bench):
    down = {"fail": {"text": "exit code 3", "trouble": "crashed"}}
    bench.play(
        review("page", times=1), CLEAN, {"role": "fixer", "times": 1, **down}, fixer(fix("page")), scores(F001=95),
        agents=("first", "second"),
    )  # fmt: skip
    run = bench.run()
    assert run.items[1].status is Status.FIXED
    assert [agent for agent, role in bench.calls if role == "fixer"][:2] == ["first", "second"]


def test_a_reviewer_that_changes_files_has_not_reviewed(bench):
    writes = review("mean") | {
        "disobey": True,
        "edits": [{"path": "shop/prices.py", "append": "# me\n"}],
    }
    bench.play(writes, fixer(fix("mean")), scores(F001=95))
    run = bench.run()
    assert any("changed files, though it was only to look" in reason for reason in run.blind)
    assert run.ended == "incomplete"


def test_a_challenger_that_changes_files_has_approved_nothing(bench):
    writes = scores(F001=95) | {
        "disobey": True,
        "edits": [{"path": "shop/prices.py", "append": "# me\n"}],
    }
    bench.play(review("mean", times=1), CLEAN, fixer(fix("mean")), writes, agents=TWO)
    run = bench.run()
    (event,) = [gap for gap in find_gaps(run) if "gave no verdict" in gap.what]
    assert event.why == "it changed the files that it was to judge"
    assert "scored" not in str(run.items[1].proofs)


def test_canaries_say_how_often_the_challenger_is_wrong(bench):
    text = bench.folder / "canaries.yaml"
    text.write_text(
        "about: with canaries\nsteps:\n  - review: {by: [technical], analyzers: false}\n  - consolidate: {}\n"
        "  - plan: {}\n  - fix: {}\n  - verify: {}\n  - challenge: {canaries: 4}\n  - commit: {}\n  - report: {}\n"
    )
    all_good = {"each": {"id": "{code}", "score": 99, "status": "SOLVED", "feedback": "lovely"}}
    bench.play(
        review("page"),
        fixer(fix("page")),
        {"role": "challenger", "answer": {"issues": all_good}},
        agents=TWO,
    )
    watch = Watch()
    run = bench.run(str(text), watch=watch)
    (event,) = watch.of(Challenged)
    assert "refused 0 of 2" in event.canaries
    assert "approved 2 of 2" in event.canaries
    assert any("refused 0 of 2" in proof.said for proof in run.items[1].proofs)


def test_what_no_agent_was_shown_or_opened_is_said(bench):
    long = "".join(f"value_{n} = {n}\n" for n in range(4000))
    bench.repo.commit({"shop/long.py": long}, "a long file")
    bench.play(review(opened=["shop/prices.py"]))
    run = bench.run(flags={"agents.prompt-limit": "12000"})
    assert "shop/long.py" in run.reviewing.looked_over["technical"]
    assert run.ended == "incomplete", "nothing is clean that was not looked at"
