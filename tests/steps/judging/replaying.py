"""Two trees on disk, and what is said of the calls that their tests make."""

import asyncio
import sys

from punchlist.adapters.compare import Comparison
from punchlist.model.checks.check import Check, CheckKind
from punchlist.model.checks.protected import Protected
from punchlist.ports.compare import ReplayRequest, ReplayResult

LEAN = (sys.executable, "-m", "pytest", "--disable-plugin-autoload", "-pno:cacheprovider")
PYTEST = Check(name="pytest", command=LEAN, kind=CheckKind.PYTEST, timeout=60)
UNITTEST = Check(
    name="unittest",
    command=(sys.executable, "-m", "unittest", "discover", "-s", "tests"),
    kind=CheckKind.UNITTEST,
    timeout=60,
)


class Folder:
    """The simplest tree: what is on disk."""

    commit = "0" * 40

    def __init__(self, root, files):
        self.root = root
        self._files = files
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(content)

    def text(self, path):
        return self._files.get(path)

    def files(self):
        return sorted(self._files)


def replay(folder, old, new, test, *, spots=(), words="", check=PYTEST, asks=False) -> ReplayResult:
    """What is said of a patch from `old` to `new`, files by path, with one file of tests."""
    tests = {"tests/test_it.py": test}
    before = Folder(folder / "before", {**old, **tests})
    after = Folder(folder / "after", {**old, **new, **tests})
    checkout = folder / "checkout"
    checkout.mkdir()
    Folder(checkout, {path: text for path, text in old.items() if not path.endswith(".py")})
    request = ReplayRequest(
        check=check,
        tests=("tests/test_it.py",),
        paths=tuple(new),
        spots=tuple(spots) or ((next(iter(new)), None),),
        words=words,
        asks_change=asks,
    )
    comparison = Comparison(checkout, checks=[check], protected=Protected())
    return asyncio.run(comparison.replay(before, after, request))
