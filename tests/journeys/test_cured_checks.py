"""Where no test passes before a fix, one that turns them green is proven by that, and one that does not is not."""

import pytest
from workbench import CHANGE, FAULTS, fix, fixer, review

from punchlist.model.item.item import Status
from punchlist.model.item.proof import ProofClass
from punchlist.views.item_words import unfixed_reason

BROKEN = CHANGE["shop/prices.py"].replace("def mean(prices):", "def mean(prices:")
ONCE = (
    "about: once\nsteps:\n  - review: {by: [technical], analyzers: false}\n  - consolidate: {}\n"
    "  - plan: {}\n  - fix: {}\n  - verify: {}\n  - commit: {needs: checked}\n  - report: {}\n"
)


@pytest.mark.parametrize(
    ("cure", "landed"),
    [
        ({"replace": "mean(prices:", "with": "mean(prices):"}, True),
        ({"replace": "[-1]", "with": "[0]"}, False),
    ],
)
def test_tests_that_cannot_be_imported_prove_the_fix_that_lets_them_pass_and_no_other(
    bench, cure, landed
):
    bench.repo.commit({"shop/prices.py": BROKEN}, "a bracket is missing")
    done = {"outcome": "fixed", "explanation": "done"}
    edit = {"path": "shop/prices.py", **cure}
    bench.play(review("mean"), fixer({"when": FAULTS["mean"][0], "edits": [edit], "outcome": done}))
    path = bench.folder / "once.yaml"
    path.write_text(ONCE)
    run = bench.run(str(path))
    (item,) = run.items.values()
    assert (item.status is Status.FIXED) is landed
    kinds = {proof.kind: proof.said for proof in item.proofs}
    if landed:
        assert kinds[ProofClass.CHECKED] == (
            "tests: 1 tests pass with the fix; none passed on the base"
        )
        assert run.ended == "fixed"
    baseline = run.checks.baselines["tests"]
    assert baseline.unusable.startswith("no test passed on the base (1 could not be loaded): Syn")
    assert (baseline.failed, len(baseline.unloaded)) == (0, 1)


def test_a_fix_is_not_checked_where_a_test_file_was_not_loaded_and_no_lines_are_known(bench):
    unloadable = "import not_installed_here\n\n\nfrom shop.pages import page\n"
    bench.repo.commit({"tests/test_pages.py": unloadable}, "tests that need a package")
    bench.play(review("mean"), fixer(fix("mean")))
    path = bench.folder / "once.yaml"
    path.write_text(ONCE)
    run = bench.run(str(path))
    assert run.checks.baselines["tests"].passed == 1
    (item,) = run.items.values()
    assert item.status is not Status.FIXED
    assert ProofClass.CHECKED not in {proof.kind for proof in item.proofs}
    assert unfixed_reason(item) == "nothing proves it: it needs to be checked"
    reason = "test_pages could not be loaded, and which lines the other tests execute is not known"
    assert any(reason in attempt.evidence for attempt in item.attempts)
