"""A finding that only an analyzer reported is settled when it is silent with suppressions off: the program need not behave differently."""

import asyncio

import pytest
from examination import Bench, finding
from msgspec.structs import replace

from punchlist.model.ledger.events import Rechecked
from punchlist.steps.judging.examine import Examine, examine_batch

CODE = (
    "def level(text):\n    try:\n        return int(text)\n    except ValueError:\n"
    '        raise KeyError("no level")\n'
)
HONEST = CODE.replace('level")', 'level") from None')
RENAMED = (
    "def one(l):\n    I = l\n    return I + 1\n",
    "def one(l):\n    value = l\n    return value + 1\n",
)
ABOUT = {"rule": "B904", "category": "correctness", "line": 5}
B904 = finding("Within an except clause, raise exceptions with raise ... from err", **ABOUT)
BUG = finding("level() returns the wrong key for no text", line=5)


@pytest.fixture
def examined(repo, tmp_path):
    """What is said of an agent's patch of app.py, after an analyzer `reviewer` was silent about it."""

    def examine(*findings, files=(CODE, HONEST), silent=(1,), unproven=(), reviewers=("reviewer",)):
        old, new = files
        bench = Bench(repo, tmp_path / "home", {"app.py": old}, check=None)
        run = bench.run(*findings, changed={"app.py": new})
        rechecked = Rechecked(passed=(1,), silent=silent, unproven=dict.fromkeys(unproven, "why"))
        run = replace(
            run,
            started=replace(run.started, reviewers=reviewers),
            work=replace(run.work, rechecked=rechecked),
        )
        return asyncio.run(examine_batch(Examine(1), run, bench.world)).refuted

    return examine


def test_a_fix_that_the_analyzer_is_satisfied_with_need_not_change_an_answer(examined):
    assert examined(B904) == ""


def test_a_new_name_is_a_fix_where_the_analyzer_is_satisfied_with_it(examined):
    ambiguous = finding("Ambiguous: `I`", rule="E741", category="correctness")
    assert examined(ambiguous, files=RENAMED) == ""


@pytest.mark.parametrize(
    "said",
    [{"silent": ()}, {"unproven": ("reviewer",)}, {"reviewers": ("ruff",)}],
    ids=["not silent", "silence that proves nothing", "no analyzer reported it"],
)
def test_without_a_proof_by_the_analyzer_the_behaviour_must_change(examined, said):
    assert "behaves as before" in examined(B904, **said)


def test_an_agents_finding_in_the_same_patch_still_asks_for_other_behaviour(examined):
    other = replace(BUG, source="technical")
    assert "behaves as before" in examined(B904, other)
