"""Run copies of tests that must fail beside the tests, in the tree without and with a fix."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from msgspec import Struct

from punchlist.adapters.compare.replay.recording import Recording
from punchlist.adapters.folders.look import is_file
from punchlist.model.checks.check import TestOutcome
from punchlist.ports.tree import Tree


class Plant(Struct, frozen=True):
    """A copy of a test file."""

    test: str
    text: str


@contextmanager
def lay_plants(tree: Tree, plants: Mapping[str, Plant]) -> Iterator[None]:
    """Keep the plants, by path, in the tree while the block runs, also in the place of files."""
    files = {path: tree.root / path for path in plants}
    there = {path: file.read_bytes() for path, file in files.items() if is_file(file)}
    try:
        for path, plant in plants.items():
            files[path].write_text(plant.text, "utf-8", "surrogateescape")
        yield
    finally:
        for path, file in files.items():
            if path in there:
                file.write_bytes(there[path])
            else:
                file.unlink(missing_ok=True)


def find_blind(old: Recording, new: Recording) -> str:
    """Return a test whose plant is red in the old tree, and not in the new one, though the test
    itself passes there; or ''. Nothing is said of plants that are not there because the run ended
    early or their file could not be imported.
    """
    for test, outcome in old.planted.items():
        now = new.planted.get(test)
        silent = now is TestOutcome.PASSED or (now is None and not new.cut)
        if outcome is TestOutcome.FAILED and new.tests.get(test) is TestOutcome.PASSED and silent:
            return test
    return ""
