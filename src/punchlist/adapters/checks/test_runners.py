"""Command line of each kind of check, and how its results are parsed and cross-checked."""

import re
import shutil
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.checks import junit
from punchlist.adapters.checks.test_ids import ModuleNames
from punchlist.adapters.folders.look import is_folder, path_exists, resolve_path
from punchlist.adapters.process.run import ProcessResult
from punchlist.model.checks.check import Check, CheckKind, TestOutcome
from punchlist.model.checks.protected import Protected
from punchlist.model.finding.guarded_text import parse_json

_TAKE_VALUE = frozenset(
    "-c -k -m -n -o -p -r -W --rootdir --ignore --deselect --confcutdir".split()
)
"""Options of pytest that take the next argument."""
EXAMPLE = re.compile(r"^\s*>>> ", re.MULTILINE)
_LONGEST = 1 << 20
_TESTS = Protected()
_TELL_UNITTEST = Path(__file__).with_name("child_unittest.py")
"""Only run by its path, in the check's own interpreter: importing it here would import unittest."""


class CheckSession(Struct, frozen=True, kw_only=True):
    """One run of a check: its report folder outside the tree, and the tests it is limited to."""

    check: Check
    reports: Path
    root: Path
    names: ModuleNames
    checkout: Path = Path()
    only: tuple[str, ...] = ()
    stop_after: int = 0
    """End after so many failures; 0 for no limit."""


class ParsedTests(Struct, frozen=True):
    """Outcomes of a check's tests, or in `trouble` why they are not trusted."""

    tests: dict[str, TestOutcome] = {}
    trouble: str = ""
    unloaded: tuple[str, ...] = ()
    failures: dict[str, str] = {}


class CheckDialect(Protocol):
    def build_command(self, session: CheckSession) -> list[str]: ...

    def parse_results(self, session: CheckSession, ran: ProcessResult) -> ParsedTests: ...


class Plain:
    """Has only an exit code."""

    def build_command(self, session: CheckSession) -> list[str]:
        return list(session.check.command)

    def parse_results(self, session: CheckSession, ran: ProcessResult) -> ParsedTests:
        return ParsedTests()


class Junit:
    """Writes a JUnit file into the tree; an old one is removed first."""

    def build_command(self, session: CheckSession) -> list[str]:
        file = self._report_file(session)
        if not is_folder(file):
            file.unlink(missing_ok=True)
        return list(session.check.command)

    def parse_results(self, session: CheckSession, ran: ProcessResult) -> ParsedTests:
        report = junit.read_report(self._report_file(session))
        if report.trouble:
            return ParsedTests(trouble=report.trouble)
        tests = session.names.collect_outcomes(report.cases)
        if report.declared > len(report.cases):
            return ParsedTests(
                tests, f"it says it ran {report.declared} tests and lists {len(report.cases)}"
            )
        return _collect(session, report, tests, _find_contradiction(ran, tests))

    def _report_file(self, session: CheckSession) -> Path:
        """Return the report's path; below the root, so that no file of the user is removed."""
        file = session.root / session.check.junit
        inside = resolve_path(file).is_relative_to(resolve_path(session.root))
        return file if inside else session.reports / "outside"


