"""What every state does with notices of forges: test modules import all of it and say which state it is.

They give the fixture `open_state`: each call opens the same state as another process would.
"""

import pytest
from serving_contract import at_once

from punchlist.errors import AlreadyRunning
from punchlist.ports.serving.pull_notices import PullNotice, Taken

HEAD, NEXT = "a" * 40, "b" * 40


def notice(number=7, head="", **more):
    return PullNotice(forge="github", repository="acme/shop", number=number, head=head, **more)


def put(state, delivery, given, most=1000):
    return state.pulls.put("r1", given, (f"id {delivery}", f"body {delivery}"), most)


def test_a_notice_is_there_in_every_process_until_it_is_answered(open_state):
    first = open_state()
    assert put(first, "d1", notice(head=HEAD)) is Taken.KEPT
    first.close()
    (kept,) = open_state().pulls.list_all()
    assert (kept.key, kept.notice.head, kept.tries, kept.over) == (("r1", 7), HEAD, 0, False)
    assert (kept.rest, kept.age < 60) == (0, True)
    assert open_state().pulls.find("r1", 7) is not None
    assert open_state().pulls.finish(kept)
    assert open_state().pulls.list_all() == ()
    assert not open_state().pulls.finish(kept), "it is gone"


def test_a_delivery_counts_once_by_its_id_and_by_its_body(open_state):
    state = open_state()
    assert state.pulls.put("r1", notice(), ("id 1", "body 1"), 9) is Taken.KEPT
    state.pulls.finish(state.pulls.find("r1", 7))
    for keys in (("id 1", "body 1"), ("id 2", "body 1"), ("id 1", "body 2")):
        assert open_state().pulls.put("r1", notice(), keys, 9) is Taken.KNOWN
    assert open_state().pulls.list_all() == ()
    servers = [open_state() for _ in range(4)]
    results = at_once(*(lambda each=each: put(each, "d9", notice(9)) for each in servers))
    assert sorted(results) == ["kept", "known", "known", "known"]


def test_a_newer_notice_takes_the_place_of_one_that_waits_and_is_not_forgotten_with_it(open_state):
    pulls, state = open_state().pulls, open_state()
    put(state, "d1", notice(head=HEAD))
    put(state, "d2", notice(8))
    old = pulls.find("r1", 7)
    put(state, "d3", notice(head=NEXT, again=True, group=HEAD))
    assert not pulls.finish(old)
    assert not pulls.put_off(old, "x", 60)
    assert not pulls.give_up(old, "x")
    assert [each.notice for each in pulls.list_all()] == [
        notice(head=NEXT, again=True, group=HEAD),
        notice(8),
    ]
    put(state, "d4", notice())
    kept = pulls.find("r1", 7)
    assert kept.notice == notice(head=NEXT, again=True, group=HEAD), "a comment pushes nothing"
    assert kept.asked >= kept.age, "asked for with the notice before"
    assert pulls.find("r1", 8).asked is None


def test_what_is_put_off_says_why_and_what_is_over_is_tried_after_another_notice(open_state):
    state, pulls = open_state(), open_state().pulls
    put(state, "d1", notice(head=HEAD))
    assert pulls.put_off(pulls.find("r1", 7), "the forge\udcff is away", 3600)
    kept = pulls.find("r1", 7)
    assert (kept.tries, kept.why, 3590 < kept.rest <= 3600) == (1, "the forge\udcff is away", True)
    assert put(state, "d1", notice(head=HEAD)) is Taken.KNOWN
    assert pulls.find("r1", 7).rest, "a repeat does not hurry"
    assert pulls.give_up(kept, "it is closed")
    assert [(each.over, each.why, each.tries) for each in pulls.list_all()] == [(True, "it is closed", 2)]  # fmt: skip
    assert put(state, "d1", notice(head=HEAD)) is Taken.KEPT, "delivered again by a person"
    again = pulls.find("r1", 7)
    assert (again.over, again.tries, again.why, again.rest) == (False, 0, "", 0)
    pulls.give_up(again, "it is closed")
    put(state, "d2", notice())
    assert pulls.find("r1", 7).notice.head == "", "what is over says nothing more"


def test_so_many_may_wait_and_each_may_be_replaced(open_state):
    state = open_state()
    for number in (1, 2):
        assert put(state, f"d{number}", notice(number), most=2) is Taken.KEPT
    assert put(state, "d3", notice(3), most=2) is Taken.FULL
    assert put(state, "d4", notice(2), most=2) is Taken.KEPT
    state.pulls.give_up(state.pulls.find("r1", 1), "x")
    assert put(state, "d3", notice(3), most=2) is Taken.KEPT, "it was not taken before"
    assert put(state, "d5", notice(1), most=2) is Taken.FULL


def test_one_process_at_a_time_answers_a_pull_request(open_state):
    mine, others = open_state().pulls, open_state().pulls
    with mine.hold("r1", 7) as lease:
        for each in (mine, others):
            with pytest.raises(AlreadyRunning):
                each.hold("r1", 7)
        with others.hold("r1", 8), others.hold("r2", 7):
            assert not lease.lost
    others.hold("r1", 7).release()
