"""Choose, in this clone, what commits are proven against; the evidence is not asked."""

from pathlib import Path

from msgspec import Struct

from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.command import decode_text
from punchlist.adapters.git.workshop import Workshop
from punchlist.errors import UsageError
from punchlist.model.ledger.commit_trailers import CommitTrailers, read_trailers

_FORMAT = "--format=%H%n%P%n%B"


class ProofCandidate(Struct, frozen=True):
    commit: str
    parents: tuple[str, ...]
    trailers: CommitTrailers

    @property
    def claims(self) -> bool:
        return bool(self.trailers.run and self.trailers.items)


class ProvenCommit(Struct, frozen=True):
    """A commit, its only parent, and the files that it changes."""

    commit: str
    parent: str
    paths: tuple[str, ...]


class NamedRange(Struct, frozen=True):
    """The commits that the user named, oldest first, and the commit that they begin above."""

    commits: tuple[ProofCandidate, ...]
    start: str
    end: str


class Ground(Struct, frozen=True):
    """`base`: the commit whose tests, configuration and findings count; `chosen`: how it was
    chosen; `main`: the tip of the main branch here, '' if it has the whole range already.
    """

    base: str
    chosen: str
    start: str
    end: str
    main: str = ""
    trusted: bool = False
    """Whether the base is part of the main branch here, so that it may configure tools."""


async def read_range(workshop: Workshop, named: str) -> NamedRange:
    """Return the commits of a range, or the one that is named. Its history is read in our own
    repository, where neither grafts nor replaced objects hold.
    """
    checkout = workshop.checkout
    if named.startswith("-"):
        raise UsageError(f"{named}: is no commit", hint="name a commit or a range, A..B")
    asked = await checkout.git.run("rev-parse", "--revs-only", "--end-of-options", named)
    names = decode_text(asked.stdout).split() if asked.ok else []
    ends = [name for name in names if not name.startswith("^")]
    below = [name for name in names if name.startswith("^")]
    if len(ends) != 1 or len(below) > 1:
        hint = "name one, such as main..HEAD; in a fresh clone, origin/main..HEAD"
        raise UsageError(f"{named}: is no commit or range with one end", hint=hint)
    one = () if below or ".." in named else ("--max-count=1",)
    ran = await workshop.git.run("log", "--reverse", "-z", _FORMAT, *one, *ends, *below, "--")
    if not ran.ok:
        raise UsageError(f"{named}: is no commit or range", hint="name one, such as main..HEAD")
    found = []
    for each in filter(bytes.strip, ran.stdout.split(b"\0")):
        commit, parents, message = decode_text(each).split("\n", 2)
        found.append(ProofCandidate(commit, tuple(parents.split()), read_trailers(message)))
    end = found[-1].commit if found else ends[0]
    start = await _find_start(workshop, found, end, below)
    return NamedRange(tuple(found), start, end)


async def _find_start(
    workshop: Workshop, found: list[ProofCandidate], end: str, below: list[str]
) -> str:
    if below:
        return await workshop.git.find_line("merge-base", below[0].removeprefix("^"), end)
    parents = found[0].parents if found else ()
    return parents[0] if parents else ""


async def choose_ground(workshop: Workshop, named: NamedRange, asked: str) -> Ground:
    """Return the base that the user asked for, else where the range left the main branch here. Of
    commits that the main branch has already, it is the commit that the range begins above.
    """
    main, tip = await _find_main(workshop.checkout)
    if asked:
        base, chosen = await _resolve_base(workshop, named, asked), f"--base {asked}"
    else:
        shared = await workshop.git.find_line("merge-base", named.end, tip) if tip else ""
        inside = not shared or not await workshop.git.is_ancestor(shared, named.start)
        base = named.start if inside else shared
        chosen = f"the merge base with {main} here"
        if inside:
            chosen = f"where the range begins, which {main} here has already"
        if not shared:
            chosen = "where the range begins: this clone has no main branch that it came from"
    trusted = bool(tip) and await workshop.git.is_ancestor(base, tip)
    merged = bool(tip) and await workshop.git.is_ancestor(named.end, tip)
    return Ground(base, chosen, named.start, named.end, "" if merged else tip, trusted)


async def _find_main(checkout: Checkout) -> tuple[str, str]:
    """Return the name and the tip of the main branch: that of the remote, if there is one."""
    for name in await checkout.find_main_branch():
        if tip := await checkout.resolve_commit(name):
            return name, tip
    return "", ""


async def _resolve_base(workshop: Workshop, named: NamedRange, asked: str) -> str:
    base = await workshop.checkout.resolve_commit(asked)
    if base is None:
        raise UsageError(f"--base {asked}: no such commit here", hint="look at: git log")
    if not await workshop.git.is_ancestor(base, named.start):
        raise UsageError(
            f"--base {asked}: the range does not begin at or above it",
            hint=f"name an ancestor of {named.start[:12]}",
        )
    return base


async def find_rewritten_history(checkout: Checkout) -> str:
    """Return why git shows another history here than the commits have, or ''."""
    replaced = await checkout.git.find_line("for-each-ref", "--format=%(refname)", "refs/replace/")
    if replaced:
        name = replaced.split()[0].rpartition("/")[2]
        return (
            f"this clone replaces objects ({name[:12]}), so git shows other commits or files here"
            " than are proven: prove in a fresh clone, or delete them with git replace --delete"
        )
    grafts = checkout.git_dir / "info" / "grafts"
    if _has_lines(grafts):
        return (
            "this clone has grafts, so git shows another history here than is proven: prove in a"
            " fresh clone, or remove .git/info/grafts"
        )
    return ""


def _has_lines(path: Path) -> bool:
    try:
        return bool(path.read_bytes().strip())
    except OSError:
        return False
