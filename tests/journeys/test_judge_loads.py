"""The judge is what the tests load: a fixer may change neither its data nor its helpers, nor put a file in its way."""

from watching import Watch
from workbench import fix, fixer, review, scores

from punchlist.model.item.item import Status
from punchlist.model.ledger.events import Examined

JUDGE = {
    "cases/cheapest.json": "[[[1, 2], 1]]\n",
    "support.py": (
        "import json\nfrom pathlib import Path\n\n\ndef cases(name):\n"
        "    return json.loads(Path('cases', f'{name}.json').read_text())\n"
    ),
    "tests/test_cases.py": (
        "import unittest\n\nimport support\nfrom shop import prices\n\n\nclass Cases(unittest.TestCase):\n"
        "    def test_cheapest(self):\n        for prices_, least in support.cases('cheapest'):\n"
        "            self.assertEqual(prices.cheapest(prices_), least)\n"
    ),
}  # fmt: skip
NO_TESTS = {"role": "reproducer", "answer": {"tests": []}}


def test_lies_aimed_at_data_helpers_and_imports_are_refused_and_the_honest_fix_lands(bench):
    bench.repo.commit(JUDGE, "tests with data and a helper")
    noise = {"path": "shop/prices.py", "replace": "return sum(prices)", "with": "return sum(prices, 0.0)"}  # fmt: skip
    lies = [
        {"path": "cases/cheapest.json", "content": "[[[1, 2], 2]]\n"},
        {"path": "support.py", "content": "def cases(name):\n    return []\n"},
        {"path": "shop/prices/__init__.py", "content": "def cheapest(prices):\n    return 1\n"},
    ]
    honest = fix("cheapest")
    bench.play(
        review("cheapest", times=1),
        review(),
        NO_TESTS,
        *(
            fixer({**honest, "edits": [noise, lie]}, round=number)
            for number, lie in enumerate(lies, 1)
        ),
        fixer(honest),
        scores(F001=95),
    )
    watch = Watch()
    (bench.folder / "patient.yaml").write_text(PATIENT)
    run = bench.run(str(bench.folder / "patient.yaml"), watch=watch)
    *refused, last = [event.refuted for event in watch.of(Examined)]
    assert "changes cases/cheapest.json" in refused[0]
    assert "changes support.py: tests that are there, what they load" in refused[1]
    assert (
        "adds shop/prices/__init__.py, which would be imported instead of shop/prices" in refused[2]
    )
    assert last == ""
    assert run.items[1].status is Status.FIXED


PATIENT = """
steps:
  - review: {by: [technical]}
  - consolidate: {rule: smart}
  - repeat:
      rounds: 6
      on_limit: go-on
      steps: [plan: {attempts: 5}, fix: {}, verify: {}, commit: {needs: checked}, stop-when: settled]
  - report: {}
"""
