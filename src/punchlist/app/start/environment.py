"""Make the environment that a project's checks need, once the user allowed it."""

import os
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from punchlist.adapters.checks.detect import needs_pytest
from punchlist.adapters.checks.environment import CheckoutContext
from punchlist.adapters.environments.find_pythons import ProjectPlace, find_missing
from punchlist.adapters.environments.named_packages import (
    decides,
    find_included,
    list_declared,
    read_packages,
)
from punchlist.adapters.environments.tree_links import find_main_root, read_note
from punchlist.adapters.folders.look import is_folder, resolve_path
from punchlist.adapters.git.scope import find_trusted_commit, resolve_change
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.adapters.sandbox.support import sandbox_kind
from punchlist.app.session import Session
from punchlist.errors import UsageError
from punchlist.model.checks.check import Check
from punchlist.model.checks.failure_cause import could_set_up

if TYPE_CHECKING:
    from punchlist.adapters.environments.make_environment import SetupPlan

__all__ = ["SetupPlan", "add_lacking", "find_place", "make_environment", "plan_environment"]
FOLDER = "environments"
"""In the repository's own part of the state folder."""


async def plan_environment(session: Session) -> "SetupPlan":
    """Return what `punchlist setup` does for the checkout's commit; nothing is written."""
    from punchlist.adapters.environments.make_environment import (
        SetupPlan,
        find_base_python,
        plan_steps,
    )

    workshop = await session.workshop()
    commit = workshop.checkout.head
    texts = await _read_deciding(workshop, commit)
    async with WorkTrees(workshop).open_tree(commit) as tree:
        pytest = needs_pytest(tree)
    if not texts and not pytest:
        none = "no file here names Python packages, and there are no tests for pytest"
        raise UsageError(f"{none}: there is nothing to install", hint="punchlist run --dry-run")
    named = read_packages(texts)
    python = await find_base_python(named.python)
    minor = ".".join(python.version.split(".")[:2])
    made_from = await _read_tree(workshop, commit)
    trusted = await find_trusted_commit(workshop, await resolve_change(workshop))
    fresh = workshop.folder / FOLDER / f"{_hash_texts(texts)}-py{minor}-{made_from[:12]}"
    folder = await _find_made(workshop, trusted, commit) or fresh
    return SetupPlan(
        folder=folder,
        commit=commit,
        tree=made_from,
        python=python,
        files=named.files,
        pins=named.pins,
        steps=plan_steps(named, texts, folder, python, pytest=pytest),
        sandbox=sandbox_kind(),
    )


async def make_environment(session: Session, plan: "SetupPlan", say: Callable[[str], None]) -> None:
    from punchlist.adapters.environments.make_environment import EnvironmentMaker

    workshop = await session.workshop()
    ground = CheckoutContext(
        checkout=resolve_path(workshop.checkout.root),
        hidden=(session.home,),
        sandbox=session.settings().settings.sandbox.wishes,
    )
    async with WorkTrees(workshop).open_tree(workshop.checkout.head, apart=True) as tree:
        hosts = session.settings().settings.setup.hosts
        await EnvironmentMaker(plan, tree, ground, hosts).make(say)


async def add_lacking(
    workshop: Workshop, commit: str, checks: Iterable[Check]
) -> tuple[Check, ...]:
    """Return the checks with the packages that the commit's files name and their Python lacks."""
    names: list[str] | None = None
    found = []
    for check in checks:
        lacks: tuple[str, ...] = ()
        if could_set_up(check):
            if names is None:
                names = list_declared(await _read_deciding(workshop, commit))
            lacks = find_missing(check.command[0], names) if names else ()
        found.append(replace(check, lacks=lacks))
    return tuple(found)


async def find_place(workshop: Workshop, base: str, head: str = "") -> ProjectPlace:
    """Return where Python environments are looked for when these commits are checked."""
    checkout, known = workshop.checkout, dict.fromkeys(filter(None, (head, base)))
    made = await _find_made(workshop, base, head)
    root, main = checkout.root, find_main_root(checkout.root)
    paths = set(await checkout.git.list_fields("ls-files", "-z"))
    elsewhere = await checkout.resolve_commit("main-worktree/HEAD") if main else None
    for commit in filter(None, (*known, checkout.head, elsewhere)):
        paths |= (await workshop.list_tree(commit)).keys()
    return ProjectPlace(checkout=root, main=main, tracked=paths, made=made)


async def _find_made(workshop: Workshop, base: str, head: str) -> Path | None:
    """Return the environment that was made for these commits, the head's before the base's.

    Code of the commit that an environment was made from has run in it. One of the head serves
    where the head's very tree is checked, and nowhere else; one of the base's own history serves
    both, while the files that name packages are the same.
    """
    folder = workshop.folder / FOLDER
    if not is_folder(folder):
        return None
    from punchlist.adapters.environments.make_environment import is_finished

    for commit in dict.fromkeys(filter(None, (head, base))):
        code = _hash_texts(await _read_deciding(workshop, commit))
        tree = await _read_tree(workshop, commit)
        for path in sorted(folder.glob(f"{code}-py*")):
            note = read_note(path) if is_finished(path) else None
            if note is None or not note.commit:
                continue
            if note.tree == tree or await _is_before(workshop, note.commit, base):
                return path
    return None


async def _read_tree(workshop: Workshop, commit: str) -> str:
    return await workshop.git.read_line("rev-parse", f"{commit}^{{tree}}")


async def _is_before(workshop: Workshop, commit: str, base: str) -> bool:
    """Return whether the base has the commit in its history."""
    return (await workshop.git.run("merge-base", "--is-ancestor", commit, base)).ok


async def _read_deciding(workshop: Workshop, commit: str) -> dict[str, str]:
    """Return the files of a commit that name packages, with those that they include."""
    listing = await workshop.list_tree(commit)
    texts: dict[str, str] = {}
    wanted = {path for path in listing if decides(path)}
    while wanted:
        entries = [listing[path] for path in sorted(wanted) if listing[path].regular]
        blobs = await workshop.read_blobs([entry.blob for entry in entries])
        fresh = {entry.path: os.fsdecode(blob) for entry, blob in zip(entries, blobs, strict=True)}
        texts |= fresh
        included = {name for path, text in fresh.items() for name in find_included(path, text)}
        wanted = (included & listing.keys()) - texts.keys()
    return dict(sorted(texts.items()))


def _hash_texts(texts: dict[str, str]) -> str:
    parts = [(path, os.fsencode(text).hex()) for path, text in texts.items()]
    return sha256(msgspec.json.encode(parts)).hexdigest()[:16]
