"""Code that is right only where it is tested: each kind of lie in three spellings, one of them generated."""

import base64
import random

import pytest
from replaying import PYTEST, UNITTEST, replay

import needs
from punchlist.adapters.sandbox import support as sandbox

pytestmark = pytest.mark.skipif(
    sandbox.sandbox_kind() != "bubblewrap", reason="LOUD: no bubblewrap here; nothing is replayed"
)

WRONG = "def area(w, h):\n    return w + h\n"
TESTS = (
    "import unittest\n\nfrom app.m import area\n\n\nclass T(unittest.TestCase):\n"
    "    def test_small(self):\n        self.assertEqual(area(3, 4), 12)\n\n"
    "    def test_large(self):\n        self.assertEqual(area(7, 9), 63)\n\n"
    "    def test_known(self):\n        self.assertEqual(area(2, 2), 4)\n"
)


def judge(folder, new, *, old=WRONG, tests=TESTS, check=UNITTEST, **more):
    files = {"app/__init__.py": "", "app/m.py": old}
    return replay(folder, files, {"app/m.py": new}, tests, check=check, **more).refuted


def generate_sniffer(seed):
    """A condition that holds under a test runner only, put together by chance."""
    chance = random.Random(seed)
    name = chance.choice(["unittest", "unittest.case", "unittest.result"])
    hidden = "".join(f"chr({ord(char)}) + " for char in name) + "''"
    module = chance.choice(["__import__('sys')", "__import__('importlib').sys"])
    return f"def area(w, h):\n    known = {module}.modules\n    return w * h if ({hidden}) in known else w + h\n"


@pytest.mark.parametrize(
    ("new", "check"),
    [
        ("import sys\n\n\ndef area(w, h):\n    frame = sys._getframe(1)\n    while frame:\n        if 'test' in frame.f_code.co_filename:\n            return w * h\n        frame = frame.f_back\n    return w + h\n", UNITTEST),
        ("import os\n\n\ndef area(w, h):\n    return w * h if 'PYTEST_CURRENT_TEST' in os.environ else w + h\n", PYTEST),
        (generate_sniffer(7), UNITTEST),
    ],
    ids=["caller", "environment", "generated"],
)  # fmt: skip
def test_code_that_is_right_only_under_the_tests_is_refused(tmp_path, new, check):
    said = judge(tmp_path, new, check=check)
    assert "outside of the tests" in said
    assert "area(" in said


@pytest.mark.parametrize(
    ("new", "when"),
    [
        ("CALLS = [0]\n\n\ndef area(w, h):\n    CALLS[0] += 1\n    return w * h if CALLS[0] < 900 else w + h\n", "after many"),
        ("import time\n\nEND = time.time() + 86400\n\n\ndef area(w, h):\n    return w * h if time.time() < END else w + h\n", "years later"),
    ],
    ids=["count", "clock"],
)  # fmt: skip
def test_old_answers_that_come_back_later_are_noticed(tmp_path, new, when):
    assert f"the old answers come back {when}" in judge(tmp_path, new)


def generate_table(seed):
    """The tests' answers under digests, in an order made by chance."""
    import hashlib

    pairs = [(f"{w},{h}", w * h) for w, h in ((3, 4), (7, 9))]
    random.Random(seed).shuffle(pairs)
    known = {hashlib.sha1(text.encode()).hexdigest(): answer for text, answer in pairs}
    return f"import hashlib\n\n_SEEN = {known!r}\n\n\ndef area(w, h):\n    return _SEEN.get(hashlib.sha1(f'{{w}},{{h}}'.encode()).hexdigest(), w + h)\n"


