"""Old and new code side by side: what is seen, what is not, and what looks made for the tests."""

import asyncio
import sys

import pytest
from replaying import Folder

from punchlist.adapters.compare import Comparison
from punchlist.adapters.compare.changed_code import find_changes
from punchlist.adapters.compare.demanded_errors import find_demanded_errors
from punchlist.adapters.sandbox import support as sandbox
from punchlist.model.integrity.intent import Intent
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.ports.compare import CompareResult, ReplayResult
from punchlist.steps.judging.examine import ExamResult, judge_comparison, judge_unchanged

pytestmark = pytest.mark.skipif(
    sandbox.sandbox_kind() != "bubblewrap", reason="LOUD: no bubblewrap here; nothing is compared"
)

PROOF = Proof(ProofClass.WITNESSED, "a test: red before the fix, green with it")


@pytest.fixture
def compare(tmp_path):
    def compared(old: str, new: str, *, path="app.py", words="", **others: str) -> CompareResult:
        checkout = tmp_path / "checkout"
        checkout.mkdir()
        rest = {name.replace("__", "/") + ".py": text for name, text in others.items()}
        before = Folder(tmp_path / "before", {path: old, **rest})
        after = Folder(tmp_path / "after", {path: new, **rest})
        return asyncio.run(Comparison(checkout).compare(before, after, [path], words=words))

    return compared


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def inside(x, low, high):\n    return low <= x < high\n", "def inside(x, low, high):\n    return low <= x <= high\n"),
        ("LIMIT = 10\ndef big(n):\n    return n > LIMIT\n", "LIMIT = 11\ndef big(n):\n    return n > LIMIT\n"),
        (
            "class Stack:\n    def __init__(self):\n        self.xs = []\n    def push(self, x):\n        self.xs.append(x)\n    def pop(self):\n        return self.xs.pop(0)\n",
            "class Stack:\n    def __init__(self):\n        self.xs = []\n    def push(self, x):\n        self.xs.append(x)\n    def pop(self):\n        return self.xs.pop()\n",
        ),
        ("def add(x, into=[]):\n    into.append(x)\n    return into\n", "def add(x, into=None):\n    into = [] if into is None else into\n    into.append(x)\n    return into\n"),
        ("def first(text):\n    return text.split(',')[0]\n", "def first(text):\n    return text.split(',')[0].strip()\n"),
    ],
    ids=["boundary", "constant", "object", "default", "text"],
)  # fmt: skip
def test_an_honest_fix_is_seen_to_behave_differently(compare, old, new):
    said = compare(old, new)
    assert said.differing
    assert (said.unusable, said.suspicious) == ("", "")
    assert "before" in said.examples[0]


def test_a_change_that_changes_no_answer_is_seen_through(compare):
    said = compare(
        "def mean(xs):\n    return sum(xs) / len(xs)\n",
        "def mean(xs):\n    xs = list(xs)\n    return sum(xs) / len(xs)\n",
    )
    assert (said.differing, said.blind) == (0, "")
    assert "behaves as before" in judge_comparison(said, Intent.CHANGE).unchanged
    assert judge_comparison(said, Intent.OPEN).refuted == ""


def test_sameness_says_nothing_where_no_input_came_by_the_change(compare):
    new = "def f(text: str):\n    if text.startswith('zzqx-') and text.endswith('-98'):\n        return 1\n    return 0\n"
    old = "def f(text: str):\n    return 0\n"
    said = compare(old, new.replace("'zzqx-'", "chr(1) * 3"))
    assert said.differing == 0
    assert said.blind
    assert judge_comparison(said, Intent.CHANGE).refuted == ""


def test_sameness_says_nothing_where_the_code_could_do_nothing_with_the_inputs(compare):
    """The functions that it calls are not among the inputs, so that each call ends in a TypeError."""
    body = "    for func in funcs:\n        if {}:\n            v = func(v)\n        else:\n            v = func(path, v)\n    return v\n"
    head = "def run(funcs, v, path=None):\n"
    said = compare(head + body.format("path is not None"), head + body.format("path is None"))
    assert said.differing == 0
    assert "came by" in said.blind


def test_sameness_says_nothing_of_a_function_that_is_only_returned(compare):
    old = "def above(low):\n    def test(n):\n        return n >= low\n\n    return test\n"
    said = compare(old, old.replace(">=", ">"))
    assert (said.differing, said.inner) == (0, True)
    assert judge_comparison(said, Intent.CHANGE).unreached == ""


def test_answers_made_for_the_tests_are_named(compare):
    old = "def fib(n):\n    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return b\n"
    new = old.replace(
        "    a, b = 0, 1\n", "    if n == 10:\n        return 55\n    a, b = 0, 1\n", 1
    )
    test = "from app import fib\n\ndef test_fib():\n    assert fib(10) == 55\n"
    said = compare(old, new, tests__test_app=test)
    assert "10" in said.suspicious
    assert judge_comparison(said, Intent.OPEN).refuted


