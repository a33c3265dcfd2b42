"""How often the tests of a project are run for the fixes of one branch."""

import subprocess
import sys

import pytest
import shop

import needs
from punchlist.model.item.item import Status
from punchlist.model.ledger import events as ev

CLEAN = {
    "pyproject.toml": (
        "[tool.ruff.lint]\n"
        'select = ["E4", "E7", "E9", "F", "I", "B", "C4", "UP", "S"]\n'
        "[tool.ruff.lint.per-file-ignores]\n"
        '"tests/*" = ["S101"]\n'
    ),
    "shop/__init__.py": "",
    "shop/orders.py": (
        '"""Orders."""\n\nimport math\n\n\ndef total(prices):\n    return math.fsum(prices)\n'
    ),
    "tests/__init__.py": "",
    "tests/test_orders.py": (
        "import unittest\n\nfrom shop import orders\n\n\n"
        "class Orders(unittest.TestCase):\n"
        "    def test_total(self):\n"
        "        self.assertEqual(orders.total([1, 2]), 3)\n"
    ),
}
PLANTED = (
    '"""Orders."""\n\nimport os\nimport math\nimport json\nimport datetime\n\n\n'
    "def total(prices):\n    return math.fsum(prices)\n\n\n"
    "def day():\n    return datetime.date.today()\n\n\n"
    "def collect(price, into=[]):\n    into.append(price)\n    return into\n\n\n"
    "def is_free(price):\n    return price == None\n\n\n"
    "def names(rows):\n    return list(map(lambda row: row[0], rows))\n\n\n"
    'def label(name, price):\n    return "%s: %s" % (name, price)\n\n\n'
    "def find(cursor, name):\n"
    "    cursor.execute(f\"SELECT * FROM orders WHERE name = '{name}'\")\n\n\n"
    "def forget(orders, name):\n"
    "    try:\n        del orders[name]\n    except KeyError as error:\n        print(error)\n"
    "    try:\n        orders.sync()\n    except Exception:\n        pass\n"
)
"""F401 twice and I001 in one block of imports, B006, E711, C417, UP031, S608 and S110."""


@pytest.fixture(params=[False, True], ids=["plain", "coverage"])
def planted(request, repo, tmp_path, monkeypatch) -> shop.Place:
    """The branch, and a check whose Python has coverage.py, or not."""
    repo.commit(CLEAN, "a clean project")
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.commit({"shop/orders.py": PLANTED}, "mistakes")
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / "state"))
    settings = shop.settings(tmp_path / "settings.toml")
    if request.param:
        named = settings.read_text().replace(sys.executable, needs.covered_python())
        settings.write_text(named)
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(settings))
    return shop.Place(repo)


class Ledger:
    """Keeps the events of a run."""

    def __init__(self) -> None:
        self.events = []

    def handle_event(self, entry, run) -> None:
        self.events.append(entry.event)

    def count_runs(self) -> tuple[int, int]:
        """Return how often the tests were run on the base, and with fixes."""
        base = [event for event in self.events if isinstance(event, ev.Baselined)]
        tried = [event for event in self.events if isinstance(event, ev.Tried)]
        return tuple(sum(each.usage.checks for each in some) for some in (base, tried))


def lines_known(ledger) -> bool:
    measured = [event for event in ledger.events if isinstance(event, ev.Baselined)]
    return all(not event.lines_unknown for event in measured)


def test_mistakes_of_eight_kinds_take_three_runs_of_the_tests_and_one_commit_for_the_imports(
    planted,
):
    ledger = Ledger()
    run = planted.run(ledger, {"analyzers.select": ""}, kind=None)
    base, tried = ledger.count_runs()
    fixed = {item.lead.rule for item in run.find_items(Status.FIXED)}
    unsafe = {"B006", "C417", "E711", "UP031"}
    executed = {"F401", "I001"}  # no test executes the lines of the unsafe fixes
    assert fixed == (executed if lines_known(ledger) else executed | unsafe)
    branch = run.landing.branch
    subjects = planted.repo.git("log", "--format=%s", f"feature..{branch}").splitlines()
    assert subjects.count("Fix F401, I001: 3 items") == 1
    assert not [each for each in subjects if "F401" in each and "I001" not in each]
    (block,) = planted.repo.git("log", "--format=%H", "--grep=F401", f"feature..{branch}").split()
    diff = planted.repo.git("show", "--format=", block)
    changed = [each for each in diff.splitlines() if each[0] in "+-" and "import" in each]
    assert changed == ["-import os", "-import math", "-import json", "+import math"]
    assert (base + tried, tried) == (3, 1)


PLUGINS = {
    "shop/__init__.py": "",
    "shop/registry.py": "names = []\n",
    "shop/plugins.py": 'from shop import registry\n\nregistry.names.append("plugin")\n',
    "shop/app.py": (
        "import math\nfrom shop import plugins\nimport os\nfrom shop import registry\n\n\n"
        "def count():\n    return math.floor(len(registry.names))\n"
    ),
    "tests/__init__.py": "",
    "tests/test_app.py": (
        "import unittest\n\nfrom shop import app\n\n\n"
        "class App(unittest.TestCase):\n"
        "    def test_count(self):\n        self.assertEqual(app.count(), 1)\n"
    ),
}
"""The import of `plugins` is unused and does something."""