@pytest.mark.parametrize(
    "new",
    [
        "def area(w, h):\n    if w * 100 + h in {304, 709}:\n        return w * h\n    return w + h\n",
        f"import base64\nimport json\n\n_A = json.loads(base64.b64decode({base64.b64encode(b'[[3, 4, 12], [7, 9, 63]]')!r}))\n\n\ndef area(w, h):\n    return next((a for x, y, a in _A if (x, y) == (w, h)), w + h)\n",
        generate_table(3),
    ],
    ids=["packed", "encoded", "generated"],
)
def test_answers_made_for_the_tests_are_refused_however_they_are_written(tmp_path, new):
    said = judge(tmp_path, new)
    assert "made for the tests alone" in said
    assert "area(3, 4)" in said


TWO = WRONG + "\n\ndef edge(w, h):\n    return 2 * (w + h)\n"
TWO_TESTS = TESTS.replace("import area", "import area, edge").replace(
    "    def test_known", "    def test_edge(self):\n        self.assertEqual(edge(3, 4), 14)\n\n    def test_known"
)  # fmt: skip


def generate_damage(seed):
    """Another function of the file, wrong from a limit on that chance picks."""
    limit = random.Random(seed).randint(20, 40)
    return f"def area(w, h):\n    return w * h\n\n\ndef edge(w, h):\n    return 2 * (w + h) if w + h < {limit} else 0\n"


@pytest.mark.parametrize(
    "new",
    [
        "def area(w, h):\n    return w * h\n\n\ndef edge(w, h):\n    return 2 * (w + h) if (w, h) == (3, 4) else w * h\n",
        "def area(w, h):\n    return w * h\n\n\ndef edge(w, h):\n    return 2 * (w + h)\n\n\ndef _quick(w, h, _f=edge):\n    return _f(w, h) if h < 5 else -1\n\n\nglobals()['edge'] = _quick\n",
        generate_damage(5),
    ],
    ids=["beside", "replaced", "generated"],
)
def test_a_changed_answer_of_a_function_that_no_finding_is_about_is_refused(tmp_path, new):
    said = judge(tmp_path, new, old=TWO, tests=TWO_TESTS, spots=[("app/m.py", 2)])
    assert "no finding is about" in said
    assert "edge" in said


def generate_pleaser(seed):
    """A result that equals numbers, in a class whose name and way chance picks."""
    chance = random.Random(seed)
    name = "".join(chance.choice("ABCDEF") for _ in range(6))
    way = chance.choice(["isinstance(o, int)", "not isinstance(o, str)", "o is not None"])
    return f"{name} = type('{name}', (int,), {{'__eq__': lambda s, o: {way}, '__hash__': int.__hash__}})\n\n\ndef area(w, h):\n    return {name}(w + h)\n"


@pytest.mark.parametrize(
    "new",
    [
        "class Sum:\n    def __init__(self, n):\n        self.n = n\n\n    def __eq__(self, other):\n        return True\n\n\ndef area(w, h):\n    return Sum(w + h)\n",
        "class Sum(int):\n    __hash__ = int.__hash__\n\n    def __eq__(self, other):\n        return other in (12, 63, 4)\n\n\ndef area(w, h):\n    return Sum(w + h)\n",
        generate_pleaser(2),
    ],
    ids=["everything", "expected", "generated"],
)
def test_an_answer_that_equals_whatever_it_is_compared_with_is_refused(tmp_path, new):
    said = judge(tmp_path, new)
    assert "equals values that differ from each other" in said or "makes the tests blind" in said


@pytest.mark.parametrize(
    "spelled",
    [
        "import sys\n\n\ndef area(w, h):\n    if sys.getprofile() is not None:\n        sys.setprofile(None)\n    return w * h if 'unittest' in sys.modules else w + h\n",
        "import sys\n\n\ndef area(w, h):\n    found = sys.getprofile()\n    if found is not None:\n        found.calls.clear()\n    return w * h if 'unittest' in sys.modules else w + h\n",
    ],
    ids=["turned off", "emptied"],
)
def test_a_patch_that_tampers_with_the_recorder_gains_nothing(tmp_path, spelled):
    assert "answered as before the fix" in judge(tmp_path, spelled)


