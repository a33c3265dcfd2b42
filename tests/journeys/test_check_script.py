"""The script that a check runs belongs to the judge: no fixer changes it."""

from workbench import CHANGE, FAULTS, fixer, review, scores

from punchlist.model.item.item import Fact, Status

CHECK = '[[checks]]\nname = "ci"\ncommand = ["sh", "ci/check.sh"]\n'
SCRIPT = "set -e\ntest -f shop/pages.py\n"
RIGHT = {
    "path": "shop/pages.py",
    "replace": "rows[number * size : number * size + size]",
    "with": "rows[(number - 1) * size : number * size]",
}


def test_a_fixer_that_edits_the_script_of_a_check_is_refused_and_the_fix_alone_lands(bench):
    bench.repo.commit({"ci/check.sh": SCRIPT}, "a script")
    changed = {"shop/pages.py": CHANGE["shop/pages.py"] + "\n\nMOST = 50\n"}
    bench.repo.commit({**changed, "ci/check.sh": SCRIPT + "true\n"}, "a limit")
    weaker = {"path": "ci/check.sh", "replace": "set -e\n", "with": "exit 0\n"}
    done = {"when": FAULTS["page"][0], "outcome": {"outcome": "fixed", "explanation": "done"}}
    silent = {"role": "reproducer", "answer": {"tests": []}}
    bench.play(
        review("page", times=1),
        review(),
        silent,
        fixer({**done, "edits": [RIGHT, weaker]}, round=1),
        fixer({**done, "edits": [RIGHT]}),
        scores(F001=95),
        settings=CHECK,
    )
    run = bench.run(base="HEAD~1")
    (check,) = (each for each in run.started.checks if each.name == "ci")
    assert check.files == ("ci/check.sh",)
    (note,) = (each for each in run.started.change.notes if "ci/check.sh" in each)
    assert note == "checks run with what the base has of these, and no other: ci/check.sh"
    item = run.items[1]
    why = next(each.why for each in item.attempts if each.fact is Fact.REJECTED)
    assert why.startswith("changes ci/check.sh: tests that are there, what they load, and what")
    assert item.status is Status.FIXED
