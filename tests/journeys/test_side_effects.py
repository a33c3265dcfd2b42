"""Items that vanish with another item's fix carry that fix's commit; the headline counts what was there."""

import pytest
import shop

from punchlist.model.item.item import Status
from punchlist.views.summary import summarize_run

FILES = {
    "calc/__init__.py": "",
    "calc/sums.py": (
        "import json\n\n\n"
        "def add(a, b):\n    l = a\n    return a + b\n\n\n"
        "def less(a, b):\n    where = a\n    assert '{b}'.format(b=b, a=where)\n    return a - b\n\n\n"
        "def same(a, b):\n    return a == b and (not a is None)\n"
    ),
    "tests/__init__.py": "",
    "tests/test_sums.py": (
        "import unittest\n\nfrom calc.sums import add, less, same\n\n\n"
        "class Sums(unittest.TestCase):\n    def test_all(self):\n"
        "        self.assertEqual((add(1, 2), less(3, 1), same(1, 1)), (3, 2, True))\n"
    ),
}


@pytest.fixture
def place(repo, tmp_path, monkeypatch):
    repo.commit(FILES, "sums")
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(shop.settings(tmp_path / "settings.toml")))
    return shop.Place(repo)


def test_what_vanishes_with_another_fix_carries_its_commit(place):
    run = place.run()
    by_rule = {}
    for item in run.items.values():
        by_rule.setdefault(item.lead.rule, []).append(item)
    (vanished,) = by_rule["E741"]
    (cause,) = [item for item in by_rule["F841"] if "`l`" in item.lead.title]
    assert vanished.status is Status.FIXED
    assert vanished.commit == cause.commit
    order = [landed.commit for landed in run.landing.landed]
    assert order.index(cause.made_in) < len(order) - 1, "it is not simply the last one"
    assert vanished.commit in place.repo.git("rev-list", run.landing.branch).split()
    (made,) = [item for item in by_rule["F841"] if "`where`" in item.lead.title]
    assert made.made
    summary = summarize_run(run)
    assert summary.headline.startswith(f"All {len(run.items) - 1} items are fixed")
    assert summary.headline.endswith("The fixes brought about 1 more item, also fixed.")