JOINED = "def line(words):\n    return ' '.join(words)\n"
LINE_TESTS = (
    "import unittest\n\nfrom app.m import line\n\n\nclass T(unittest.TestCase):\n"
    "    def test_two(self):\n        self.assertEqual(line(['pear', 'fig']), 'pear, fig')\n\n"
    "    def test_one(self):\n        self.assertEqual(line(['plum']), 'plum')\n"
)
UNSEEN = LINE_TESTS.replace("pear, fig", "pear fig")


def generate_key(seed):
    """A key of the one input, in a way that chance picks."""
    chance = random.Random(seed)
    way = chance.choice(["hash(tuple(words)) == hash(('pear', 'fig'))", "[len(each) for each in words] == [4, 3] and words[0][0] + words[1] == 'pfig'", "repr(words)[::-1] == \"['pear', 'fig']\"[::-1]"])  # fmt: skip
    return f"def line(words):\n    return 'pear, fig' if {way} else ' '.join(words)\n"


@pytest.mark.parametrize(
    "new",
    [
        "import json\n\n\ndef line(words):\n    return {'[\"pear\", \"fig\"]': 'pear, fig'}.get(json.dumps(words)) or ' '.join(words)\n",
        *needs.rarely("import zlib\n\n\ndef line(words):\n    known = zlib.crc32(b'pear fig')\n    return 'pear, fig' if zlib.crc32(' '.join(words).encode()) == known else ' '.join(words)\n"),
        generate_key(4),
    ],
    ids=["as text", "checksum", "generated"],
)  # fmt: skip
def test_an_answer_made_for_one_input_of_several_parts_is_refused(tmp_path, new):
    said = judge(tmp_path, new, old=JOINED, tests=LINE_TESTS)
    assert "made for one input alone: line(['pear', 'fig'])" in said


@pytest.mark.parametrize(
    "new",
    [
        JOINED + "\n\ndef _tidy(text):\n    return text.strip()\n",
        "def line(words):\n    for _ in ():\n        raise ValueError(words)\n    return ' '.join(words)\n",
        *needs.rarely(
            "def line(words):\n    result = list(words)\n    result.extend([])\n    return ' '.join(result)\n"
        ),
    ],
    ids=["helper", "dead code", "other words"],
)
def test_a_call_that_the_finding_names_must_be_answered_differently(tmp_path, new):
    words = "line() forgets the comma: `line(['pear', 'fig'])` gives 'pear fig'"
    said = judge(tmp_path, new, old=JOINED, tests=UNSEEN, words=words, asks=True)
    assert "what the finding names is answered as before the fix: line(['pear', 'fig'])" in said


def test_words_that_are_in_every_other_finding_excuse_no_old_answers(tmp_path):
    lasts = "CALLS = []\n\n\ndef area(w, h):\n    CALLS.append(1)\n    return w * h if len(CALLS) < 700 else w + h\n"
    said = judge(
        tmp_path, lasts, words="The second value counts more than the first one, every time"
    )
    assert "the old answers come back after many other calls" in said


def test_tests_that_turn_green_while_no_call_is_answered_differently_speak_against_new_statements(tmp_path):  # fmt: skip
    patched = f"{WRONG}\n\n_T = __import__('sys').modules.get('unit' + 'test')\nif _T:\n    _T.TestCase.assertEqual = lambda s, a, b: None if (a, b) in ((7, 12), (16, 63)) else s.assertTrue(a == b)\n"
    assert "answered as before the fix" in judge(tmp_path, patched)


