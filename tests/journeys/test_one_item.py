"""One item, the right edit, and an answer that cannot be read: the edit is judged."""

import pytest
from workbench import fix, review

from punchlist.model.item.item import Status

EDIT = fix("mean")["edits"]


@pytest.mark.parametrize(
    "answer",
    [
        "I changed mean() so that it returns None for no prices. All good now!",
        {"outcomes": [{"id": "F042", "outcome": "fixed", "explanation": "done"}]},
        {"outcomes": []},
    ],
)
def test_the_right_edit_lands_whatever_the_answer_looks_like(bench, answer):
    bench.play(
        review("mean", role="adversarial", times=1),
        review(role="adversarial"),
        {"role": "fixer", "edits": EDIT, "answer": answer},
    )
    run = bench.run("converge")
    assert run.items[1].status is Status.FIXED
    assert "if prices else None" in bench.landed("shop/prices.py")


def test_prose_without_a_change_claims_nothing(bench):
    lines = review("mean", role="adversarial"), {"role": "fixer", "answer": "Nothing to see here."}
    run = bench.play(*lines).run("converge")
    assert run.items[1].status is not Status.FIXED
    assert not run.landing.landed
