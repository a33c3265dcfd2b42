"""Create commits on a run's branch in the workshop, and publish them to the user's repository."""

from collections.abc import Iterator, Sequence

from punchlist.adapters.git.chain import arranged_ref, draft_regions, read_chain
from punchlist.adapters.git.checkout_files import write_checkout_file
from punchlist.adapters.git.command import decode_text, error_text
from punchlist.adapters.git.fast_import import CommitChain, build_stream
from punchlist.adapters.git.hooks import Hooks
from punchlist.adapters.git.overlay import FileState, refuse_missing
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.adapters.sandbox.sandbox import SandboxWishes
from punchlist.errors import RepositoryError
from punchlist.model.patch.patch import Patch
from punchlist.ports.repository import Draft, Heard, MadeCommit, RegionDraft
from punchlist.ports.tree import Pristine

PREFIX = "punchlist/"
ACTION = "Punchlist-Action"


class GitRepository:
    """Git operations of a run. `when` dates the commits (epoch seconds); None:
    like their parent.
    """

    def __init__(
        self,
        workshop: Workshop,
        trees: WorkTrees,
        *,
        when: int | None = None,
        wishes: SandboxWishes | None = None,
    ) -> None:
        self._workshop = workshop
        self._trees = trees
        self._when = when
        self._hooks = Hooks(workshop, trees, wishes)

    def write_checkout_file(self, path: str, content: bytes, heading: bytes) -> None:
        write_checkout_file(self._workshop.checkout.root, path, content, heading)

    async def commit_chain(
        self, branch: str, parent: str, commits: Sequence[Draft], action: str
    ) -> tuple[str, ...]:
        """Create one commit per draft, all or none: the branch moves once, at the end."""
        if not commits:
            return ()
        made = await self.find_commits(branch, parent, action)
        if made:
            if len(made) != len(commits):
                raise RepositoryError(
                    f"{branch}: {action} made {len(made)} commits, and now asks for {len(commits)}"
                )
            return made
        if await self._workshop.find_tip(branch) not in (None, parent):
            raise RepositoryError(
                f"{branch}: has commits above {parent[:10]} that {action} did not make",
                hint="start a new run",
            )
        drafts = tuple(_add_trailers(commits, action))
        return await self._create_commits(f"refs/heads/{branch}", parent, drafts)

    async def find_commits(self, branch: str, parent: str, action: str) -> tuple[str, ...]:
        """Return the commits above `parent` that this action made before, oldest first."""
        if await self._workshop.find_tip(branch) is None:
            return ()
        trailer = f"%(trailers:key={ACTION},valueonly,unfold,separator=%x20)"
        span = f"{parent}..refs/heads/{branch}"
        printed = await self._workshop.git.check_output(
            "log", "--reverse", "--first-parent", "-z", f"--format=%H {trailer}", span
        )
        lines = [decode_text(line).strip().partition(" ") for line in printed.split(b"\0")]
        return tuple(commit for commit, _, by in lines if commit and by == action)

    async def read_chain(self, parent: str, tip: str) -> tuple[MadeCommit, ...]:
        return await read_chain(self._workshop.git, parent, tip)

    async def arrange_chain(
        self, branch: str, parent: str, tip: str, commits: Sequence[RegionDraft]
    ) -> tuple[str, ...]:
        """Create the commits on a ref of the workshop; the same input gives the same commits."""
        drafts = await draft_regions(self._workshop, parent, tip, commits)
        return await self._create_commits(arranged_ref(branch), parent, drafts, "--force")

    async def has_applied(self, commit: str) -> bool:
        head = await self._workshop.checkout.resolve_commit("HEAD")
        return head is not None and await self._workshop.git.is_ancestor(commit, head)

    async def _create_commits(
        self, ref: str, parent: str, commits: Sequence[Draft], *flags: str
    ) -> tuple[str, ...]:
        workshop = self._workshop
        when = await workshop.read_date(parent) if self._when is None else self._when
        listing = await workshop.list_tree(parent)
        edited = sorted({splice.path for draft in commits for splice in draft.patch.splices})
        refuse_missing(edited, listing, parent)
        contents = await workshop.read_blobs([listing[path].blob for path in edited])
        sources = {
            path: FileState(content, listing[path].mode)
            for path, content in zip(edited, contents, strict=True)
        }
        identity = f"{workshop.identity.name} <{workshop.identity.email}> {when} +0000"
        stream = build_stream(CommitChain(ref, parent, identity), commits, sources)
        command = ("fast-import", "--quiet", "--done", *flags)
        printed = await workshop.git.check_output(*command, stdin=stream)
        return tuple(printed.decode().split())

    async def publish(self, branch: str, *, tip: str = "", replaces: str = "") -> None:
        """Fetch the branch, or its arranged `tip`, into the user's repository."""
        if not branch.startswith(PREFIX):
            raise RepositoryError(f"{branch}: only branches below {PREFIX} are published")
        made = await self._workshop.find_tip(branch)
        if made is None:
            raise missing_branch(branch)
        tip = tip or made
        theirs, where = await self._workshop.checkout.locate_branch(branch)
        if theirs == tip:
            return
        if where:
            raise RepositoryError(
                f"{branch}: is checked out in {where}, and would change there",
                hint="switch to another branch first",
            )
        replaced = theirs == replaces
        if theirs and not replaced and not await self._workshop.git.is_ancestor(theirs, tip):
            raise RepositoryError(
                f"{branch}: your branch of that name has commits of its own",
                hint=f"keep yours under another name: git branch -m {branch} {branch}-mine",
            )
        ref = f"refs/heads/{branch}" if tip == made else arranged_ref(branch)
        force = "+" if replaced else ""
        await fetch_refspec(self._workshop, f"{force}{ref}:refs/heads/{branch}", branch)

    async def text(self, commit: str, path: str) -> str | None:
        entry = (await self._workshop.list_tree(commit)).get(path)
        if entry is None or not entry.regular:
            return None
        return decode_text((await self._workshop.read_blobs([entry.blob]))[0])

    async def tree_id(self, commit: str) -> str:
        named = await self._workshop.git.check_output("rev-parse", f"{commit}^{{tree}}")
        return named.decode().strip()

    async def diff(self, old: str, new: str, paths: Sequence[str] | None = None) -> str:
        if paths is not None and not paths:
            return ""
        wanted = () if paths is None else ("--", *paths)
        flags = ("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short")
        return decode_text(
            await self._workshop.git.check_output(
                "diff", "--find-renames", *flags, old, new, *wanted
            )
        )

    async def run_hook(
        self, name: str, commit: str, patches: Sequence[Patch], *, pristine: Pristine | None
    ) -> Heard:
        return await self._hooks.run_hook(name, commit, patches, pristine)