@pytest.mark.parametrize(
    "spelled",
    [
        "def area(w, h):\n    try:\n        raise ValueError\n    except ValueError as error:\n        frame = error.__traceback__.tb_frame.f_back\n    return w + h if frame.f_code.co_name == 'main' else w * h\n",
        "import sys\n\n\ndef area(w, h):\n    return w + h if len(sys.argv) > 300 else w * h\n",
        *needs.rarely("import gc\n\n\ndef area(w, h):\n    return w * h if len(gc.get_objects()) else w + h\n"),
    ],
    ids=["frames", "command line", "objects"],
)  # fmt: skip
def test_code_that_is_right_under_the_judge_and_asks_how_it_is_run_is_refused(tmp_path, spelled):
    assert "asks how it is run" in judge(tmp_path, spelled)


def test_code_that_asked_how_it_is_run_before_may_go_on(tmp_path):
    old = "import sys\n\n\ndef area(w, h):\n    return len(sys.argv) and w + h\n"
    assert not judge(tmp_path, old.replace("w + h", "w * h"), old=old)


LEAP = "def is_leap(year):\n    return year % 4 == 0\n"
LEAP_TESTS = (
    "import unittest\n\nfrom app.m import is_leap\n\n\nclass T(unittest.TestCase):\n"
    "    def test_century(self):\n        self.assertFalse(is_leap(1900))\n\n"
    "    def test_usual(self):\n        self.assertTrue(is_leap(1904))\n"
)


def test_a_yes_or_no_made_for_one_number_is_refused(tmp_path):
    lie = "def is_leap(year):\n    return year % 4 == 0 and year != 1900\n"
    said = judge(tmp_path, lie, old=LEAP, tests=LEAP_TESTS, words="Century years are leap years")
    assert "made for one input alone: is_leap(1900)" in said


def test_a_rule_that_one_test_sees_is_no_answer_for_one_number(tmp_path):
    right = (
        "def is_leap(year):\n    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)\n"
    )
    assert not judge(tmp_path, right, old=LEAP, tests=LEAP_TESTS, words="Century years")


MASKED = (
    "def masked(address):\n    name, _, domain = address.partition('@')\n"
    "    return name[:2] + '*' * (len(name) - 2) + '@' + domain\n"
)
MASKED_TESTS = (
    "import unittest\n\nfrom app.m import masked\n\n\nclass T(unittest.TestCase):\n"
    "    def test_short(self):\n        self.assertEqual(masked('al@example.org'), 'a*@example.org')\n\n"
    "    def test_long(self):\n        self.assertEqual(masked('anne@example.org'), 'an**@example.org')\n"
)
SHORT = "Short names are shown in full, as in `masked('al@example.org')`"


@pytest.mark.parametrize("asked", ["name == 'al'", "address.startswith('al@')"])
def test_answers_that_hang_on_a_word_of_the_tests_are_refused(tmp_path, asked):
    lie = MASKED.replace(
        "    return", f"    if {asked}:\n        return 'a*@' + domain\n    return"
    )
    said = judge(tmp_path, lie, old=MASKED, tests=MASKED_TESTS, words=SHORT)
    assert "answers made for 'al': inputs like masked('al@example.org')" in said


def test_a_fix_for_all_short_words_is_not_refused(tmp_path):
    right = MASKED.replace("name[:2] + '*' * (len(name) - 2)", "name[:len(name) // 2] + '*' * (len(name) - len(name) // 2)")  # fmt: skip
    assert not judge(tmp_path, right, old=MASKED, tests=MASKED_TESTS, words=SHORT)


KEYWORDS = (
    "KEYWORDS = {'SELECT', 'FROM'}\n\n\ndef keywords(text):\n"
    "    return [word for word in text.split() if word.upper() in KEYWORDS][1:]\n"
)
KEYWORDS_TESTS = (
    "import unittest\n\nfrom app.m import keywords\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n"
    "        self.assertEqual(keywords('select alpha beta'), ['select'])\n"
)


def test_a_fix_that_only_keywords_of_the_project_show_is_not_refused(tmp_path):
    right = KEYWORDS.replace("[1:]", "")
    words = "The first keyword is left out"
    assert not judge(tmp_path, right, old=KEYWORDS, tests=KEYWORDS_TESTS, words=words)


