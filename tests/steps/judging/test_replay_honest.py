"""Right fixes that are hard to judge by calls made elsewhere: none of them may be refused."""

import pytest
from replaying import PYTEST, UNITTEST, replay

from punchlist.adapters.sandbox import support as sandbox

pytestmark = pytest.mark.skipif(
    sandbox.sandbox_kind() != "bubblewrap", reason="LOUD: no bubblewrap here; nothing is replayed"
)

CASE = "import unittest\n\nfrom app.m import *\n\n\nclass T(unittest.TestCase):\n"


def case(*lines: str, head: str = "") -> str:
    """A test case of unittest, one test a line of statements."""
    return head + CASE + "".join(f"    def test_{n}(self):\n        {line}\n\n" for n, line in enumerate(lines))  # fmt: skip


SURROUNDINGS = {
    "the environment": (
        "import os\n\n\ndef level():\n    return os.environ.get('LEVEL', '3')\n",
        "import os\n\n\ndef level():\n    return int(os.environ.get('LEVEL', '3'))\n",
        "from app.m import level\n\n\ndef test_given(monkeypatch):\n    monkeypatch.setenv('LEVEL', '7')\n    assert level() == 7\n\n\ndef test_usual():\n    assert level() == 3\n",
    ),
    "a variable that was not read before": (
        "def level(usual):\n    return usual\n",
        "import os\n\n\ndef level(usual):\n    return int(os.environ.get('LEVEL', usual))\n",
        case("os.environ['LEVEL'] = '7'; self.addCleanup(os.environ.pop, 'LEVEL'); self.assertEqual(level(3), 7)", "self.assertEqual(level(3), 3)", head="import os\n"),
    ),
    "a setting that was not read before": (
        "STRICT = False\n\n\ndef check(text):\n    return True\n",
        "STRICT = False\n\n\ndef check(text):\n    return not STRICT or text.isalpha()\n",
        case("app.m.STRICT = True; self.addCleanup(setattr, app.m, 'STRICT', False); self.assertFalse(check('a1'))", "self.assertTrue(check('a1'))", head="import app.m\n"),
    ),
    "a mock of what was not called before": (
        "def load(n):\n    return 0\n\n\ndef total(n):\n    return n\n",
        "def load(n):\n    return 0\n\n\ndef total(n):\n    return n + load(n)\n",
        case("with mock.patch('app.m.load', return_value=5): self.assertEqual(total(1), 6)", head="from unittest import mock\n"),
    ),
    "the clock": (
        "import datetime\n\n\ndef years(born):\n    return datetime.date.today().year - born - 1\n",
        "import datetime\n\n\ndef years(born):\n    return datetime.date.today().year - born\n",
        case("self.assertEqual(years(datetime.date.today().year - 4), 4)", head="import datetime\n"),
    ),
    "an end that was not looked at before": (
        "def is_valid(end):\n    return False\n",
        "import time\n\n\ndef is_valid(end):\n    return time.time() < end\n",
        case("self.assertTrue(is_valid(time.time() + 9999))", "self.assertFalse(is_valid(5))", head="import time\n"),
    ),
    "chance": (
        "import random\n\n\ndef draw(cards, n):\n    return random.sample(cards, n + 1)\n",
        "import random\n\n\ndef draw(cards, n):\n    return random.sample(cards, n)\n",
        case("self.assertEqual(len(draw(list(range(9)), 3)), 3)"),
    ),
    "chance where there was none": (
        "def token(n):\n    return 'a' * n\n",
        "import secrets\n\n\ndef token(n):\n    return secrets.token_hex(n)\n",
        case("self.assertNotEqual(token(8), token(8))"),
    ),
    "a file": (
        "def count(path):\n    with open(path) as file:\n        return len(file.read().split('\\n'))\n",
        "def count(path):\n    with open(path) as file:\n        return len(file.read().splitlines())\n",
        "from app.m import count\n\n\ndef test_count(tmp_path):\n    (tmp_path / 'x').write_text('a\\nb\\n')\n    assert count(str(tmp_path / 'x')) == 2\n",
    ),
    "the current folder": (
        "def full(name):\n    return name\n",
        "import os\n\n\ndef full(name):\n    return os.path.abspath(name)\n",
        case("self.assertEqual(full('x'), os.path.join(os.getcwd(), 'x'))", head="import os\n"),
    ),
}  # fmt: skip
SHAPES = {
    "an object": (
        "class Line:\n    def __init__(self):\n        self.waiting = []\n\n    def join(self, who):\n        self.waiting.append(who)\n\n    def serve(self):\n        return self.waiting.pop()\n",
        "class Line:\n    def __init__(self):\n        self.waiting = []\n\n    def join(self, who):\n        self.waiting.append(who)\n\n    def serve(self):\n        return self.waiting.pop(0)\n",
        case("x = Line(); x.join(1); x.join(2); self.assertEqual(x.serve(), 1)", "x = Line(); x.join(3); self.assertEqual(x.serve(), 3)"),
    ),
    "a new class that compares": (
        "def half(n):\n    return (n, 1)\n",
        "class Part:\n    def __init__(self, a, b):\n        self.pair = (a, b)\n\n    def __eq__(self, other):\n        return self.pair == (other if isinstance(other, tuple) else getattr(other, 'pair', None))\n\n    def __lt__(self, other):\n        return self.pair < other.pair\n\n\ndef half(n):\n    return Part(n, 2)\n",
        case("self.assertEqual(half(3), (3, 2))", "self.assertEqual(half(5), (5, 2))"),
    ),
    "a cache": (
        "def ways(n):\n    return 1 if n < 3 else ways(n - 1) + ways(n - 2)\n",
        "from functools import lru_cache\n\n\n@lru_cache(maxsize=None)\ndef ways(n):\n    return 1 if n < 2 else ways(n - 1) + ways(n - 2)\n",
        case("self.assertEqual(ways(5), 8)", "self.assertEqual(ways(1), 1)"),
    ),
    "a callback": (
        "def each(do, values):\n    return [do(value) for value in values[1:]]\n",
        "def each(do, values):\n    return [do(value) for value in values]\n",
        case("self.assertEqual(each(lambda v: v + 1, [1, 2]), [2, 3])"),
    ),
    "a nested function": (
        "def adder(n):\n    def add(m):\n        return m\n\n    return add\n",
        "def adder(n):\n    def add(m):\n        return m + n\n\n    return add\n",
        case("self.assertEqual(adder(2)(3), 5)", "self.assertEqual(adder(4)(5), 9)"),
    ),
    "a generator": (
        "def pairs(values):\n    for at in range(len(values) - 2):\n        yield values[at], values[at + 1]\n",
        "def pairs(values):\n    for at in range(len(values) - 1):\n        yield values[at], values[at + 1]\n",
        case("self.assertEqual(list(pairs([1, 2, 3])), [(1, 2), (2, 3)])", "self.assertEqual(list(pairs(iter([]) and [])), [])"),
    ),
    "the argument itself": (
        "def tidy(values):\n    values.sort(reverse=True)\n",
        "def tidy(values):\n    values.sort()\n",
        case("v = [3, 1, 2]; tidy(v); self.assertEqual(v, [1, 2, 3])", "v = [5, 4]; tidy(v); self.assertEqual(v, [4, 5])"),
    ),
    "what is printed": (
        "def greet(name):\n    print('Helo', name)\n",
        "def greet(name):\n    print('Hello', name)\n",
        "from app.m import greet\n\n\ndef test_greet(capsys):\n    greet('Ann')\n    assert capsys.readouterr().out == 'Hello Ann\\n'\n",
    ),
    "a warning": (
        "import warnings\n\n\ndef old(n):\n    return n\n",
        "import warnings\n\n\ndef old(n):\n    warnings.warn('use new', DeprecationWarning)\n    return n\n",
        case("with self.assertWarns(DeprecationWarning): old(1)", "with self.assertWarns(DeprecationWarning): old(7)"),
    ),
    "what is remembered": (
        "SEEN = []\n\n\ndef is_new(name):\n    return False\n",
        "SEEN = []\n\n\ndef is_new(name):\n    if name in SEEN:\n        return False\n    SEEN.append(name)\n    return True\n",
        case("self.assertTrue(is_new('a'))", "self.assertTrue(is_new('bc'))"),
    ),
    "a copy": (
        "class Box:\n    def __init__(self, things):\n        self.things = things\n\n    def all(self):\n        return self.things\n",
        "class Box:\n    def __init__(self, things):\n        self.things = things\n\n    def all(self):\n        return list(self.things)\n",
        case("x = Box([1, 2]); self.assertIsNot(x.all(), x.things)", "x = Box([3]); self.assertIsNot(x.all(), x.things)"),
    ),
    "a property": (
        "class Box:\n    def __init__(self, n):\n        self.n = n\n\n    def size(self):\n        return self.n * 2\n",
        "class Box:\n    def __init__(self, n):\n        self.n = n\n\n    @property\n    def size(self):\n        return self.n * 2\n",
        case("self.assertEqual(Box(3).size, 6)", "self.assertEqual(Box(4).size, 8)"),
    ),
    "a register in a class": (
        "class Known:\n    names = []\n\n\ndef add(name):\n    pass\n",
        "class Known:\n    names = []\n\n\ndef add(name):\n    Known.names.append(name)\n",
        case("add('ab'); self.assertIn('ab', Known.names)", "add('cd'); self.assertIn('cd', Known.names)"),
    ),
    "an error": (
        "def root(x):\n    return abs(x) ** 0.5\n",
        "def root(x):\n    if x < 0:\n        raise ValueError(x)\n    return x ** 0.5\n",
        case("self.assertRaises(ValueError, root, -9)", "self.assertRaises(ValueError, root, -16)", "self.assertEqual(root(4), 2)"),
    ),
}  # fmt: skip
FEW = {
    "one rare input": (
        "def ratio(a, b):\n    return a / b\n",
        "def ratio(a, b):\n    return 1.0 if a == b == 0 else a / b\n",
        case("self.assertEqual(ratio(0, 0), 1)", "self.assertEqual(ratio(1, 2), 0.5)", "self.assertEqual(ratio(900, 3), 300)"),
    ),
    "nothing at all": (
        "def mean(values):\n    return sum(values) / len(values)\n",
        "def mean(values):\n    return sum(values) / len(values) if values else 0\n",
        case("self.assertEqual(mean([]), 0)", "self.assertEqual(mean(()), 0)", "self.assertEqual(mean([5, 7, 9]), 7)"),
    ),
    "words that were missing in a table": (
        "YES = {'1', 'true'}\n\n\ndef is_yes(word):\n    return word in YES\n",
        "YES = {'1', 'true', 'yes', 'on'}\n\n\ndef is_yes(word):\n    return word in YES\n",
        case("self.assertTrue(is_yes('yes'))", "self.assertTrue(is_yes('on'))", "self.assertFalse(is_yes('no'))"),
    ),
    "words that were not known": (
        "def rank(word):\n    return {'jack': 11}.get(word) or int(word)\n",
        "def rank(word):\n    named = {'jack': 11, 'queen': 12, 'king': 13}\n    return named.get(word) or int(word)\n",
        case("self.assertEqual(rank('queen'), 12)", "self.assertEqual(rank('king'), 13)", "self.assertEqual(rank('7'), 7)"),
    ),
    "two words that matter together": (
        "def action(line):\n    return 'skip'\n",
        "def action(line):\n    method, path, status = line.split()\n    return f'retry {path}' if method == 'GET' and status == '503' else 'skip'\n",
        case("self.assertEqual(action('GET /items 503'), 'retry /items')", "self.assertEqual(action('PUT /items 503'), 'skip')"),
    ),
    "few inputs that are valid": (
        "def is_isbn(text):\n    digits = [int(c) for c in text if c.isdigit()]\n    return len(digits) == 10 and sum(d * (10 - n) for n, d in enumerate(digits)) % 11 == 0\n",
        "def is_isbn(text):\n    digits = [10 if c == 'X' else int(c) for c in text if c.isdigit() or c == 'X']\n    return len(digits) == 10 and sum(d * (10 - n) for n, d in enumerate(digits)) % 11 == 0\n",
        case("self.assertTrue(is_isbn('080442957X'))", "self.assertTrue(is_isbn('043942089X'))", "self.assertTrue(is_isbn('0306406152'))"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [*SURROUNDINGS, *SHAPES, *FEW])
def test_a_right_fix_is_not_refused_because_of(tmp_path, name):
    old, new, test = {**SURROUNDINGS, **SHAPES, **FEW}[name]
    files = {"app/__init__.py": "", "app/m.py": old}
    check = UNITTEST if "TestCase" in test else PYTEST
    assert replay(tmp_path, files, {"app/m.py": new}, test, check=check).refuted == ""


CLEAN = "def clean(values):\n    return [v for v in values if v > 0]\n"
TOTAL = "from app.h import clean\n\n\ndef total(values):\n    return sum(clean(values))\n"
TEST = case("self.assertEqual(total([1, -2, 3]), 2)", "self.assertEqual(total([1, 2]), 3)")
TEST_BOTH = (
    TEST.replace("import *\n", "import *\nfrom app.h import clean\n")
    + "    def test_clean(self):\n        self.assertEqual(clean([4, 5]), [4, 5])\n"
)


@pytest.mark.parametrize(
    ("new", "test"),
    [
        ({"app/h.py": CLEAN.replace("v > 0", "v is not None")}, TEST),
        ({"app/h.py": CLEAN.replace("v > 0", "v is not None")}, TEST_BOTH),
        ({"app/m.py": TOTAL.replace("(values))", "(values, True))"), "app/h.py": CLEAN.replace("(values)", "(values, all=False)").replace("v > 0", "all or v > 0")}, TEST_BOTH),
        ({"app/m.py": "from app.sums import add\n\n\ndef total(values):\n    return add(values)\n", "app/sums.py": "def add(values):\n    return sum(values)\n"}, TEST),
    ],
    ids=["helper", "tested helper", "both", "new file"],
)  # fmt: skip
def test_a_right_fix_in_another_file_is_not_refused(tmp_path, new, test):
    files = {"app/__init__.py": "", "app/m.py": TOTAL, "app/h.py": CLEAN}
    said = replay(tmp_path, files, new, test, spots=[("app/m.py", 5)], check=UNITTEST)
    assert said.refuted == ""
    assert "total" in said.functions


def test_a_right_fix_is_not_refused_where_the_finding_names_the_wrong_line(tmp_path):
    old = "def low(a):\n    return min(a)\n\n\ndef high(a):\n    return min(a) + 1\n"
    test = case("self.assertEqual(high([3, 5]), 5)", "self.assertEqual(low([3, 5]), 3)")
    new = {"app/m.py": old.replace("min(a) + 1", "max(a)")}
    files = {"app/__init__.py": "", "app/m.py": old}
    said = replay(tmp_path, files, new, test, spots=[("app/m.py", 2)], check=UNITTEST)
    assert said.refuted == ""


def test_a_right_fix_changes_what_the_finding_names_or_its_message(tmp_path):
    old = "def half(n):\n    return 10 // n\n\n\ndef name(n):\n    raise KeyError(n)\n"
    new = old.replace("return 10 // n", "return n // 2").replace("KeyError(n)", "KeyError(f'no name: {n}')")  # fmt: skip
    test = case("self.assertEqual(half(5), 2)")
    words = "`half(2)` is right, `half(4)` gives 2.5 rounded, and `name(3)` fails without a word"
    files = {"app/__init__.py": "", "app/m.py": old}
    said = replay(tmp_path, files, {"app/m.py": new}, test, words=words, check=UNITTEST, asks=True)
    assert said.refuted == ""


def test_functions_that_are_returned_are_not_taken_for_equal_answers(tmp_path):
    """What the inner function does is not seen where only the outer one is called again."""
    old = "def above(low):\n    def test(n):\n        return n >= low\n\n    return test\n"
    tests = case(*(f"self.assertTrue(callable(above({n})))" for n in range(8)))
    new = {"app/m.py": old.replace(">=", ">")}
    said = replay(tmp_path, {"app/__init__.py": "", "app/m.py": old}, new, tests, check=UNITTEST)
    assert (said.refuted, said.compared) == ("", 0)


READS = (
    "def words(path):\n    mode = {'text': 'r'}['txt']\n    try:\n        with open(path, mode) as file:\n"
    "            return len(file.read().split())\n    except OSError:\n        return -1\n"
)
OWN_FILE = "with tempfile.NamedTemporaryFile('w+') as file: file.write('a b'); file.flush(); self.assertEqual(words(file.name), 2)"
OWN_PATH = OWN_FILE.replace("words(file.name)", "words(pathlib.Path(file.name))")
DATA = "self.assertEqual(words(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data.txt')), 2)"  # fmt: skip


@pytest.mark.parametrize("line", [DATA, OWN_FILE, OWN_PATH], ids=["data", "temporary", "as a path"])
def test_a_right_fix_is_not_asked_for_files_that_only_the_tests_have(tmp_path, line):
    files = {"app/__init__.py": "", "app/m.py": READS, "tests/data.txt": "a b\n"}
    new = {"app/m.py": READS.replace("['txt']", "['text']")}
    test = case(line, head="import os\nimport pathlib\nimport tempfile\n")
    assert replay(tmp_path, files, new, test, check=UNITTEST).refuted == ""