class Pytest:
    """Pytest with our own JUnit file, which must agree with the printed summary and exit code."""

    _OPTIONS = (
        "-o", "junit_family=xunit2", "-p", "no:sugar",
        "--verbosity=0", "--color=no", "--tb=short", "--continue-on-collection-errors",
    )  # fmt: skip
    _EXITS: Mapping[int, str] = {
        3: "pytest had an internal error",
        4: "pytest did not understand its command line",
        5: "no test was collected",
    }
    _SUMMARY = re.compile(
        r"^=*\s*((?:\d+ [a-z ]+(?:, )?)+|no tests ran) in \d[\d.]*s\b.*$", re.MULTILINE
    )
    _CONFTEST = re.compile(r"while loading conftest '(.+)'\.\n(?:.*\n)*?E {3}(\S.*)")
    _BANNER = re.compile(r"^!{3,} (.+) !{3,}$", re.MULTILINE)
    _COUNT = re.compile(r"(\d+) (passed|failed|skipped|xfailed|xpassed|errors?)\b")

    def build_command(self, session: CheckSession) -> list[str]:
        command, files = list(session.check.command), session.names.find_files(session.only)
        if files:
            command = [*_drop_paths(command, session.root), *files]
        report, cache = session.reports / "junit.xml", session.reports / "cache"
        fresh = ("--junitxml", str(report), "-o", f"cache_dir={cache}")
        return [*command, *self._OPTIONS, *fresh, f"--maxfail={session.stop_after}"]

    def parse_results(self, session: CheckSession, ran: ProcessResult) -> ParsedTests:
        report = junit.read_report(session.reports / "junit.xml")
        if report.trouble:
            return ParsedTests(trouble=self._explain_exit(ran) or report.trouble)
        tests = session.names.collect_outcomes(report.cases)
        trouble = (
            self._explain_exit(ran)
            or self._find_interruption(report, ran)
            or self._find_disagreement(report, ran)
        )
        return _collect(session, report, tests, trouble or _find_contradiction(ran, tests))

    def _explain_exit(self, ran: ProcessResult) -> str:
        """Return what the exit code says went wrong, or ''; 4 is also that of a conftest.py which
        cannot be imported.
        """
        said = (ran.stdout + ran.stderr).decode(errors="replace")
        if ran.exit_code == 4 and (broken := self._CONFTEST.search(said)):
            return f"{Path(broken[1]).name} cannot be imported: {broken[2]}"
        return self._EXITS.get(ran.exit_code or 0, "")

    def _find_disagreement(self, report: junit.JunitReport, ran: ProcessResult) -> str:
        """Return how the printed summary and the report differ, or ''; code that tampers with
        pytest must fake both.
        """
        summaries = self._SUMMARY.findall(ran.stdout.decode(errors="replace"))
        if not summaries:
            return "it printed no summary of its tests: it ended early"
        counts = {word: int(number) for number, word in self._COUNT.findall(summaries[-1])}
        failing = sum(counts.get(word, 0) for word in ("failed", "error", "errors"))
        cases, failures = len(report.cases), report.failures
        # A test that fails in its body and its teardown is printed twice and reported once.
        if failing == failures and cases <= sum(counts.values()) <= cases + failing:
            return ""
        printed = summaries[-1].strip()
        return f'it printed "{printed}" and reported {cases} tests with {failures} failures'

    def _find_interruption(self, report: junit.JunitReport, ran: ProcessResult) -> str:
        """Return the banner of an early end, or '' if the check simply has failures."""
        banner = self._BANNER.search(ran.stdout.decode(errors="replace"))
        red = ran.exit_code != 0 and report.failures
        return f"it ended early: {banner[1]}" if banner and not red else ""


class Unittest:
    """Unittest with our own runner, which writes each outcome at once, and a last line."""

    _UNLOADED = "unittest.loader._FailedTest."
    _RAN = re.compile(rb"^Ran (\d+) tests? in ", re.MULTILINE)

    def build_command(self, session: CheckSession) -> list[str]:
        command = list(session.check.command)
        pairs = list(pairwise(command))
        if ("-m", "unittest") not in pairs:
            return command
        at = pairs.index(("-m", "unittest"))
        shutil.copyfile(_TELL_UNITTEST, session.reports / "tell.py")
        (session.reports / "only.json").write_bytes(msgspec.json.encode(session.only))
        fast = ["--failfast"] if session.stop_after else []
        return [*command[:at], str(session.reports / "tell.py"), *command[at + 2 :], *fast]

    def parse_results(self, session: CheckSession, ran: ProcessResult) -> ParsedTests:
        try:
            lines = junit.read_untrusted(
                session.reports / "outcomes.jsonl", junit.LIMIT
            ).splitlines()
            parsed = [parse_json(line, tuple[str, str]) for line in lines]
            tests: dict[str, TestOutcome] = {}
            for name, outcome in parsed[:-1]:
                tests[name] = junit.worse_outcome(tests.get(name), TestOutcome(outcome))
            ended = parsed[-1] if parsed else ("", "")
        except (OSError, msgspec.DecodeError, ValueError) as error:
            return ParsedTests(trouble=f"its report of the tests cannot be read: {error}")
        printed = self._RAN.findall(ran.stderr)
        if ended[0] != "ran" or not printed:
            return ParsedTests(tests, "it ended early: some tests never finished")
        if int(printed[-1]) != int(ended[1]):
            return ParsedTests(
                tests, f"it printed that it ran {int(printed[-1])} tests and reported {ended[1]}"
            )
        unloaded = tuple(test for test in tests if test.startswith(self._UNLOADED))
        failures = _read_failures(session.reports / "failures.jsonl")
        return ParsedTests(tests, _find_contradiction(ran, tests), unloaded, failures)


