"""A challenger's scores become approvals and moves; whatever is missing or odd approves nothing."""

from hypothesis import given
from hypothesis import strategies as st

from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.integrity.challenge_verdict import judge_batches
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Fact, Item, Status
from punchlist.model.item.score import Score, lowest_scores


def item(number: int, status: Status = Status.CLAIMED) -> Item:
    found = Finding(
        id=f"f{number}", source="a", title="t", spot=Spot("a.py", number), severity=Severity.MAJOR
    )
    return Item(number=number, fingerprint=str(number), findings=(found,), status=status)


def batch(number: int, *items: int) -> Batch:
    return Batch(number=number, items=items, fixer="agent", title="t", paths=("a.py",))


ITEMS = {number: item(number) for number in range(1, 7)}


def test_a_batch_passes_if_all_its_claims_reach_the_threshold():
    scores = [
        Score(1, 90),
        Score(2, 100),
        Score(3, 89, "SOLVED", "an edge is missing", ("handle []",)),
    ]
    approved, moves = judge_batches([batch(1, 1, 2), batch(2, 3)], ITEMS, scores)
    assert approved == (1,)
    (move,) = moves
    assert (move.item, move.fact, move.by, move.evidence) == (
        3,
        Fact.REJECTED,
        "challenger",
        "handle []",
    )
    assert move.why == "scored 89 of 90 needed: an edge is missing"


def test_a_good_item_goes_back_with_the_bad_one_in_its_patch():
    approved, moves = judge_batches(
        [batch(1, 1, 2, 3)], ITEMS, [Score(1, 99), Score(2, 10), Score(3, 20)], by="gemini"
    )
    assert approved == ()
    assert [move.item for move in moves] == [1, 2, 3]
    assert moves[0].why == "its patch also holds items 2, 3, not approved"
    assert {move.by for move in moves} == {"gemini"}


def test_no_score_no_usable_score_and_no_claim_approve_nothing():
    unclaimed = {**ITEMS, 4: item(4, Status.DEFERRED)}
    scores = [Score(2, None, "SOLVED", "the answer was prose"), Score(3, 101), Score(4, 100)]
    approved, moves = judge_batches(
        [batch(1, 1), batch(2, 2), batch(3, 3), batch(4, 4), batch(5)], unclaimed, scores
    )
    assert (approved, moves) == ((), ()), "nor do they reject anything: there is no verdict"


def test_a_rejection_stands_beside_an_entry_that_makes_no_sense():
    scores = [Score(1, 10), Score(1, None), Score(2, 95), Score(2, None)]
    approved, moves = judge_batches([batch(1, 1), batch(2, 2)], ITEMS, scores)
    assert (approved, [move.item for move in moves]) == ((), [1])


def test_what_was_not_claimed_does_not_hold_back_what_was():
    items = {**ITEMS, 2: item(2, Status.BLOCKED)}
    assert judge_batches([batch(1, 1, 2)], items, [Score(1, 95)]).approved == (1,)


@given(
    st.lists(st.integers(1, 6), unique=True, min_size=1).flatmap(
        lambda all_: st.tuples(st.just(all_), st.integers(1, len(all_)))
    ),
    st.lists(st.builds(Score, st.integers(1, 6), st.none() | st.integers(-5, 120))),
    st.integers(0, 100),
    st.integers(0, 100),
)
def test_every_claim_is_either_approved_or_sent_back_and_a_higher_bar_never_approves_more(
    shape, scores, one, other
):
    numbers, cut = shape
    batches = [batch(1, *numbers[:cut]), batch(2, *numbers[cut:])]
    low, high = sorted((one, other))
    for threshold in (low, high):
        approved, moves = judge_batches(batches, ITEMS, scores, threshold)
        through = {number for each in batches if each.number in approved for number in each.items}
        back = {move.item for move in moves}
        assert through.isdisjoint(back)
        known = lowest_scores(scores)
        for each in batches:
            unjudged = [n for n in each.items if n not in known or not known[n].usable]
            assert unjudged or set(each.items) <= through | back
    assert set(judge_batches(batches, ITEMS, scores, high).approved) <= set(
        judge_batches(batches, ITEMS, scores, low).approved
    )