async def fetch_refspec(workshop: Workshop, refspec: str, branch: str) -> None:
    """Fetch from the workshop into the user's repository: only objects and, if named, the ref."""
    only = ("--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
    quiet = ("--quiet", "--no-auto-maintenance")
    ran = await workshop.checkout.git.run("fetch", *only, *quiet, str(workshop.git_dir), refspec)
    if not ran.ok:
        raise RepositoryError(
            f"{branch}: could not be brought into {workshop.checkout.root}: {error_text(ran)}",
            hint="look at: git fsck",
        )


def missing_branch(branch: str) -> RepositoryError:
    hint = "`punchlist list` shows the runs there are"
    return RepositoryError(f"{branch}: there is no such branch", hint=hint)


def _add_trailers(commits: Sequence[Draft], action: str) -> Iterator[Draft]:
    """Yield the drafts with the action as a trailer, by which a second try finds them."""
    for draft in commits:
        body = draft.message.rstrip()
        last = body.rpartition("\n\n")[2]
        glue = "\n" if "\n\n" in body and _is_trailers(last) else "\n\n"
        yield Draft(f"{body}{glue}{ACTION}: {action}\n", draft.patch)


def _is_trailers(paragraph: str) -> bool:
    return all(
        ": " in line and " " not in line.partition(": ")[0] for line in paragraph.splitlines()
    )
