"""Run the user's git hooks on a patched tree, sandboxed and with settings from pristine files."""

import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from punchlist.adapters.git.command import decode_text, encode_text, split_fields
from punchlist.adapters.git.overlay import build_overlay
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTree, WorkTrees
from punchlist.adapters.process.run import base_environment, run
from punchlist.adapters.process.sandbox import Sandbox, secret_paths
from punchlist.model.patch.patch import Patch
from punchlist.ports.repository import Heard
from punchlist.ports.tree import Pristine

_SECONDS = 600.0
_WORDS = 20_000
_OBJECTS = Path("/tmp/objects")  # noqa: S108  # inside the sandbox, where /tmp is the child's own


class Hooks:
    def __init__(self, workshop: Workshop, trees: WorkTrees) -> None:
        self._workshop = workshop
        self._trees = trees

    async def run_hook(
        self, name: str, commit: str, patches: Sequence[Patch], pristine: Pristine | None
    ) -> Heard:
        """Run the hook on the patched tree; without pristine files only tell
        whether there is one.
        """
        folder, trusted = await self._find_folder()
        hook = folder / name
        if not (trusted and hook.is_file() and hook.stat().st_mode & 0o111):
            return Heard()
        if pristine is None:
            return Heard(unheard=True)
        laid = await build_overlay(self._workshop, commit, (), pristine)
        changed = await build_overlay(self._workshop, commit, patches, pristine)
        async with self._trees.open_tree(commit, patches, pristine=pristine) as tree:
            await self._stage_pristine(tree, laid)
            await self._update_index(tree, changed.keys() - laid.keys())
            with self._make_sandbox(tree, folder) as walls:
                ran = await run(
                    [str(hook)],
                    cwd=tree.root,
                    env=_hook_environment(),
                    timeout=_SECONDS,
                    limit=1 << 20,
                    walls=walls,
                    trim=True,
                )
        if ran.ok:
            return Heard()
        words = decode_text(ran.stdout + ran.stderr).encode("utf-8", "replace").decode().strip()
        return Heard(
            refused=(
                f"{name}: {ran.trouble or f'exit code {ran.exit_code}'}\n{words[-_WORDS:]}".strip()
            )
        )

    async def explain_skipped(self) -> str:
        """Return why the user's hooks are not run, or ''."""
        folder, trusted = await self._find_folder()
        return (
            ""
            if trusted
            else (
                f"hooks in {folder} are not run: they are part of the code under review"
                " (core.hooksPath)"
            )
        )

    async def _find_folder(self) -> tuple[Path, bool]:
        """Return the hooks folder, and whether it is outside the reviewed code."""
        checkout = self._workshop.checkout
        # The last value is our own, given on git's command line; the one before it would count
        # without us.
        values = list(
            split_fields(
                await checkout.user_git.check_output(
                    "config", "--type=path", "-z", "--get-all", "core.hooksPath"
                )
            )
        )
        configured = values[-2] if len(values) > 1 else ""
        folder = (
            (checkout.root / configured).resolve() if configured else checkout.git_dir / "hooks"
        )
        return folder, not folder.is_relative_to(checkout.root.resolve()) or folder.is_relative_to(
            checkout.git_dir
        )

    async def _stage_pristine(self, tree: WorkTree, laid: Collection[str]) -> None:
        """Commit the pristine files to the tree's HEAD, so that only the fixes are staged."""
        if not laid:
            return
        await self._update_index(tree, laid)
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
    def _make_sandbox(self, tree: WorkTree, folder: Path) -> Iterator[Sandbox]:
        """Sandbox without network and keys; only tree and index are writable, new git objects are
        dropped.
        """
        checkout, repository = self._workshop.checkout, self._workshop.git_dir.resolve()
        index = repository / "worktrees" / tree.root.name
        home = Path(base_environment(home=True).get("HOME", "/nonexistent"))
        seen = [
            path for path in (checkout.root, checkout.git_dir, folder, repository) if path.is_dir()
        ]
        with tempfile.TemporaryDirectory(
            prefix="punchlist-hook-", ignore_cleanup_errors=True
        ) as scratch:
            objects = Path(scratch).resolve()
            (objects / "info").mkdir()
            (objects / "info/alternates").write_text(f"{_OBJECTS}\n")
            yield Sandbox(
                binds=(
                    *((path, path, False) for path in seen),
                    (repository / "objects", _OBJECTS, False),
                    (objects, repository / "objects", True),
                    (index, index, True),
                    (tree.root, tree.root, True),
                ),
                # A repository's own settings may hold a token, too.
                hidden=(
                    *secret_paths(home),
                    self._workshop.folder.resolve().parents[1],
                    checkout.git_dir / "config",
                ),
            )


def _hook_environment() -> dict[str, str]:
    """Return git's environment for hooks, with the real home for their tools and caches."""
    return {**base_environment(home=True), "GIT_EDITOR": ":", "GIT_TERMINAL_PROMPT": "0"}
