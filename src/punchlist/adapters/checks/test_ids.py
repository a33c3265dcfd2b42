"""Test ids: JUnit writes dotted names, runners want files; the tree's own listing says which is
which.
"""

from collections.abc import Iterable, Sequence

from punchlist.adapters.checks.junit import Case, worst
from punchlist.model.checks.check import TestOutcome


class Names:
    """The files of a tree by the dotted names pytest gives them."""

    def __init__(self, files: Iterable[str]) -> None:
        self._files = {file.removesuffix(".py").replace("/", "."): file for file in files}

    def id_of(self, case: Case) -> str:
        """`file::Class::test` where the file is known, else what the report says."""
        dotted = case.classname or case.name
        parts = dotted.split(".")
        for end in range(len(parts), 0, -1):
            file = self._files.get(".".join(parts[:end]))
            if file is not None:
                rest = parts[end:] + ([case.name] if case.classname else [])
                return "::".join([file, *rest])
        return "::".join(part for part in (case.file or case.classname, case.name) if part)

    def tests(self, cases: Sequence[Case]) -> dict[str, TestOutcome]:
        tests: dict[str, TestOutcome] = {}
        for case in cases:
            test = self.id_of(case)
            tests[test] = worst(tests.get(test), case.outcome)
        return tests

    def files_of(self, tests: Sequence[str]) -> list[str]:
        """The files of these tests, or nothing if one of them has none that is known: then the run
        is not limited.
        """
        files = {test.partition("::")[0] for test in tests}
        return sorted(files) if files <= set(self._files.values()) else []
