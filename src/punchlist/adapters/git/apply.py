"""What becomes of a run's branch: brought home into the user's checkout, or thrown away."""

from collections.abc import Sequence

from msgspec import Struct

from punchlist.adapters.git.command import fields, said, text_of
from punchlist.adapters.git.repository import PREFIX, bring
from punchlist.adapters.git.scope import few
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.errors import RepositoryError

_SEVERAL = 10


class Applied(Struct, frozen=True):
    """`how` is fast-forward, merge, squash, staged, or already (there was nothing to do)."""

    how: str
    commit: str
    files: tuple[str, ...] = ()


class Homecoming:
    """The only door through which the user's checkout changes, and only when they say so."""

    def __init__(self, workshop: Workshop, trees: WorkTrees) -> None:
        self._workshop = workshop
        self._trees = trees
        self._user = workshop.checkout.theirs

    async def apply(self, branch: str, *, squash: bool = False) -> Applied:
        """Merges the branch into what is checked out: all of it, or, with a reason, nothing."""
        tip = await self._tip(branch)
        head = await self._workshop.checkout.commit("HEAD") or self._workshop.checkout.head
        if await self._workshop.git.has("merge-base", "--is-ancestor", tip, head):
            return Applied("already", head)
        result, how = await self._joined(branch, tip, head, squash=squash)
        touched = tuple(
            fields(
                await self._workshop.git.out(
                    "diff-tree", "-r", "-z", "--name-only", "--no-renames", head, result
                )
            )
        )
        await self._refuse_dirty(touched)
        await bring(self._workshop, await self._kept(result), branch)
        # Moves the checkout, the index and the branch together, or refuses before it touches any of
        # them.
        ran = await self._user.ran("merge", "--ff-only", "--quiet", "--no-autostash", result)
        if not ran.ok:
            raise RepositoryError(
                f"{branch}: your checkout could not take it: {said(ran)}",
                hint="nothing was changed; look at: git status",
            )
        return Applied(how, result, touched)

    async def apply_staged(self, branch: str, head: str) -> Applied:
        """Puts what the branch changes since `head` (what was staged then) into the index and the
        files, all or nothing.
        """
        tip = await self._tip(branch)
        git = self._workshop.git
        touched = tuple(
            fields(await git.out("diff-tree", "-r", "-z", "--name-only", "--no-renames", head, tip))
        )
        patch = await git.out(
            "diff-tree", "-p", "--binary", "--full-index", "--no-renames", head, tip
        )
        if (await self._user.ran("apply", "--index", "--reverse", "--check", stdin=patch)).ok:
            return Applied("already", tip)
        ran = await self._user.ran("apply", "--index", "--whitespace=nowarn", stdin=patch)
        if not ran.ok:
            hint = (
                f"nothing was changed; once the files are as you staged them: git diff {head[:10]}"
                f" {branch} | git apply --3way"
            )
            raise RepositoryError(
                f"{branch}: your files are not as they were staged: {said(ran)}", hint=hint
            )
        return Applied("staged", tip, touched)

    async def discard(self, branch: str, *, force: bool = False) -> bool:
        """Deletes the branch, here and in the user's repository, and the trees nobody uses; whether
        there was one.
        """
        _ours(branch)
        ref = f"refs/heads/{branch}"
        tip = await self._workshop.tip(branch)
        theirs, where = await self._workshop.checkout.holds(branch)
        if where:
            raise RepositoryError(
                f"{branch}: is checked out in {where}", hint="switch to another branch first"
            )
        if (
            theirs
            and tip
            and not force
            and not await self._workshop.git.has("merge-base", "--is-ancestor", theirs, tip)
        ):
            hint = f"keep them: git branch -m {branch} {branch}-mine; or discard with --force"
            raise RepositoryError(f"{branch}: your branch has commits of its own", hint=hint)
        if theirs:
            await self._workshop.checkout.git.out("update-ref", "-d", ref, theirs)
        if tip:
            await self._workshop.git.out("update-ref", "-d", ref, tip)
        self._trees.prune()
        return bool(theirs or tip)

    async def _tip(self, branch: str) -> str:
        """The branch as the user has it, if they have it: they may have added to it; or they have
        not all of it yet.
        """
        _ours(branch)
        theirs, ours = (
            await self._workshop.checkout.commit(f"refs/heads/{branch}"),
            await self._workshop.tip(branch),
        )
        if ours and (
            theirs is None
            or await self._workshop.git.has("merge-base", "--is-ancestor", theirs, ours)
        ):
            return ours
        if theirs is None:
            raise RepositoryError(
                f"{branch}: there is no such branch", hint="punchlist list shows the runs there are"
            )
        return theirs

    async def _joined(self, branch: str, tip: str, head: str, *, squash: bool) -> tuple[str, str]:
        """The commit that brings both together, made in the workshop, where a conflict hurts
        nobody.
        """
        ahead = await self._workshop.git.has("merge-base", "--is-ancestor", head, tip)
        if ahead and not squash:
            return tip, "fast-forward"
        tree = (
            await self._workshop.git.line("rev-parse", f"{tip}^{{tree}}")
            if ahead
            else await self._merged(branch, tip, head)
        )
        parents = (head,) if squash else (head, tip)
        message = await self._squashed(branch, tip, head) if squash else f"Merge branch '{branch}'"
        return await self._workshop.record(tree, parents, message), "squash" if squash else "merge"

    async def _merged(self, branch: str, tip: str, head: str) -> str:
        """The tree of a three-way merge; conflicts are named, and nothing has happened."""
        async with self._trees.at(head) as tree:
            git = self._trees.git(tree)
            ran = await git.ran(
                "merge",
                "--no-commit",
                "--no-ff",
                "--quiet",
                tip,
                env=self._workshop.signature("@0 +0000"),
            )
            if ran.ok:
                return await git.line("write-tree")
            conflicts = sorted(
                set(fields(await git.out("diff", "--name-only", "--diff-filter=U", "-z")))
            )
        what = few(conflicts, _SEVERAL) if conflicts else said(ran)
        raise RepositoryError(
            f"{branch}: conflicts with what you did since: {what}",
            hint=f"merge it yourself: git merge {branch}",
        )

    async def _squashed(self, branch: str, tip: str, head: str) -> str:
        subjects = text_of(
            await self._workshop.git.out(
                "log", "--reverse", "--no-merges", "--format=* %s", f"{head}..{tip}"
            )
        )
        return f"Apply {branch}\n\n{subjects}"

    async def _refuse_dirty(self, touched: Sequence[str]) -> None:
        """Uncommitted work in a file the branch changes too would be lost or mixed in; so it is
        named, and nothing is done.
        """
        every = (
            "status",
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--untracked-files=all",
            "--ignored",
            "--ignore-submodules=all",
        )
        changed = {line[3:] for line in fields(await self._user.out(*every))}
        mixed = [
            path
            for path in touched
            if path in changed or any(f"{part}/" in changed for part in _folders(path))
        ]
        if mixed:
            hint = "commit or put aside your changes to these files, then try again"
            raise RepositoryError(
                f"uncommitted work in files that the branch changes: {few(mixed, _SEVERAL)}",
                hint=hint,
            )

    async def _kept(self, commit: str) -> str:
        """A ref of the workshop's own that makes a commit fetchable; it names no place in the
        user's repository.
        """
        ref = f"refs/punchlist/home/{commit}"
        await self._workshop.git.out("update-ref", ref, commit)
        return ref


def _ours(branch: str) -> None:
    if not branch.startswith(PREFIX):
        raise RepositoryError(
            f"{branch}: is not a branch of punchlist's", hint=f"they start with {PREFIX}"
        )


def _folders(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]
