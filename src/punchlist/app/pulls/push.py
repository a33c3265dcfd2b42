"""Choose the fixes that are pushed to a pull request: proven ones, and only what is asked for."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from punchlist.adapters.git.chain import arranged_ref
from punchlist.adapters.git.repository import GitRepository, fetch_refspec
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.app.drive.drive import sign_for
from punchlist.model.item.item import Status
from punchlist.model.ledger.events import Landed
from punchlist.model.ledger.run import Run
from punchlist.model.patch.line_regions import find_regions, join_changes
from punchlist.ports.repository import RegionDraft
from punchlist.steps.support.arrange_commits import render_group
from punchlist.views.pulls.board import is_proven

_NONE = frozenset[int]()


class ChosenFixes(Struct, frozen=True, kw_only=True):
    """What is pushed: the run's whole branch, or a commit (`tip`) with some of its fixes."""

    tip: str = ""
    items: Mapping[int, str] = {}
    """If these are not all: by item the commit with its fix."""
    notes: tuple[str, ...] = ()


class FixChain(Struct, frozen=True):
    """Commits that share lines, by their numbers: they cannot be told apart."""

    commits: tuple[int, ...]
    landed: tuple[Landed, ...]

    @property
    def items(self) -> frozenset[int]:
        return frozenset(item for each in self.landed for item in each.items)


def explain_refusal(
    chain: FixChain, run: Run, asked: frozenset[int] | None, refused: frozenset[int] = _NONE
) -> str:
    """Return why a chain of fixes is not pushed, or "". `asked`: the items, or None for all.
    `refused`: items whose fixes people do not want.
    """
    items = sorted(chain.items)
    if unwanted := sorted(chain.items & refused):
        named = ", ".join(f"item {number}" for number in items if number not in refused)
        what = f"its fix cannot be told apart from that of item {unwanted[0]}"
        return f"{named}: not offered: {what}, which a person refused"
    unproven = [n for n in items if n not in run.items or not is_proven(run.items[n])]
    if unproven:
        first = run.items.get(unproven[0])
        dismissed = first is not None and first.status is Status.DISMISSED
        why = "is dismissed" if dismissed else "has a fix that nothing proves"
        named = ", ".join(f"item {number}" for number in items)
        return f"{named}: not pushed: item {unproven[0]} {why}"
    if asked is None:
        return ""
    others = [n for each in chain.landed if asked.isdisjoint(each.items) for n in each.items]
    mine = ", ".join(f"item {number}" for number in sorted(asked & chain.items))
    how = "`/punchlist apply` below the pull request pushes all fixes"
    what = f"its fix cannot be told apart from that of item {others[0]}" if others else ""
    return f"{mine}: not pushed: {what}; {how}" if others else ""


def choose_chains(
    chains: Sequence[FixChain],
    run: Run,
    asked: frozenset[int] | None,
    refused: frozenset[int] = _NONE,
) -> tuple[list[FixChain], tuple[str, ...]]:
    """Return the chains that are pushed, and why others that were asked for are not."""
    chosen, notes = [], []
    for chain in chains:
        if asked is not None and asked.isdisjoint(chain.items):
            continue
        if why := explain_refusal(chain, run, asked, refused):
            notes.append(why)
        else:
            chosen.append(chain)
    return chosen, tuple(notes)


async def choose_fixes(
    run: Run,
    workshop: Workshop,
    asked: frozenset[int] | None,
    name: str,
    refused: frozenset[int] = _NONE,
) -> ChosenFixes:
    """Return what to push of a run; commits that are not there yet are made, and fetched into the
    user's repository as `name`. Dismissed items are no fixes: see `show_dismissed`.
    """
    landing, head = run.landing, run.started.change.head
    if not landing.landed or not landing.published:
        return ChosenFixes()
    workshop = sign_for(run, workshop)
    repository = GitRepository(workshop, WorkTrees(workshop), when=int(run.started_at))
    made = await repository.read_chain(head, landing.tip)
    regions = find_regions([each.lines for each in made])
    known = {each.commit: each for each in landing.landed}
    chains = list(_make_chains(join_changes(regions, len(made)), [known[m.commit] for m in made]))
    chosen, notes = choose_chains(chains, run, asked, refused)
    if len(chosen) == len(chains):
        return ChosenFixes(tip=landing.published)
    if not chosen:
        return ChosenFixes(notes=notes)
    drafts = [
        RegionDraft(
            render_group([made[n] for n in each.commits], each.landed, run),
            tuple(region for region in regions if not region.changes.isdisjoint(each.commits)),
        )
        for each in chosen
    ]
    part = f"{landing.branch}-part"
    shas = await repository.arrange_chain(part, head, landing.tip, drafts)
    await fetch_refspec(workshop, f"+{arranged_ref(part)}:{name}", part)
    pairs = zip(chosen, shas, strict=True)
    items = {number: sha for each, sha in pairs for number in each.items}
    return ChosenFixes(tip=shas[-1], items=items, notes=notes)


def _make_chains(home: Sequence[int], landed: Sequence[Landed]) -> Iterator[FixChain]:
    """Yield commits that share lines together, each chain where its last commit was."""
    groups: dict[int, list[int]] = {}
    for number, first in enumerate(home):
        groups.setdefault(first, []).append(number)
    for group in sorted(groups.values(), key=lambda each: each[-1]):
        yield FixChain(tuple(group), tuple(landed[number] for number in group))
