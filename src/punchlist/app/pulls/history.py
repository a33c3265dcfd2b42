"""What earlier runs know of a pull request: its items, its orders, what is settled."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.forges.pull_commits import FixFinder
from punchlist.app.session import Session
from punchlist.model.dedup.identity import match_findings
from punchlist.model.finding.finding import Finding
from punchlist.model.item.item import Fact, Item, Status
from punchlist.model.ledger.events import Ordered, Shown, Started
from punchlist.model.ledger.run import Run
from punchlist.views.item_words import format_proofs
from punchlist.views.pulls.board import Settled, find_origin, is_proven
from punchlist.views.pulls.orders import OrderVerb


class PullHistory(Struct, frozen=True, kw_only=True):
    """The runs about one pull request, oldest first, and the orders that were seen to."""

    runs: tuple[Run, ...] = ()
    orders: Mapping[str, Ordered] = {}
    """By comment."""
    closed: frozenset[str] = frozenset()
    """Threads that were resolved when the pull request was last answered."""

    applied: Mapping[str, Mapping[int, str]] = {}
    """By run and item: the commit with its fix, if that was pushed without the others."""

    stacks: Mapping[str, Shown] = {}
    """By run whose fixes were in a stacked pull request: what was shown last."""
    tips: frozenset[str] = frozenset()
    """The commits that were pushed to the branch of the stacked pull request."""

    @property
    def last(self) -> Run | None:
        return self.runs[-1] if self.runs else None

    @property
    def wants_stack(self) -> bool:
        """Whether a person has asked for a stacked pull request here."""
        orders = (each for each in self.orders.values() if not each.refused)
        return any(_verb(each) == OrderVerb.STACK for each in orders)


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
    shown = [
        (entry.run, entry.event)
        for entry in store.read_kind("shown", repository.path, repository.identity)
        if isinstance(entry.event, Shown) and entry.run in ours
    ]
    return PullHistory(
        runs=tuple(session.load(name) for name in names),
        orders=orders,
        closed=frozenset(shown[-1][1].closed) if shown else frozenset(),
        applied={run: event.applied for run, event in shown if event.applied},
        stacks={run: event for run, event in shown if event.stack},
        tips=frozenset(event.stack for _, event in shown if event.stack),
    )


def follow_keys(runs: Sequence[Run]) -> dict[str, dict[int, str]]:
    """Return by run and item the key of its thread: the fingerprint that the item had when it was
    first seen on the pull request, also after the code round it has changed.
    """
    return {run: keys for run, keys, _ in _follow_items(runs)}


def follow_names(runs: Sequence[Run]) -> dict[str, dict[int, frozenset[str]]]:
    """Return by run and item its key, and the keys of items that were seen apart from it before and
    are the same: what is said in one's thread is said of both.
    """
    return {
        run: {number: frozenset({key, *others[number]}) for number, key in keys.items()}
        for run, keys, others in _follow_items(runs)
    }


def _follow_items(runs: Sequence[Run]) -> Iterator[tuple[str, dict[int, str], dict[int, set[str]]]]:
    """Yield the id of each run, and by item its key and the other keys that are the same."""
    known = _KnownItems()
    for run in runs:
        items = _list_items(run)
        keys = known.name_items(items)
        yield run.id, keys, known.find_others(items, keys)


def _list_items(run: Run) -> list[Item]:
    """Return the items with the paths that their files have on the base: a push may rename them."""
    renamed = run.started.change.renamed
    return [_move_item(item, renamed) if renamed else item for item in run.items.values()]


def _move_item(item: Item, renamed: Mapping[str, str]) -> Item:
    findings = (
        replace(each, spot=replace(each.spot, path=renamed.get(each.spot.path, each.spot.path)))
        for each in item.findings
    )
    return replace(item, findings=tuple(findings))


class _KnownItems:
    """The keys so far: by fingerprint, by thread of others, by what each source said last."""

    def __init__(self) -> None:
        self._by_fingerprint: dict[str, str] = {}
        self._by_origin: dict[str, str] = {}
        self._findings: dict[str, dict[str, Finding]] = {}

    def name_items(self, items: Sequence[Item]) -> dict[int, str]:
        """Return the key of each item, by number; each key is given once."""
        keys: dict[int, str] = {}
        for item in items:
            self._take(keys, item, self._by_fingerprint.get(item.fingerprint))
        for item in items:
            for origin in map(find_origin, item.findings):
                self._take(keys, item, self._by_origin.get(origin))
        for item, key in self._match([item for item in items if item.number not in keys], keys):
            self._take(keys, item, key)
        for item in items:
            self._take(keys, item, item.fingerprint)
        for item in items:
            self._learn(item, keys.setdefault(item.number, item.fingerprint))
        return keys

    def find_others(self, items: Sequence[Item], keys: Mapping[int, str]) -> dict[int, set[str]]:
        """Return by item the keys that no item has now, and that fit it as well. They follow the
        item from now on, as its own key does, when its code changes.
        """
        found: dict[int, set[str]] = {item.number: set() for item in items}
        for item, key in list(self._match(items, keys)):
            found[item.number].add(key)
            self._findings[key].update({each.source: each for each in item.findings})
        return found

    def _take(self, keys: dict[int, str], item: Item, key: str | None) -> None:
        if key and item.number not in keys and key not in keys.values():
            keys[item.number] = key

    def _match(self, items: Sequence[Item], keys: Mapping[int, str]) -> Iterator[tuple[Item, str]]:
        """Yield pairs of which a source said the same, at another place or in other words."""
        taken = set(keys.values())
        old = [
            (key, finding)
            for key, said in self._findings.items()
            if key not in taken
            for finding in said.values()
        ]
        new = [(item, finding) for item in items for finding in item.findings]
        pairs = match_findings([each for _, each in old], [each for _, each in new])
        for at, index in pairs.items():
            yield new[at][0], old[index][0]

    def _learn(self, item: Item, key: str) -> None:
        self._by_fingerprint[item.fingerprint] = key
        self._by_origin |= {origin: key for origin in map(find_origin, item.findings) if origin}
        self._findings.setdefault(key, {}).update({each.source: each for each in item.findings})


async def find_settled(history: PullHistory, finder: FixFinder) -> dict[str, Settled]:
    """Return by thread of others what ended it: a proven fix of an earlier run that the head has,
    or a person's word.
    """
    found: dict[str, Settled] = {}
    for run in history.runs:
        fixes = _FixesOfRun(history, run, finder)
        for item in run.items.values():
            labels = set(filter(None, map(find_origin, item.findings)))
            if labels and (settled := await fixes.settle(item)):
                found |= dict.fromkeys(labels, settled)
    for order in history.orders.values():
        if order.thread and not order.refused and _verb(order) == OrderVerb.DISMISS:
            why = order.order.split(maxsplit=2)[2]
            found.setdefault(order.thread, Settled(by=order.by, why=why))
    return found


async def find_ended(
    history: PullHistory, run: Run, keys: Collection[str], finder: FixFinder
) -> dict[str, Settled]:
    """Return by key, of these, the items that this run does not have, and whose proven fix the head
    has. The newest of the earlier runs that has an item counts.
    """
    runs = [*history.runs, run]
    known, names = follow_keys(runs), follow_names(runs)[run.id]
    wanted = set(keys) - frozenset[str]().union(*names.values())
    found: dict[str, Settled | None] = {}
    for earlier in history.runs if wanted else ():
        fixes = _FixesOfRun(history, earlier, finder)
        for item in earlier.items.values():
            key = known[earlier.id][item.number]
            if key in wanted:
                found[key] = await fixes.settle(item)
    return {key: settled for key, settled in found.items() if settled and settled.commit}


class _FixesOfRun:
    """The commits with the fixes of an earlier run: its own, and what was pushed or stacked."""

    def __init__(self, history: PullHistory, run: Run, finder: FixFinder) -> None:
        self._run = run
        self._finder = finder
        self._pushed = history.applied.get(run.id, {})
        self._stack = history.stacks.get(run.id)
        self._squashed: bool | None = None

    async def settle(self, item: Item) -> Settled | None:
        """Return what ended an item: a person's word, or a proven fix that the head has."""
        if item.status is Status.DISMISSED:
            said = [each for each in item.attempts if each.fact is Fact.DISMISSED]
            return Settled(by=said[-1].by, why=said[-1].why) if said else None
        if not is_proven(item):
            return None
        stacked = self._stack.stacked.get(item.number, "") if self._stack else ""
        proofs = format_proofs(item)
        for commit in filter(None, (self._pushed.get(item.number), item.commit, stacked)):
            if await self._finder.has_fix(commit):
                return Settled(commit=commit, proofs=proofs)
        return Settled(commit=stacked, proofs=proofs) if await self._has_all(stacked) else None

    async def _has_all(self, stacked: str) -> bool:
        """Return whether the head has a stacked commit because it has all of them in one."""
        if self._squashed is None and self._stack is not None and stacked:
            since = self._run.started.change.head
            self._squashed = await self._finder.has_squashed(since, self._stack.stack)
        return bool(stacked and self._squashed)


def find_gone(runs: Sequence[Run], run: Run) -> dict[str, str]:
    """Return by key the items of earlier runs that only analyzers reported, and that all of these
    looked for again in this run and no longer report.
    """
    keys = follow_keys([*runs, run])
    names = follow_names([*runs, run])[run.id]
    now = frozenset[str]().union(*names.values())
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
