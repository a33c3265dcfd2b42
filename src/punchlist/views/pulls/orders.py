"""Orders to punchlist in comments: `/punchlist dismiss WHY`."""

import re
from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from punchlist.views.pulls.conversation import Comment, Conversation

_ORDER = re.compile(r"/punchlist[ \t]+(?P<verb>[A-Za-z]+)\b[ \t:]*(?P<words>.*)")
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})(?P<rest>.*)")


class OrderVerb(StrEnum):
    FIX = "fix"
    APPLY = "apply"
    STACK = "stack"
    DISMISS = "dismiss"
    EXPLAIN = "explain"
    AGAIN = "again"


class Order(Struct, frozen=True, kw_only=True):
    """An order in a comment, the first one there. `id` is the comment's."""

    id: str
    by: str
    verb: str
    words: str = ""
    thread: str = ""
    """The thread that it stands in, or "" below the pull request."""
    bot: bool = False

    @property
    def text(self) -> str:
        return f"/punchlist {self.verb} {self.words}".rstrip()


def find_orders(conversation: Conversation) -> tuple[Order, ...]:
    """Return every order on the pull request; punchlist's own comments give none."""
    said = [(comment, "") for comment in (*conversation.comments, *conversation.reviews)]
    said += [(each, thread.id) for thread in conversation.threads for each in thread.comments]
    found = (parse_order(comment, thread) for comment, thread in said if not comment.own)
    return tuple(order for order in found if order is not None)


def parse_order(comment: Comment, thread: str = "") -> Order | None:
    """Return the order of a comment: a line that begins with it, neither quoted nor code."""
    for line in _plain_lines(comment.body):
        if found := _ORDER.fullmatch(line.rstrip()):
            verb, words = found["verb"].lower(), found["words"].strip()
            return Order(
                id=comment.id,
                by=comment.author,
                verb=verb,
                words=words,
                thread=thread,
                bot=comment.bot,
            )
    return None


def refuse_order(order: Order, writers: frozenset[str]) -> str:
    """Return why an order is not obeyed, whatever it is about, or ""."""
    if order.bot:
        return "a program gave it, and only people give orders"
    if order.by not in writers:
        return f"{order.by} may not write to the repository"
    if order.verb not in list(OrderVerb):
        known = ", ".join(OrderVerb)
        return f"there is no such order; there are {known}"
    if order.verb == OrderVerb.DISMISS and not order.words:
        return "a dismissal needs a reason: /punchlist dismiss WHY"
    needs_thread = order.verb in {OrderVerb.DISMISS, OrderVerb.EXPLAIN}
    return "say it in the thread of an item" if needs_thread and not order.thread else ""


def _plain_lines(body: str) -> Iterator[str]:
    fence = ""
    for line in _HIDDEN.sub("", body.replace("\r\n", "\n")).split("\n"):
        ticks = _FENCE.match(line)
        if ticks and not fence:
            fence = ticks[1]
        elif ticks and ticks[1].startswith(fence) and not ticks["rest"].strip():
            fence = ""
        elif not fence:
            yield line
