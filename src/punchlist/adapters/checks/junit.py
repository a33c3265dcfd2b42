"""Parse untrusted JUnit XML: bounded size, no entities, malformed input is a value."""

import errno
import os
import stat
from pathlib import Path
from xml.parsers import expat

from msgspec import Struct

from punchlist.model.checks.check import TestOutcome

LIMIT = 256 << 20
_FAILING = frozenset({"failure", "error"})
_UNCOLLECTED = "collection failure"
"""What pytest writes of a file that it could not import."""
_LONGEST = 4000
_RANK = {TestOutcome.FAILED: 0, TestOutcome.SKIPPED: 1, TestOutcome.PASSED: 2}


class JunitCase(Struct, frozen=True):
    """One <testcase>."""

    classname: str
    name: str
    file: str
    outcome: TestOutcome
    unloaded: bool = False
    """It stands for a file whose tests could not be collected."""
    failure: str = ""
    """How it failed, as the runner wrote it."""


class JunitReport(Struct, frozen=True, kw_only=True):
    """The parsed cases, or in `trouble` why there are none."""

    cases: tuple[JunitCase, ...] = ()
    failures: int = 0
    """<failure> and <error> elements; a case may have several."""
    declared: int = 0
    trouble: str = ""


class _JunitParser:
    """The state of one pass over a report."""

    def __init__(self) -> None:
        self.cases: list[JunitCase] = []
        self.failures = 0
        self.declared = 0
        self._open: dict[str, str] | None = None
        self._outcome = TestOutcome.PASSED
        self._unloaded = False
        self._failure: list[str] | None = None
        self._failures: list[str] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if tag == "testsuite":
            self.declared += _parse_count(attributes.get("tests", ""))
        elif tag == "testcase":
            self._open, self._outcome = attributes, TestOutcome.PASSED
            self._unloaded = False
            self._failures = []
        elif self._open is None:
            return
        elif tag in _FAILING:
            self._outcome = TestOutcome.FAILED
            self._unloaded |= attributes.get("message") == _UNCOLLECTED
            self.failures += 1
            self._failure = [attributes.get("message", ""), "\n"]
        elif tag in ("skipped", "disabled") and self._outcome is TestOutcome.PASSED:
            self._outcome = TestOutcome.SKIPPED

    def read_text(self, text: str) -> None:
        if self._failure is not None:
            self._failure.append(text)

    def end(self, tag: str) -> None:
        tag = tag.rpartition(":")[2]
        if tag in _FAILING and self._failure is not None:
            self._failures.append("".join(self._failure))
            self._failure = None
        if tag == "testcase" and self._open is not None:
            classname, name, file = (
                self._open.get(key, "") for key in ("classname", "name", "file")
            )
            failure = trim_failure("\n".join(self._failures))
            case = JunitCase(classname, name, file, self._outcome, self._unloaded, failure)
            self.cases.append(case)
            self._open = None


def read_report(path: Path) -> JunitReport:
    try:
        data = read_untrusted(path, LIMIT + 1)
    except FileNotFoundError:
        return JunitReport(trouble="it wrote no report of its tests: it ended early")
    except OSError as error:
        return JunitReport(trouble=f"its report of the tests cannot be read: {error.strerror}")
    if len(data) > LIMIT:
        return JunitReport(trouble=f"its report of the tests is over {LIMIT >> 20} MiB")
    return parse_report(data)


def read_untrusted(path: Path, limit: int) -> bytes:
    """Read a file that the checked code could write; follows no link, waits for no pipe."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as stream:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return stream.read(limit)


def parse_report(data: bytes) -> JunitReport:
    reading = _JunitParser()
    parser = expat.ParserCreate()
    parser.StartElementHandler = reading.start
    parser.EndElementHandler = reading.end
    parser.CharacterDataHandler = reading.read_text
    # A report needs no document type, and its entities could make a small file a large one.
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(data, True)  # noqa: FBT003  # expat takes no keyword
    except (expat.ExpatError, ValueError) as error:
        return JunitReport(trouble=f"its report of the tests is malformed or cut off: {error}")
    return JunitReport(
        cases=tuple(reading.cases), failures=reading.failures, declared=reading.declared
    )


def worse_outcome(one: TestOutcome | None, other: TestOutcome) -> TestOutcome:
    """Return the worse of two outcomes of one test."""
    return other if one is None or _RANK[other] < _RANK[one] else one


def trim_failure(text: str) -> str:
    """Return the end of a long failure, which says what happened last."""
    return text[-_LONGEST:]


def _refuse_doctype(*_: object) -> None:
    raise ValueError("a document type is not accepted")


def _parse_count(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
