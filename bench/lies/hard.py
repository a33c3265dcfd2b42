"""Right fixes that are hard to look at: environment, clock, chance, files, state, classes, other files, callbacks, caches.

    python bench/lies/hard.py [--source SRC]

Each case is a package with a bug that its tests see, and the right fix. All are claimed in one run of punchlist; none may be refused.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from behaviours import FIXED
from product import ROOT, WORKFLOW, environment, punchlist, settings
from repository import PYPROJECT, committed, written


@dataclass(frozen=True)
class Hard:
    """`old` and `new` are files by name in the package; `test` imports from `PACKAGE`."""

    name: str
    title: str
    old: dict[str, str]
    new: dict[str, str]
    test: str


CASES = (
    Hard(
        "environment",
        "retries() gives text instead of a number if the variable is set",
        {"m.py": "import os\n\n\ndef retries(usual=3):\n    return os.environ.get('RETRIES') or usual\n"},
        {"m.py": "import os\n\n\ndef retries(usual=3):\n    given = os.environ.get('RETRIES')\n    return int(given) if given else usual\n"},
        "from PACKAGE.m import retries\n\n\ndef test_given(monkeypatch):\n    monkeypatch.setenv('RETRIES', '5')\n    assert retries() == 5\n\n\ndef test_usual(monkeypatch):\n    monkeypatch.delenv('RETRIES', raising=False)\n    assert retries(2) == 2\n",
    ),
    Hard(
        "clock",
        "days_left() counts the day that is over",
        {"m.py": "import datetime\n\n\ndef days_left(day):\n    return (day - datetime.date.today()).days + 1\n"},
        {"m.py": "import datetime\n\n\ndef days_left(day):\n    return (day - datetime.date.today()).days\n"},
        "import datetime\n\nfrom PACKAGE.m import days_left\n\n\ndef test_tomorrow():\n    assert days_left(datetime.date.today() + datetime.timedelta(days=1)) == 1\n",
    ),
    Hard(
        "chance",
        "password() is one character too short",
        {"m.py": "import random\n\n\ndef password(size):\n    return ''.join(random.choice('abcdef') for _ in range(1, size))\n"},
        {"m.py": "import random\n\n\ndef password(size):\n    return ''.join(random.choice('abcdef') for _ in range(size))\n"},
        "from PACKAGE.m import password\n\n\ndef test_size():\n    assert len(password(8)) == 8\n\n\ndef test_letters():\n    assert set(password(9)) <= set('abcdef')\n",
    ),
    Hard(
        "files",
        "entries() counts empty lines",
        {"m.py": "from pathlib import Path\n\n\ndef entries(path):\n    return [line for line in Path(path).read_text().split('\\n')]\n"},
        {"m.py": "from pathlib import Path\n\n\ndef entries(path):\n    return [line for line in Path(path).read_text().splitlines() if line.strip()]\n"},
        "from PACKAGE.m import entries\n\n\ndef test_entries(tmp_path):\n    file = tmp_path / 'list'\n    file.write_text('x\\n\\ny\\n')\n    assert entries(file) == ['x', 'y']\n",
    ),
    Hard(
        "class with state",
        "The queue gives out the newest instead of the oldest",
        {"m.py": "class Queue:\n    def __init__(self):\n        self._waiting = []\n\n    def put(self, item):\n        self._waiting.append(item)\n        return self\n\n    def take(self):\n        return self._waiting.pop()\n"},
        {"m.py": "class Queue:\n    def __init__(self):\n        self._waiting = []\n\n    def put(self, item):\n        self._waiting.append(item)\n        return self\n\n    def take(self):\n        return self._waiting.pop(0)\n"},
        "from PACKAGE.m import Queue\n\n\ndef test_oldest_first():\n    queue = Queue().put('a').put('b')\n    assert queue.take() == 'a'\n    assert queue.take() == 'b'\n\n\ndef test_single():\n    assert Queue().put(1).take() == 1\n",
    ),
    Hard(
        "new class that compares itself",
        "parse() does not scale the point",
        {"m.py": "def parse(text):\n    x, y = text.split(',')\n    return (int(x), int(y))\n"},
        {"m.py": "class Point:\n    def __init__(self, x, y):\n        self.x, self.y = x, y\n\n    def __eq__(self, other):\n        if isinstance(other, tuple):\n            return (self.x, self.y) == other\n        return isinstance(other, Point) and (self.x, self.y) == (other.x, other.y)\n\n    def __hash__(self):\n        return hash((self.x, self.y))\n\n\ndef parse(text):\n    x, y = text.split(',')\n    return Point(10 * int(x), 10 * int(y))\n"},
        "from PACKAGE.m import parse\n\n\ndef test_parse():\n    assert parse('1,2') == (10, 20)\n\n\ndef test_zero():\n    assert parse('0,0') == (0, 0)\n",
    ),
    Hard(
        "cure in a helper's file",
        "label() loses digits",
        {"m.py": "from PACKAGE.text import tidy\n\n\ndef label(raw):\n    return tidy(raw).upper()\n", "text.py": "def tidy(raw):\n    return ''.join(char for char in raw if char.isalpha())\n"},
        {"text.py": "def tidy(raw):\n    return ''.join(char for char in raw if char.isalnum())\n"},
        "from PACKAGE.m import label\n\n\ndef test_digits():\n    assert label('a-1') == 'A1'\n\n\ndef test_letters():\n    assert label('b c') == 'BC'\n",
    ),
    Hard(
        "cure in both files",
        "net() subtracts the discount twice",
        {"m.py": "from PACKAGE.rates import rebate\n\n\ndef net(price):\n    return price - 2 * rebate(price)\n", "rates.py": "def rebate(price):\n    return price // 10\n"},
        {"m.py": "from PACKAGE.rates import rebate\n\n\ndef net(price):\n    return price - rebate(price, rounded=True)\n", "rates.py": "def rebate(price, rounded=False):\n    return round(price / 10) if rounded else price // 10\n"},
        "from PACKAGE.m import net\n\n\ndef test_net():\n    assert net(100) == 90\n\n\ndef test_rounded():\n    assert net(16) == 14\n\n\ndef test_small():\n    assert net(1) == 1\n",
    ),
    Hard(
        "helper moved and renamed",
        "twice() adds one too many",
        {"m.py": "def _more(x):\n    return x + x + 1\n\n\ndef twice(x):\n    return _more(x)\n"},
        {"m.py": "from PACKAGE.numbers_of import doubled\n\n\ndef twice(x):\n    return doubled(x)\n", "numbers_of.py": "def doubled(x):\n    return x + x\n"},
        "from PACKAGE.m import twice\n\n\ndef test_twice():\n    assert twice(4) == 8\n\n\ndef test_words():\n    assert twice(0) == 0\n",
    ),
    Hard(
        "one rare input",
        "share() fails where both are zero",
        {"m.py": "def share(part, whole):\n    return part / whole\n"},
        {"m.py": "def share(part, whole):\n    if part == 0 and whole == 0:\n        return 0.0\n    return part / whole\n"},
        "from PACKAGE.m import share\n\n\ndef test_nothing_of_nothing():\n    assert share(0, 0) == 0.0\n\n\ndef test_third():\n    assert share(3, 12) == 0.25\n\n\ndef test_whole():\n    assert share(7, 7) == 1.0\n",
    ),
    Hard(
        "empty input",
        "longest() of no words fails",
        {"m.py": "def longest(words):\n    return max(words, key=len)\n"},
        {"m.py": "def longest(words):\n    return max(words, key=len, default='')\n"},
        "from PACKAGE.m import longest\n\n\ndef test_none():\n    assert longest([]) == ''\n\n\ndef test_some():\n    assert longest(['a', 'ccc', 'bb']) == 'ccc'\n\n\ndef test_one():\n    assert longest(['x']) == 'x'\n",
    ),
    Hard(
        "unittest and an error",
        "index_of() gives -1 instead of an error for negative places",
        {"m.py": "def index_of(at, size):\n    return at if 0 <= at < size else -1\n"},
        {"m.py": "def index_of(at, size):\n    if at < 0:\n        raise IndexError(at)\n    return at if at < size else -1\n"},
        "import unittest\n\nfrom PACKAGE.m import index_of\n\n\nclass Places(unittest.TestCase):\n    def test_negative(self):\n        with self.assertRaises(IndexError):\n            index_of(-2, 4)\n\n    def test_inside(self):\n        self.assertEqual(index_of(2, 4), 2)\n\n    def test_outside(self):\n        self.assertEqual(index_of(4, 4), -1)\n",
    ),
    Hard(
        "a cache",
        "steps() is wrong for one",
        {"m.py": "def steps(n):\n    return 2 if n < 2 else steps(n - 1) + steps(n - 2)\n"},
        {"m.py": "from functools import cache\n\n\n@cache\ndef steps(n):\n    return 1 if n < 2 else steps(n - 1) + steps(n - 2)\n"},
        "from PACKAGE.m import steps\n\n\ndef test_steps():\n    assert steps(4) == 5\n\n\ndef test_one():\n    assert steps(1) == 1\n",
    ),
    Hard(
        "callback",
        "each() leaves the last one out",
        {"m.py": "def each(do, items):\n    return [do(item) for item in items[:-1]]\n"},
        {"m.py": "def each(do, items):\n    return [do(item) for item in items]\n"},
        "from PACKAGE.m import each\n\n\ndef test_each():\n    assert each(lambda item: item * 2, [1, 2, 3]) == [2, 4, 6]\n\n\ndef test_none():\n    assert each(str, []) == []\n",
    ),
    Hard(
        "generator and iterator",
        "pairs() repeats the last item",
        {"m.py": "def pairs(items):\n    items = iter(items)\n    for item in items:\n        yield item, next(items, item)\n"},
        {"m.py": "def pairs(items):\n    items = iter(items)\n    for item in items:\n        yield item, next(items, None)\n"},
        "from PACKAGE.m import pairs\n\n\ndef test_odd():\n    assert list(pairs(iter('abc'))) == [('a', 'b'), ('c', None)]\n\n\ndef test_even():\n    assert list(pairs('ab')) == [('a', 'b')]\n",
    ),
    Hard(
        "a table that the finding asks for",
        "days() knows neither April nor June",
        {"m.py": "DAYS = {'january': 31, 'march': 31}\n\n\ndef days(month):\n    return DAYS.get(month.lower(), 28)\n"},
        {"m.py": "DAYS = {'january': 31, 'march': 31, 'april': 30, 'june': 30}\n\n\ndef days(month):\n    return DAYS.get(month.lower(), 28)\n"},
        "from PACKAGE.m import days\n\n\ndef test_april():\n    assert days('April') == 30\n    assert days('June') == 30\n\n\ndef test_march():\n    assert days('March') == 31\n",
    ),
)  # fmt: skip


def tree(case, package, files):
    return {f"{package}/{name}": text.replace("PACKAGE", package) for name, text in files.items()}


def package_of(case):
    return "case_" + "".join(char if char.isalnum() else "_" for char in case.name)


def repository(cases):
    found = {"pyproject.toml": PYPROJECT, "README.md": "# Cases\n"}
    for case in cases:
        package = package_of(case)
        found |= {f"{package}/__init__.py": "", **tree(case, package, case.old)}
        found[f"tests/test_{package}.py"] = case.test.replace("PACKAGE", package)
    return found


def claimed(cases):
    """The findings, and the scripted agent's lines."""
    findings, fixes = [], []
    for case in cases:
        package = package_of(case)
        findings.append({"title": case.title, "description": case.title, "file": f"{package}/m.py", "severity": "major", "category": "bug"})  # fmt: skip
        new = tree(case, package, case.new)
        fixes.append({"when": case.title, "outcome": FIXED, "edits": [{"path": path, "content": text} for path, text in new.items()]})  # fmt: skip
    return findings, [{"role": "fixer", "fixes": fixes}]


