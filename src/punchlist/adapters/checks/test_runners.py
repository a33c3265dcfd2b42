"""What each kind of check needs on its command line, and how far what it reports is believed."""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from punchlist.adapters.checks import junit
from punchlist.adapters.checks.test_ids import Names
from punchlist.adapters.process.run import Ran
from punchlist.model.checks.check import Check, CheckKind, TestOutcome

_TELL_UNITTEST = Path(__file__).with_name("child_unittest.py")
"""Only ever run by its path, in the check's own interpreter; importing it here would import
unittest for everybody.
"""


class Session(Struct, frozen=True, kw_only=True):
    """One run of a check: a folder outside the tree for its report, and what it is limited to."""

    check: Check
    reports: Path
    root: Path
    names: Names
    only: tuple[str, ...] = ()
    stop_after: int = 0
    """End after so many failures; 0 goes on to the end."""


class Told(Struct, frozen=True):
    """What a check reported about its tests, or why that is not believed."""

    tests: dict[str, TestOutcome] = {}
    trouble: str = ""


class Dialect(Protocol):
    def command(self, session: Session) -> list[str]: ...

    def told(self, session: Session, ran: Ran) -> Told: ...


class Plain:
    """Tells nothing but its exit code."""

    def command(self, session: Session) -> list[str]:
        return list(session.check.command)

    def told(self, session: Session, ran: Ran) -> Told:  # every dialect is asked alike
        return Told()


class Junit:
    """Writes a JUnit file into the tree by itself; one left over from before is removed first."""

    def command(self, session: Session) -> list[str]:
        file = self._file(session)
        if not file.is_dir():
            file.unlink(missing_ok=True)
        return list(session.check.command)

    def told(self, session: Session, ran: Ran) -> Told:
        report = junit.read(self._file(session))
        if report.trouble:
            return Told(trouble=report.trouble)
        tests = session.names.tests(report.cases)
        if report.declared > len(report.cases):
            return Told(
                tests, f"it says it ran {report.declared} tests and lists {len(report.cases)}"
            )
        return Told(tests, _contradiction(ran, tests))

    def _file(self, session: Session) -> Path:
        """Below the root whatever the setting or a link in the tree says, so that nothing of the
        user's is removed or read.
        """
        file = session.root / session.check.junit
        return (
            file
            if file.resolve().is_relative_to(session.root.resolve())
            else session.reports / "outside"
        )


class Pytest:
    """Pytest with a JUnit file of our own; its last printed line must agree with that file, and
    with the exit code.
    """

    _OPTIONS = (
        "-o", "junit_family=xunit2", "-p", "no:sugar",
        "--verbosity=0", "--color=no", "--tb=short",
    )  # fmt: skip
    _EXITS: Mapping[int, str] = {
        3: "pytest had an internal error",
        4: "pytest did not understand its command line",
        5: "no test was collected",
    }
    _SUMMARY = re.compile(
        r"^=*\s*((?:\d+ [a-z ]+(?:, )?)+|no tests ran) in \d[\d.]*s\b.*$", re.MULTILINE
    )
    _BANNER = re.compile(r"^!{3,} (.+) !{3,}$", re.MULTILINE)
    _COUNT = re.compile(r"(\d+) (passed|failed|skipped|xfailed|xpassed|errors?)\b")

    def command(self, session: Session) -> list[str]:
        command, files = list(session.check.command), session.names.files_of(session.only)
        if files:
            command = [*_without_paths(command, session.root), *files]
        fresh = (
            "--junitxml",
            str(session.reports / "junit.xml"),
            "-o",
            f"cache_dir={session.reports / 'cache'}",
        )
        return [*command, *self._OPTIONS, *fresh, f"--maxfail={session.stop_after}"]

    def told(self, session: Session, ran: Ran) -> Told:
        report = junit.read(session.reports / "junit.xml")
        if report.trouble:
            return Told(trouble=self._EXITS.get(ran.exit_code or 0, report.trouble))
        tests = session.names.tests(report.cases)
        trouble = (
            self._EXITS.get(ran.exit_code or 0, "")
            or self._interruption(report, ran)
            or self._disagreement(report, ran)
        )
        return Told(tests, trouble or _contradiction(ran, tests))

    def _disagreement(self, report: junit.Report, ran: Ran) -> str:
        """What was printed against what was written: code that ends pytest or rewrites its report
        has to get both right.
        """
        summaries = self._SUMMARY.findall(ran.stdout.decode(errors="replace"))
        if not summaries:
            return "it printed no summary of its tests: it ended early"
        counts = {word: int(number) for number, word in self._COUNT.findall(summaries[-1])}
        failing = sum(counts.get(word, 0) for word in ("failed", "error", "errors"))
        # A test can fail in its body, in its parts and in its teardown: printed as many, written as
        # one.
        if (
            failing == report.failures
            and len(report.cases) <= sum(counts.values()) <= len(report.cases) + failing
        ):
            return ""
        return (
            f'it printed "{summaries[-1].strip()}" and reported {len(report.cases)} tests with'
            f" {report.failures} failures"
        )

    def _interruption(self, report: junit.Report, ran: Ran) -> str:
        """A banner says that pytest was told to stop; with failures beside it that is a red check,
        without them it is a trick.
        """
        banner = self._BANNER.search(ran.stdout.decode(errors="replace"))
        return (
            f"it ended early: {banner[1]}"
            if banner and (ran.exit_code == 0 or not report.failures)
            else ""
        )


