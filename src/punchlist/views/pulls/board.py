"""The board: what a pull request shall show of a run. A pure function of the run, the table of
the diff's hunks and what is on the pull request.
"""

from collections.abc import Collection, Iterator, Mapping

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
from punchlist.views.pulls.stack import StackLink
from punchlist.views.pulls.suggestion import Suggestion
from punchlist.views.summary import summarize_run

COMMENTS = 20
"""How many threads of punchlist's own a pull request has at most; the rest is in the summary."""
ANNOTATIONS = 200
CHECK, REPORTED_CHECK = "punchlist", "punchlist (reported)"
OWN_CHECKS = (CHECK, REPORTED_CHECK)
"""What our checks are called: of our own runs, and of what a job without secrets reported."""


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
    applied: frozenset[int] = frozenset()
    """Items whose fixes alone were pushed to it."""
    suggestions: Mapping[int, Suggestion] = {}
    """By item: its fix, as far as it is short and in one place."""
    keys: Mapping[int, str] = {}
    """By item: the key of its thread, if an earlier run gave it another than its fingerprint."""
    settled: Mapping[str, Settled] = {}
    """By thread of others."""
    gone: Mapping[str, str] = {}
    """By key of a thread of ours: the analyzers that looked again and no longer report it."""
    ended: Mapping[str, Settled] = {}
    """By key of a thread of ours: the proven fix of an earlier run, which the head has."""
    unplaced: frozenset[str] = frozenset()
    """Keys whose comment the forge refused to take at their line."""
    closed: frozenset[str] = frozenset()
    """Threads that were resolved when the pull request was last answered."""
    stack: StackLink | None = None
    """The open pull request with fixes of the run."""
    explain: tuple[Order, ...] = ()
    resolve: ResolveRule = ResolveRule.OWN
    limit: int = COMMENTS
    notes: tuple[str, ...] = ()

    def key_of(self, item: Item) -> str:
        return self.keys.get(item.number, item.fingerprint)

    def find_stack(self, item: Item) -> str:
        """Return a link to the pull request that holds the item's fix, or ""."""
        return self.stack.text if self.stack and item.number in self.stack.items else ""

    def has_fix(self, item: Item) -> bool:
        """Return whether the pull request's head has the item's fix."""
        return item.status is Status.FIXED and (self.landed or item.number in self.applied)


class BoardThread(Struct, frozen=True, kw_only=True):
    """A thread of ours. `line` None: a comment on the file. Not `create`: only an existing one is
    changed.
    """

    key: str
    body: str
    path: str = ""
    line: int | None = None
    first: int | None = None
    old_path: str = ""
    """The path before the change."""
    old_lines: Mapping[int, int] = {}
    """The numbers that its lines had before the change; lines that are new have none."""
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
    name: str = CHECK


class Board(Struct, frozen=True, kw_only=True):
    summary: str
    check: CheckResult
    threads: tuple[BoardThread, ...] = ()
    replies: tuple[BoardReply, ...] = ()
    reopened: frozenset[str] = frozenset()
    """Threads that people have opened again: they are not resolved for the same reason."""


def make_board(picture: Picture) -> Board:
    answered = dict(_find_threads(picture))
    threads = tuple(_make_threads(picture, {item for items in answered.values() for item in items}))
    links = dict(_find_links(picture))
    replies = (*_make_replies(picture, answered), *_make_answers(picture, answered))
    # Without links to threads the check is the same before and after they are posted.
    plain = text.render_summary(_make_page(picture, {}))
    summary = text.render_summary(_make_page(picture, links))
    finish = picture.pull.markup.finish
    return Board(
        summary=finish(add_mark(summary, MarkKind.SUMMARY)),
        check=_make_check(picture, plain),
        threads=tuple(replace(each, body=finish(each.body)) for each in threads),
        replies=tuple(replace(each, body=finish(each.body)) for each in replies),
        reopened=_find_reopened(picture),
    )


def find_closed(board: Board, now: Conversation, updates: Collection[str]) -> frozenset[str]:
    """Return the threads that have come to their end: resolved before, by the updates, or opened
    again by people since.
    """
    own = {key: thread.id for key, thread in own_threads(now)}
    ended = {own.get(each.key, "") for each in board.threads if each.resolve}
    ended |= {each.thread for each in board.replies if each.resolve}
    done = {thread.id for thread in now.threads if thread.resolved} | board.reopened
    return frozenset(each for each in ended if each in done or f"resolve {each}" in updates)


