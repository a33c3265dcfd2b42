"""A small demo repository with seeded defects, and a file of findings."""

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from msgspec.structs import replace

from punchlist.adapters.folders.temporary import temporary_folder
from punchlist.adapters.git.command import Git
from punchlist.app.session import Session
from punchlist.app.start.environment import make_environment, plan_environment
from punchlist.errors import ToolError

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

__all__ = ["install_coverage", "make_demo", "temporary_folder"]


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


async def install_coverage(session: Session) -> str:
    """Make an environment for the demo's tests that tells which lines they execute; return why it
    could not be made, or "".
    """
    from punchlist.adapters.environments.make_environment import plan_coverage

    plan = await plan_environment(session)
    steps = plan_coverage(plan.folder, plan.python)
    if not steps:
        return ""
    try:
        await make_environment(session, replace(plan, steps=steps, patient=False), lambda _: None)
    except ToolError as error:
        return str(error).strip().splitlines()[-1]
    return ""


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
