"""Read all that is said on a pull request, and who of those that give orders may write.

A thread is what one review says at one line: web pages add answers to the review that they answer.
Where the API cannot, ours are reviews of their own, and name the comment that they answer.
"""

import re

from msgspec import Struct

from punchlist.adapters.forges.gitea.api import (
    GiteaApi,
    GiteaUser,
    IssueComment,
    Review,
    ReviewComment,
)
from punchlist.adapters.rest.client import RequestRefused
from punchlist.adapters.rest.retry import Unavailable
from punchlist.views.pulls.conversation import Comment, Conversation, PullRequest, Thread
from punchlist.views.pulls.marks import read_mark
from punchlist.views.pulls.orders import find_orders

_GHOST = "Ghost"
_TARGET = re.compile(r"\n?<!-- punchlist-answers (?P<id>\d{1,19}) -->(?=\n)")
_ROBOT = re.compile(r".*(\[bot\]|[-_.]bot)", re.IGNORECASE)
_DEMANDS = "REQUEST_CHANGES"
_PENDING = "PENDING"
_BLIND = (
    "the token may not ask who may write (its user must be an administrator of the repository), so"
    " no orders are obeyed"
)


def add_target(body: str, comment: str) -> str:
    """Return our comment with the one that it answers, before its mark."""
    text, mark, end = body.rpartition("\n<!--")
    return f"{text}\n<!-- punchlist-answers {comment} -->{mark}{end}"


def split_target(body: str) -> tuple[str, str]:
    """Return our comment without the name of the one that it answers, and that name or ""."""
    found = _TARGET.search(body)
    return (_TARGET.sub("", body, count=1), found["id"]) if found else (body, "")


class ThreadPlace(Struct, frozen=True):
    """Where a thread is, so that it can be answered there."""

    path: str
    line: int
    old: bool = False


class GiteaReader:
    """`places` and `answers` are those of the last reading: by comment its thread's place, and the
    comment that it answers.
    """

    def __init__(self, api: GiteaApi) -> None:
        self._api = api
        self.places: dict[str, ThreadPlace] = {}
        self.answers: dict[str, str] = {}

    async def read_all(self, pull: PullRequest) -> Conversation:
        """Return the conversation with the writers among its speakers."""
        said = await self.read_comments(pull)
        names = {order.by for order in find_orders(said) if not order.bot}
        names |= {thread.resolved_by for thread in said.threads if thread.resolved}
        rights = {name: await self._api.may_write(name) for name in sorted(names - {"", _GHOST})}
        return Conversation(
            viewer=said.viewer,
            threads=said.threads,
            comments=said.comments,
            reviews=said.reviews,
            resolvable=said.resolvable,
            writers=frozenset(name for name, may in rights.items() if may),
            unread=(_BLIND,) if None in rights.values() else (),
        )

    async def read_comments(self, pull: PullRequest) -> Conversation:
        """Return threads, comments and reviews only."""
        api, number = self._api, pull.number
        try:
            viewer = await api.read_viewer()
        except RequestRefused as refused:
            hint = "give the token the scope read:user"
            raise Unavailable(
                f"whose token it is cannot be read: {refused}", hint=hint
            ) from refused
        reviews = [each for each in await api.list_reviews(number) if each.state != _PENDING]
        threads: list[list[ReviewComment]] = []
        for review in reviews:
            if review.comments_count:
                threads += _split_threads(await api.list_review_comments(number, review.id))
        return Conversation(
            viewer=viewer,
            threads=self._join_answers(threads, viewer),
            comments=tuple(_make_comment(each, viewer) for each in await api.list_comments(number)),
            reviews=tuple(_make_review(each, viewer) for each in reviews if each.body.strip()),
            resolvable=(await api.read_abilities()).resolve,
        )

    def _join_answers(self, threads: list[list[ReviewComment]], viewer: str) -> tuple[Thread, ...]:
        """Return the threads, with answers that are reviews of their own where they belong."""
        roots = {str(each[0].id) for each in threads}
        answers: dict[str, list[ReviewComment]] = {}
        found = []
        self.places, self.answers = {}, {}
        for comments in threads:
            first = comments[0]
            target = split_target(first.body)[1] if _login(first.user) == viewer else ""
            if target in roots and target != str(first.id):
                answers.setdefault(target, []).extend(comments)
                self.answers |= {str(each.id): target for each in comments}
            else:
                found.append(comments)
        for comments in found:
            first, old = comments[0], not comments[0].position
            line = first.original_position if old else first.position
            self.places[str(first.id)] = ThreadPlace(first.path, line, old)
            comments.extend(answers.get(str(first.id), []))
        return tuple(_make_thread(each, viewer) for each in found)


def _split_threads(comments: list[ReviewComment]) -> list[list[ReviewComment]]:
    """Return what a review says at each line, oldest first."""
    found: dict[tuple[str, int, int], list[ReviewComment]] = {}
    for each in sorted(comments, key=lambda each: each.id):
        found.setdefault((each.path, each.position, each.original_position), []).append(each)
    return sorted(found.values(), key=lambda each: each[0].id)


def _make_thread(comments: list[ReviewComment], viewer: str) -> Thread:
    first = comments[0]
    by = next((each.resolver for each in comments if each.resolver), None)
    return Thread(
        id=str(first.id),
        path=first.path,
        line=first.position or None,
        resolved=by is not None,
        resolved_by=_login(by),
        comments=tuple(_make_comment(each, viewer) for each in comments),
    )


def _login(user: GiteaUser | None) -> str:
    return user.login if user and user.login else _GHOST if user else ""


def _is_robot(user: GiteaUser | None) -> bool:
    """Return whether a program speaks: Gitea tells only of its own, by a number below that of
    deleted users; others are known by their names.
    """
    return user is not None and (user.id < -1 or _ROBOT.fullmatch(user.login) is not None)


def _make_comment(said: ReviewComment | IssueComment, viewer: str) -> Comment:
    author = _login(said.user) or _GHOST
    body = split_target(said.body)[0] if author == viewer else said.body
    return Comment(
        id=str(said.id),
        author=author,
        bot=_is_robot(said.user),
        # A person may use a token of their own: what they write themselves has no mark.
        own=author == viewer and read_mark(said.body) is not None,
        body=body,
        url=said.html_url,
    )


def _make_review(review: Review, viewer: str) -> Comment:
    author = _login(review.user) or _GHOST
    return Comment(
        id=f"review-{review.id}",
        author=author,
        bot=_is_robot(review.user),
        own=author == viewer and read_mark(review.body) is not None,
        body=review.body,
        url=review.html_url,
        demands=review.state == _DEMANDS and not review.dismissed,
    )