def _find_reopened(picture: Picture) -> frozenset[str]:
    threads = picture.conversation.threads
    return picture.closed & {thread.id for thread in threads if not thread.resolved}


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
    gone = list(_end_gone(picture, have))
    ending = {each.key for each in gone} | {
        picture.key_of(item) for item in items if _is_done(picture, item)
    }
    room = picture.limit - sum(
        _stays_open(picture, thread, ending=key in ending) for key, thread in have.items()
    )
    for item in items:
        key = picture.key_of(item)
        ended = item.status is Status.DISMISSED or picture.has_fix(item)
        placed = _place_thread(picture, item)
        create = not ended and room > 0 and placed is not None and key not in have
        if key not in have and not create:
            continue
        room -= create
        thread = placed or BoardThread(key=key, body="")
        done = _is_done(picture, item)
        said = _ask_to_resolve(picture, text.render_item(_tell_item(picture, item)), done=done)
        body = add_mark(said, MarkKind.ITEM, key)
        yield replace(thread, body=body, resolve=done, create=create)
    yield from gone


def _ask_to_resolve(picture: Picture, body: str, *, done: bool) -> str:
    """Return the comment; where we cannot resolve its thread, with the request to do so."""
    by_hand = done and not picture.conversation.resolvable
    return f"{body}\n\n{text.BY_HAND}" if by_hand else body


def _is_done(picture: Picture, item: Item) -> bool:
    """Return whether its thread is to be resolved."""
    return item.status is Status.DISMISSED or (picture.has_fix(item) and is_proven(item))


def _stays_open(picture: Picture, thread: Thread, *, ending: bool) -> bool:
    """Return whether a thread of ours is open once the board is shown."""
    if ending:
        return not thread.resolved and thread.id in picture.closed
    return not thread.resolved or thread.resolved_by == picture.conversation.viewer


def _end_gone(picture: Picture, have: Mapping[str, Thread]) -> Iterator[BoardThread]:
    """Yield the threads of items that are no longer there: their fix is in the head, or their
    analyzers no longer report them.
    """
    known = {picture.key_of(item) for item in picture.run.items.values()}
    for key in sorted({*picture.gone, *picture.ended}):
        if key in have and key not in known:
            was = text.without_mark(have[key].comments[0].body)
            if fix := picture.ended.get(key):
                gone = text.render_ended(was, fix.commit, fix.proofs, picture.pull)
            else:
                gone = text.render_gone(was, picture.gone[key], picture.pull.head)
            body = _ask_to_resolve(picture, gone, done=True)
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
    table, path = picture.table, spot.path
    place = BoardThread(key=key, body="", path=path, old_path=table.moved.get(path, path))
    if not first or not table.holds(path, first, first):
        return place if picture.pull.markup.files else None
    if not table.holds(path, first, last):
        last = first
    known = table.before.get(path, {})
    old = {line: known[line] for line in range(first, last + 1) if line in known}
    return replace(place, line=last, first=first if first < last else None, old_lines=old)


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
        stack=picture.find_stack(item),
    )


def _make_replies(picture: Picture, answered: Mapping[Thread, list[int]]) -> Iterator[BoardReply]:
    for thread, numbers in answered.items():
        items = [picture.run.items[number] for number in numbers]
        parts = [text.render_reply(_tell_reply(picture, item, thread)) for item in items]
        done = all(_is_done(picture, item) for item in items)
        resolve = done and _may_resolve(picture, thread)
        said = _ask_to_resolve(picture, "\n\n".join(parts), done=resolve)
        body = add_mark(said, MarkKind.REPLY)
        yield BoardReply(thread=thread.id, body=body, resolve=resolve, reopen=not done)
    ours = {thread.id for thread in answered}
    for thread in picture.conversation.threads:
        settled = picture.settled.get(thread.id)
        if settled is None or thread.id in ours or thread.begun_by_us:
            continue
        if settled.commit:
            said = text.render_fixed(settled.commit, settled.proofs, picture.pull)
        else:
            said = text.render_dismissed(settled.by, settled.why)
        resolve = _may_resolve(picture, thread)
        body = add_mark(_ask_to_resolve(picture, said, done=resolve), MarkKind.REPLY)
        yield BoardReply(thread=thread.id, body=body, resolve=resolve, reopen=False)


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
            item=item,
            link=links.get(picture.key_of(item), ""),
            landed=picture.has_fix(item),
            stack=picture.find_stack(item),
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
        stack=picture.stack.text if picture.stack else "",
        outside=old,
        notes=(*picture.notes, *picture.conversation.unread),
    )


def _make_check(picture: Picture, summary: str) -> CheckResult:
    unlanded = [
        item
        for item in _shown_items(picture)
        if item.status is Status.FIXED
        and not picture.has_fix(item)
        and picture.run.fails_gate(item)
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


def make_skipped_check(head: str, why: str) -> CheckResult:
    """Return the check of a pull request that is not reviewed, which does not block."""
    title = "Not reviewed by punchlist"
    summary = text.fit_body(f"Not reviewed: {text.limit_line(why, 2000)}")
    return CheckResult(head=head, conclusion="neutral", title=title, summary=summary)


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
