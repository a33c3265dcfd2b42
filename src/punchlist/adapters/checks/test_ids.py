"""Convert JUnit's dotted test names into file-based test ids, by the tree's file list."""

from collections.abc import Iterable, Sequence

from punchlist.adapters.checks.junit import JunitCase, worse_outcome
from punchlist.model.checks.check import TestOutcome


class ModuleNames:
    """Maps dotted module names, as pytest writes them, to files of a tree."""

    def __init__(self, files: Iterable[str]) -> None:
        self.files = tuple(files)
        self._files = {file.removesuffix(".py").replace("/", "."): file for file in self.files}

    def find_id(self, case: JunitCase) -> str:
        """Return `file::Class::test`, or the names of the report if the file is unknown."""
        dotted = case.classname or case.name
        parts = dotted.split(".")
        for end in range(len(parts), 0, -1):
            file = self._files.get(".".join(parts[:end]))
            if file is not None:
                rest = parts[end:] + ([case.name] if case.classname else [])
                return "::".join([file, *rest])
        return "::".join(part for part in (case.file or case.classname, case.name) if part)

    def collect_outcomes(self, cases: Sequence[JunitCase]) -> dict[str, TestOutcome]:
        tests: dict[str, TestOutcome] = {}
        for case in cases:
            test = self.find_id(case)
            tests[test] = worse_outcome(tests.get(test), case.outcome)
        return tests

    def collect_failures(self, cases: Sequence[JunitCase]) -> dict[str, str]:
        """Return how tests failed, where the report says so."""
        return {self.find_id(case): case.failure for case in cases if case.failure}

    def find_unloaded(self, cases: Sequence[JunitCase]) -> tuple[str, ...]:
        """Return the ids of files that could not be imported."""
        return tuple(dict.fromkeys(self.find_id(case) for case in cases if case.unloaded))

    def find_files(self, tests: Sequence[str]) -> list[str]:
        """Return the files of these tests, in order, or [] if one of them is unknown (then all
        tests run).
        """
        files = dict.fromkeys(test.partition("::")[0] for test in tests)
        return list(files) if files.keys() <= set(self._files.values()) else []
