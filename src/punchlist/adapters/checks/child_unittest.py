"""Run `python -m unittest` in the project's own Python and write each outcome beside this file."""
# ruff: noqa: N802, N815  # the names are unittest's
# ruff: noqa: PTH109, PTH118, PTH120, PTH123  # pathlib takes long to import

from __future__ import annotations

import json
import os
import sys
import traceback
import unittest

TYPE_CHECKING = False  # typing takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

HERE = os.path.dirname(os.path.realpath(__file__))


def open_beside(name: str, mode: str) -> Any:
    return open(os.path.join(HERE, name), mode, encoding="utf-8")


def recording(name: str, outcome: str) -> Any:
    """Return the method of that name of unittest's results, which writes the outcome as well."""

    def add(self: Any, test: Any, *details: Any) -> None:
        getattr(unittest.TextTestResult, name)(self, test, *details)
        if outcome == "failed" and details:
            self.explain(test, details[0])
        self.tell(test.id(), outcome)

    return add


class Telling(unittest.TextTestResult):
    """Writes each outcome to disk before the next test starts, so that an early end is seen."""

    def tell(self, test: str, outcome: str) -> None:
        with open_beside("outcomes.jsonl", "a") as lines:
            lines.write(json.dumps([test, outcome]) + "\n")

    def explain(self, test: Any, error: Any) -> None:
        with open_beside("failures.jsonl", "a") as lines:
            said = "".join(traceback.format_exception(*error))
            lines.write(json.dumps([test.id(), said]) + "\n")

    addSuccess = recording("addSuccess", "passed")
    addFailure = recording("addFailure", "failed")
    addError = recording("addError", "failed")
    addSkip = recording("addSkip", "skipped")
    addExpectedFailure = recording("addExpectedFailure", "skipped")
    addUnexpectedSuccess = recording("addUnexpectedSuccess", "failed")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.explain(test, err)
            self.tell(test.id(), "failed")


class Runner(unittest.TextTestRunner):
    resultclass = Telling  # type: ignore[assignment]  # what unittest documents, and typeshed has as a call

    def run(self, test: Any) -> Any:
        with open_beside("only.json", "r") as listed:
            only = json.loads(listed.read())
        if only:
            wanted = {module_of(name) for name in only} | {"unittest.loader"}
            found = [
                case
                for case in cases(test)
                if module_of(case.id()) in wanted or file_of(case) in only
            ]
            order = {name: at for at, name in enumerate(only)}
            test = unittest.TestSuite(sorted(found, key=lambda case: order.get(file_of(case), 0)))
        result: Any = super().run(test)
        result.tell("ran", str(result.testsRun))
        return result


def cases(suite: Any) -> Iterator[Any]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from cases(test)
        else:
            yield test


def file_of(case: Any) -> str:
    """Return the path of a test's file relative to the current folder; '' if it is outside."""
    module = sys.modules.get(type(case).__module__)
    file = os.path.realpath(getattr(module, "__file__", None) or "/")
    here = os.path.realpath(os.getcwd()).rstrip("/") + "/"
    return file[len(here) :] if file.startswith(here) else ""


def module_of(name: str) -> str:
    return name.partition(" ")[0].rsplit(".", 2)[0]


if __name__ == "__main__":
    # As with -m, the project's modules come first; this file's folder has nothing to import.
    sys.path[0] = os.getcwd()
    unittest.main(module=None, argv=["python -m unittest", *sys.argv[1:]], testRunner=Runner)
