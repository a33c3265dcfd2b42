"""A recorded run under other rules: what would have gone differently, told from the ledger alone, and what nobody can know."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from made import made_run
from punchlist.app.after.audit import audit_lines
from punchlist.app.after.replay import FileMatch, replay_entries
from punchlist.errors import UsageError
from punchlist.model.finding.finding import Finding, Splice, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.integrity.challenge_verdict import judge_batches
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Fact, Item, Move, Status
from punchlist.model.item.score import Score
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold, fold_entries
from punchlist.model.ledger.hash_chain import encode_line, link_entry
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.model.patch.patch import Patch
from punchlist.views.what_if import ReplayFate, ReplayRules, hash_state, what_if
from punchlist.workflow.loader import load_builtin


def item(number: int, severity: Severity = Severity.MAJOR) -> Item:
    found = Finding(
        id=f"f{number}",
        source="a",
        title=f"bug {number}",
        spot=Spot(f"{number}.py", 1),
        severity=severity,
    )
    return Item(number=number, fingerprint=f"{number:016x}", findings=(found,))


def batch(number: int, *items: int, path: str = "") -> Batch:
    return Batch(
        number=number, items=items, fixer="agent", title="t", paths=(path or f"{items[0]}.py",)
    )


class Story:
    """A run of the challenged kind, told by the same functions that the steps use."""

    def __init__(self, *items: Item) -> None:
        self.run, self.entries = made_run(id="r1"), []
        change = Change(kind=ScopeKind.ALL, base="b", head="h")
        self.tell(
            "start",
            ev.Started(
                repository="r", change=change, workflow_name="proven", workflow=load_builtin("proven").text, settings="{}",
                reviewers=("a",), checks=(), checks_allowed=False, version="0",
            ),
        )  # fmt: skip
        self.tell(
            "0", ev.Reviewed(reviewer="a", commit="h", findings=tuple(each.lead for each in items))
        )
        self.tell("1", ev.Consolidated(items=items))

    def tell(self, place: str, event: ev.AnyEvent) -> None:
        seq = len(self.entries) + 1
        entry = ev.Entry(
            run="r1", seq=seq, at=1000.0 + seq, place=place, key=f"k{seq}", event=event
        )
        self.entries.append(link_entry(entry, self.entries[-1].hash if self.entries else ""))
        self.run = fold(self.run, self.entries[-1])

    def round(
        self, number: int, batches: list[Batch], scores: list[Score], threshold: int = 90
    ) -> None:
        self.tell(f"2.{number}.0", ev.Planned(batches=tuple(batches)))
        claims = tuple(
            Move(each, Fact.SAID_FIXED, by="claude") for one in batches for each in one.items
        )
        patches = {one.number: Patch((Splice(one.paths[0], 0, 0, "x"),)) for one in batches}
        self.tell(
            f"2.{number}.1",
            ev.Attempted(fixer="agent", agent="claude", patches=patches, moves=claims),
        )
        self.tell(f"2.{number}.2", ev.Verified(passed=tuple(patches), unverified="no checks"))
        approved, moves = judge_batches(
            self.run.work.batches.values(), self.run.items, scores, threshold, by="gemini"
        )
        self.tell(
            f"2.{number}.3",
            ev.Challenged(
                scores=tuple(scores),
                threshold=threshold,
                approved=approved,
                moves=moves,
                agent="gemini",
            ),
        )
        if approved:
            commits = tuple(ev.Landed(each, f"c{each}") for each in approved)
            landed = tuple(
                Move(each, Fact.COMMITTED, ref=f"c{one.number}")
                for one in batches
                if one.number in approved
                for each in one.items
            )
            self.tell(
                f"2.{number}.4",
                ev.Committed(branch="b", tip=commits[-1].commit, landed=commits, moves=landed),
            )
        self.tell(f"2.{number}.5", ev.RoundEnded(round=number))

    def otherwise(self, then: ReplayRules = ReplayRules(), **now):  # noqa: B008 - a frozen value
        return {each.item: each for each in what_if("r1", self.entries, then, ReplayRules(**now))}


@pytest.fixture
def story() -> Story:
    """Item 1 scores 92 and lands; 2 scores 70, then 96; 3 lands in round 2 in the file of item 1."""
    told = Story(item(1), item(2), item(3, Severity.MINOR))
    told.round(
        1,
        [batch(1, 1), batch(2, 2)],
        [Score(1, 92, feedback="fine"), Score(2, 70, feedback="an edge is missing")],
    )
    told.round(2, [batch(3, 2), batch(4, 3, path="1.py")], [Score(2, 96), Score(3, 100)])
    assert {number: each.status for number, each in told.run.items.items()} == dict.fromkeys(
        (1, 2, 3), Status.FIXED
    )
    return told


def test_a_higher_bar_sends_back_what_was_approved_and_says_what_was_built_on_it(story):
    other = story.otherwise(threshold=95)
    assert {number: (each.fate, each.ended, each.round) for number, each in other.items()} == {
        1: (ReplayFate.AGAIN, Status.FIXED, 1),
        3: (ReplayFate.UNSURE, Status.FIXED, 2),
    }
    assert other[1].why == "scored 92 of 95 needed: fine"
    assert other[3].why == "it landed in 1.py, where the fix of item 1 would not have been"


def test_a_lower_bar_lets_through_what_was_sent_back(story):
    other = story.otherwise(threshold=70)
    assert list(other) == [2]
    assert (other[2].fate, other[2].round) == (ReplayFate.APPROVED, 1)
    assert other[2].why == "scored 70, and 70 are needed; verification had passed it"


def test_the_same_rules_change_nothing(story):
    assert story.otherwise(threshold=90, attempts=3, floor=Severity.MINOR) == {}
    assert story.otherwise() == {}


def test_no_threshold_approves_what_has_no_score():
    told = Story(item(1))
    told.round(1, [batch(1, 1)], [Score(1, None, "SOLVED")])
    assert told.otherwise(threshold=0) == {}


def test_a_floor_and_fewer_attempts_leave_items_that_were_worked_on(story):
    floor = story.otherwise(floor=Severity.MAJOR)
    assert {number: each.fate for number, each in floor.items()} == {3: ReplayFate.LEFT}
    assert floor[3].why == "it is minor, below the floor major"
    attempts = story.otherwise(attempts=1)
    assert {number: (each.fate, each.round) for number, each in attempts.items()} == {
        2: (ReplayFate.LEFT, 2)
    }


def test_a_lower_floor_and_more_attempts_would_have_been_work_of_which_nobody_knows_the_end():
    told = Story(item(1), item(2, Severity.MINOR))
    told.round(1, [batch(1, 1)], [Score(1, 10)])
    then = ReplayRules(attempts=1, floor=Severity.MAJOR)
    other = told.otherwise(then, attempts=2, floor=Severity.MINOR)
    assert {number: each.fate for number, each in other.items()} == {
        1: ReplayFate.TRIED,
        2: ReplayFate.TRIED,
    }


@given(
    st.lists(st.none() | st.integers(-5, 110), min_size=1, max_size=5),
    st.integers(0, 100),
    st.integers(0, 100),
    st.booleans(),
)
def test_the_recorded_bar_changes_nothing_a_higher_one_only_takes_and_a_lower_one_only_gives(
    scores, bar, other, together
):
    told = Story(*(item(number) for number, _ in enumerate(scores, 1)))
    numbers = range(1, len(scores) + 1)
    batches = [batch(1, *numbers)] if together else [batch(number, number) for number in numbers]
    told.round(1, batches, [Score(number, score) for number, score in enumerate(scores, 1)], bar)
    assert told.otherwise(threshold=bar) == {}
    allowed = {ReplayFate.AGAIN, ReplayFate.UNSURE} if other > bar else {ReplayFate.APPROVED}
    different = told.otherwise(threshold=other)
    assert {each.fate for each in different.values()} <= allowed
    fixed = {number for number, each in told.run.items.items() if each.status is Status.FIXED}
    assert set(different) <= fixed if other > bar else not set(different) & fixed


class Kept(dict):
    """Artifacts in memory."""

    read = dict.get

    def write(self, name: str, content: bytes) -> str:
        self[name] = content
        return f"/state/runs/r1/{name}"


def again(story: Story, kept: Kept, rules: ReplayRules = ReplayRules()):  # noqa: B008 - a frozen value
    return replay_entries(
        "r1", story.entries, [encode_line(entry) for entry in story.entries], kept, rules
    )


def ended(story: Story, **names: bytes) -> Kept:
    """The story with its reports written, as the report step does it."""
    from punchlist.adapters.reports import WRITTEN
    from punchlist.model.ledger.outcome import run_outcome
    from punchlist.views.findings_document import findings_document

    kept = Kept()
    name, content = findings_document(story.run, story.run.position.round)
    story.tell("2.2.6", ev.Reported(artifacts=(kept.write(name, content),)))
    told = msgspec.structs.replace(story.run, ended=run_outcome(story.run).value)
    written = tuple(
        kept.write(name, content) for name, render in WRITTEN.items() if (content := render(told))
    )
    story.tell("3", ev.Reported(artifacts=written))
    story.tell("end", ev.Ended(outcome=run_outcome(story.run).value))
    return kept


def test_a_run_folds_to_the_same_state_and_the_same_files(story):
    told = again(story, ended(story))
    assert (told.same, told.whole, told.problems) == (True, True, ())
    assert [each.name for each in told.files] == [
        "docs/progress/story-r1-review-findings-round-2.md",
        *(
            "report.md",
            "report.json",
            "report.sarif",
            "report.junit.xml",
            "report.html",
            "cycles.md",
            "cycles.json",
        ),
    ]
    assert told.state == hash_state(fold_entries("r1", story.entries))


def test_what_people_said_later_is_part_of_what_the_files_say(story):
    from punchlist.adapters.reports import WRITTEN

    kept = ended(story)
    story.tell("people", ev.Dismissed(by="Ada", why="as we like it", moves=()))
    assert not again(story, kept).same
    kept |= {name: content for name, render in WRITTEN.items() if (content := render(story.run))}
    assert again(story, kept).same


def test_a_changed_or_missing_file_a_changed_line_and_another_end_are_told(story):
    kept = ended(story)
    kept["report.md"] = kept["report.md"].replace(b"Minor", b"minor", 1)
    del kept["report.html"]
    told = again(story, kept)
    assert (told.same, told.whole) == (False, False)
    assert {
        each.name: each.likeness for each in told.files if each.likeness is not FileMatch.SAME
    } == {"report.md": FileMatch.DIFFERS, "report.html": FileMatch.GONE}
    lines = [encode_line(entry) for entry in story.entries]
    lines[3] = lines[3].replace(b'"1.py"', b'"9.py"')
    (problem,) = replay_entries("r1", story.entries, lines, kept, ReplayRules()).problems
    assert "entry 4: was changed" in problem
    story.tell("end", ev.Ended(outcome="clean"))
    assert any('the run ended "clean"' in problem for problem in again(story, kept).problems)


def test_a_run_that_wrote_nothing_is_not_called_whole(story):
    told = again(story, Kept(), ReplayRules(threshold=95))
    assert (told.same, told.whole) == (True, False)
    assert len(told.differences) == 2
    assert any("no agent was started" in line for line in told.unknown)


def test_a_ledger_without_its_beginning_cannot_be_folded_and_the_audit_says_so():
    rest = link_entry(
        ev.Entry(run="r", seq=2, at=0.0, place="0", key="", event=ev.StepDone(verb="x")), "gone"
    )
    with pytest.raises(UsageError, match="run r has no beginning"):
        fold_entries("r", [rest])
    found = audit_lines("r", [encode_line(rest)])
    assert not found.ok
    assert found.problems[-1] == "punchlist cannot read it: run r has no beginning"
    assert len(found.problems) == 3
