"""The board: what a pull request shall show of a run. A pure function of the run, the table of
the diff's hunks and what is on the pull request.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.finding.finding import Finding
from punchlist.model.item.item import ENDED, Item, Status, reading_order
from punchlist.model.item.proof import ProofClass, strongest_proof
from punchlist.model.ledger.outcome import RunOutcome, holds_back, run_outcome
from punchlist.model.ledger.run import Run
from punchlist.views.pulls import board_text as text
from punchlist.views.pulls.conversation import Conversation, PullRequest, ResolveRule, Thread
from punchlist.views.pulls.diff_table import DiffTable
from punchlist.views.pulls.marks import MarkKind, add_mark, read_mark
from punchlist.views.pulls.orders import Order
from punchlist.views.pulls.suggestion import Suggestion
from punchlist.views.summary import summarize_run

COMMENTS = 20
"""How many threads of punchlist's own a pull request has at most; the rest is in the summary."""
ANNOTATIONS = 200


class Settled(Struct, frozen=True, kw_only=True):
    """What ended a thread of others before this run: a proven fix that is in the head, or the word
    of a person.
    """

    proofs: str = ""
    commit: str = ""
    by: str = ""
    why: str = ""


class Picture(Struct, frozen=True, kw_only=True):
    """All that the board is made of."""

    pull: PullRequest
    run: Run
    table: DiffTable
    conversation: Conversation
    landed: bool = False
    """Whether the pull request's head has the run's fixes."""
    suggestions: Mapping[int, Suggestion] = {}
    """By item: its fix, as far as it is short and in one place."""
    keys: Mapping[int, str] = {}
    """By item: the key of its thread, if an earlier run gave it another than its fingerprint."""
    settled: Mapping[str, Settled] = {}
    """By thread of others."""
    gone: Mapping[str, str] = {}
    """By key of a thread of ours: the analyzers that looked again and no longer report it."""
    unplaced: frozenset[str] = frozenset()
    """Keys whose comment the forge refused to take at their line."""
    explain: tuple[Order, ...] = ()
    resolve: ResolveRule = ResolveRule.OWN
    limit: int = COMMENTS
    notes: tuple[str, ...] = ()

    def key_of(self, item: Item) -> str:
        return self.keys.get(item.number, item.fingerprint)

    def has_fix(self, item: Item) -> bool:
        """Return whether the pull request's head has the item's fix."""
        return item.status is Status.FIXED and self.landed


class BoardThread(Struct, frozen=True, kw_only=True):
    """A thread of ours. `line` None: a comment on the file. Not `create`: only an existing one is
    changed.
    """

    key: str
    body: str
    path: str = ""
    line: int | None = None
    first: int | None = None
    resolve: bool = False
    create: bool = True


class BoardReply(Struct, frozen=True, kw_only=True):
    """Our one reply with this mark in a thread."""

    thread: str
    body: str
    resolve: bool = False
    reopen: bool = True
    """Whether a thread that we resolved is opened again if it is not to be resolved."""


class Annotation(Struct, frozen=True, kw_only=True):
    path: str
    start_line: int
    end_line: int
    annotation_level: str
    message: str
    title: str


class CheckResult(Struct, frozen=True, kw_only=True):
    """Our check of a commit; there is one only once it has a conclusion."""

    head: str
    conclusion: str
    """`success`, `failure` or `neutral`."""
    title: str
    summary: str
    annotations: tuple[Annotation, ...] = ()


class Board(Struct, frozen=True, kw_only=True):
    summary: str
    check: CheckResult
    threads: tuple[BoardThread, ...] = ()
    replies: tuple[BoardReply, ...] = ()


def make_board(picture: Picture) -> Board:
    answered = dict(_find_threads(picture))
    threads = tuple(_make_threads(picture, {item for items in answered.values() for item in items}))
    links = dict(_find_links(picture))
    replies = (*_make_replies(picture, answered), *_make_answers(picture, answered))
    # Without links to threads the check is the same before and after they are posted.
    plain = text.render_summary(_make_page(picture, {}))
    summary = text.render_summary(_make_page(picture, links))
    return Board(
        summary=add_mark(summary, MarkKind.SUMMARY),
        check=_make_check(picture, plain),
        threads=threads,
        replies=replies,
    )


def find_origin(finding: Finding) -> str:
    """Return the id of the thread or report that a finding is, or "". Files of punchlist's own with
    these have no dot in their names; in all others a label is what their authors say.
    """
    ours = finding.source.startswith("file:") and "." not in finding.source
    return finding.label if ours else ""


def find_items(run: Run, thread: str) -> list[int]:
    """Return the items that a thread of others became."""
    return [
        item.number
        for item in run.items.values()
        if any(find_origin(finding) == thread for finding in item.findings)
    ]


