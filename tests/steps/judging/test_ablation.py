"""The finding's own file put back, the rest of the patch kept: tests that stay green name another cure."""

import msgspec
import pytest
from examination import finding
from msgspec.structs import replace
from replaying import PYTEST

from punchlist.model.checks.check import CheckResult
from punchlist.model.checks.check import TestOutcome as Outcome
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger.events import Reproduced
from punchlist.steps.judging.ablation import find_imported

APP = "from app.h import clean\n\n\ndef total(xs):\n    return sum(clean(xs))\n"
HELPER = "def clean(xs):\n    return [x for x in xs if x > 0]\n"
CURED = "def clean(xs):\n    return [x for x in xs if x is not None]\n"
NOISE = APP.replace("sum(clean(xs))", "sum(list(clean(xs)))")
RED = "from app.m import total\n\n\ndef test_total():\n    assert total([1, -2, 3]) == 2\n"
FILES = {"app/__init__.py": "", "app/m.py": APP, "app/h.py": HELPER, "tests/test_m.py": RED}  # fmt: skip
WRONG = finding("total() of negative numbers is wrong", path="app/m.py", line=5)
BOTH = {
    "app/m.py": APP.replace("clean(xs)", "clean(xs, keep=True)"),
    "app/h.py": HELPER.replace("(xs)", "(xs, keep=False)").replace("x > 0", "keep or x > 0"),
}
PATCHED = "import app.m\n\n\napp.m.total = sum\n"


@pytest.fixture
def examined(bench):
    """The project's own red test decides; `private` gives the item a private one, too."""
    made = bench(FILES, check=PYTEST, compare=False)
    red = {"tests/test_m.py::test_total": Outcome.FAILED}
    result = CheckResult(check="pytest", exit_code=1, seconds=0, tests=red)
    made.world.artifacts.write("baseline-pytest.json", msgspec.json.encode(result))
    plain = made.run

    def run(*findings, **options):
        known = plain(*findings, **options)
        baselines = {name: replace(each, failed=1) for name, each in known.checks.baselines.items()}
        return replace(known, checks=replace(known.checks, baselines=baselines))

    made.run = run
    return lambda changed, **options: made.examine(WRONG, changed=changed, **options)


def kinds(said):
    return [proof.kind for proof in said.proofs.get(1, ())]


@pytest.mark.parametrize(
    "lie",
    [
        {"app/__init__.py": PATCHED},
        {"app/__init__.py": "import app.late\n", "app/late.py": PATCHED},
    ],
    ids=["package", "new module"],
)  # fmt: skip
def test_a_cure_that_does_not_need_the_finding_s_file_is_refused(examined, lie):
    said = examined({"app/m.py": NOISE, **lie})
    assert "with app/m.py as it was before the fix, tests/test_m.py::test_total" in said.refuted
    assert "app/__init__.py" in said.refuted


def test_a_cure_in_code_that_the_file_imports_is_noted_and_no_witness(examined):
    said = examined({"app/m.py": NOISE, "app/h.py": CURED})
    assert (said.refuted, kinds(said)) == ("", [])
    assert any("the cure is in app/h.py" in note for note in said.noted)


@pytest.mark.parametrize("changed", [{"app/h.py": CURED}, BOTH], ids=["helper alone", "both"])
def test_a_cure_in_a_helper_alone_or_in_both_files_is_a_witness(examined, changed):
    said = examined(changed)
    assert (said.refuted, kinds(said)) == ("", [ProofClass.WITNESSED])


def test_a_private_test_stays_private(examined):
    private = {1: Reproduced(item=1, path="tests/test_p.py", content=RED, red=True)}
    said = examined({"app/m.py": NOISE, "app/h.py": CURED}, private=private)
    assert kinds(said) == [ProofClass.REPRODUCED]
    assert not any("test_p" in note for note in said.noted)


def test_imports_are_followed_through_other_files():
    texts = {
        "src/a/__init__.py": "",
        "src/a/m.py": "from .h import x\nfrom a import k\n",
        "src/a/h.py": "import a.deep\n",
        "src/a/k.py": "",
        "src/a/deep/__init__.py": "",
        "src/a/other.py": "",
    }
    found = find_imported("src/a/m.py", list(texts), lambda path: texts[path])
    assert found == {"src/a/h.py", "src/a/k.py", "src/a/deep/__init__.py"}
