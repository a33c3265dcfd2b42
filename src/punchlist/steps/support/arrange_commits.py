"""Group proven commits by rule, by item or in one; fixes of the same lines share a commit."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from punchlist.model.item.batch import CommitGrouping
from punchlist.model.item.item import Item
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger.commit_trailers import (
    ITEMS,
    LEDGER,
    PROOFS,
    RUN,
    ItemProofs,
    read_trailers,
    render_proofs,
)
from punchlist.model.ledger.events import Landed
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.model.patch.line_regions import find_regions, join_changes
from punchlist.ports.repository import MadeCommit, RegionDraft, Repository
from punchlist.views.item_words import describe_proof
from punchlist.views.plans.plan_forms import issue_code
from punchlist.views.safe_text import safe_text

_SUBJECT = 72
_FEW = 3


class Arranged(Struct, frozen=True):
    """The tip of the grouped commits, and which batches are in each that is not as it was made."""

    tip: str
    commits: dict[str, tuple[int, ...]] = {}


def keep_commits(run: Run) -> Arranged:
    """Return the commits as they were made."""
    landing = run.landing
    return Arranged(landing.tip, {each.commit: (each.batch,) for each in landing.landed})


async def arrange_commits(run: Run, repository: Repository, by: CommitGrouping) -> Arranged:
    """Create the grouped commits above what was reviewed, or above what the user applied."""
    landing, head = run.landing, run.started.change.head
    if by is CommitGrouping.MADE:
        return Arranged(landing.tip)
    kept = bool(landing.arranged) and await repository.has_applied(landing.arranged)
    since, parent = (landing.source, landing.arranged) if kept else (head, head)
    made = await repository.read_chain(since, landing.tip)
    known = {each.commit: each for each in landing.landed}
    landed = [known[each.commit] for each in made]
    regions = find_regions([each.lines for each in made])
    home = join_changes(regions, len(made))
    groups = group_commits(landed, home, by)
    if since == parent and groups == [(number,) for number in range(len(made))]:
        return keep_commits(run) if landing.shown else Arranged(landing.tip)
    drafts = [
        RegionDraft(
            render_group([made[number] for number in group], [landed[n] for n in group], run),
            tuple(each for each in regions if not each.changes.isdisjoint(group)),
        )
        for group in groups
    ]
    shas = await repository.arrange_chain(landing.branch, parent, landing.tip, drafts)
    batches = (tuple(landed[number].batch for number in group) for group in groups)
    return Arranged(shas[-1], dict(zip(shas, batches, strict=True)))


def group_commits(
    landed: Sequence[Landed], home: Sequence[int], by: CommitGrouping
) -> list[tuple[int, ...]]:
    """Return which commits become one, by their numbers; `home` has the same number for those that
    share lines. A group comes where its last commit was: what it builds on is before it.
    """
    chains: dict[int, list[int]] = {}
    for number, first in enumerate(home):
        chains.setdefault(first, []).append(number)
    groups: dict[object, list[int]] = {}
    for first, chain in chains.items():
        key = _group_key([landed[number] for number in chain], by)
        groups.setdefault(first if key is None else key, []).extend(chain)
    return sorted((tuple(sorted(group)) for group in groups.values()), key=lambda each: each[-1])


def _group_key(chain: Sequence[Landed], by: CommitGrouping) -> tuple[str, ...] | None:
    """Return what the commits of a chain have in common with those of other chains, if anything."""
    if by is CommitGrouping.ONE:
        return ()
    if by is CommitGrouping.ROUND:
        return ("round", str(max(each.round for each in chain)))
    rules = tuple(sorted({rule for each in chain for rule in each.rule.split(", ")}))
    agents = any(each.by_agent for each in chain)
    by_rule = by is CommitGrouping.RULE or (by is CommitGrouping.AUTO and not agents)
    return rules if by_rule and all(rules) else None


def render_group(made: Sequence[MadeCommit], landed: Sequence[Landed], run: Run) -> str:
    """Render the message of a commit: its own, or one that names all items of a group."""
    if len(made) == 1:
        return made[0].message
    numbers = sorted({number for each in landed for number in each.items})
    items = [run.items[number] for number in numbers if number in run.items]
    subject = shorten_subject(_group_subject(landed, len(items), run.landing.titles))
    if run.started.commit_subject:
        title = pluralize(len(items), "finding")
        subject = make_subject(run, title, max(each.round for each in landed), numbers)
    listed = "\n".join(f"- {describe_item(item)}" for item in items)
    seen = "\n".join(_list_evidence(items))
    claims, head = _join_claims(made, numbers)
    return "\n\n".join(filter(None, (subject, listed, seen, render_trailers(run, claims, head))))


def _join_claims(made: Sequence[MadeCommit], numbers: Sequence[int]) -> tuple[ItemProofs, str]:
    """Return what the messages of the commits claim of the items, the last of each counting, and
    the last anchor: so the same commits always give the same group.
    """
    known = [read_trailers(each.message) for each in made]
    proofs: ItemProofs = dict.fromkeys(numbers, ())
    for each in known:
        proofs |= {item: kinds for item, kinds in each.proofs.items() if item in proofs}
    return proofs, next((each.ledger for each in reversed(known) if each.ledger), "")


def make_subject(run: Run, title: str, round_: int, numbers: Sequence[int]) -> str:
    """Return the first line of a commit message, by the user's pattern if there is one."""
    started = run.started
    fields = {
        "round": str(round_),
        "title": title,
        "story": started.story.id,
        "items": ", ".join(map(str, numbers)),
    }
    pattern = started.commit_subject or "Fix {title}"
    parts = re.split(r"\{(\w+)\}", pattern)
    named = (fields[each] if at % 2 else each for at, each in enumerate(parts))
    return shorten_subject("".join(named))


