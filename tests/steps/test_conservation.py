"""The law above all: whatever happens, in whatever order, no finding is lost and nothing is fixed without a proof."""

from hypothesis import given
from hypothesis import strategies as st

from made import made_run
from punchlist.model.dedup.merge import MergeRule
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import ENDED, MOVES, Fact, Item, Move, Status, next_status
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold
from punchlist.model.ledger.run import Run, count_statuses
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.steps.support.item_matching import consolidate_findings

CHANGE = Change(kind=ScopeKind.ALL, base="b", head="h")
PROOF = Proof(ProofClass.RECHECKED, "ruff no longer reports it")


def finding(number: int, line: int = 1, rule: str = "F401") -> Finding:
    return Finding(
        id=f"0/ruff:{number}",
        source="ruff",
        rule=rule,
        title=f"`name{number}` unused",
        spot=Spot("a.py", line),
        severity=Severity.MINOR,
    )


def told(run: Run, *events: ev.AnyEvent) -> Run:
    for event in events:
        run = fold(
            run,
            ev.Entry(
                run=run.id,
                seq=run.seq + 1,
                at=float(run.seq),
                place="0",
                key=str(run.seq),
                event=event,
            ),
        )
    return run


facts = st.builds(
    Move,
    item=st.integers(1, 6),
    fact=st.sampled_from(Fact),
    by=st.just("somebody"),
    why=st.text(max_size=5),
    proofs=st.just((PROOF,)),
    ref=st.just("abc123"),
)


@given(st.lists(facts, max_size=60))
def test_no_sequence_of_facts_loses_an_item_or_fixes_one_without_proof_and_commit(moves):
    run = told(
        made_run(id="r"),
        ev.Consolidated(
            items=tuple(
                Item(number=n, fingerprint=str(n), findings=(finding(n),)) for n in range(1, 6)
            )
        ),
    )
    for move in moves:
        run = told(run, ev.Dismissed(by="x", why="y", moves=(move,)))
    assert set(run.items) == {1, 2, 3, 4, 5}
    assert sum(count_statuses(run.items).values()) == 5
    for item in run.items.values():
        assert len(item.attempts) == sum(move.item == item.number for move in moves)
        if item.status is Status.FIXED:
            assert item.proofs
            assert item.commit


@given(st.sampled_from(Status), st.lists(st.sampled_from(Fact), max_size=12))
def test_only_what_was_claimed_can_become_fixed(status, sequence):
    for fact in sequence:
        before, status = status, next_status(status, fact)
        if status is Status.FIXED and before is not Status.FIXED:
            assert (before, fact) == (Status.CLAIMED, Fact.COMMITTED)


def test_the_table_names_every_status_and_what_is_filed_can_only_be_dismissed():
    assert set(MOVES) == set(Status)
    assert {
        fact for fact in Fact if next_status(Status.DISMISSED, fact) is not Status.DISMISSED
    } == {Fact.RESTORED}, "taken back by a person"
    assert {next_status(Status.FILED, fact) for fact in Fact} == {Status.FILED, Status.DISMISSED}
    assert Status.FIXED in ENDED


reports = st.lists(
    st.tuples(st.integers(1, 9), st.integers(1, 40), st.sampled_from(["F401", "E711", "UP032"])),
    max_size=25,
    unique_by=lambda r: r,
)


@given(reports, reports, st.sampled_from(MergeRule))
def test_every_reported_finding_is_in_exactly_one_item_or_is_a_sighting_of_one(first, second, rule):
    run = made_run(id="r")
    reported = 0
    for turn, report in enumerate((first, second)):
        found = tuple(
            Finding(
                id=f"{turn}/ruff:{n}",
                source="ruff",
                rule=r,
                title=f"`x{name}`",
                spot=Spot("a.py", line),
                severity=Severity.MINOR,
            )
            for n, (name, line, r) in enumerate(report)
        )
        reported += len(found)
        run = told(run, ev.Reviewed(reviewer="ruff", commit="h", findings=found))
        run = told(run, consolidate_findings(run, CHANGE, rule))
        homes = sum(len(item.findings) + item.sightings for item in run.items.values())
        assert homes == reported == run.reviewing.reported
        assert run.reviewing.fresh == ()


def test_an_item_no_longer_reported_counts_as_fixed_only_after_a_commit_of_this_run():
    run = told(made_run(id="r"), ev.Reviewed(reviewer="ruff", commit="h", findings=(finding(1),)))
    run = told(run, consolidate_findings(run, CHANGE, MergeRule.SMART))
    silent = ev.Reviewed(reviewer="ruff", commit="h")
    unmoved = told(run, silent)
    assert (
        told(unmoved, consolidate_findings(unmoved, CHANGE, MergeRule.SMART)).items[1].status
        is Status.OPEN
    )
    landed = told(run, ev.Committed(branch="b", tip="t", landed=(ev.Landed(1, "t"),)), silent)
    assert (
        told(landed, consolidate_findings(landed, CHANGE, MergeRule.SMART)).items[1].status
        is Status.OPEN
    ), "it looked before that"
    landed = told(landed, ev.Reviewed(reviewer="ruff", commit="t"))
    gone = told(landed, consolidate_findings(landed, CHANGE, MergeRule.SMART)).items[1]
    assert gone.status is Status.FIXED
    assert gone.proofs[0].kind is ProofClass.RECHECKED
    assert gone.commit == "t"


def test_a_reviewer_that_failed_makes_no_item_vanish():
    run = told(made_run(id="r"), ev.Reviewed(reviewer="ruff", commit="h", findings=(finding(1),)))
    run = told(
        run,
        consolidate_findings(run, CHANGE, MergeRule.SMART),
        ev.Committed(branch="b", tip="t", landed=(ev.Landed(1, "t"),)),
    )
    run = told(
        run,
        ev.Reviewed(reviewer="ruff", commit="t", failed="crashed"),
        ev.Reviewed(reviewer="bandit", commit="t"),
    )
    run = told(run, consolidate_findings(run, CHANGE, MergeRule.SMART))
    assert run.items[1].status is Status.OPEN
    assert run.blind == ["ruff: crashed"]