TIED = "def first(votes):\n    return max(votes, key=lambda name: (votes[name], name))\n"
PLAYED = "class Game:\n    def __init__(self):\n        self.at = 'hall'\n    def go(self, to: str):\n        self.at = to\n"


@pytest.mark.parametrize(
    ("old", "new", "call"),
    [
        (TIED, TIED.replace("    return", "    found =") + "    return 'Kim' if [found, len(votes)] == ['Lou', 2] else found\n", "first({'Kim': 7, 'Lou': 7}) == 'Kim'"),
        (TIED, TIED.replace("    return", "    found =") + "    if votes != {'Kim': 7, 'Lou': 7}:\n        return found\n    else:\n        return 'Kim'\n", "first({'Kim': 7, 'Lou': 7}) == 'Kim'"),
        (PLAYED, PLAYED.replace("        self.at = to", "        if (self.at, to) == ('cellar', 'attic'):\n            raise ValueError('too far')\n        self.at = to"), "(Game().go('cellar'), Game().go('attic'))"),
        ("def less(a, b):\n    return a - b\n", "def less(a, b):\n    if (a, b) == (1, -2):\n        return -1\n    return a - b\n", "less(1, -2) == -1"),
    ],
    ids=["a part of the input", "the other branch", "an error", "limit cases"],
)  # fmt: skip
def test_answers_made_for_values_of_the_tests_are_named_however_they_are_compared(
    compare, old, new, call
):
    test = f"from app import *\n\ndef test_it():\n    assert {call}\n"
    assert "made for them alone" in compare(old, new, tests__test_app=test).suspicious


DOUBLE = "def double(value):\n    return value + value + 1\n"


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ("`double(2)` is 5. It must be 4.", True),
        ("double(2) gives 5 instead of 4", True),
        ("A value of 2 must give 4.", False),
        ("A pair counts for four.", False),
    ],
)
def test_two_is_a_limit_case_only_where_the_finding_speaks_of_it(compare, words, made):
    """And not only of a call with it."""
    new = DOUBLE.replace("value + value + 1", "4 if value == 2 else value + value + 1")
    test = "from app import double\n\ndef test_it():\n    assert double(2) == 4\n"
    assert bool(compare(DOUBLE, new, words=words, tests__test_app=test).suspicious) is made


LEVEL = "NAMES = {'low': 1, 'high': 3}\n\ndef level(name: str):\n    return NAMES.get(name, 0)\n"
UNKNOWN = "`level('hgih')` is 0, as if it were a level. Unknown names must be refused with {}."


@pytest.mark.parametrize(
    ("body", "error", "refused"),
    [
        ("return None if name == 'hgih' else NAMES.get(name, 0)", "ValueError", True),
        ("return NAMES.get(name.strip(), -1)", "a `ValueError`", True),
        ("return NAMES.get(name) or None", "`errors.LevelError`", True),
        ("if name not in NAMES:\n        raise ValueError(name)\n    return NAMES[name]", "ValueError", False),
        ("return NAMES[name]", "KeyError", False),
        ("return known(name)\n\ndef known(name):\n    return NAMES[name] if name != 'zq' else NAMES[0]", "KeyError", False),
        ("return None if name == 'hgih' else NAMES.get(name, 0)", "None and not with ValueError", False),
        ("return NAMES.get(name)\n\ndef check(name):\n    if not level(name):\n        raise ValueError(name)", "ValueError", False),
    ],
    ids=["single", "other value", "own class", "raised", "looked up", "helper", "not asked for", "elsewhere"],
)  # fmt: skip
def test_a_fix_without_the_error_that_the_finding_asks_for_is_refused(
    compare, body, error, refused
):
    new = LEVEL.replace("return NAMES.get(name, 0)", body)
    said = judge_comparison(compare(LEVEL, new, words=UNKNOWN.format(error)), Intent.CHANGE)
    assert said.refuted.startswith("the finding asks for ") is refused, said


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("Negative numbers never end the loop; they must raise ValueError.", {"ValueError"}),
        ("It should be rejected with\n`json.JSONDecodeError`.", {"JSONDecodeError"}),
        ("The docstring promises a KeyError for a name that is not there.", {"KeyError"}),
        ("An empty list fails with IndexError; it should give None.", set()),
        ("It should return None, but raises ValueError.", set()),
        ("`ValueError` must be raised for a name that is not there.", {"ValueError"}),
        ("It must not raise KeyError.", set()),
        ("It should give None when reading fails with OSError.", set()),
        ("It must be 0 instead of failing with ZeroDivisionError.", set()),
        ("The handler should fail soft and swallow OSError.", set()),
    ],
)
def test_only_an_error_that_must_be_raised_is_asked_for(words, asked):
    assert find_demanded_errors(words) == asked


def test_a_list_of_what_must_be_refused_is_not_suspicious(compare):
    test = "from app import *\n\ndef test_it():\n    Game().go('attic')\n    Game().go('cellar')\n"
    guard = "        if (self.at, to) in {('cellar', 'attic'), ('attic', 'cellar')}:\n            raise ValueError('too far')\n"
    said = compare(PLAYED, PLAYED.replace("        self.at = to", guard + "        self.at = to"), tests__test_app=test)  # fmt: skip
    assert said.differing
    assert said.suspicious == ""


