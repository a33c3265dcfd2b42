"""A small demo repository with seeded defects, and a file of findings."""

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from punchlist.adapters.folders.temporary import temporary_folder
from punchlist.adapters.git.command import Git

_TEMPLATE = ".txt"
"""The demo's files end with .txt, so that no tool takes its defects for ours."""
_REVIEW = "review.json"
_DELETED = "stockroom/legacy_import.py"
_AUTHOR = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}
_FIRST = 1_767_600_000
"""Seconds of the first commit, fixed so that commits have the same names everywhere."""

__all__ = ["make_demo", "temporary_folder"]


async def make_demo(folder: Path) -> tuple[Path, Path]:
    """Create a git repository and a file of findings in a folder; return both paths."""
    contents = dict(_read_template(files("punchlist.app") / "demo_project"))
    review = folder / _REVIEW
    review.write_text(contents.pop(_REVIEW), "utf-8")
    root = folder / "stockroom"
    for path, text in contents.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    git = Git(root)
    await git.check_output("init", "--quiet", "--template=", "--initial-branch=main")
    await _commit_all(git, "Keep stock and write invoices", 0)
    (root / _DELETED).unlink()
    await _commit_all(git, "Drop the import from the old till", 1)
    return root, review


async def _commit_all(git: Git, message: str, number: int) -> None:
    when = f"{_FIRST + 3600 * number} +0000"
    env = {**_AUTHOR, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    await git.check_output("add", "--all")
    await git.check_output("commit", "--quiet", "--message", message, env=env)


def _read_template(folder: Traversable, below: str = "") -> Iterator[tuple[str, str]]:
    """Yield path and text of each file."""
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        if entry.is_dir():
            yield from _read_template(entry, f"{below}{entry.name}/")
        elif entry.name.endswith(_TEMPLATE):
            yield below + entry.name.removesuffix(_TEMPLATE), entry.read_text("utf-8")
