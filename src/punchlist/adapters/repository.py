"""Commits on a run's own branch, made in the workshop and shown to the user's repository as one ref."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from punchlist.adapters.chain import Chain, fast_import
from punchlist.adapters.git import bytes_of, fields, said, text_of
from punchlist.adapters.overlay import Laid, overlay
from punchlist.adapters.process import base_environment, run
from punchlist.adapters.workshop import Workshop
from punchlist.adapters.worktree import WorkTree, WorkTrees
from punchlist.errors import RepositoryError
from punchlist.model.patch import Patch
from punchlist.ports import Draft

PREFIX = "punchlist/"
ACTION = "Punchlist-Action"
_HOOK_SECONDS = 600.0
_HOOK_WORDS = 20_000


class GitRepository:
    """What a run does with git. `when` dates the commits (seconds since the epoch); None dates them like their parent."""

    def __init__(self, workshop: Workshop, trees: WorkTrees, *, when: int | None = None) -> None:
        self._workshop = workshop
        self._trees = trees
        self._when = when

    async def commit_chain(self, branch: str, parent: str, commits: Sequence[Draft], action: str) -> tuple[str, ...]:
        """One commit per draft, all or none: the branch moves in one step, after everything it needs is written."""
        if not commits:
            return ()
        tip = await self._workshop.tip(branch)
        made = await self._made(parent, branch, action) if tip else ()
        if made:
            if len(made) != len(commits):
                raise RepositoryError(f"{branch}: {action} made {len(made)} commits, and now asks for {len(commits)}")
            return made
        if tip not in (None, parent):
            raise RepositoryError(f"{branch}: has commits above {parent[:10]} that {action} did not make", hint="start a new run")
        return await self._make(branch, parent, commits, action)

    async def _made(self, parent: str, branch: str, action: str) -> tuple[str, ...]:
        """The commits above `parent` that this action made before, oldest first."""
        trailer = f"%(trailers:key={ACTION},valueonly,unfold,separator=%x20)"
        span = f"{parent}..refs/heads/{branch}"
        printed = await self._workshop.git.out("log", "--reverse", "--first-parent", "-z", f"--format=%H {trailer}", span)
        lines = [text_of(line).strip().partition(" ") for line in printed.split(b"\0") if line.strip()]
        return tuple(commit for commit, _, by in lines if by == action)

    async def _make(self, branch: str, parent: str, commits: Sequence[Draft], action: str) -> tuple[str, ...]:
        workshop = self._workshop
        when = self._when
        if when is None:
            when = int(await workshop.git.line("show", "--no-patch", "--format=%ct", parent))
        listing = await workshop.listing(parent)
        edited = sorted({splice.path for draft in commits for splice in draft.patch.splices})
        for path in edited:
            if path not in listing or not listing[path].regular:
                raise RepositoryError(f"{path}: the patch edits a file that {parent[:10]} does not have")
        contents = await workshop.blobs([listing[path].blob for path in edited])
        sources = {path: Laid(content, listing[path].mode) for path, content in zip(edited, contents, strict=True)}
        identity = f"{workshop.identity.name} <{workshop.identity.email}> {when} +0000"
        stream = fast_import(Chain(f"refs/heads/{branch}", parent, identity), _signed(commits, action), sources)
        printed = await workshop.git.out("fast-import", "--quiet", "--done", stdin=stream)
        return tuple(printed.decode().split())

    async def publish(self, branch: str) -> None:
        """Brings the branch and its objects into the user's repository; nothing else there changes."""
        if not branch.startswith(PREFIX):
            raise RepositoryError(f"{branch}: only branches below {PREFIX} are published")
        tip = await self._workshop.tip(branch)
        if tip is None:
            raise RepositoryError(f"{branch}: there is no such branch", hint="punchlist list shows the runs there are")
        theirs, where = await self._workshop.checkout.holds(branch)
        if theirs == tip:
            return
        if where:
            raise RepositoryError(
                f"{branch}: is checked out in {where}, and would change there", hint="switch to another branch first"
            )
        if theirs and not await self._workshop.git.has("merge-base", "--is-ancestor", theirs, tip):
            hint = f"keep yours under another name: git branch -m {branch} {branch}-mine"
            raise RepositoryError(f"{branch}: your branch of that name has commits of its own", hint=hint)
        await bring(self._workshop, f"refs/heads/{branch}:refs/heads/{branch}", branch)

    async def hook(self, name: str, commit: str, patches: Sequence[Patch]) -> str:
        """What the user's hook has against the patched tree; an empty string where it agrees, or where there is none."""
        hook = await self._hook(name)
        if hook is None:
            return ""
        changes = await overlay(self._workshop, commit, patches)
        async with self._trees.at(commit, patches) as tree:
            env = await self._staged(tree, sorted(changes))
            ran = await run([str(hook)], cwd=tree.root, env=env, timeout=_HOOK_SECONDS, limit=1 << 20, trim=True)
        if ran.ok:
            return ""
        words = text_of(ran.stdout + ran.stderr).encode("utf-8", "replace").decode().strip()
        return f"{name}: {ran.trouble or f'exit code {ran.exit_code}'}\n{words[-_HOOK_WORDS:]}".strip()

    async def _staged(self, tree: WorkTree, paths: Sequence[str]) -> dict[str, str]:
        """Stages the paths in the tree's own index; returns the environment git gives its hooks."""
        names = b"".join(bytes_of(path) + b"\0" for path in paths)
        await self._trees.git(tree).out("update-index", "--add", "--remove", "--replace", "-z", "--stdin", stdin=names)
        return {**base_environment(home=True), "GIT_EDITOR": ":", "GIT_TERMINAL_PROMPT": "0"}

    async def _hook(self, name: str) -> Path | None:
        folder, trusted = await self._hooks()
        hook = folder / name
        return hook if trusted and hook.is_file() and hook.stat().st_mode & 0o111 else None

    async def hooks_note(self) -> str:
        """Why the user's hooks are not run, in words; an empty string where they are."""
        folder, trusted = await self._hooks()
        return "" if trusted else f"hooks in {folder} are not run: they are part of the code under review (core.hooksPath)"

    async def _hooks(self) -> tuple[Path, bool]:
        """Where the user's git looks for hooks, and whether that is out of the reviewed code's reach."""
        checkout = self._workshop.checkout
        # The last value is our own, given on git's command line; the one before it would count without us.
        values = list(fields(await checkout.theirs.out("config", "--type=path", "-z", "--get-all", "core.hooksPath")))
        configured = values[-2] if len(values) > 1 else ""
        folder = (checkout.root / configured).resolve() if configured else checkout.git_dir / "hooks"
        return folder, not folder.is_relative_to(checkout.root.resolve()) or folder.is_relative_to(checkout.git_dir)


async def bring(workshop: Workshop, refspec: str, branch: str) -> None:
    """Fetches from the workshop into the user's repository, leaving no trace but objects and, if named, the ref."""
    quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance")
    ran = await workshop.checkout.git.ran("fetch", *quiet, str(workshop.git_dir), refspec)
    if not ran.ok:
        raise RepositoryError(
            f"{branch}: could not be brought into {workshop.checkout.root}: {said(ran)}", hint="look at: git fsck"
        )


def _signed(commits: Sequence[Draft], action: str) -> Iterator[Draft]:
    """The drafts with the action's name among their trailers, which is how a second try finds them."""
    for draft in commits:
        body = draft.message.rstrip()
        last = body.rpartition("\n\n")[2]
        glue = "\n" if "\n\n" in body and _trailers(last) else "\n\n"
        yield Draft(f"{body}{glue}{ACTION}: {action}\n", draft.patch)


def _trailers(paragraph: str) -> bool:
    return all(": " in line and " " not in line.partition(": ")[0] for line in paragraph.splitlines())
