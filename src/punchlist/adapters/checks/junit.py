"""JUnit XML, read without trusting it: bounded, no entities, and malformed is an
answer of its own.
"""

import errno
import os
import stat
from pathlib import Path
from xml.parsers import expat

from msgspec import Struct

from punchlist.model.checks.check import TestOutcome

LIMIT = 256 << 20
_FAILING = frozenset({"failure", "error"})
_RANK = {TestOutcome.FAILED: 0, TestOutcome.SKIPPED: 1, TestOutcome.PASSED: 2}


class Case(Struct, frozen=True):
    """One <testcase>."""

    classname: str
    name: str
    file: str
    outcome: TestOutcome


class Report(Struct, frozen=True, kw_only=True):
    """What a report says, or in `trouble` why it says nothing."""

    cases: tuple[Case, ...] = ()
    failures: int = 0
    """<failure> and <error> elements; a case may have several."""
    declared: int = 0
    trouble: str = ""


class _Reading:
    """The state of one pass over a report."""

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self.failures = 0
        self.declared = 0
        self._open: dict[str, str] | None = None
        self._outcome = TestOutcome.PASSED

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if tag == "testsuite":
            self.declared += _number(attributes.get("tests", ""))
        elif tag == "testcase":
            self._open, self._outcome = attributes, TestOutcome.PASSED
        elif self._open is not None and tag in _FAILING:
            self._outcome = TestOutcome.FAILED
            self.failures += 1
        elif (
            self._open is not None
            and tag in ("skipped", "disabled")
            and self._outcome is TestOutcome.PASSED
        ):
            self._outcome = TestOutcome.SKIPPED

    def end(self, tag: str) -> None:
        if tag.rpartition(":")[2] == "testcase" and self._open is not None:
            given = self._open
            self.cases.append(
                Case(
                    given.get("classname", ""),
                    given.get("name", ""),
                    given.get("file", ""),
                    self._outcome,
                )
            )
            self._open = None


def read(path: Path) -> Report:
    """The report in a file."""
    try:
        data = untrusted(path, LIMIT + 1)
    except FileNotFoundError:
        return Report(trouble="it wrote no report of its tests: it ended early")
    except OSError as error:
        return Report(trouble=f"its report of the tests cannot be read: {error.strerror}")
    return (
        Report(trouble=f"its report of the tests is over {LIMIT >> 20} MiB")
        if len(data) > LIMIT
        else parse(data)
    )


def untrusted(path: Path, limit: int) -> bytes:
    """The bytes of a file the judged code could reach: no link is followed out of the sandbox, no
    pipe is waited for.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as stream:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return stream.read(limit)


def parse(data: bytes) -> Report:
    reading = _Reading()
    parser = expat.ParserCreate()
    parser.StartElementHandler = reading.start
    parser.EndElementHandler = reading.end
    # A report has no use for a document type, and entities are how a small file becomes a large
    # one.
    parser.StartDoctypeDeclHandler = _refuse
    try:
        parser.Parse(data, True)  # noqa: FBT003  # expat takes no keyword
    except (expat.ExpatError, ValueError) as error:
        return Report(trouble=f"its report of the tests is malformed or cut off: {error}")
    return Report(cases=tuple(reading.cases), failures=reading.failures, declared=reading.declared)


def worst(one: TestOutcome | None, other: TestOutcome) -> TestOutcome:
    """What a test that is listed twice came to."""
    return other if one is None or _RANK[other] < _RANK[one] else one


def _refuse(*_: object) -> None:
    raise ValueError("a document type is not accepted")


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
