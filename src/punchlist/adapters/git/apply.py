"""Apply a run's branch to the user's checkout, or discard it."""

from collections.abc import Sequence

from msgspec import Struct

from punchlist.adapters.git.chain import arranged_ref
from punchlist.adapters.git.command import decode_text, encode_text, error_text
from punchlist.adapters.git.repository import PREFIX, fetch_refspec, missing_branch
from punchlist.adapters.git.scope import join_few
from punchlist.adapters.git.working_tree import snapshot_working_tree
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.errors import RepositoryError

_SEVERAL = 10
PATCH = ("diff-tree", "-p", "--binary", "--full-index", "--no-renames")


class ApplyResult(Struct, frozen=True):
    """`how` is fast-forward, merge, squash, staged, files, or already (there was nothing to do)."""

    how: str
    commit: str
    files: tuple[str, ...] = ()


class ShownTips(Struct, frozen=True):
    """The tip of the branch with its commits grouped, and the tip that the user's repository had
    last.
    """

    arranged: str = ""
    published: str = ""


NO_TIPS = ShownTips()


class BranchApplier:
    """The only class that changes the user's checkout, and only on the user's command."""

    def __init__(self, workshop: Workshop, trees: WorkTrees) -> None:
        self._workshop = workshop
        self._git = workshop.git
        self._checkout = workshop.checkout
        self._user = workshop.checkout.user_git
        self._trees = trees

    async def apply(
        self, branch: str, *, squash: bool = False, shown: ShownTips = NO_TIPS, trailers: str = ""
    ) -> ApplyResult:
        """Merge the branch into the checkout, all or nothing; raises RepositoryError. A commit that
        joins both gets the `trailers`.
        """
        tip = await self._find_tip(branch, shown)
        head = await self._checkout.resolve_commit("HEAD") or self._checkout.head
        if await self._git.is_ancestor(tip, head):
            return ApplyResult("already", head)
        joined = await self._join_trees(branch, tip, head, squash=squash)
        result, how = await self._join_commits(branch, tip, head, joined, trailers)
        touched = await self._git.list_changed(head, result)
        await self._refuse_dirty(touched)
        await self._refuse_filtered(branch, touched)
        await fetch_refspec(self._workshop, await self._keep_commit(result), branch)
        # Moves checkout, index and branch together, or refuses before it touches any of them.
        ran = await self._user.run("merge", "--ff-only", "--quiet", "--no-autostash", result)
        if not ran.ok:
            raise RepositoryError(
                f"{branch}: your checkout could not take it: {error_text(ran)}",
                hint="nothing was changed; look at: git status",
            )
        return ApplyResult(how, result, tuple(touched))

    async def apply_staged(
        self, branch: str, head: str, *, shown: ShownTips = NO_TIPS
    ) -> ApplyResult:
        """Apply the branch's changes since `head`, the staged state, to index and files, all or
        nothing.
        """
        tip = await self._find_tip(branch, shown)
        touched = await self._git.list_changed(head, tip)
        patch = await self._git.check_output(*PATCH, head, tip)
        if (await self._user.run("apply", "--index", "--reverse", "--check", stdin=patch)).ok:
            return ApplyResult("already", tip)
        await self._refuse_filtered(branch, touched)
        ran = await self._user.run("apply", "--index", "--whitespace=nowarn", stdin=patch)
        if not ran.ok:
            raise RepositoryError(
                f"{branch}: your files are not as they were staged: {error_text(ran)}",
                hint=(
                    "nothing was changed; once the files are as you staged them:"
                    f" git diff {head[:10]} {branch} | git apply --3way"
                ),
            )
        return ApplyResult("staged", tip, tuple(touched))

    async def apply_to_files(
        self, branch: str, head: str, *, shown: ShownTips = NO_TIPS
    ) -> ApplyResult:
        """Write the branch's changes since `head`, a snapshot of the working tree, into the files,
        all or nothing. A file that was edited since the snapshot is refused by its name. The index
        stays as it is.
        """
        tip = await self._find_tip(branch, shown)
        touched = await self._git.list_changed(head, tip)
        patch = await self._git.check_output(*PATCH, head, tip)
        if (await self._user.run("apply", "--reverse", "--check", stdin=patch)).ok:
            return ApplyResult("already", tip)
        now = (await snapshot_working_tree(self._workshop, touched)).commit
        edited = sorted({*touched} & {*await self._git.list_changed(head, now)})
        if edited:
            what = f"edited since the run looked at them: {join_few(edited, _SEVERAL)}"
            raise RepositoryError(
                what, hint="nothing was changed; `punchlist run` looks at them as they are now"
            )
        await self._refuse_filtered(branch, touched)
        ran = await self._user.run("apply", "--whitespace=nowarn", stdin=patch)
        if not ran.ok:
            raise RepositoryError(
                f"{branch}: your files could not take it: {error_text(ran)}",
                hint="nothing was changed; `punchlist run` looks at them as they are now",
            )
        return ApplyResult("files", tip, tuple(touched))

    async def discard(
        self, branch: str, *, force: bool = False, shown: ShownTips = NO_TIPS
    ) -> bool:
        """Delete the branch in workshop and user's repository, and unused trees; return whether it
        existed.
        """
        _require_prefix(branch)
        ref = f"refs/heads/{branch}"
        tip = await self._workshop.find_tip(branch)
        theirs, where = await self._checkout.locate_branch(branch)
        if where:
            raise RepositoryError(
                f"{branch}: is checked out in {where}", hint="switch to another branch first"
            )
        ours = force or theirs in (None, shown.published)
        if theirs and tip and not ours and not await self._git.is_ancestor(theirs, tip):
            hint = f"keep them: git branch -m {branch} {branch}-mine; or discard with --force"
            raise RepositoryError(f"{branch}: your branch has commits of its own", hint=hint)
        if theirs:
            await self._checkout.git.check_output("update-ref", "-d", ref, theirs)
        if tip:
            await self._git.check_output("update-ref", "-d", ref, tip)
            await self._git.check_output("update-ref", "-d", arranged_ref(branch))
        self._trees.prune()
        return bool(theirs or tip)

    async def _find_tip(self, branch: str, shown: ShownTips) -> str:
        """Return the user's branch tip if it has commits of its own, else the arranged one or the
        workshop's.
        """
        _require_prefix(branch)
        theirs = await self._checkout.resolve_commit(f"refs/heads/{branch}")
        named = f"{shown.arranged}^{{commit}}"
        known = shown.arranged and await self._git.find_line("rev-parse", "--verify", "-q", named)
        ours = known or await self._workshop.find_tip(branch)
        unchanged = theirs in (None, shown.published)
        if ours and (unchanged or (theirs and await self._git.is_ancestor(theirs, ours))):
            return ours
        if theirs is None:
            raise missing_branch(branch)
        return theirs

    async def _join_trees(
        self, branch: str, tip: str, head: str, *, squash: bool
    ) -> tuple[str, str]:
        """Return the tree of the commit that joins both, and how it is made; for a fast-forward the
        tree of the tip.
        """
        ahead = await self._git.is_ancestor(head, tip)
        if ahead:
            tree = await self._git.read_line("rev-parse", f"{tip}^{{tree}}")
            return tree, "squash" if squash else "fast-forward"
        return await self._merge_trees(branch, tip, head), "squash" if squash else "merge"

    async def _join_commits(
        self, branch: str, tip: str, head: str, joined: tuple[str, str], trailers: str
    ) -> tuple[str, str]:
        """Return the commit that joins both, made in the workshop, and how it was made."""
        tree, how = joined
        if how == "fast-forward":
            return tip, how
        squash = how == "squash"
        message = f"Merge branch '{branch}'"
        if squash:
            message = await self._squash_message(branch, tip, head)
        whole = f"{message.rstrip()}\n\n{trailers}".rstrip()
        parents = [head] if squash else [head, tip]
        return await self._workshop.commit_tree(tree, parents, whole), how

    async def _merge_trees(self, branch: str, tip: str, head: str) -> str:
        """Return the tree of a three-way merge; raises RepositoryError that names the conflicts."""
        async with self._trees.open_tree(head) as tree:
            git = self._trees.open_git(tree)
            env = self._workshop.author_environment("@0 +0000")
            ran = await git.run("merge", "--no-commit", "--no-ff", "--quiet", tip, env=env)
            if ran.ok:
                return await git.read_line("write-tree")
            unmerged = await git.list_fields("diff", "--name-only", "--diff-filter=U", "-z")
        conflicts = sorted(set(unmerged))
        what = join_few(conflicts, _SEVERAL) if conflicts else error_text(ran)
        raise RepositoryError(
            f"{branch}: conflicts with what you did since: {what}",
            hint=f"merge it yourself: git merge {branch}",
        )

    async def _squash_message(self, branch: str, tip: str, head: str) -> str:
        subjects = await self._git.check_output(
            "log", "--reverse", "--no-merges", "--format=* %s", f"{head}..{tip}"
        )
        return f"Apply {branch}\n\n{decode_text(subjects)}"

    async def _refuse_dirty(self, touched: Sequence[str]) -> None:
        """Raise RepositoryError if files that the branch changes have uncommitted changes."""
        flags = ("--no-renames", "--untracked-files=all", "--ignored", "--ignore-submodules=all")
        lines = await self._user.list_fields("status", "--porcelain=v1", "-z", *flags)
        changed = {line[3:] for line in lines}
        mixed = [path for path in touched if changed.intersection([path, *_parent_folders(path)])]
        if mixed:
            raise RepositoryError(
                f"uncommitted work in files that the branch changes: {join_few(mixed, _SEVERAL)}",
                hint="commit or put aside your changes to these files, then try again",
            )

    async def _refuse_filtered(self, branch: str, touched: Sequence[str]) -> None:
        """Raise RepositoryError if files that the branch changes pass through a filter of the
        repository's own configuration: without it they would be written as git stores them.
        """
        filters = self._checkout.own_filters
        names = b"".join(encode_text(path) + b"\0" for path in touched)
        ran = await self._user.run("check-attr", "-z", "--stdin", "filter", stdin=names)
        fields = [decode_text(field) for field in ran.stdout.split(b"\0")[:-1]] if filters else []
        filtered = [
            path for path, name in zip(fields[::3], fields[2::3], strict=True) if name in filters
        ]
        if filtered:
            named = join_few(filtered, _SEVERAL)
            raise RepositoryError(
                f"a filter of the repository's .git/config would run for {named}",
                hint=f"if you trust it: git merge {branch}",
            )

    async def _keep_commit(self, commit: str) -> str:
        """Create a workshop ref that makes a commit fetchable; return the ref."""
        ref = f"refs/punchlist/home/{commit}"
        await self._git.check_output("update-ref", ref, commit)
        return ref


def _require_prefix(branch: str) -> None:
    if not branch.startswith(PREFIX):
        raise RepositoryError(
            f"{branch}: is not a branch of punchlist's", hint=f"they start with {PREFIX}"
        )


def _parent_folders(path: str) -> list[str]:
    """Return the folders above a path, with a slash at the end."""
    parts = path.split("/")
    return ["/".join([*parts[:count], ""]) for count in range(1, len(parts))]
