"""A stacked pull request: which fixes it holds, what it says, who closed it, and whose commits are ours."""

import pytest
from msgspec.structs import replace
from pull_model import PULL, PullModel, make_item, make_picture

from punchlist.model.item.item import Status
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.views.pulls.board import Settled, make_board, own_threads
from punchlist.views.pulls.difference import plan_updates
from punchlist.views.pulls.marks import BODY_LIMIT, read_mark
from punchlist.views.pulls.markup import GITLAB
from punchlist.views.pulls.stack import (
    StackedPull,
    StackLink,
    end_body,
    find_refused,
    hash_key,
    is_marked,
    parse_branch,
)
from punchlist.views.pulls.stack_text import list_offered, make_stack

FIXED, CLAIMED = make_item(1, Status.FIXED), make_item(2, Status.FIXED, proofs=(Proof(ProofClass.CLAIM, "I did"),))  # fmt: skip
LEFT, DISMISSED = make_item(3), make_item(4, Status.DISMISSED)
RUN = make_picture(FIXED, CLAIMED, LEFT, DISMISSED).run
TIP = "c" * 40


def make_pull(number, items=(1,), *, body="", **more):
    made = make_stack(PULL, RUN, items, {}, TIP)
    values = {"title": made.title, "base_name": "topic", "open": True, "own": True, **more}
    url = f"https://github.example/acme/shop/pull/{number}"
    return StackedPull(number=number, url=url, body=body or made.body, **values)


def test_only_proven_fixes_are_offered_and_not_those_that_a_person_closed():
    assert list_offered(RUN, {}, ()) == {1}
    assert list_offered(RUN, {1: "key"}, {hash_key("key")}) == set()


def test_it_says_what_it_holds_and_is_known_again():
    board = make_stack(PULL, RUN, [1], {1: "key"}, TIP)
    assert (board.branch, board.base_name) == ("punchlist/pr-7", "topic")
    assert board.title == "Punchlist: 1 proven fix for #7"
    assert "- **major** Defect 1 `a.py:3`: analyzer clean" in board.body
    assert is_marked(board.body, "punchlist/pr-7")
    assert not is_marked(board.body, "punchlist/pr-8")
    assert make_pull(8, body=board.body).fixes == {hash_key("key")}
    assert make_pull(8, body=board.body).tip == TIP
    assert parse_branch("punchlist/pr-7") == 7
    assert parse_branch("punchlist/pr-07") is parse_branch("topic") is None
    assert make_stack(replace(PULL, markup=GITLAB), RUN, [1], {}, TIP).title.endswith("for !7")


def test_text_of_strangers_neither_forges_its_mark_nor_makes_it_too_long():
    evil = f"<!-- punchlist-tip {'e' * 40} --><!-- punchlist-fixes 000000000000 -->\n/merge\n<!-- punchlist:stack 9 -->"
    items = [make_item(n, Status.FIXED, title=evil * 9, path=evil.replace("\n", " ")) for n in range(1, 400)]  # fmt: skip
    run = make_picture(*items).run
    pull = replace(PULL, markup=GITLAB)
    board = make_stack(pull, run, [item.number for item in items], {}, TIP)
    assert len(board.body) <= BODY_LIMIT
    assert len(make_pull(8, body=board.body).fixes) == 399
    assert make_pull(8, body=board.body).tip == TIP
    assert read_mark(board.body).key == "7"
    assert "\n/merge" not in board.body


def make_run(count, path="a.py"):
    return make_picture(*(make_item(n, Status.FIXED, path=path) for n in range(1, count + 1))).run


def test_however_long_its_rows_are_all_its_fixes_are_known_again_also_once_it_is_closed():
    run = make_run(1500, path="component/" * 100)
    board = make_stack(PULL, run, list(run.items), {}, TIP)
    shown = board.body.count("- **major** Defect")
    assert 20 < shown < 200
    assert f"\n- and {1500 - shown} more\n\nLater runs" in board.body
    closed = make_pull(8, body=board.body, open=False)
    assert (len(closed.fixes), closed.tip) == (1500, TIP)
    assert list_offered(run, {}, find_refused([closed])) == set()
    ended = make_pull(9, body=end_body(closed, "no fix is left that `topic` lacks"), open=False)
    assert ended.fixes == closed.fixes
    assert "**Closed by punchlist**: no fix is left" in ended.body


def test_a_closed_one_with_more_fixes_than_it_can_list_refuses_all_until_there_is_a_newer_one():
    run = make_run(4100)
    board = make_stack(PULL, run, list(run.items), {}, TIP)
    assert len(board.body) <= BODY_LIMIT
    closed, newer = make_pull(8, body=board.body, open=False), make_pull(9, items=[3])
    assert list_offered(run, {}, find_refused([closed])) == set()
    offered = list_offered(run, {}, find_refused([closed, newer]))
    assert 3 in offered
    assert 0 < len(offered) < 200, "those that it lists stay refused"


def test_one_whose_line_ends_the_forge_has_changed_keeps_its_description_when_it_is_closed():
    have = make_pull(8)
    changed = replace(have, body=have.body.replace("\n", "\r\n"))
    assert end_body(changed, "it is over") == end_body(have, "it is over")
    ended = replace(changed, body=end_body(changed, "it is over"), open=False)
    assert (ended.fixes, ended.refused) == (have.fixes, False)
    assert "Defect 1" in ended.body


def test_the_newest_that_had_a_fix_tells_whether_people_want_it():
    closed, key = make_pull(8, open=False), hash_key(FIXED.fingerprint)
    assert closed.refused
    assert find_refused([closed]) == {key}
    ended = make_pull(9, open=False, body=end_body(closed, "nothing is left"))
    assert not ended.refused
    assert find_refused([ended, closed]) == frozenset()
    assert find_refused([closed, make_pull(9)]) == frozenset()
    assert not make_pull(9, open=False, merged=True).refused


@pytest.mark.parametrize("place", ["thread", "summary"])
def test_items_link_to_it_as_long_as_their_fix_is_not_in_the_branch(place):
    link = StackLink(name="#8", url="https://github.example/acme/shop/pull/8", items=frozenset({1}))

    def told(**more):
        board = make_board(make_picture(FIXED, LEFT, stack=link, **more))
        return board.summary if place == "summary" else "".join(each.body for each in board.threads)

    assert "ready** in [#8](" in told() or "a fix is ready in [#8](" in told()
    assert "[#8](" not in told(landed=True).replace("merge [#8](", "")


def test_a_thread_of_ours_ends_once_the_fix_of_an_earlier_run_is_in_the_branch():
    model, fix = PullModel(), Settled(commit="d" * 40, proofs="analyzer clean")
    model.do_all(plan_updates(make_board(make_picture(FIXED)), model.now))
    for _ in range(2):
        picture = make_picture(conversation=model.now, ended={FIXED.fingerprint: fix})
        model.do_all(plan_updates(make_board(picture), model.now))
    [(_, thread)] = own_threads(model.now)
    assert thread.resolved
    assert thread.comments[0].body.count("**Fixed** in [`dddddddddd`]") == 1


OWN = """tree {tree}
parent {tree}
author Punchlist <punchlist@localhost> 1700000000 +0000
committer {committer}

Fix it

Punchlist-Run: 260101-abcdef
"""
