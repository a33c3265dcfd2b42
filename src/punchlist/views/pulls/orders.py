"""Orders to punchlist: the first line of a comment, such as `/punchlist dismiss WHY`.

Nothing can stand before it that quotes it, hides it or shows it as code, so Markdown need not be
understood.
"""

import re
from enum import StrEnum

from msgspec import Struct

from punchlist.views.pulls.conversation import Comment, Conversation

_ORDER = re.compile(r"/punchlist[ \t]+(?P<verb>[A-Za-z][!-9;-~]*)(?:[ \t:](?P<words>.*))?")
_LINE_END = re.compile(r"[\r\n]")


class OrderVerb(StrEnum):
    FIX = "fix"
    APPLY = "apply"
    STACK = "stack"
    DISMISS = "dismiss"
    EXPLAIN = "explain"
    AGAIN = "again"


class Order(Struct, frozen=True, kw_only=True):
    """The order of a comment. `id` is the comment's."""

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
    """Return the order of a comment, if its first line is one."""
    found = match_order(comment.body)
    if found is None:
        return None
    return Order(
        id=comment.id,
        by=comment.author,
        verb=found["verb"].lower(),
        words=(found["words"] or "").strip(" \t:"),
        thread=thread,
        bot=comment.bot,
    )


def match_order(body: str) -> re.Match[str] | None:
    """Match the first line of a text, with `verb` and `words`; None if it is not an order."""
    return _ORDER.fullmatch(_LINE_END.split(body, maxsplit=1)[0].rstrip(" \t"))


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