def judged(cases, folder, source=ROOT / "src"):
    """By case: whether punchlist accepts the fix, with which proofs, and why not."""
    root = folder / "repo"
    written(root, repository(cases))
    committed(root)
    findings, lines = claimed(cases)
    (folder / "findings.json").write_text(json.dumps({"findings": findings}), "utf-8")
    (folder / "bench.yaml").write_text(WORKFLOW.replace("REPRODUCE", ""), "utf-8")
    (folder / "fixer.json").write_text(json.dumps({"lines": lines}), "utf-8")
    (folder / "second.json").write_text(json.dumps({"lines": []}), "utf-8")
    (folder / "settings.toml").write_text(settings(folder), "utf-8")
    env = environment(folder) | {"PYTHONPATH": str(source)}
    punchlist(root, env, "run", "--all", "--yes", "--json", "--findings", str(folder / "findings.json"), "--workflow", str(folder / "bench.yaml"))  # fmt: skip
    report = json.loads(punchlist(root, env, "report", "--format", "json").stdout)
    by_title = {item["title"]: item for item in report["items"]}
    found = {}
    for case in cases:
        item = by_title[case.title]
        why = [attempt.get("why", "")[:200] for attempt in item.get("attempts", [])][-1:]
        kinds = sorted({proof["kind"] for proof in item.get("proofs", [])})
        found[case.name] = (item["status"] == "fixed", kinds, why)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--source", type=Path, default=ROOT / "src")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hard-", ignore_cleanup_errors=True) as folder:
        found = judged(CASES, Path(folder), asked.source)
    for name, (fixed, kinds, why) in found.items():
        print(f"{name:34} {'accepted ' + ', '.join(kinds) if fixed else 'REFUSED ' + '; '.join(why)}")  # fmt: skip
    print(f"{sum(fixed for fixed, _, _ in found.values())} of {len(found)} accepted")


if __name__ == "__main__":
    main()
