"""A repository with everything opened on it, and the drafts and looks that tests need."""

import asyncio
import hashlib
import os
import subprocess
from pathlib import Path

from punchlist.adapters.git.apply import BranchApplier
from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.repository import GitRepository
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.model.finding.finding import Splice
from punchlist.model.patch.patch import FileChange, Patch
from punchlist.ports.repository import Draft
from punchlist.ports.tree import Pristine

BRANCH = "punchlist/r1"


class Bench:
    """A repository with everything opened on it, and calls that run to their end."""

    def __init__(self, root: Path, home: Path) -> None:
        self.checkout = asyncio.run(Checkout.find(root))
        self.workshop = asyncio.run(Workshop.open(self.checkout, home))
        self.trees = WorkTrees(self.workshop)
        self.repository = GitRepository(self.workshop, self.trees)
        self.homecoming = BranchApplier(self.workshop, self.trees)

    def chain(self, parent, *drafts, action="r1/2/commit", branch=BRANCH):
        return asyncio.run(self.repository.commit_chain(branch, parent, drafts, action))

    def publish(self, branch=BRANCH):
        asyncio.run(self.repository.publish(branch))

    def hook(self, commit, *patches, pristine=None):
        return asyncio.run(
            self.repository.run_hook(
                "pre-commit", commit, patches, pristine=pristine or Pristine(origin=commit)
            )
        ).refused

    def apply(self, **options):
        return asyncio.run(self.homecoming.apply(BRANCH, **options))

    def discard(self, **options):
        return asyncio.run(self.homecoming.discard(BRANCH, **options))

    def git(self, *arguments):
        done = subprocess.run(
            ["git", *arguments], cwd=self.workshop.git_dir, capture_output=True, check=True
        )
        return os.fsdecode(done.stdout).removesuffix("\n")


def edit(path, start, end, text, message="fix it"):
    return Draft(message, Patch(splices=(Splice(path, start, end, text),)))


def whole(*changes, message="fix it"):
    return Draft(message, Patch(files=tuple(FileChange(*each) for each in changes)))


def state(root: Path) -> dict[str, str]:
    """A hash of everything in the checkout and in .git, but for objects and punchlist's own branches."""
    found = {}
    for full in root.rglob("*"):
        path = full.relative_to(root).as_posix()
        if full.is_file() and not path.startswith((".git/objects/", ".git/refs/heads/punchlist/")):
            found[path] = hashlib.sha256(full.read_bytes()).hexdigest() + oct(full.lstat().st_mode)
    return found
