"""The user's git hooks, asked about a patched tree: steered by files the branch has no say in, and
walled in.
"""

import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from punchlist.adapters.git.command import bytes_of, fields, text_of
from punchlist.adapters.git.overlay import overlay
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTree, WorkTrees
from punchlist.adapters.process.run import base_environment, run
from punchlist.adapters.process.sandbox import Walls, secrets
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

    async def ask(
        self, name: str, commit: str, patches: Sequence[Patch], pristine: Pristine | None
    ) -> Heard:
        """What the hook has against the patched tree; without pristine files to steer it, only
        whether there is one.
        """
        folder, trusted = await self._folder()
        hook = folder / name
        if not (trusted and hook.is_file() and hook.stat().st_mode & 0o111):
            return Heard()
        if pristine is None:
            return Heard(unheard=True)
        laid = await overlay(self._workshop, commit, (), pristine)
        changed = await overlay(self._workshop, commit, patches, pristine)
        async with self._trees.at(commit, patches, pristine=pristine) as tree:
            await self._stage(tree, laid)
            await self._add(tree, changed.keys() - laid.keys())
            with self._walls(tree, folder) as walls:
                ran = await run(
                    [str(hook)],
                    cwd=tree.root,
                    env=_environment(),
                    timeout=_SECONDS,
                    limit=1 << 20,
                    walls=walls,
                    trim=True,
                )
        if ran.ok:
            return Heard()
        words = text_of(ran.stdout + ran.stderr).encode("utf-8", "replace").decode().strip()
        return Heard(
            refused=(
                f"{name}: {ran.trouble or f'exit code {ran.exit_code}'}\n{words[-_WORDS:]}".strip()
            )
        )

    async def note(self) -> str:
        """Why the user's hooks are not run, in words; an empty string where they are."""
        folder, trusted = await self._folder()
        return (
            ""
            if trusted
            else (
                f"hooks in {folder} are not run: they are part of the code under review"
                " (core.hooksPath)"
            )
        )

    async def _folder(self) -> tuple[Path, bool]:
        """Where the user's git looks for hooks, and whether that is out of the reviewed code's
        reach.
        """
        checkout = self._workshop.checkout
        # The last value is our own, given on git's command line; the one before it would count
        # without us.
        values = list(
            fields(
                await checkout.theirs.out(
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

    async def _stage(self, tree: WorkTree, laid: Collection[str]) -> None:
        """Makes the pristine files part of what the tree's HEAD has: a hook that looks at what is
        staged sees the fixes alone.
        """
        if not laid:
            return
        await self._add(tree, laid)
        git = self._trees.git(tree)
        steered = await self._workshop.record(
            await git.line("write-tree"), [tree.commit], "steered by the base"
        )
        await git.out("update-ref", "--no-deref", "HEAD", steered)

    async def _add(self, tree: WorkTree, paths: Collection[str]) -> None:
        names = b"".join(bytes_of(path) + b"\0" for path in sorted(paths))
        await self._trees.git(tree).out(
            "update-index", "--add", "--remove", "--replace", "-z", "--stdin", stdin=names
        )

    @contextmanager
    def _walls(self, tree: WorkTree, folder: Path) -> Iterator[Walls]:
        """No network, no keys; only the tree and its index can be written, and git's new objects go
        where nobody looks again.
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
            yield Walls(
                binds=(
                    *((path, path, False) for path in seen),
                    (repository / "objects", _OBJECTS, False),
                    (objects, repository / "objects", True),
                    (index, index, True),
                    (tree.root, tree.root, True),
                ),
                # A repository's own settings may hold a token, too.
                hidden=(
                    *secrets(home),
                    self._workshop.folder.resolve().parents[1],
                    checkout.git_dir / "config",
                ),
            )


def _environment() -> dict[str, str]:
    """What git gives its hooks; the home is the real one, for the tools and caches that hooks keep
    there.
    """
    return {**base_environment(home=True), "GIT_EDITOR": ":", "GIT_TERMINAL_PROMPT": "0"}
