"""Canaries: their worth is true, and what a challenger makes of them is counted with how sure that is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.model.integrity.canaries import CANARIES
from punchlist.model.integrity.wilson_interval import compute_share
from punchlist.steps.support.canary_planting import count_scores


def run(canary, text):
    """What the canary's own example says of a text: does it do what its detail asks for?"""
    space = {}
    exec(compile(text, canary.path, "exec"), space)
    return ASKED[canary.title.split("(")[0]](space)


def _raises(call, kind):
    try:
        call()
    except kind:
        return True
    return False


ASKED = {
    "mean": lambda space: space["mean"]([]) is None and space["mean"]([1, 3]) == 2,
    "page": lambda space: (
        space["page"]([1, 2, 3], 1, 2) == [1, 2] and space["page"]([1, 2, 3], 2, 2) == [3]
    ),
    "located": lambda space: (
        _raises(lambda: space["located"]("/srv/a", "../../etc/passwd"), ValueError)
        and str(space["located"]("/srv/a", "b")).endswith("srv/a/b")
    ),
    "tagged": lambda space: (space["tagged"]("a"), space["tagged"]("b"))[1] == ["b"],
    "retried": lambda space: _raises(lambda: space["retried"](lambda: 1 / 0, 2), ZeroDivisionError),
    "numbers": lambda space: space["numbers"]("") == [] and space["numbers"]("1, 2 ,") == [1, 2],
}


@pytest.mark.parametrize(
    "canary", CANARIES, ids=lambda canary: f"{canary.path} {'good' if canary.good else 'bad'}"
)
def test_a_good_canary_does_what_its_finding_asks_for_and_a_bad_one_does_not(canary):
    def works(text):
        try:
            return run(canary, text)
        except (ZeroDivisionError, ValueError):
            return False

    assert not works(canary.before)
    assert works(canary.after) is canary.good
    assert canary.before != canary.after


def test_bad_and_good_come_by_turns():
    assert [canary.good for canary in CANARIES] == [False, True] * (len(CANARIES) // 2)


def test_a_challenger_that_likes_everything_is_told_so():
    assert str(count_scores([(canary, True) for canary in CANARIES])) == (
        "refused 0 of 6 (0% to 39%) planted bad fixes, approved 6 of 6 (61% to 100%) good ones"
    )


@given(st.integers(0, 200), st.integers(1, 200))
def test_the_interval_holds_the_share_and_narrows_with_more_cases(hits, cases):
    hits = min(hits, cases)
    once, ten = compute_share(hits, cases), compute_share(hits * 10, cases * 10)
    assert 0 <= once.low <= hits / cases + 1e-9
    assert hits / cases - 1e-9 <= once.high <= 1
    assert ten.high - ten.low <= once.high - once.low


def test_nothing_counted_says_nothing():
    assert (compute_share(0, 0).low, compute_share(0, 0).high) == (0.0, 1.0)
