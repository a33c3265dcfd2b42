"""Python files are parsed from several threads at once: documents are read beside the analyzers."""

import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import punchlist
from punchlist.model.dedup.symbols import find_symbols

LINES = [
    line
    for n in range(150)
    for line in (f"def f{n}(x):", f"    return [x + {n}, (x * (1 + (2 + (3 + x))))]")
]


class Knot:
    """Rubbish whose end is Python code, so that another thread may have its turn in the middle of parsing."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        sum(range(20))


@pytest.fixture
def hurried():
    """Threads that change often, and collections that come often."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.freeze()
    gc.set_threshold(50)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def test_threads_that_parse_at_the_same_time_do_not_disturb_each_other(hurried):
    def parsed(_):
        for _ in range(5):
            Knot()
        return find_symbols("a.py", LINES)

    with ThreadPoolExecutor(3) as threads:
        answers = list(threads.map(parsed, range(15)))
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][:4] == ["f0", "f0", "f1", "f1"]


def test_only_one_module_calls_the_parser():
    """The others would miss its lock."""
    source = Path(punchlist.__file__).parent
    calls = ("ast.parse(", "from ast import")
    callers = {
        file.name
        for file in source.rglob("*.py")
        if any(call in file.read_text("utf-8") for call in calls)
        and not file.name.startswith("child_")
    }
    assert callers == {"python_source.py"}
