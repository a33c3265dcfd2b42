"""What earlier runs know of a pull request: its items, its orders, what is settled."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from punchlist.adapters.git.pull_commits import FixFinder
from punchlist.app.session import Session
from punchlist.model.dedup.identity import match_findings
from punchlist.model.item.item import Fact, Item, Status
from punchlist.model.ledger.events import Ordered, Started
from punchlist.model.ledger.run import Run
from punchlist.views.item_words import format_proofs
from punchlist.views.pulls.board import Settled, find_origin, is_proven
from punchlist.views.pulls.orders import OrderVerb


class PullHistory(Struct, frozen=True, kw_only=True):
    """The runs about one pull request, oldest first, and the orders that were seen to."""

    runs: tuple[Run, ...] = ()
    orders: Mapping[str, Ordered] = {}
    """By comment."""

    @property
    def last(self) -> Run | None:
        return self.runs[-1] if self.runs else None


def load_history(session: Session, url: str) -> PullHistory:
    store, repository = session.store, session.key
    names = [
        entry.run
        for entry in store.read_kind("started", repository.path, repository.identity)
        if isinstance(entry.event, Started) and entry.event.pull == url
    ]
    ours = set(names)
    orders = {
        entry.event.comment: entry.event
        for entry in store.read_kind("ordered", repository.path, repository.identity)
        if isinstance(entry.event, Ordered) and entry.run in ours
    }
    return PullHistory(runs=tuple(session.load(name) for name in names), orders=orders)


def follow_keys(runs: Sequence[Run]) -> dict[str, dict[int, str]]:
    """Return by run and item the key of its thread: the fingerprint that the item had when it was
    first seen on the pull request, also after the code round it has changed.
    """
    found: dict[str, dict[int, str]] = {}
    before: dict[str, tuple[str, Item]] = {}
    for run in runs:
        now = {item.number: item for item in run.items.values()}
        keys = {n: before[i.fingerprint][0] for n, i in now.items() if i.fingerprint in before}
        taken = set(keys.values())
        old = [pair for pair in before.values() if pair[0] not in taken]
        new = [item for number, item in now.items() if number not in keys]
        pairs = match_findings([item.lead for _, item in old], [item.lead for item in new])
        keys |= {new[at].number: old[index][0] for at, index in pairs.items()}
        found[run.id] = {n: keys.get(n, item.fingerprint) for n, item in now.items()}
        before |= {item.fingerprint: (found[run.id][n], item) for n, item in now.items()}
    return found


async def find_settled(history: PullHistory, finder: FixFinder) -> dict[str, Settled]:
    """Return by thread of others what ended it: a proven fix of an earlier run that the head has,
    or a person's word.
    """
    found: dict[str, Settled] = {}
    for run in history.runs:
        for item in run.items.values():
            labels = set(filter(None, map(find_origin, item.findings)))
            if labels and (settled := await _settle_item(item, finder)):
                found |= dict.fromkeys(labels, settled)
    for order in history.orders.values():
        if order.thread and not order.refused and _verb(order) == OrderVerb.DISMISS:
            why = order.order.split(maxsplit=2)[2]
            found.setdefault(order.thread, Settled(by=order.by, why=why))
    return found


async def _settle_item(item: Item, finder: FixFinder) -> Settled | None:
    if item.status is Status.DISMISSED:
        said = [each for each in item.attempts if each.fact is Fact.DISMISSED]
        return Settled(by=said[-1].by, why=said[-1].why) if said else None
    if is_proven(item) and await finder.has_fix(item.commit):
        return Settled(commit=item.commit, proofs=format_proofs(item))
    return None


def find_gone(
    runs: Sequence[Run], keys: Mapping[str, Mapping[int, str]], run: Run
) -> dict[str, str]:
    """Return by key the items of earlier runs that only analyzers reported, and that all of these
    looked for again in this run and no longer report.
    """
    now = set(keys[run.id].values())
    reviews = run.reviewing.reviews
    found: dict[str, str] = {}
    for earlier in runs:
        others = {*earlier.started.crew, *earlier.started.documents}
        for item in earlier.items.values():
            key = keys[earlier.id][item.number]
            sources = sorted({finding.source for finding in item.findings})
            path = item.lead.spot.path
            silent = all(
                name not in others and name in reviews and reviews[name].has_seen(path)
                for name in sources
            )
            if key not in now and silent:
                found[key] = ", ".join(sources)
    return found


def _verb(order: Ordered) -> str:
    words = order.order.split(maxsplit=2)
    return words[1] if len(words) > 1 else ""