def render_trailers(run: Run, proofs: Mapping[int, Sequence[ProofClass]], head: str) -> str:
    """Render the trailers of a commit: the story if there is one, the run, the codes of chosen
    issues, the items with the classes of their proofs, and the ledger's `head` before the commit.
    """
    numbers = tuple(proofs)
    story = run.started.story
    named = [f"Story: {one_line(f'{story.id} {story.title}')}"] if story.id else []
    chosen = [issue_code(run, number) for number in numbers if run.started.issue_ids]
    issues = [f"Punchlist-Issues: {', '.join(chosen)}"] if chosen else []
    items = ", ".join(map(str, numbers))
    own = [f"{RUN}: {run.id}", *issues, f"{ITEMS}: {items}", f"{PROOFS}: {render_proofs(proofs)}"]
    return "\n".join((*named, *own, *([f"{LEDGER}: {head}"] if head else []), ""))


def _group_subject(landed: Sequence[Landed], count: int, titles: Mapping[int, str]) -> str:
    rules = sorted({rule for each in landed for rule in each.rule.split(", ") if rule})
    if not rules:
        return f"Fix {titles.get(landed[0].batch, 'items')} and {count - 1} more"
    named = ", ".join(rules) if len(rules) <= _FEW else f"{len(rules)} rules"
    return f"Fix {named}: {pluralize(count, 'item')}"


def _list_evidence(items: Sequence[Item]) -> Iterator[str]:
    """Yield each proof and note once, with the number of items that have it."""
    proofs = (describe_proof(proof) for item in items for proof in item.proofs)
    notes = (note for item in items for note in item.notes)
    for word, texts in (("Proof", proofs), ("Note", notes)):
        for text, count in Counter(map(one_line, texts)).items():
            yield f"{word}: {text} ({pluralize(count, 'item')})"


def one_line(text: str) -> str:
    """Return safe text without line ends: with them a file's name could pose as a trailer."""
    return safe_text(" ".join(text.split()))


def describe_item(item: Item) -> str:
    """Return the file, line and title of an item, in one line."""
    spot = item.current.spot
    path = one_line(spot.path)
    where = f"{path}:{spot.line}" if spot.line else path
    return f"{where}: {one_line(item.current.title)}"


def shorten_subject(text: str) -> str:
    """Return the first line of a commit message, as long as git's tools show it."""
    subject = one_line(text)
    return subject if len(subject) <= _SUBJECT else subject[: _SUBJECT - 1].rstrip() + "…"
