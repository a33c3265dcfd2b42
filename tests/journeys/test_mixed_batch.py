"""Two findings in one file, one fixed and one put off half done: only the first one's change lands."""

from workbench import fix, fixer, review

from punchlist.model.item.item import Status

HALF = {"path": "shop/prices.py", "replace": "sorted(prices)[-1]", "with": "sorted(prices)[half]"}


def half(name="cheapest", **more):
    """A fix that is begun and put off."""
    return {**fix(name, "deferred", "I only began: the order of prices is unclear"), **more}


def test_what_belongs_to_the_deferred_item_does_not_land(bench):
    bench.play(
        review("mean", "cheapest", role="adversarial", times=1),
        review(role="adversarial"),
        fixer(fix("mean"), half(edits=[HALF])),
    )
    run = bench.run("converge")
    by_title = {item.lead.title: item for item in run.items.values()}
    mean, cheapest = (
        by_title[t] for t in ("mean() fails for no prices", "cheapest() returns the dearest")
    )
    assert (mean.status, cheapest.status is Status.FIXED) == (Status.FIXED, False)
    landed = bench.landed("shop/prices.py")
    assert "if prices else None" in landed
    assert "[half]" not in landed
    assert "[half]" in str(run.by_item.diffs[cheapest.number].hunks), "what was tried is shown"
    assert "[half]" not in str(run.by_item.diffs[mean.number].hunks)


def test_what_cannot_be_told_apart_is_asked_for_again_alone(bench):
    both = {
        "path": "shop/prices.py",
        "replace": '"""Prices."""\n',
        "with": '"""Prices."""\n\nimport math\n',
    }
    bench.play(
        review("mean", "cheapest", role="adversarial", times=1),
        review(role="adversarial"),
        fixer(fix("mean"), half(edits=[HALF, both]), round=1),
        fixer(fix("mean"), half()),
    )
    run = bench.run("converge")
    mean = next(item for item in run.items.values() if "mean" in item.lead.title)
    assert "cannot be told apart" in mean.attempts[0].why
    assert mean.status is Status.FIXED
    assert "import math" not in bench.landed("shop/prices.py")
