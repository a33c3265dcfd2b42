"""Obey what people with write permission say on a pull request, and record every order."""

import time
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from punchlist.app.after.dismissals import load_dismissals, make_dismissal, rewrite_reports
from punchlist.app.pulls.history import PullHistory, follow_keys
from punchlist.app.session import Session
from punchlist.model.item.item import Item, Status
from punchlist.model.ledger.earlier_runs import Dismissal
from punchlist.model.ledger.events import Ordered
from punchlist.model.ledger.fold import fold
from punchlist.model.ledger.run import Run
from punchlist.views.pulls.board import find_items
from punchlist.views.pulls.conversation import Conversation, Thread
from punchlist.views.pulls.marks import MarkKind, read_mark
from punchlist.views.pulls.orders import Order, OrderVerb, find_orders, refuse_order

_RESOLVED = "resolved its thread on the pull request"


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
    conversation: Conversation, run: Run, keys: Mapping[int, str], orders: Sequence[Order]
) -> Iterator[tuple[Item, Dismissal]]:
    """Yield the items of a run that people dismissed: by an order, or because a person with write
    permission resolved the thread.
    """
    threads = {thread.id: thread for thread in conversation.threads}
    for order in orders:
        if thread := threads.get(order.thread):
            for item in _items_of(thread, run, keys):
                yield item, Dismissal(order.by, order.words, "")
    for thread in conversation.threads:
        by = thread.resolved_by
        person = by in conversation.writers and by != conversation.viewer
        if thread.resolved and person and _is_answered(thread):
            for item in _items_of(thread, run, keys):
                if item.status is not Status.DISMISSED:
                    yield item, Dismissal(by, _RESOLVED, "")


def _items_of(thread: Thread, run: Run, keys: Mapping[int, str]) -> list[Item]:
    mark = read_mark(thread.comments[0].body) if thread.begun_by_us else None
    if mark is None:
        return [run.items[number] for number in find_items(run, thread.id)]
    return [item for item in run.items.values() if keys.get(item.number) == mark.key]


def _is_answered(thread: Thread) -> bool:
    """Return whether punchlist said something there: before that, resolving is no answer to it."""
    marks = (read_mark(each.body) for each in thread.comments if each.own)
    return any(mark and mark.kind in (MarkKind.ITEM, MarkKind.REPLY) for mark in marks)


def dismiss_found(session: Session, run_id: str, found: Sequence[tuple[Item, Dismissal]]) -> None:
    """Record dismissals in a run, for it and later ones; what is recorded already is left out."""
    known = load_dismissals(session.store, session.key)
    fresh = [
        (item, said)
        for item, said in found
        if (old := known.get(item.fingerprint)) is None or (old.by, old.why) != (said.by, said.why)
    ]
    if not fresh:
        return
    with session.state.leases.acquire(run_id):
        run = session.load(run_id)
        for item, said in fresh:
            event = make_dismissal(run, [item], said)
            key = f"dismissal {run.seq}"
            run = fold(run, session.store.append(run.id, "people", key, event, time.time()))
        rewrite_reports(session, run)


def carry_dismissals(
    session: Session, run: Run, keys: Mapping[int, str], history: PullHistory
) -> None:
    """Dismiss items that were dismissed when the code round them was another: they have the same
    thread.
    """
    known = load_dismissals(session.store, session.key)
    all_keys = follow_keys(history.runs)
    dismissed = {
        all_keys[earlier.id][item.number]: known[item.fingerprint]
        for earlier in history.runs
        for item in earlier.items.values()
        if item.fingerprint in known
    }
    found = [
        (item, dismissed[key])
        for item in run.items.values()
        if (key := keys[item.number]) in dismissed and item.fingerprint not in known
    ]
    dismiss_found(session, run.id, found)


def record_orders(session: Session, run_id: str, judged: Sequence[JudgedOrder]) -> None:
    """Append every judged order to the run's ledger, once."""
    if not judged:
        return
    with session.state.leases.acquire(run_id):
        for each in judged:
            key = f"order {each.order.id}"
            session.store.append(run_id, "people", key, each.event, time.time())
