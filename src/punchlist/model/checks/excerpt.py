"""The part of a test runner's output that is about given tests."""

import re
from collections.abc import Sequence
from itertools import takewhile

from punchlist.model.finding.late_pattern import late_pattern

_LIMIT = 6000
_TESTS = 5
_HEAD = late_pattern(r"^(?:_{3,}.*_{3,}$|(?:FAIL|ERROR|FAILED):? )")
_END = late_pattern(
    r"^(?:={10,}|_{3,}.*_{3,}$|(?:FAIL|ERROR): |-+ (?:generated|Captured|coverage))"
)


def excerpt(output: str, tests: Sequence[str]) -> str:
    """Return the sections of the first tests; if none has one, the end of the output."""
    lines = output.splitlines()
    parts = [part for test in tests[:_TESTS] if (part := _find_section(lines, _test_name(test)))]
    said = "\n\n".join(dict.fromkeys(parts)) or output
    return said if len(said) <= _LIMIT else said[-_LIMIT:]


def _test_name(test: str) -> str:
    return re.split(r"::|\.", test.split("[", 1)[0])[-1]


def _find_section(lines: Sequence[str], name: str) -> str:
    wanted = re.compile(rf"\b{re.escape(name)}\b")
    for start, line in enumerate(lines):
        if _HEAD.match(line) and wanted.search(line):
            body = takewhile(lambda each: not _END.match(each), lines[start + 1 :])
            return "\n".join([line, *body]).rstrip()
    return ""