class Unittest:
    """Unittest behind a runner of our own that writes each outcome as it happens and a last line
    when all are done.
    """

    _RAN = re.compile(rb"^Ran (\d+) tests? in ", re.MULTILINE)

    def command(self, session: Session) -> list[str]:
        command = list(session.check.command)
        at = next(
            (i for i in range(len(command) - 1) if command[i : i + 2] == ["-m", "unittest"]), None
        )
        if at is None:
            return command
        shutil.copyfile(_TELL_UNITTEST, session.reports / "tell.py")
        (session.reports / "only.json").write_bytes(msgspec.json.encode(session.only))
        fast = ["--failfast"] if session.stop_after else []
        return [*command[:at], str(session.reports / "tell.py"), *command[at + 2 :], *fast]

    def told(self, session: Session, ran: Ran) -> Told:
        try:
            lines = junit.untrusted(session.reports / "told.jsonl", junit.LIMIT).splitlines()
            told = [msgspec.json.decode(line, type=tuple[str, str]) for line in lines]
            tests: dict[str, TestOutcome] = {}
            for name, outcome in told[:-1]:
                tests[name] = junit.worst(tests.get(name), TestOutcome(outcome))
            ended = told[-1] if told else ("", "")
        except (OSError, msgspec.DecodeError, ValueError) as error:
            return Told(trouble=f"its report of the tests cannot be read: {error}")
        printed = self._RAN.findall(ran.stderr)
        if ended[0] != "ran" or not printed:
            return Told(tests, "it ended early: some tests never finished")
        if int(printed[-1]) != int(ended[1]):
            return Told(
                tests, f"it printed that it ran {int(printed[-1])} tests and reported {ended[1]}"
            )
        return Told(tests, _contradiction(ran, tests))


DIALECTS: Mapping[CheckKind, Dialect] = {
    CheckKind.PYTEST: Pytest(),
    CheckKind.UNITTEST: Unittest(),
    CheckKind.JUNIT: Junit(),
    CheckKind.PLAIN: Plain(),
}


def _contradiction(ran: Ran, tests: Mapping[str, TestOutcome]) -> str:
    """An exit code that says success beside a report that does not."""
    if not tests:
        return "no test ran"
    failed = sum(outcome is TestOutcome.FAILED for outcome in tests.values())
    return f"it exits 0 and reports {failed} failing tests" if failed and ran.exit_code == 0 else ""


def _without_paths(command: Sequence[str], root: Path) -> list[str]:
    """The command without the files and folders it names, which would be run beside the ones we
    want.
    """
    start = (
        next((i for i, part in enumerate(command) if Path(part).name in ("pytest", "py.test")), 0)
        + 1
    )
    kept = [
        part
        for before, part in zip(command[start - 1 :], command[start:], strict=False)
        if part.startswith("-")
        or _takes_value(before)
        or not (root / part.partition("::")[0]).exists()
    ]
    return [*command[:start], *kept]


def _takes_value(option: str) -> bool:
    return option in {
        "-c",
        "-k",
        "-m",
        "-n",
        "-o",
        "-p",
        "-r",
        "-W",
        "--rootdir",
        "--ignore",
        "--deselect",
        "--confcutdir",
    }
