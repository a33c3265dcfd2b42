"""Run the user's git hooks on a patched tree, sandboxed and with settings from pristine files."""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from punchlist.adapters.folders.look import is_file, is_folder, path_exists, resolve_path
from punchlist.adapters.folders.temporary import temporary_folder
from punchlist.adapters.git.command import decode_text, encode_text
from punchlist.adapters.git.overlay import build_overlay
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTree, WorkTrees
from punchlist.adapters.process.run import Origin, base_environment, run
from punchlist.adapters.sandbox.git_view import OBJECTS, show_repository
from punchlist.adapters.sandbox.home_view import find_toolchains, list_secrets
from punchlist.adapters.sandbox.installations import find_installations, find_path_installations
from punchlist.adapters.sandbox.profiles import PROFILES, ChildKind
from punchlist.adapters.sandbox.sandbox import Sandbox, SandboxWishes
from punchlist.adapters.sandbox.secret_files import find_secret_files
from punchlist.model.patch.patch import Patch
from punchlist.ports.repository import Heard
from punchlist.ports.tree import Pristine

_QUOTAS = PROFILES[ChildKind.HOOK].quotas
_WORDS = 20_000
_ENVIRONMENTS = (".venv", "venv", "node_modules")


class Hooks:
    def __init__(
        self, workshop: Workshop, trees: WorkTrees, wishes: SandboxWishes | None = None
    ) -> None:
        self._workshop = workshop
        self._trees = trees
        self._wishes = wishes or SandboxWishes()
        self._state = resolve_path(workshop.folder).parents[1]

    async def run_hook(
        self, name: str, commit: str, patches: Sequence[Patch], pristine: Pristine | None
    ) -> Heard:
        """Run the hook on the patched tree; without pristine files only tell whether it exists."""
        folder, trusted = self._find_folder()
        hook = folder / name
        if not (trusted and is_file(hook) and hook.stat().st_mode & 0o111):
            return Heard()
        if pristine is None:
            return Heard(unheard=True)
        restored = await build_overlay(self._workshop, commit, (), pristine)
        changed = await build_overlay(self._workshop, commit, patches, pristine)
        # The real home is for the hook's tools and caches.
        env = {**base_environment(home=True), "GIT_EDITOR": ":", "GIT_TERMINAL_PROMPT": "0"}
        async with self._trees.open_tree(commit, patches, pristine=pristine) as tree:
            await self._stage_pristine(tree, restored)
            await self._update_index(tree, changed.keys() - restored.keys())
            with self._make_sandbox(tree, hook) as sandbox:
                ran = await run(
                    [str(hook)],
                    origin=Origin.THEIRS,
                    cwd=tree.root,
                    env=env,
                    timeout=_QUOTAS.seconds,
                    limit=_QUOTAS.output,
                    walls=sandbox,
                    trim=True,
                )
        if ran.ok:
            return Heard()
        words = decode_text(ran.stdout + ran.stderr).encode("utf-8", "replace").decode().strip()
        why = ran.trouble or f"exit code {ran.exit_code}"
        return Heard(refused=f"{name}: {why}\n{words[-_WORDS:]}".strip())

    async def explain_skipped(self) -> str:
        """Return why the user's hooks are not run, or ''."""
        folder, trusted = self._find_folder()
        why = "they are part of the code under review (core.hooksPath)"
        return "" if trusted else f"hooks in {folder} are not run: {why}"

    def _find_folder(self) -> tuple[Path, bool]:
        """Return the hooks folder, and whether it is outside the reviewed code."""
        checkout = self._workshop.checkout
        named = [
            each.value
            for each in checkout.settings
            if each.key == "core.hookspath" and each.scope != "command"
        ]
        folder = checkout.git_dir / "hooks"
        if named and named[-1]:
            path = os.path.expanduser(named[-1])  # noqa: PTH111  # an unknown user is no error
            folder = resolve_path(checkout.root / path)
        reviewed = folder.is_relative_to(resolve_path(checkout.root))
        return folder, not reviewed or folder.is_relative_to(checkout.git_dir)

    async def _stage_pristine(self, tree: WorkTree, restored: Collection[str]) -> None:
        """Commit the pristine files to the tree's HEAD, so that only the fixes are staged."""
        if not restored:
            return
        await self._update_index(tree, restored)
        git = self._trees.open_git(tree)
        steered = await self._workshop.commit_tree(
            await git.read_line("write-tree"), [tree.commit], "steered by the base"
        )
        await git.check_output("update-ref", "--no-deref", "HEAD", steered)

    async def _update_index(self, tree: WorkTree, paths: Collection[str]) -> None:
        names = b"".join(encode_text(path) + b"\0" for path in sorted(paths))
        await self._trees.open_git(tree).check_output(
            "update-index", "--add", "--remove", "--replace", "-z", "--stdin", stdin=names
        )

    @contextmanager
    def _make_sandbox(self, tree: WorkTree, hook: Path) -> Iterator[Sandbox]:
        """Sandbox without network and keys; only tree and index are writable, new git objects are
        dropped.
        """
        repository = resolve_path(self._workshop.git_dir)
        index = repository / "worktrees" / tree.root.name
        view = show_repository(tree.root)
        shared = (bind for bind in view.binds if not bind[1].is_relative_to(index))
        with temporary_folder("punchlist-hook-") as scratch:
            objects = resolve_path(scratch)
            (objects / "info").mkdir()
            (objects / "info/alternates").write_text(f"{OBJECTS}\n")
            yield Sandbox(
                kind=ChildKind.HOOK,
                binds=(
                    *((path, path, False) for path in self._list_shown(hook)),
                    *shared,
                    (repository / "objects", OBJECTS, False),
                    (objects, repository / "objects", True),
                    (index, index, True),
                    (tree.root, tree.root, True),
                ),
                files=view.files,
                hidden=(
                    *list_secrets(_home()),
                    self._state,
                    *find_secret_files(tree.root, tree.files()),
                ),
                required=self._wishes.required,
                consented=True,
            )

    def _list_shown(self, hook: Path) -> list[Path]:
        """Return what a hook sees besides the tree: the other hooks, programs on PATH, toolchains
        of the home, and the environments of the checkout.
        """
        path, home, root = base_environment()["PATH"], _home(), self._workshop.checkout.root
        private = (home, self._state)
        own = [folder for name in _ENVIRONMENTS if is_folder(folder := root / name)]
        found = {
            hook.parent,
            *find_path_installations(path, private),
            *find_installations((str(hook),), path, private),
            *find_toolchains(home),
            *own,
            *(resolve_path(folder) for folder in own),
            *(each for each in self._wishes.read if path_exists(each)),
        }
        for folder in own:
            found |= {*find_installations((str(folder / "bin/python"),), path, private)}
        return sorted(found)


def _home() -> Path:
    return Path(base_environment(home=True).get("HOME", "/nonexistent"))
