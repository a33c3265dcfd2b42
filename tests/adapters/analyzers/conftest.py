"""A real tree of files under git, as the port describes it."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest


class GitTree:
    """The tree port over a folder of a test's own."""

    commit = "0" * 40

    def __init__(self, root: Path, files: Mapping[str, str | bytes]) -> None:
        self.root = root
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        subprocess.run(["git", "init", "-q", "."], cwd=root, check=True)
        subprocess.run(["git", "add", "-A"], cwd=root, check=True)
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True
        ).stdout
        self._files = tuple(
            name.decode("utf-8", "surrogateescape") for name in listed.split(b"\0") if name
        )

    def files(self):
        return self._files

    def text(self, path):
        file = self.root / path
        return file.read_bytes().decode("utf-8", "surrogateescape") if file.is_file() else None


@pytest.fixture
def grown(tmp_path):
    """Makes a tree of the given files."""

    def grow(files):
        root = tmp_path / "a tree"
        root.mkdir(exist_ok=True)
        return GitTree(root, files)

    return grow
