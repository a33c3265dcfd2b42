"""What must be done so that a pull request looks like a board, by difference to what is there."""

from collections.abc import Iterator

from msgspec import Struct

from punchlist.views.pulls.board import Board, BoardReply, BoardThread, own_threads
from punchlist.views.pulls.conversation import Comment, Conversation, Thread
from punchlist.views.pulls.marks import MarkKind, clean_body, read_mark


class Update(Struct, frozen=True, kw_only=True):
    """Something to do on the forge; `about` names it so that it is never done twice."""


class PostSummary(Update, frozen=True):
    body: str

    @property
    def about(self) -> str:
        return "summary"


class PostThread(Update, frozen=True):
    thread: BoardThread

    @property
    def about(self) -> str:
        return f"thread {self.thread.key}"


class PostReply(Update, frozen=True):
    """`to`: the comment that began the thread."""

    thread: str
    to: str
    body: str

    @property
    def about(self) -> str:
        mark = read_mark(self.body)
        return f"reply {self.thread} {mark.kind if mark else ''} {mark.key if mark else ''}"


class EditComment(Update, frozen=True):
    id: str
    body: str
    top: bool = False
    """It stands below the pull request, in no thread."""

    @property
    def about(self) -> str:
        return f"edit {self.id}"


class DeleteComment(Update, frozen=True):
    id: str
    top: bool = False

    @property
    def about(self) -> str:
        return f"delete {self.id}"


class SetResolved(Update, frozen=True):
    thread: str
    resolved: bool

    @property
    def about(self) -> str:
        return f"{'resolve' if self.resolved else 'reopen'} {self.thread}"


AnyUpdate = PostSummary | PostThread | PostReply | EditComment | DeleteComment | SetResolved


def plan_updates(board: Board, now: Conversation) -> tuple[AnyUpdate, ...]:
    """Return the updates in their order: threads, replies, and the summary last. The check is no
    part of it.
    """
    have: dict[str, list[Thread]] = {}
    for key, thread in own_threads(now):
        have.setdefault(key, []).append(thread)
    updates: list[AnyUpdate] = []
    for wanted in board.threads:
        updates += _update_thread(wanted, have.get(wanted.key, []), now.viewer, board.reopened)
    threads = {thread.id: thread for thread in now.threads}
    for reply in board.replies:
        if reply.thread in threads:
            thread = threads[reply.thread]
            updates += _update_reply(reply, thread)
            left = thread.id in board.reopened if reply.resolve else not reply.reopen
            if not left:
                updates += _set_resolved(thread, now.viewer, resolve=reply.resolve)
    if not now.resolvable:
        updates = [each for each in updates if not isinstance(each, SetResolved)]
    return (*updates, *_update_summary(board.summary, now))


def _update_thread(
    wanted: BoardThread, have: list[Thread], viewer: str, reopened: frozenset[str]
) -> Iterator[AnyUpdate]:
    if not have:
        if wanted.create:
            yield PostThread(thread=wanted)
        return
    # Of several, the one in which people have answered stays, else the first.
    keep = max(have, key=lambda each: sum(not comment.own for comment in each.comments))
    for other in have:
        if other is not keep:
            yield DeleteComment(id=other.comments[0].id)
    yield from _edit_comment(keep.comments[0], wanted.body)
    if not (wanted.resolve and keep.id in reopened):
        yield from _set_resolved(keep, viewer, resolve=wanted.resolve)


def _update_reply(reply: BoardReply, thread: Thread) -> Iterator[AnyUpdate]:
    mark = read_mark(reply.body)
    ours = [each for each in thread.comments if each.own and read_mark(each.body) == mark]
    if ours:
        yield from _edit_comment(ours[0], reply.body)
        for other in ours[1:]:
            yield DeleteComment(id=other.id)
    else:
        yield PostReply(thread=thread.id, to=thread.comments[0].id, body=reply.body)


def _update_summary(body: str, now: Conversation) -> Iterator[AnyUpdate]:
    """Yield what makes the body our summary. That of a run takes the place of what a job without
    secrets reported, and is never replaced by it.
    """
    runs, reported = _find_summaries(now, MarkKind.SUMMARY), _find_summaries(now, MarkKind.REPORTED)
    mark = read_mark(body)
    untrusted = mark is not None and mark.kind == MarkKind.REPORTED
    if untrusted and runs:
        return
    ours, others = (reported, []) if untrusted else (runs, reported)
    if not ours:
        yield PostSummary(body=body)
    else:
        for edit in _edit_comment(ours[0], body):
            yield EditComment(id=edit.id, body=edit.body, top=True)
    for other in (*ours[1:], *others):
        yield DeleteComment(id=other.id, top=True)


def _find_summaries(now: Conversation, kind: MarkKind) -> list[Comment]:
    marks = ((each, read_mark(each.body)) for each in now.comments if each.own)
    return [each for each, mark in marks if mark is not None and mark.kind == kind]


def _edit_comment(comment: Comment, body: str) -> Iterator[EditComment]:
    if clean_body(comment.body) != clean_body(body):
        yield EditComment(id=comment.id, body=body)


def _set_resolved(thread: Thread, viewer: str, *, resolve: bool) -> Iterator[SetResolved]:
    """Resolve the thread, or open it again if we resolved it."""
    ours = thread.resolved_by == viewer
    if resolve and not thread.resolved:
        yield SetResolved(thread=thread.id, resolved=True)
    elif not resolve and thread.resolved and ours:
        yield SetResolved(thread=thread.id, resolved=False)
