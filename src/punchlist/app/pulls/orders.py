"""Obey what people with write permission say on a pull request, and record every order."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from punchlist.app.after.dismissals import load_dismissals, make_dismissal, rewrite_reports
from punchlist.app.pulls.history import PullHistory, follow_names
from punchlist.app.session import Session
from punchlist.model.item.item import Attempt, Fact, Item, Status
from punchlist.model.ledger.earlier_runs import Dismissal
from punchlist.model.ledger.events import Ordered
from punchlist.model.ledger.fold import fold
from punchlist.model.ledger.run import Run
from punchlist.views.pulls.board import find_items
from punchlist.views.pulls.conversation import Conversation, Thread
from punchlist.views.pulls.marks import MarkKind, read_mark
from punchlist.views.pulls.orders import Order, OrderVerb, find_orders, refuse_order

_RESOLVED = "resolved its thread on the pull request"


class FoundDismissal(NamedTuple):
    """An item of a run, and who dismisses it."""

    run: str
    item: Item
    said: Dismissal


class JudgedOrder(Struct, frozen=True):
    order: Order
    refused: str = ""

    @property
    def event(self) -> Ordered:
        order = self.order
        return Ordered(
            by=order.by,
            order=order.text,
            comment=order.id,
            thread=order.thread,
            refused=self.refused,
        )


def judge_orders(
    conversation: Conversation, known: Mapping[str, object]
) -> tuple[JudgedOrder, ...]:
    """Return the orders that are not recorded yet, each with why it is not obeyed, or ""."""
    return tuple(
        JudgedOrder(order, refuse_order(order, conversation.writers))
        for order in find_orders(conversation)
        if order.id not in known
    )


def select_orders(judged: Sequence[JudgedOrder], *verbs: OrderVerb) -> tuple[Order, ...]:
    """Return the orders of these kinds that are obeyed."""
    return tuple(each.order for each in judged if not each.refused and each.order.verb in verbs)


def find_dismissed(
    conversation: Conversation, history: PullHistory, orders: Sequence[Order], *, landed: bool
) -> Iterator[FoundDismissal]:
    """Yield the items that people dismissed: by an order, in the newest run that knows them, or
    because a person with write permission resolved the thread. `landed`: the head has the last
    run's fixes, so that resolving the thread of a fixed item only agrees.
    """
    names = follow_names(history.runs)
    threads = {thread.id: thread for thread in conversation.threads}
    for order in orders:
        if thread := threads.get(order.thread):
            for run, item in _find_newest(thread, history, names):
                yield FoundDismissal(run.id, item, Dismissal(order.by, order.words, ""))
    last = history.last
    for thread in conversation.threads if last else ():
        by = thread.resolved_by
        person = by in conversation.writers and by != conversation.viewer
        if last and thread.resolved and person and _is_answered(thread):
            for item in _items_of(thread, last, names[last.id]):
                agreed = landed and item.status is Status.FIXED
                if item.status is not Status.DISMISSED and not agreed:
                    yield FoundDismissal(last.id, item, Dismissal(by, _RESOLVED, ""))


def find_ordered(
    conversation: Conversation, history: PullHistory, orders: Sequence[Order]
) -> frozenset[int]:
    """Return the items of the last run that orders in threads are about."""
    threads = {thread.id: thread for thread in conversation.threads}
    names, last = follow_names(history.runs), history.last
    named = [threads[order.thread] for order in orders if order.thread in threads]
    found = [_items_of(each, last, names[last.id]) for each in named] if last else []
    return frozenset(item.number for items in found for item in items)


def _find_newest(
    thread: Thread, history: PullHistory, names: Mapping[str, Mapping[int, frozenset[str]]]
) -> list[tuple[Run, Item]]:
    """Return the items of a thread, of the newest run that has any: one that no longer sees them
    does not know what is said of them.
    """
    for run in reversed(history.runs):
        if items := _items_of(thread, run, names[run.id]):
            return [(run, item) for item in items]
    return []


def _items_of(thread: Thread, run: Run, names: Mapping[int, frozenset[str]]) -> list[Item]:
    mark = read_mark(thread.comments[0].body) if thread.begun_by_us else None
    if mark is None:
        return [run.items[number] for number in find_items(run, thread.id)]
    return [item for item in run.items.values() if mark.key in names[item.number]]


def _is_answered(thread: Thread) -> bool:
    """Return whether punchlist said something there: before that, resolving is no answer to it."""
    marks = (read_mark(each.body) for each in thread.comments if each.own)
    return any(mark and mark.kind in (MarkKind.ITEM, MarkKind.REPLY) for mark in marks)


def dismiss_found(session: Session, found: Iterable[FoundDismissal]) -> None:
    """Record dismissals in their runs, for these and later ones; what is recorded already is left
    out.
    """
    known = load_dismissals(session.store, session.key)
    fresh: dict[str, list[FoundDismissal]] = {}
    for each in found:
        old = known.get(each.item.fingerprint)
        if old is None or (old.by, old.why) != (each.said.by, each.said.why):
            fresh.setdefault(each.run, []).append(each)
    for run_id, said in fresh.items():
        with session.state.leases.acquire(run_id):
            run = session.load(run_id)
            for each in said:
                event = make_dismissal(run, [each.item], each.said)
                key = f"dismissal {run.seq}"
                run = fold(run, session.store.append(run.id, "people", key, event, time.time()))
            rewrite_reports(session, run)


def find_carried(
    run: Run, history: PullHistory, known: Mapping[str, Dismissal]
) -> Iterator[FoundDismissal]:
    """Yield items that were dismissed when the code round them was another: they have the same
    thread. `known`: by fingerprint.
    """
    names = follow_names(history.runs)
    dismissed = {
        name: known[item.fingerprint]
        for earlier in history.runs
        for item in earlier.items.values()
        if item.fingerprint in known
        for name in names[earlier.id][item.number]
    }
    for item in run.items.values():
        mine = sorted(names[run.id][item.number] & dismissed.keys())
        if mine and item.fingerprint not in known:
            yield FoundDismissal(run.id, item, dismissed[mine[0]])


def show_dismissed(run: Run, known: Mapping[str, Dismissal], *, landed: bool) -> Run:
    """Return the run with what is dismissed since its end shown as that, also if it has a fix;
    one that the head has (`landed`) is fixed.
    """
    items = dict(run.items)
    for number, item in items.items():
        said = known.get(item.fingerprint)
        done = item.status is Status.DISMISSED or (landed and item.status is Status.FIXED)
        if said is not None and not done:
            attempt = Attempt(run.position.round, Fact.DISMISSED, said.by, said.why)
            attempts = (*item.attempts, attempt)
            items[number] = replace(item, status=Status.DISMISSED, attempts=attempts)
    return replace(run, items=items)


def record_orders(session: Session, run_id: str, judged: Sequence[JudgedOrder]) -> None:
    """Append every judged order to the run's ledger, once."""
    if not judged:
        return
    with session.state.leases.acquire(run_id):
        for each in judged:
            key = f"order {each.order.id}"
            session.store.append(run_id, "people", key, each.event, time.time())