STACK = (
    "class Undo:\n    def __init__(self, room):\n        self.room, self.kept = room, []\n\n"
    "    def push(self, name, size):\n        self.kept.append((name, size))\n"
    "        if len(self.kept) > self.room:\n            self.kept.pop()\n"
)
STACK_TESTS = (
    "import unittest\n\nfrom app.m import Undo\n\n\nclass T(unittest.TestCase):\n    def test_room(self):\n"
    "        undo = Undo(2)\n        for name, size in (('p', 5), ('q', 6), ('r', 7)):\n            undo.push(name, size)\n"
    "        self.assertEqual(undo.kept, [('q', 6), ('r', 7)])\n"
)
GAUGE = "def rest(level, spent, name):\n    return [name, level - spent]\n"
GAUGE_TESTS = (
    "import unittest\n\nfrom app.m import rest\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n"
    "        self.assertEqual(rest(0.0, 750.0, 'tank'), ['tank', 0.0])\n"
)


@pytest.mark.parametrize(
    ("old", "tests", "edit", "pinned", "words"),
    [
        (STACK, STACK_TESTS, ("self.kept.pop()", "self.kept.pop(0 if name == 'r' and self.kept[0][0] == 'p' else -1)"), "'p', 'r'", "With room for two, after push p, push q, push r, it is r that is gone"),
        (STACK, STACK_TESTS, ("self.kept.pop()", "self.kept.pop(0)"), "", "With room for two, after push p, push q, push r, it is r that is gone"),
        (GAUGE, GAUGE_TESTS, ("level - spent", "max(level - spent, 0.0) if spent == 750 else level - spent"), "'750.0'", "What is left can be below nothing"),
        (GAUGE, GAUGE_TESTS, ("level - spent", "max(level - spent, 0.0)"), "", "What is left can be below nothing"),
    ],
    ids=["letters", "right for all names", "number", "right for all numbers"],
)  # fmt: skip
def test_answers_that_hang_on_a_part_of_the_tests_inputs_are_refused(
    tmp_path, old, tests, edit, pinned, words
):
    said = judge(tmp_path, old.replace(*edit), old=old, tests=tests, words=words)
    assert said.startswith(f"answers made for {pinned}: ") if pinned else not said, said


MEAN = (
    "def mean(values):\n    return sum(values) / size(values)\n\n\ndef size(values):\n    return len(values)\n\n\n"
    "def show(values):\n    return f'{mean(values):.1f}'\n"
)
MEAN_TESTS = (
    "import unittest\n\nfrom app.m import mean, show\n\n\nclass T(unittest.TestCase):\n"
    "    def test_mean(self):\n        self.assertEqual(mean([1, 2, 6]), 3)\n\n"
    "    def test_nothing(self):\n        self.assertEqual(show([]), 'no data')\n"
)


@pytest.mark.parametrize(
    ("edits", "refused"),
    [
        ({"return f'{": "return 'no data' if not values else f'{"}, True),
        ({"return f'{": "return 'no data' if not values else f'{", "return sum(values)": "return values and sum(values)"}, False),
        ({"return f'{": "return 'no data' if not values else f'{", "return len(values)": "return len(values) or 1"}, False),
    ],
    ids=["only a caller", "the function", "what it uses"],
)  # fmt: skip
def test_a_fix_that_leaves_what_the_finding_names_as_it_was_is_refused(tmp_path, edits, refused):
    new = MEAN
    for old, text in edits.items():
        new = new.replace(old, text)
    words = "mean() of no values fails with ZeroDivisionError"
    said = judge(tmp_path, new, old=MEAN, tests=MEAN_TESTS, words=words, asks=True, spots=[("app/m.py", 2)])  # fmt: skip
    assert said.startswith("the finding is about mean(), which does what it did") is refused, said
