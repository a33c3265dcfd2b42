"""The fix report: what agents said, what was seen, and how long it took, cycle by cycle; none where no agent tried anything."""

import json

import pytest
from sample_run import Ledger, started

from punchlist.adapters.reports import fix_report as rendered
from punchlist.model.checks.check import CheckVerdict
from punchlist.model.finding.finding import Finding, Splice, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.batch import Batch
from punchlist.model.item.claim import ClaimOutcome, ItemClaim
from punchlist.model.item.item import Fact, Item, Move
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.item.score import Score
from punchlist.model.item.usage import Usage
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.patch.hunk import Hunk
from punchlist.model.patch.patch import Patch
from punchlist.views.fix_report import NO_CHANGES, CycleStatus, fix_report

GREEN = CheckVerdict(check="pytest", passed=True, why="12 tests", collected=12, seconds=2)
RED = CheckVerdict(
    check="pytest",
    passed=False,
    why="1 newly failing: test_a",
    failing=("test_a",),
    seconds=2,
    evidence="x" * 5000,
)


def item(number: int) -> Item:
    found = Finding(
        id=f"f{number}",
        source="a",
        title=f"bug {number}",
        spot=Spot("a.py", number),
        severity=Severity.MAJOR,
    )
    return Item(number=number, fingerprint=f"{number:016x}", findings=(found,))


class Story(Ledger):
    """A run of one loop, told round by round."""

    def __init__(self) -> None:
        super().__init__("r1")
        self.tell("start", "started", started())
        self.tell(
            "0",
            "reviewer",
            ev.Reviewed(
                reviewer="reviewer", commit="c", findings=item(1).findings + item(2).findings
            ),
        )
        self.tell("1", "items", ev.Consolidated(items=(item(1), item(2))))

    def attempt(self, round_: int, *batches: int, **changes) -> None:
        planned = tuple(
            Batch(number=n, items=(1,), fixer="agent", title="t", paths=("a.py",))
            for n in batches or (round_,)
        )
        self.tell(f"2.{round_}.0", "batches", ev.Planned(batches=planned))
        values = {
            "fixer": "agent",
            "agent": "claude",
            "patches": {each.number: Patch((Splice("a.py", 0, 1, "b"),)) for each in planned},
            "hunks": {each.number: (Hunk("a.py", 1, ("-a = 1", "+b = 1")),) for each in planned},
            "reports": (ItemClaim(1, ClaimOutcome.FIXED, "renamed it"),),
            "transcript": "agents/1.jsonl",
            "moves": (Move(1, Fact.SAID_FIXED, by="claude"),),
            "usage": Usage(seconds=30, input_tokens=1000, output_tokens=200, dollars=0.05),
        }
        self.tell(f"2.{round_}.1", "agent", ev.Attempted(**(values | changes)), 30)

    def verify(self, round_: int, verdict: CheckVerdict, passed=(), failed=None, **more) -> None:
        numbers = (*passed, *(failed or {}))
        trial = ev.Tried(
            batches=numbers, verdicts=(verdict,), complete=True, usage=Usage(seconds=2, checks=1)
        )
        self.tell(f"2.{round_}.2", "trial 1", trial, 2)
        moves = tuple(
            Move(1, Fact.REJECTED, by="verify", why=why) for why in (failed or {}).values()
        )
        self.tell(
            f"2.{round_}.2",
            "verdict",
            ev.Verified(passed=passed, failed=failed or {}, moves=moves, **more),
        )

    def end(self, round_: int, *landed: int) -> None:
        if landed:
            commits = tuple(ev.Landed(number, f"c{number}") for number in landed)
            moves = (Move(1, Fact.COMMITTED, ref=commits[-1].commit),)
            self.tell(
                f"2.{round_}.3",
                "land",
                ev.Committed(branch="b", tip="t", landed=commits, moves=moves),
            )
        self.tell(f"2.{round_}.4", "decision", ev.RoundEnded(round=round_))

    @property
    def told(self):
        return fold_entries("r1", self.entries)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (ProofClass.WITNESSED, CycleStatus.PASSED),
        (ProofClass.CHECKED, CycleStatus.PASSED),
        (ProofClass.REVIEWED, CycleStatus.UNVERIFIED),
    ],
)
def test_where_no_check_was_usable_before_tests_that_turned_green_judge_the_cycle(kind, status):
    story = Story()
    story.attempt(1)
    story.tell("2.1.2", "verdict", ev.Verified(passed=(1,), unverified="no test passed before"))
    move = Move(1, Fact.COMMITTED, ref="c1", proofs=(Proof(kind, "seen"),))
    landed = ev.Landed(1, "c1", items=(1,))
    event = ev.Committed(branch="b", tip="t", landed=(landed,), moves=(move,))
    story.tell("2.1.3", "land", event)
    (cycle,) = fix_report(story.told).cycles
    assert cycle.verification.status is status
    assert bool(cycle.verification.unverified) is (status is CycleStatus.UNVERIFIED)