def is_proven(item: Item) -> bool:
    """Return whether it is fixed, and more than the fixer's word says so."""
    best = strongest_proof(item.proofs)
    return item.status is Status.FIXED and best is not None and best.kind is not ProofClass.CLAIM


def own_threads(conversation: Conversation) -> Iterator[tuple[str, Thread]]:
    """Yield the threads that we began for items, with their keys."""
    for thread in conversation.threads:
        mark = read_mark(thread.comments[0].body) if thread.begun_by_us else None
        if mark and mark.kind == MarkKind.ITEM:
            yield mark.key, thread


def _find_threads(picture: Picture) -> Iterator[tuple[Thread, list[int]]]:
    """Yield the threads of others that items of the run came from."""
    for thread in picture.conversation.threads:
        if not thread.begun_by_us and (items := find_items(picture.run, thread.id)):
            yield thread, items


def _find_links(picture: Picture) -> Iterator[tuple[str, str]]:
    for key, thread in own_threads(picture.conversation):
        yield key, thread.comments[0].url
    for thread, items in _find_threads(picture):
        for number in items:
            yield picture.key_of(picture.run.items[number]), thread.comments[0].url


def _make_threads(picture: Picture, answered: set[int]) -> Iterator[BoardThread]:
    """Yield our threads: the existing ones first, then new ones, worst first, as far as there is
    room.
    """
    have = dict(own_threads(picture.conversation))
    items = [item for item in _shown_items(picture) if item.number not in answered]
    room = picture.limit - sum(not thread.resolved for thread in have.values())
    for item in items:
        key = picture.key_of(item)
        ended = item.status is Status.DISMISSED or picture.has_fix(item)
        placed = _place_thread(picture, item)
        create = not ended and room > 0 and placed is not None and key not in have
        if key not in have and not create:
            continue
        room -= create
        thread = placed or BoardThread(key=key, body="")
        body = add_mark(text.render_item(_tell_item(picture, item)), MarkKind.ITEM, key)
        done = picture.has_fix(item) and is_proven(item)
        resolve = done or item.status is Status.DISMISSED
        yield replace(thread, body=body, resolve=resolve, create=create)
    known = {picture.key_of(item) for item in picture.run.items.values()}
    for key, who in sorted(picture.gone.items()):
        if key in have and key not in known:
            was = text.without_mark(have[key].comments[0].body)
            body = text.render_gone(was, who, picture.pull.head)
            yield BoardThread(
                key=key, body=add_mark(body, MarkKind.ITEM, key), resolve=True, create=False
            )


def _shown_items(picture: Picture) -> list[Item]:
    """Return the items of the pull request, worst first; those that fixes brought about are not in
    its code.
    """
    items = (item for item in picture.run.items.values() if item.in_scope)
    return sorted((item for item in items if not item.made or picture.landed), key=reading_order)


def _place_thread(picture: Picture, item: Item) -> BoardThread | None:
    """Return where the item's thread can be: at its lines, at its file, or nowhere."""
    key, spot = picture.key_of(item), text.find_spot(item, landed=picture.landed)
    if not picture.table.has_file(spot.path) or key in picture.unplaced:
        return None
    fix = _find_suggestion(picture, item)
    first, last = (fix.first, fix.last) if fix else spot.line_range
    place = BoardThread(key=key, body="", path=spot.path)
    if first and picture.table.holds(spot.path, first, last):
        return replace(place, line=last, first=first if first < last else None)
    if first and picture.table.holds(spot.path, first, first):
        return replace(place, line=first)
    return place


def _find_suggestion(picture: Picture, item: Item) -> Suggestion | None:
    """Return the item's fix if it can be committed from its thread: it lies in one hunk, and no
    item before it has the same change.
    """
    found = picture.suggestions.get(item.number)
    if found is None or not is_proven(item) or picture.landed:
        return None
    inside = picture.table.holds(found.path, found.first, found.last)
    others = (picture.run.items[n] for n in picture.suggestions if n < item.number)
    taken = any(each.made_in == item.made_in for each in others)
    return found if inside and not taken else None


def _tell_item(picture: Picture, item: Item) -> text.ItemTelling:
    fix = _find_suggestion(picture, item)
    return text.ItemTelling(
        item=item,
        run=picture.run,
        pull=picture.pull,
        landed=picture.has_fix(item),
        proven=is_proven(item),
        suggestion=fix,
    )


