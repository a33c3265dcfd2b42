"""Plan the mounts of a sandbox: what is found at which path inside."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.sandbox.git_view import show_git_dir
from punchlist.adapters.sandbox.installations import SYSTEM
from punchlist.adapters.sandbox.sandbox import Sandbox


class Mount(Struct, frozen=True):
    """One path inside: a file or folder of the machine, a file made of `content`, or, with
    neither, an empty folder.
    """

    target: Path
    source: Path | None = None
    writable: bool = False
    content: bytes | None = None


Plan = dict[Path, Mount]


def plan_mounts(sandbox: Sandbox, cwd: Path) -> list[Mount]:
    """Return the mounts, outer folders before what lies in them."""
    shown: Plan = {}
    for source, target, writable in (
        *sandbox.binds,
        *((path, path, True) for path in sandbox.writable),
    ):
        shown[target] = Mount(target, source, writable)
    plan = dict(shown)
    for mount in shown.values():
        plan = {**_guard_git(mount, cwd), **plan}
    for path in sandbox.hidden:
        plan = {**{each.target: each for each in _hide_path(path, shown)}, **plan}
    plan |= {path: Mount(path, content=content) for path, content in sandbox.files}
    kept = [mount for mount in plan.values() if not _is_repeated(mount, plan)]
    return sorted(kept, key=lambda mount: len(mount.target.parts))


def _guard_git(mount: Mount, cwd: Path) -> Plan:
    """Return mounts by which a tree's `.git` is read-only, without settings and hooks; of other
    folders it is empty.
    """
    if mount.source is None or mount.source.name == ".git":
        return {}
    source, target = mount.source / ".git", mount.target / ".git"
    if source.is_symlink() or not source.exists():
        return {}
    if source.is_file():
        return {target: Mount(target, source)}
    plan = {target: Mount(target)}
    if mount.writable or cwd.is_relative_to(mount.target):
        view = show_git_dir(source, target)
        plan |= {inner: Mount(inner, outer) for outer, inner, _ in view.binds}
        plan |= {inner: Mount(inner, content=content) for inner, content in view.files}
    return plan


def _hide_path(path: Path, shown: Mapping[Path, Mount]) -> Iterator[Mount]:
    """Yield mounts that empty a path that would be seen, also where its links lead."""
    for form in dict.fromkeys((path, Path(os.path.realpath(path)))):
        holder = next((shown[folder] for folder in form.parents if folder in shown), None)
        if holder is not None and holder.source is not None:
            root = holder.source.resolve()
            real = (root / form.relative_to(holder.target)).resolve()
            if real.is_relative_to(root):
                yield from _empty_mount(real, holder.target / real.relative_to(root))
        elif _is_system(form):
            yield from _empty_mount(form, form)


def _empty_mount(seen: Path, target: Path) -> Iterator[Mount]:
    if seen.is_dir():
        yield Mount(target)
    elif seen.exists():
        yield Mount(target, content=b"")


def _is_repeated(mount: Mount, plan: Plan) -> bool:
    """Return whether the folder around it shows the same already."""
    if mount.source is None:
        return False
    holder = next((plan[folder] for folder in mount.target.parents if folder in plan), None)
    if holder is None or holder.source is None:
        return False
    same = holder.source / mount.target.relative_to(holder.target) == mount.source
    return same and holder.writable == mount.writable


def _is_system(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in SYSTEM)