def test_one_cycle_that_passes():
    story = Story()
    story.attempt(1)
    story.verify(1, GREEN, passed=(1,))
    story.end(1, 1)
    report = fix_report(story.told)
    assert (report.final_status, report.total_cycles, report.fixes_applied) == (
        CycleStatus.PASSED,
        1,
        1,
    )
    (cycle,) = report.cycles
    assert cycle.agents[0].claims == (ItemClaim(1, ClaimOutcome.FIXED, "renamed it"),)
    assert (cycle.agents[0].agent, cycle.agents[0].transcript) == ("claude", "agents/1.jsonl")
    assert cycle.diff == "--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,1 @@\n-a = 1\n+b = 1\n"
    assert [(run.check, run.passed) for run in cycle.verification.checks] == [("pytest", True)]
    assert cycle.seconds == pytest.approx(32.04, abs=0.1)


def test_the_first_cycle_fails_and_the_second_passes():
    story = Story()
    story.attempt(1)
    story.verify(1, RED, failed={1: "breaks test_a"})
    story.end(1)
    story.attempt(2)
    story.verify(2, GREEN, passed=(2,))
    story.end(2, 2)
    report = fix_report(story.told)
    assert [cycle.verification.status for cycle in report.cycles] == [
        CycleStatus.FAILED,
        CycleStatus.PASSED,
    ]
    assert report.cycles[0].verification.failures == (
        "pytest: 1 newly failing: test_a",
        "verdict, batch 1: breaks test_a",
    )
    assert report.final_status is CycleStatus.PASSED


def test_three_cycles_that_all_fail_are_a_failure():
    story = Story()
    for round_ in (1, 2, 3):
        story.attempt(round_)
        story.verify(round_, RED, failed={round_: "breaks test_a"})
        story.end(round_)
    report = fix_report(story.told)
    assert (report.total_cycles, report.final_status, report.fixes_applied) == (
        3,
        CycleStatus.FAILED,
        0,
    )


def test_a_cycle_without_a_change_is_noted_and_never_passed():
    story = Story()
    story.attempt(1, patches={}, hunks={}, refused={1: "no change was made"}, moves=())
    story.end(1)
    (cycle,) = fix_report(story.told).cycles
    assert (cycle.note, cycle.diff, cycle.verification.status) == (
        NO_CHANGES,
        "",
        CycleStatus.UNVERIFIED,
    )
    assert "## Cycle 1: no changes applied" in rendered.render_markdown(story.told).decode()


def test_what_no_check_judged_or_was_cut_short_is_unverified():
    story = Story()
    story.attempt(1)
    story.tell("2.1.2", "verdict", ev.Verified(passed=(1,), unverified="no checks are configured"))
    story.end(1, 1)
    assert fix_report(story.told).final_status is CycleStatus.UNVERIFIED
    story = Story()
    story.attempt(1)
    story.tell("signal", "interrupted 9", ev.Interrupted(reason="stopped"))
    (cycle,) = fix_report(story.told).cycles
    assert (cycle.verification.status, cycle.verification.unverified) == (
        CycleStatus.UNVERIFIED,
        "the changes were not judged to the end",
    )


def test_an_agent_that_crashed_and_a_challenger_that_refuses_are_failures():
    story = Story()
    story.attempt(1, patches={}, hunks={}, reports=(), failed="exit code 1", moves=())
    story.end(1)
    story.attempt(2)
    story.verify(2, GREEN, passed=(2,))
    moves = (Move(1, Fact.REJECTED, by="gemini", why="scored 70 of 90 needed: an edge is missing"),)
    story.tell("2.2.3", "judge", ev.Challenged(scores=(Score(1, 70),), agent="gemini", moves=moves))
    story.end(2)
    first, second = fix_report(story.told).cycles
    assert first.verification.failures == ("claude: exit code 1",)
    assert second.verification.failures == (
        "gemini, item 1: scored 70 of 90 needed: an edge is missing",
    )
    assert second.verification.scores == (Score(1, 70),)


def test_what_is_held_against_a_tools_fix_is_not_held_against_the_agent():
    story = Story()
    story.attempt(1)
    story.verify(1, RED, passed=(1,), failed={7: "breaks test_a"})
    story.end(1, 7, 1)
    report = fix_report(story.told)
    assert (report.final_status, report.fixes_applied) == (CycleStatus.PASSED, 1)


def test_a_run_without_agents_has_no_such_report(run):
    assert fix_report(run).cycles == ()
    assert rendered.render_markdown(run) == rendered.render_json(run) == b""


def test_the_markdown_tells_claims_checks_and_the_diff_and_nothing_in_it_acts():
    story = Story()
    hostile = "<script>x</script> @ada ```\n# not a heading"
    hunk = Hunk("a.py", 1, ("-a", "+```", "+b"))
    story.attempt(
        1,
        reports=(ItemClaim(1, ClaimOutcome.FIXED, hostile),),
        hunks={1: (hunk,)},
        noted={1: ("b.py: touched",)},
        left_out=(2,),
    )
    story.verify(1, GREEN, passed=(1,))
    story.end(1, 1)
    text = rendered.render_markdown(story.told).decode()
    for line in (
        "- **Final status:** passed",
        "- **Total cycles:** 1",
        "- **Fixes applied:** 1 commit",
        "### claude",
        "- Note: b.py: touched",
        "- Did not fit into the prompt, and comes next: F002",
        "- Transcript: agents/1.jsonl",
        "- It took 30.0 s, 1,200 tokens, $0.050",
        "- pytest over batch 1: passed: 12 tests",
        "````diff",
    ):
        assert line in text, line
    assert "<script" not in text
    assert "@ada" not in text
    assert "\n# not" not in text
    assert len(text) < 5000
    assert json.loads(rendered.render_json(story.told))["final_status"] == "passed"