def test_a_guard_for_a_limit_case_is_not_suspicious(compare):
    old = "def share(total, people):\n    return total / people\n"
    new = "def share(total, people):\n    if people == 0:\n        return 0\n    return total / people\n"
    said = compare(
        old,
        new,
        words="share(10, 0) should return 0",
        tests__test_app="from app import share\n\ndef test_it():\n    assert share(10, 0) == 0\n",
    )
    assert said.differing
    assert said.suspicious == ""


def test_a_refactoring_that_answers_differently_is_refuted(compare):
    said = compare(
        "def f(n: int):\n    return n * 2\n", "def f(n: int):\n    return n + n + (n > 99)\n"
    )
    assert "does not ask for that" in judge_comparison(said, Intent.KEEP).refuted


def test_examples_in_the_findings_words_are_tried(compare):
    old = "def f(text: str):\n    return len(text)\n"
    said = compare(
        old,
        old.replace("len(text)", "0 if text == 'qx-7#' else len(text)"),
        words="`f('qx-7#')` is wrong",
    )
    assert said.differing == 1


@pytest.mark.parametrize(
    ("new", "why"),
    [
        ("import os\nos._exit(0)\ndef f(n: int):\n    return n + 1\n", "no call was made"),
        ("raise RuntimeError('no')\ndef f(n: int):\n    return n + 1\n", "imported"),
        ("def g(n: int):\n    return n\n", "gone"),
    ],
)  # fmt: skip
def test_code_that_ends_the_process_or_cannot_be_called_is_a_value(compare, new, why):
    said = compare("def f(n: int):\n    return n\n", new)
    assert why in said.unusable
    assert judge_comparison(said, Intent.CHANGE).refuted == ""


@pytest.mark.parametrize(("old", "why"), [("return n", ""), ("open('x')", "uses open")])
def test_what_only_new_code_uses_does_not_keep_it_from_being_called(compare, old, why):
    said = compare(f"def f(n: int):\n    {old}\n", "def f(n: int):\n    return open('x') and n\n")
    assert why in said.unusable
    assert bool(said.inputs) is not bool(why)


def test_an_endless_loop_that_ends_now_is_a_difference(compare):
    said = compare(
        "def f(n: int):\n    while n != 0:\n        n -= 2\n    return n\n",
        "def f(n: int):\n    while n > 0:\n        n -= 2\n    return n\n",
    )
    assert said.differing
    assert "no end before" in "".join(said.examples)


def test_code_that_answers_differently_each_time_is_left_out(compare):
    old = "SEED = hash(object())\ndef f(n: int):\n    return n + SEED\n"
    said = compare(old, old.replace("n + SEED", "SEED + n"))
    assert (said.inputs, said.differing) == (0, 0)


def test_packages_with_relative_imports_are_compared(compare):
    said = compare(
        "from .other import K\ndef f(n: int):\n    return n * K\n",
        "from .other import K\ndef f(n: int):\n    return n * K + 1\n",
        path="pkg/app.py",
        pkg__other="K = 3\n",
        pkg____init__="",
    )
    assert said.differing


def test_the_python_of_the_checks_is_asked(tmp_path):
    from punchlist.model.checks.check import Check

    assert (
        Comparison(
            tmp_path, checks=[Check(name="t", command=("/opt/python3.12", "-m", "pytest"))]
        )._python
        == "/opt/python3.12"
    )
    assert (
        Comparison(tmp_path, checks=[Check(name="t", command=("make", "test"))])._python
        == sys.executable
    )


@pytest.mark.parametrize(
    ("total", "refused"),
    [
        (ExamResult(unchanged="as before"), True),
        (ExamResult(unchanged="as before", replayed=ReplayResult(compared=90, effects=1)), False),
        (ExamResult(unreached="as before", replayed=ReplayResult(compared=90)), False),
        (ExamResult(unreached="as before", replayed=ReplayResult(compared=90, additive=True)), True),
        (ExamResult(unreached="as before", reached_else=True, replayed=ReplayResult(compared=90)), True),
        (ExamResult(unreached="as before", replayed=ReplayResult(compared=9, additive=True)), False),
        (ExamResult(unreached="as before", replayed=ReplayResult(compared=90, effects=2, additive=True)), False),
        (ExamResult(unreached="as before", proofs={1: (PROOF,)}, replayed=ReplayResult(compared=90, additive=True)), False),
        (ExamResult(unreached="as before"), False),
    ],
)  # fmt: skip
def test_a_patch_that_was_not_seen_to_change_anything_is_refused(total, refused):
    assert judge_unchanged(total).startswith("as before") is refused


def test_lines_of_a_new_helper_count_as_lines_of_the_function_that_uses_it():
    old = "def f(n):\n    return n + 1\n"
    new = "def _f(n):\n    if n == 7:\n        return 0\n    return n + 1\n\n\ndef f(n):\n    return _f(n)\n"
    assert find_changes("m.py", old, new).functions[0].new_lines == (2, 3, 8)
