"""Prepare where a check runs: the work tree mounted at the checkout's path or, without a sandbox,
paths and links that come close to that.
"""

import asyncio
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.checks.untracked_needs import find_private, find_untracked
from punchlist.adapters.environments.tree_links import find_import_folders, find_main_root
from punchlist.adapters.folders.look import is_file, is_folder, path_exists, resolve_path
from punchlist.adapters.process.run import base_environment
from punchlist.adapters.sandbox.git_view import show_repository
from punchlist.adapters.sandbox.home_view import find_toolchains, list_secrets
from punchlist.adapters.sandbox.installations import (
    find_installations,
    find_own_installation,
    find_path_installations,
)
from punchlist.adapters.sandbox.profiles import ChildKind
from punchlist.adapters.sandbox.sandbox import HOME, Sandbox, SandboxWishes
from punchlist.adapters.sandbox.support import sandbox_kind
from punchlist.ports.tree import Tree

_TOOLCHAINS = {
    "PYTHONUSERBASE": ".local",
    "RUSTUP_HOME": ".rustup",
    "CARGO_HOME": ".cargo",
    "GOPATH": "go",
}
"""Folders of the home by the variables that name them."""


class CheckoutContext(Struct, frozen=True, kw_only=True):
    """Settings common to all checks of one checkout."""

    checkout: Path
    leftovers: tuple[str, ...] = ()
    hidden: tuple[Path, ...] = ()
    kind: ChildKind = ChildKind.CHECK
    sandbox: SandboxWishes = SandboxWishes()


class LaunchSpec(Struct, frozen=True, kw_only=True):
    """How to start one child: folder, environment, sandbox."""

    cwd: Path
    env: dict[str, str]
    sandbox: Sandbox


async def find_leftovers(ground: CheckoutContext) -> CheckoutContext:
    """Return the context with the checkout's untracked files that checks need, and with what is
    hidden in them.
    """
    leftovers = await find_untracked(ground.checkout)
    private = await asyncio.to_thread(find_private, ground.checkout, leftovers)
    return replace(ground, leftovers=leftovers, hidden=(*ground.hidden, *private))


@contextmanager
def prepare_launch(
    tree: Tree, ground: CheckoutContext, reports: Path, command: Sequence[str]
) -> Iterator[LaunchSpec]:
    """Prepare the launch of one run; files added to the tree are removed afterwards."""
    if sandbox_kind() == "bubblewrap":
        launch = _prepare_sandboxed(tree, ground, reports, command)
    else:
        launch = _prepare_unsandboxed(tree, ground, reports, command)
    with launch as spec:
        yield spec


@contextmanager
def _prepare_sandboxed(
    tree: Tree, ground: CheckoutContext, reports: Path, command: Sequence[str]
) -> Iterator[LaunchSpec]:
    """Mount the tree over the checkout's path: editable installs and absolute paths lead to it."""
    checkout = ground.checkout
    with _make_mount_points(tree.root, checkout, _list_lent(command, ground)) as borrowed:
        view = show_repository(tree.root, covered=checkout)
        binds = [(path, path, False) for path in _find_programs(command, ground)]
        binds += [*view.binds, (tree.root, checkout, True)]
        binds += [(resolve_path(checkout / name), checkout / name, False) for name in borrowed]
        binds.append((reports, reports, True))
        linked = _find_linked(command, ground, tree.root, main_only=True)
        inside = [checkout / path.relative_to(tree.root) for path in linked]
        env = _build_environment(HOME, [checkout, checkout / "src", *inside])
        sandbox = Sandbox(
            kind=ground.kind,
            binds=tuple(binds),
            files=view.files,
            hidden=(*list_secrets(_real_home()), *ground.hidden),
            required=ground.sandbox.required,
            consented=True,
        )
        yield LaunchSpec(cwd=checkout, env=env, sandbox=sandbox)


@contextmanager
def _prepare_unsandboxed(
    tree: Tree, ground: CheckoutContext, reports: Path, command: Sequence[str]
) -> Iterator[LaunchSpec]:
    """Run in the tree itself, first on PYTHONPATH; untracked files are copied, node_modules
    linked.
    """
    root, made = tree.root, []
    for name in ground.leftovers:
        source, target = ground.checkout / name, root / name
        if not is_folder(target.parent) or not _is_free(target, root):
            continue
        if source in ground.hidden and sandbox_kind() != "none":
            continue
        if source.name == "node_modules":
            target.symlink_to(resolve_path(source), target_is_directory=True)
        elif is_file(source):
            shutil.copyfile(source, target)
        else:
            continue
        made.append(target)
    home, temporary = reports / "home", reports / "tmp"
    home.mkdir()
    temporary.mkdir()
    paths = [root, root / "src", *_find_linked(command, ground, root)]
    env = {**_build_environment(home, paths), "TMPDIR": str(temporary)}
    try:
        yield LaunchSpec(cwd=root, env=env, sandbox=_fence_tree(root, ground, reports, command))
    finally:
        for target in made:
            target.unlink(missing_ok=True)


