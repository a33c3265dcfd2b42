"""What a tool's unsafe fix needs, it needs everywhere, also in tests and configuration."""

import pytest
from msgspec.structs import replace
from scripted import MAJOR, MINOR, Judge, Said, Words, finding

from punchlist.model.finding.finding import Fix, Safety, Splice
from punchlist.model.item.item import Status
from punchlist.model.item.proof import ProofClass
from punchlist.workflow.loader import load_builtin

PROVEN = load_builtin("proven").text


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_a.py",
        "tests/helpers/build.py",
        "conftest.py",
        "setup.py",
        "noxfile.py",
        "src/pkg/tests.py",
        "web/cart.test.ts",
        ".github/workflows/ci.yml",
    ],
)
def test_in_a_protected_file_a_safe_fix_lands_and_an_unsafe_one_does_not(make_bench, path):
    unsafe = Words("unsafe", Safety.UNSAFE, worse=(MAJOR, "better"))
    files = {"a.py": "fine\n", path: "bad\nworse\n"}
    bench = make_bench(files, Words(bad=(MINOR, "good")), unsafe)
    run = bench.run()
    by_rule = {item.lead.rule: item for item in run.items.values()}
    assert by_rule["bad"].status is Status.FIXED
    assert [proof.kind for proof in by_rule["bad"].proofs] == [ProofClass.RECHECKED]
    assert by_rule["worse"].status is Status.FILED
    assert by_rule["worse"].attempts[-2].why == (
        "unsafe fix, not applied: it changes tests or CI configuration, which no check judges"
    )


@pytest.mark.parametrize(
    ("needs", "checks", "lands"),
    [
        ("claim", False, True),
        ("checked", False, False),
        ("checked", True, True),
        ("rechecked", False, True),
        ("witnessed", True, False),
        ("reproduced", True, False),
    ],
)
def test_the_proof_that_the_workflow_names_is_the_one_it_needs(make_bench, needs, checks, lands):
    bench = make_bench({"a.py": "bad\n"}, Words(safety=Safety.UNSAFE, bad=(MAJOR, "good")))
    bench.allowed = checks
    run = bench.run(PROVEN.replace("unsafe-needs: checked", f"unsafe-needs: {needs}"))
    assert bool(run.landing.landed) is lands


def test_what_no_analyzer_can_look_at_again_is_not_rechecked(make_bench):
    bench = make_bench({"a.py": "bad\n"})
    bench.judge = Judge()
    fix = Fix((Splice("a.py", 0, 3, "good"),), Safety.UNSAFE)
    bench.documents = {"document": Said(finding(1, fix=fix))}
    run = bench.run(PROVEN.replace("unsafe-needs: checked", "unsafe-needs: rechecked"))
    assert not run.landing.landed
    assert "its analyzer must no longer report it" in run.items[1].attempts[-2].why


def test_one_edit_that_two_tools_offer_is_as_unsafe_as_the_warier_of_them_says(make_bench):
    wary = Words("wary", Safety.UNSAFE, bad=(MINOR, "good"))
    bench = make_bench({"a.py": "bad\n"}, Words(bad=(MAJOR, "good")), wary)
    bench.reviewers["wary"] = OtherTitle(wary)
    bench.checks = ()
    run = bench.run()
    assert len(run.items) == 2
    assert not run.landing.landed


class OtherTitle:
    """A reviewer whose findings are about something else, with the same edit."""

    confined = True

    def __init__(self, inner) -> None:
        self.inner, self.name = inner, inner.name

    async def analyze(self, tree, paths):
        said = await self.inner.analyze(tree, paths)
        other = (replace(each, title="an odd spelling", rule="S1") for each in said.findings)
        return replace(said, findings=tuple(other))
