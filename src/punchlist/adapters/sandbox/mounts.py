"""Plan the mounts of a sandbox: what is found at which path inside."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.folders.look import is_file, is_folder, is_link, path_exists, resolve_path
from punchlist.adapters.sandbox.git_view import show_git_dir
from punchlist.adapters.sandbox.installations import is_system
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
Named = Mapping[str, Mount]
"""The same by text, which is found faster."""


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
    for mount in _hide_paths(sandbox.hidden, _name_targets(shown)):
        plan.setdefault(mount.target, mount)
    plan |= {path: Mount(path, content=content) for path, content in sandbox.files}
    named = _name_targets(plan)
    kept = [mount for mount in plan.values() if not _is_repeated(mount, named)]
    return sorted(kept, key=lambda mount: len(mount.target.parts))


def _guard_git(mount: Mount, cwd: Path) -> Plan:
    """Return mounts by which a tree's `.git` is read-only, without settings and hooks; of other
    folders it is empty.
    """
    if mount.source is None or mount.source.name == ".git":
        return {}
    source, target = mount.source / ".git", mount.target / ".git"
    if is_link(source) or not path_exists(source):
        return {}
    if is_file(source):
        return {target: Mount(target, source)}
    plan = {target: Mount(target)}
    if mount.writable or cwd.is_relative_to(mount.target):
        view = show_git_dir(source, target)
        plan |= {inner: Mount(inner, outer) for outer, inner, _ in view.binds}
        plan |= {inner: Mount(inner, content=content) for inner, content in view.files}
    return plan


def _name_targets(plan: Plan) -> Named:
    return {str(target): mount for target, mount in plan.items()}


def _hide_paths(paths: Iterable[Path], shown: Named) -> Iterator[Mount]:
    """Yield mounts that empty the paths that would be seen, also where their links lead."""
    known: dict[str, str] = {}
    for path in map(str, paths):
        for form in dict.fromkeys((path, _follow_links(path, known))):
            holder = _find_holder(form, shown)
            if holder is not None and holder.source is not None:
                root = resolve_path(holder.source)
                real = resolve_path(root / Path(form).relative_to(holder.target))
                if real.is_relative_to(root):
                    yield from _empty_mount(real, holder.target / real.relative_to(root))
            elif is_system(form):
                yield from _empty_mount(Path(form), Path(form))


def _follow_links(path: str, known: dict[str, str]) -> str:
    """Return the path without links; `known` has the folders of earlier ones. The usual places of
    secrets are many, and in few folders.
    """
    folder, _, name = path.rpartition("/")
    if name in ("", "..") or not path.startswith("/"):
        return os.path.realpath(path)
    if folder not in known:
        known[folder] = os.path.realpath(folder or "/").rstrip("/")
    form = f"{known[folder]}/{name}"
    try:
        is_link = stat.S_ISLNK(os.lstat(form).st_mode)
    except OSError:
        return form
    return os.path.realpath(form) if is_link else form


def _find_holder(path: str, shown: Named) -> Mount | None:
    """Return the mount of the nearest folder around a path."""
    folder = path.rpartition("/")[0]
    while folder and folder not in shown:
        folder = folder.rpartition("/")[0]
    return shown.get(folder or "/")


def _empty_mount(seen: Path, target: Path) -> Iterator[Mount]:
    if is_folder(seen):
        yield Mount(target)
    elif path_exists(seen):
        yield Mount(target, content=b"")


def _is_repeated(mount: Mount, plan: Named) -> bool:
    """Return whether the folder around it shows the same already."""
    if mount.source is None:
        return False
    holder = _find_holder(str(mount.target), plan)
    if holder is None or holder.source is None:
        return False
    same = holder.source / mount.target.relative_to(holder.target) == mount.source
    return same and holder.writable == mount.writable
