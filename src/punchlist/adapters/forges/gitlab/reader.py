"""Read all that is said on a merge request, and who of those that give orders may write."""

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from punchlist.adapters.forges.gitlab.api import Discussion, MergeRequestsApi, Note
from punchlist.adapters.rest.gitlab import DEVELOPER, User
from punchlist.intake.markdown_findings import is_findings
from punchlist.views.pulls.conversation import Comment, Conversation, PullRequest, Thread
from punchlist.views.pulls.marks import read_mark
from punchlist.views.pulls.orders import find_orders

_GHOST = "ghost"
_BOT_NAME = re.compile(r"(?:project|group)_\d+_bot(?:_\w+)?")
"""What GitLab calls the users of project and group access tokens."""
_AUTHORS = 200
"""So many users are asked for whether they are programs."""


class DiscussionReader:
    def __init__(self, api: MergeRequestsApi) -> None:
        self._api = api
        self._users: dict[str, int] = {}

    async def read_all(self, pull: PullRequest) -> Conversation:
        """Return the conversation, with the programs and the writers among its speakers."""
        said = await self.read_comments(pull)
        said = _mark_bots(said, await self._find_bots())
        if any(each.resolved for each in said.threads) and await self._api.resolves_outdated():
            said = replace(said, threads=tuple(map(_forget_push, said.threads)))
        return replace(said, writers=await self._find_writers(said))

    async def read_comments(self, pull: PullRequest) -> Conversation:
        """Return threads and comments only."""
        viewer = await self._api.project.read_user()
        threads: list[Thread] = []
        comments: list[Comment] = []
        reviews: list[Comment] = []
        for discussion in await self._api.list_discussions(pull.number):
            # What only members see would be shown to all by an item made of it.
            notes = [
                note
                for note in discussion.notes
                if not (note.system or note.internal or note.confidential)
            ]
            self._note_users(notes)
            made = tuple(_make_comment(note, viewer, pull) for note in notes)
            if discussion.individual_note:
                for each in made:
                    # A review's summary is a note like any other here.
                    (reviews if not each.own and is_findings(each.body) else comments).append(each)
            elif made:
                threads.append(_make_thread(discussion, notes, made, pull))
        return Conversation(
            viewer=viewer.username,
            threads=tuple(threads),
            comments=tuple(comments),
            reviews=tuple(reviews),
        )

    def _note_users(self, notes: Iterable[Note]) -> None:
        for note in notes:
            for user in (note.author, note.resolved_by):
                if user is not None and user.id:
                    self._users[user.username] = user.id

    async def _find_bots(self) -> frozenset[str]:
        asked = sorted(self._users.items())[:_AUTHORS]
        named = {name for name in self._users if _BOT_NAME.fullmatch(name)}
        return frozenset(named | {name for name, user in asked if await self._api.is_bot(user)})

    async def _find_writers(self, said: Conversation) -> frozenset[str]:
        names = {order.by for order in find_orders(said) if not order.bot}
        names |= {thread.resolved_by for thread in said.threads if thread.resolved}
        level = self._api.project.read_level
        known = [(name, self._users[name]) for name in sorted(names) if name in self._users]
        return frozenset([name for name, user in known if await level(user) >= DEVELOPER])


def _make_comment(note: Note, viewer: User, pull: PullRequest) -> Comment:
    author = note.author or User(username=_GHOST)
    return Comment(
        id=str(note.id),
        author=author.username,
        # A person may use a token of their own: what they write themselves has no mark.
        own=author.id == viewer.id and read_mark(note.body) is not None,
        body=note.body,
        url=f"{pull.url}#note_{note.id}",
    )


def _make_thread(
    discussion: Discussion, notes: list[Note], comments: tuple[Comment, ...], pull: PullRequest
) -> Thread:
    """Return the thread; its lines only if they are those of the present head."""
    place = notes[0].position
    line = first = None
    if place and place.position_type == "text" and place.head_sha == pull.head:
        line = place.new_line
        start = place.line_range.start.line if place.line_range else None
        first = start if line and start and start < line else None
    states = [bool(note.resolved) for note in notes if note.resolvable]
    resolved = bool(states) and all(states)
    by = [note.resolved_by.username for note in notes if note.resolved and note.resolved_by]
    return Thread(
        id=discussion.id,
        path=(place.new_path or place.old_path or "") if place else "",
        line=line,
        first=first,
        resolved=resolved,
        resolved_by=by[-1] if by and resolved else "",
        comments=comments,
    )


def _forget_push(thread: Thread) -> Thread:
    """Return a thread whose lines are gone without who resolved it: that may have been a push, and
    a push dismisses nothing.
    """
    gone = thread.resolved and thread.path and thread.line is None
    return replace(thread, resolved_by="") if gone else thread


def _mark_bots(said: Conversation, bots: frozenset[str]) -> Conversation:
    def mark(comments: Iterable[Comment]) -> Iterator[Comment]:
        return (replace(each, bot=each.author in bots) for each in comments)

    threads = (replace(each, comments=tuple(mark(each.comments))) for each in said.threads)
    return replace(
        said,
        threads=tuple(threads),
        comments=tuple(mark(said.comments)),
        reviews=tuple(mark(said.reviews)),
    )
