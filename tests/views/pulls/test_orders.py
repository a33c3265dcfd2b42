"""Orders in comments: who may give them, and what is none."""

import pytest

from punchlist.views.pulls.conversation import Comment, Conversation, Thread
from punchlist.views.pulls.orders import find_orders, parse_order, refuse_order


def say(body, author="ann", **more):
    return Comment(id="1", author=author, body=body, **more)


@pytest.mark.parametrize(
    ("body", "verb", "words"),
    [
        ("/punchlist apply", "apply", ""),
        ("/punchlist dismiss it is a fixture\r\nThanks!\r\n", "dismiss", "it is a fixture"),
        ("/punchlist \t apply \t\n", "apply", ""),
        ("/punchlist Dismiss: as designed", "dismiss", "as designed"),
        ("/punchlist dismiss : as designed", "dismiss", "as designed"),
        ("/punchlist fix, please", "fix,", "please"),  # which is answered with the list of orders
        ("Thanks!\r\n/punchlist apply", None, ""),
        ("see /punchlist apply", None, ""),
    ],
)
def test_an_order_is_the_first_line(body, verb, words):
    order = parse_order(say(body))
    assert (order and order.verb) == verb
    assert (order.words if order else "") == words


@pytest.mark.parametrize(
    ("body", "author", "bot", "why"),
    [
        ("/punchlist apply", "guest", False, "guest may not write to the repository"),
        ("/punchlist apply", "ann", True, "a program gave it, and only people give orders"),
        (
            "/punchlist merge",
            "ann",
            False,
            "there is no such order; there are fix, apply, stack, dismiss, explain, again",
        ),
        ("/punchlist dismiss", "ann", False, "a dismissal needs a reason: /punchlist dismiss WHY"),
        ("/punchlist dismiss because", "ann", False, "say it in the thread of an item"),
        ("/punchlist apply", "ann", False, ""),
    ],
)
def test_only_people_who_may_write_are_obeyed(body, author, bot, why):
    order = parse_order(say(body, author, bot=bot))
    assert refuse_order(order, frozenset({"ann"})) == why


def test_our_own_comments_give_no_orders():
    own = say("/punchlist apply", "punchy", own=True)
    thread = Thread(id="t", path="a", comments=(own, say("/punchlist explain")))
    found = find_orders(Conversation(viewer="punchy", comments=(own,), threads=(thread,)))
    assert [(order.verb, order.thread) for order in found] == [("explain", "t")]
