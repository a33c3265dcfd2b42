"""A folder as a tree, and both ways a check can be run: behind bubblewrap, and without it."""

import asyncio
from pathlib import Path

import pytest

from punchlist.adapters.checks.runner import LocalCheckRunner
from punchlist.adapters.sandbox import support as sandbox
from punchlist.model.checks.check import Check
from punchlist.model.checks.coverage import FAMILIES


class Folder:
    """The simplest tree: what is on disk."""

    commit = "0" * 40

    def __init__(self, root: Path, files: dict[str, str] | None = None) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        for path, content in (files or {}).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(content)
        self._files = tuple(sorted(files or {}))

    def text(self, path):
        return (self.root / path).read_text() if (self.root / path).is_file() else None

    def files(self):
        return self._files


class Checked:
    """A checkout beside a tree, and checks over it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.checkout = base / "checkout"
        self.checkout.mkdir()

    def tree(self, files: dict[str, str], name: str = "tree") -> Folder:
        return Folder(self.base / "state" / name, files)

    def run(self, check: Check, tree: Folder, **options):
        return asyncio.run(
            LocalCheckRunner(self.checkout, hidden=(self.base / "state",)).run(
                check, tree, **options
            )
        )

    def run_sentinel(self, check: Check, tree: Folder, *kinds: str) -> str:
        """With all kinds of source at once, unless some are named."""
        every = kinds or tuple(kind for family in FAMILIES for kind in family)
        return asyncio.run(LocalCheckRunner(self.checkout).run_sentinel(check, tree, every))

    def find_executed(self, check: Check, tree: Folder, sources=()):
        runner = LocalCheckRunner(self.checkout)
        return asyncio.run(runner.run_covered(check, tree, sources=sources)).lines

    def hash_environment(self, check: Check) -> str:
        return asyncio.run(LocalCheckRunner(self.checkout).hash_environment(check))


@pytest.fixture(params=["bubblewrap", pytest.param("landlock", marks=pytest.mark.soak), "none"])
def walls(request, monkeypatch):
    if request.param != "bubblewrap":
        monkeypatch.setattr(sandbox, "find_bubblewrap", str)
    if request.param == "none":
        monkeypatch.setattr(sandbox, "find_version", int)
    elif request.param == "landlock":
        if sandbox.sandbox_kind() != "landlock":
            pytest.skip("LOUD: this kernel has no Landlock; checks are NOT tested behind it")
    elif sandbox.sandbox_kind() != "bubblewrap":
        pytest.skip(
            "LOUD: bubblewrap is not installed or does not work here; checks are NOT tested behind it"
        )
    return request.param


@pytest.fixture
def checked(tmp_path):
    return Checked(tmp_path)