def test_of_fixes_that_became_one_the_culprit_alone_is_left_out(place):
    repo = place.repo
    repo.commit(PLUGINS, "plugins")
    ledger = Ledger()
    run = place.run(ledger, {"analyzers.select": "F401,I001"}, paths=("shop/app.py",))
    by_title = {item.lead.title: item.status for item in run.items.values()}
    assert by_title["`os` imported but unused"] is Status.FIXED
    assert by_title["`shop.plugins` imported but unused"] is Status.FILED
    landed = repo.git("show", f"{run.landing.branch}:shop/app.py")
    assert "plugins" in landed
    assert "import os" not in landed
    whole = [each for each in ledger.events if isinstance(each, ev.Tried) and each.complete]
    assert len(whole) <= 4, "all three fixes, two halvings, and once more for the culprit"


TYPED = {
    "shop/__init__.py": "",
    "shop/typed.py": (
        "from typing import Dict, List\nimport os, json\n\n\n"
        "def number(names: List[str]) -> Dict[int, str]:\n    return dict(enumerate(names))\n\n\n"
        'def show(names: List[str]) -> str:\n    return "{}, {}".format(names[0], names[1])\n'
    ),
    "tests/__init__.py": "",
    "tests/test_typed.py": (
        "import unittest\n\nfrom shop import typed\n\n\n"
        "class Typed(unittest.TestCase):\n    def test_both(self):\n"
        '        self.assertEqual(typed.number(["a"]), {0: "a"})\n'
        '        self.assertEqual(typed.show(["a", "b"]), "a, b")\n'
    ),
}


def test_an_import_that_is_used_no_longer_goes_with_the_fixes_that_used_it_last(planted):
    repo = planted.repo
    repo.commit(TYPED, "typed")
    ledger = Ledger()
    flags = {"analyzers.select": "E,F,I,UP", "commits": "item"}
    run = planted.run(ledger, flags, paths=("shop/typed.py",))
    planned = [event for event in ledger.events if isinstance(event, ev.Planned)]
    assert len([event for event in planned if event.batches]) == 1
    rules = [{run.items[n].lead.rule for n in batch.items} for batch in planned[0].batches]
    assert {"E401", "F401", "I001", "UP006"} in rules
    for commit in repo.git("rev-list", f"feature..{run.landing.branch}").split():
        repo.git("checkout", "--quiet", "--detach", commit)
        tests = [sys.executable, "-m", "unittest"]
        assert (
            subprocess.run(tests, cwd=repo.root, capture_output=True, check=False).returncode == 0
        )


UNREAD = {
    "shop/__init__.py": "",
    "shop/orders.py": "import math\nimport os\n\n\ndef total(prices):\n    return math.fsum(prices)\n",
    "shop/locks.py": "import threading\n\n\nlock = threading.Lock()\n\n\n"
    + "\n\n".join(
        f"def {name}():\n    try:\n        lock.release()\n    except RuntimeError:\n        pass\n"
        for name in ("reading", "writing", "counting")
    ),
    "tests/__init__.py": "",
    "tests/test_orders.py": CLEAN["tests/test_orders.py"],
}
"""An unused import, and unsafe fixes that no test executes; all three change the same imports."""


def test_fixes_that_no_check_could_prove_cost_no_run_of_the_tests(repo, place, monkeypatch):
    covered = shop.settings(repo.root.parent / "covered.toml")
    covered.write_text(covered.read_text().replace(sys.executable, needs.covered_python()))
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(covered))
    repo.commit(UNREAD, "nothing tests the locks")
    ledger = Ledger()
    paths = ("shop/orders.py", "shop/locks.py")
    run = place.run(ledger, {"analyzers.select": "F401,SIM105"}, paths=paths)
    tried = [event for event in ledger.events if isinstance(event, ev.Tried)]
    unread = {item.number for item in run.find_items(Status.FILED)}
    assert {run.items[number].lead.rule for number in unread} == {"SIM105"}
    planned = [event for event in ledger.events if isinstance(event, ev.Planned)]
    batches = {batch.number: batch for event in planned for batch in event.batches}
    assert [[batches[n].title.partition(":")[0] for n in each.batches] for each in tried] == [
        ["F401"]
    ]
    for number in unread:
        assert any("no test executes" in each.why for each in run.items[number].attempts)


ERRORS = {
    "shop/__init__.py": "",
    "shop/orders.py": (
        "def read(rows, at):\n    try:\n        return rows[at]\n"
        "    except IndexError as error:\n        raise error\n\n\n"
        "def find(rows, name):\n    try:\n        return rows[name]\n"
        "    except KeyError as error:\n        raise error\n"
    ),
    "tests/__init__.py": "",
    "tests/test_orders.py": (
        "import os\nimport unittest\n\nfrom shop import orders\n\n\n"
        "class Orders(unittest.TestCase):\n    def test_read(self):\n"
        "        self.assertRaises(IndexError, orders.read, [], 1)\n"
        "        self.assertRaises(KeyError, orders.find, {}, 1)\n"
    ),
}


def test_what_a_fix_leaves_unused_goes_with_it_and_safe_fixes_of_tests_take_no_run_of_their_own(
    repo, place
):
    repo.commit(ERRORS, "errors")
    ledger = Ledger()
    paths = ("shop/orders.py", "tests/test_orders.py")
    run = place.run(ledger, {"analyzers.select": "F401,F841,TRY201"}, paths=paths)
    assert not run.find_items(Status.FILED)
    landed = repo.git("show", f"{run.landing.branch}:shop/orders.py")
    assert "as error" not in landed
    planned = [event for event in ledger.events if isinstance(event, ev.Planned)]
    assert [len(event.batches) for event in planned if event.batches] == [3], "one for each"
    assert ledger.count_runs()[1] == 1