def _fence_tree(
    root: Path, ground: CheckoutContext, reports: Path, command: Sequence[str]
) -> Sandbox:
    """Return what Landlock has to hold of a check that runs in the tree itself."""
    lent = (resolve_path(ground.checkout / name) for name in _list_lent(command, ground))
    programs = [*_find_programs(command, ground), *(path for path in lent if is_folder(path))]
    view = show_repository(root)
    return Sandbox(
        kind=ground.kind,
        binds=(*((path, path, False) for path in programs), *view.binds, (root, root, True)),
        files=view.files,
        writable=(reports,),
        hidden=(*list_secrets(_real_home()), *ground.hidden),
        required=ground.sandbox.required,
        consented=True,
    )


def _build_environment(home: Path, paths: Sequence[Path]) -> dict[str, str]:
    """Return a reproducible environment; toolchains in the real home are still found."""
    toolchains = {name: _real_home() / folder for name, folder in _TOOLCHAINS.items()}
    return {
        **base_environment(),
        **{name: str(folder) for name, folder in toolchains.items() if path_exists(folder)},
        "HOME": str(home),
        "CI": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": ":".join(str(path) for path in dict.fromkeys(paths)),
        "CARGO_TARGET_DIR": str(home / "cargo-target"),
        "CARGO_NET_OFFLINE": "true",
        "GOCACHE": str(home / "go-cache"),
        "GOFLAGS": "-count=1",
    }


@contextmanager
def _make_mount_points(root: Path, checkout: Path, names: Sequence[str]) -> Iterator[list[str]]:
    """Create empty mount points for untracked files, and remove them afterwards."""
    made: list[Path] = []
    usable: list[str] = []
    for name in names:
        source, target = checkout / name, root / name
        if not path_exists(source) or not _is_free(target, root):
            continue
        fresh = [folder for folder in target.parents if not path_exists(folder)]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.mkdir() if is_folder(source) else target.touch()
        made += [*reversed(fresh), target]
        usable.append(name)
    try:
        yield usable
    finally:
        for path in reversed(made):
            with suppress(OSError):  # a folder into which the check wrote is left
                path.rmdir() if is_folder(path) else path.unlink()


def _is_free(target: Path, root: Path) -> bool:
    """Return whether nothing is at `target`, not even a dangling link, and it can be made there
    without leaving the tree: a fix could have planted a link on the way.
    """
    return (
        not os.path.lexists(target)
        and resolve_path(target.parent).is_relative_to(resolve_path(root))
        and all(is_folder(folder) or not os.path.lexists(folder) for folder in target.parents)
    )


def _list_lent(command: Sequence[str], ground: CheckoutContext) -> list[str]:
    """Return the untracked files lent to checks, with the environment of the command's Python."""
    prefix, lent = Path(command[0]).parent.parent, list(ground.leftovers)
    lends = any(prefix.is_relative_to(ground.checkout / name) for name in lent)
    if ground.checkout in prefix.parents and not lends:
        lent.append(str(prefix.relative_to(ground.checkout)))
    return lent


def _find_programs(command: Sequence[str], ground: CheckoutContext) -> list[Path]:
    """Return what is shown besides the tree: the command's programs, all that PATH leads to, and
    toolchains of the home. The tree covers the checkout.
    """
    path, home = base_environment()["PATH"], _real_home()
    private = (home, *(folder for folder in ground.hidden if is_folder(folder)))
    found = {
        *find_installations(command, path, private),
        *find_path_installations(path, private),
        *find_own_installation(path, private),
        *find_toolchains(home),
        *(folder for folder in ground.sandbox.read if path_exists(folder)),
    }
    return sorted(each for each in found if not each.is_relative_to(ground.checkout))


def _find_linked(
    command: Sequence[str], ground: CheckoutContext, tree: Path, *, main_only: bool = False
) -> list[Path]:
    """Return the tree's folders that the command's environment, or the checkout's, imports from a
    checkout of the repository; `main_only`: where the tree covers the path of the other one.
    """
    prefixes = [ground.checkout / name for name in (".venv", "venv")]
    if Path(command[0]).is_absolute():
        prefixes.append(Path(command[0]).parent.parent)
    main = find_main_root(ground.checkout)
    roots = [] if main_only else [ground.checkout]
    return find_import_folders(prefixes, [*roots, *([main] if main else [])], tree)


def _real_home() -> Path:
    return Path(os.environ.get("HOME", "/nonexistent"))