class Doctest(Pytest):
    """Pytest over the examples in docstrings of modules that are no tests and no configuration."""

    _MOST = 2000

    def build_command(self, session: CheckSession) -> list[str]:
        wanted = {test.partition("::")[0] for test in session.only}
        modules = [path for path in session.names.files if not wanted or path in wanted]
        examples = [
            path
            for path in modules
            if not _TESTS.holds(path) and _has_examples(session.root / path)
        ]
        command = super().build_command(replace(session, only=tuple(examples[: self._MOST])))
        return command if examples else [*command, "--ignore-glob=*"]


class Gate:
    """Has an exit code; when it is red, the files that it prints count as failing."""

    _APART = re.compile(r"""[\s:"'`(),\[\]=]+""")

    def build_command(self, session: CheckSession) -> list[str]:
        given = session.check.given
        return [*session.check.command, *(given.select(session.names.files) if given else ())]

    def parse_results(self, session: CheckSession, ran: ProcessResult) -> ParsedTests:
        if ran.exit_code == 0:
            return ParsedTests()
        known = set(session.names.files)
        printed = (ran.stdout + b"\n" + ran.stderr).decode(errors="replace")
        words = dict.fromkeys(self._APART.split(printed))
        roots = (f"{session.root}/", f"{session.checkout}/", "./")
        named = (_strip_prefix(word, roots) for word in words)
        return ParsedTests({path: TestOutcome.FAILED for path in named if path in known})


DIALECTS: Mapping[CheckKind, CheckDialect] = {
    CheckKind.PYTEST: Pytest(),
    CheckKind.UNITTEST: Unittest(),
    CheckKind.JUNIT: Junit(),
    CheckKind.PLAIN: Plain(),
    CheckKind.GATE: Gate(),
    CheckKind.DOCTEST: Doctest(),
}


def _has_examples(file: Path) -> bool:
    """Return whether a Python file has lines that begin with `>>>`."""
    try:
        text = junit.read_untrusted(file, _LONGEST).decode(errors="replace")
    except OSError:
        return False
    return file.suffix == ".py" and EXAMPLE.search(text) is not None


def _strip_prefix(word: str, prefixes: Sequence[str]) -> str:
    return next((word.removeprefix(each) for each in prefixes if word.startswith(each)), word)


def _collect(
    session: CheckSession, report: junit.JunitReport, tests: dict[str, TestOutcome], trouble: str
) -> ParsedTests:
    names, cases = session.names, report.cases
    return ParsedTests(tests, trouble, names.find_unloaded(cases), names.collect_failures(cases))


def _read_failures(file: Path) -> dict[str, str]:
    """Return how tests failed, as far as it can be read."""
    try:
        lines = junit.read_untrusted(file, junit.LIMIT).splitlines()
        parsed = [parse_json(line, tuple[str, str]) for line in lines]
    except (OSError, msgspec.DecodeError):
        return {}
    return {test: junit.trim_failure(text) for test, text in parsed}


def _find_contradiction(ran: ProcessResult, tests: Mapping[str, TestOutcome]) -> str:
    """Return why tests and exit code contradict each other, or ''."""
    if not tests:
        return "no test ran"
    failed = sum(outcome is TestOutcome.FAILED for outcome in tests.values())
    return f"it exits 0 and reports {failed} failing tests" if failed and ran.exit_code == 0 else ""


def _drop_paths(command: Sequence[str], root: Path) -> list[str]:
    """Return the command without its file and folder arguments."""
    names = [Path(part).name for part in command]
    at = next((at for at, name in enumerate(names) if name in ("pytest", "py.test")), 0)
    kept = [
        part
        for before, part in pairwise(command[at:])
        if part.startswith("-")
        or before in _TAKE_VALUE
        or not path_exists(root / part.partition("::")[0])
    ]
    return [*command[: at + 1], *kept]