def _make_replies(picture: Picture, answered: Mapping[Thread, list[int]]) -> Iterator[BoardReply]:
    for thread, numbers in answered.items():
        items = [picture.run.items[number] for number in numbers]
        parts = [text.render_reply(_tell_reply(picture, item, thread)) for item in items]
        done = all(
            item.status is Status.DISMISSED or (picture.has_fix(item) and is_proven(item))
            for item in items
        )
        body = add_mark("\n\n".join(parts), MarkKind.REPLY)
        yield BoardReply(
            thread=thread.id, body=body, resolve=done and _may_resolve(picture, thread)
        )
    ours = {thread.id for thread in answered}
    for thread in picture.conversation.threads:
        settled = picture.settled.get(thread.id)
        if settled is None or thread.id in ours or thread.begun_by_us:
            continue
        if settled.commit:
            said = text.render_fixed(settled.commit, settled.proofs, picture.pull)
        else:
            said = text.render_dismissed(settled.by, settled.why)
        body = add_mark(said, MarkKind.REPLY)
        yield BoardReply(thread=thread.id, body=body, resolve=_may_resolve(picture, thread))


def _tell_reply(picture: Picture, item: Item, thread: Thread) -> text.ItemTelling:
    """Return the item as told in another's thread: a suggestion replaces the lines of the thread,
    and so it must be about exactly these.
    """
    found = picture.suggestions.get(item.number)
    lines = (thread.path, thread.first or thread.line, thread.line)
    fits = found is not None and (found.path, found.first, found.last) == lines
    usable = fits and is_proven(item) and not picture.landed
    return replace(_tell_item(picture, item), suggestion=found if usable else None)


def _may_resolve(picture: Picture, thread: Thread) -> bool:
    bot = thread.comments[0].bot if thread.comments else False
    return picture.resolve is ResolveRule.ALL or (picture.resolve is ResolveRule.BOTS and bot)


def _make_answers(picture: Picture, answered: Mapping[Thread, list[int]]) -> Iterator[BoardReply]:
    """Yield the answers to orders to explain an item."""
    by_key = {picture.key_of(item): item for item in picture.run.items.values()}
    items = {thread.id: by_key.get(key) for key, thread in own_threads(picture.conversation)}
    items |= {thread.id: picture.run.items[found[0]] for thread, found in answered.items()}
    for order in picture.explain:
        item = items.get(order.thread)
        if item is not None:
            body = text.render_explanation(item, picture.run.id)
            yield BoardReply(
                thread=order.thread, body=add_mark(body, MarkKind.ANSWER, order.id), reopen=False
            )


def _make_page(picture: Picture, links: Mapping[str, str]) -> text.SummaryPage:
    items = _shown_items(picture)
    rows = tuple(
        text.SummaryRow(
            item=item, link=links.get(picture.key_of(item), ""), landed=picture.has_fix(item)
        )
        for item in items
    )
    old = sum(not item.in_scope and item.status not in ENDED for item in picture.run.items.values())
    return text.SummaryPage(
        pull=picture.pull,
        run=picture.run,
        headline=summarize_run(picture.run).headline,
        rows=rows,
        landed=picture.landed,
        outside=old,
        notes=(*picture.notes, *picture.conversation.unread),
    )


def _make_check(picture: Picture, summary: str) -> CheckResult:
    unlanded = [
        item
        for item in _shown_items(picture)
        if item.status is Status.FIXED and not picture.landed and picture.run.fails_gate(item)
    ]
    run = picture.run
    if not run.ended or run_outcome(run) is RunOutcome.INCOMPLETE:
        conclusion = "neutral"
    else:
        conclusion = "failure" if unlanded or holds_back(run) else "success"
    open_items = [
        item
        for item in _shown_items(picture)
        if item.status is not Status.DISMISSED and not picture.has_fix(item)
    ]
    annotations = tuple(_make_annotations(picture, open_items))[:ANNOTATIONS]
    return CheckResult(
        head=picture.pull.head,
        conclusion=conclusion,
        title=text.limit_line(summarize_run(run).headline, 200),
        summary=text.fit_body(summary),
        annotations=annotations,
    )


def make_failed_check(head: str, why: str) -> CheckResult:
    """Return the check of a run that could not be finished: it does not block."""
    body = text.fit_body(f"Punchlist could not finish: {text.limit_line(why, 2000)}")
    return CheckResult(
        head=head, conclusion="neutral", title="Punchlist could not finish", summary=body
    )


_LEVELS = {0: "failure", 1: "warning", 2: "notice"}


def _make_annotations(picture: Picture, items: list[Item]) -> Iterator[Annotation]:
    for item in items:
        spot = text.find_spot(item, landed=picture.landed)
        first, last = spot.line_range
        if spot.path and first:
            yield Annotation(
                path=spot.path,
                start_line=first,
                end_line=max(first, last),
                annotation_level=_LEVELS[item.severity.rank],
                message=text.render_annotation(item),
                title=text.limit_line(item.lead.title, 200),
            )
