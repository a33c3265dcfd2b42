"""What every forge promises: a board is shown once, whatever goes wrong, by no call that the forge's schema refuses; all that is
said is heard.
"""

import asyncio

import pytest
from forge_kinds import KINDS, Clock
from forge_state import LOST, Fault
from msgspec.structs import replace

from needs import rarely
from punchlist.adapters.rest.retry import Unavailable
from punchlist.ports.forge.forge import WriteRefused
from punchlist.views.pulls.board import Annotation, Board, BoardReply, BoardThread, CheckResult
from punchlist.views.pulls.marks import MarkKind, add_mark

HEAD = "h" * 40


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request):
    return KINDS[request.param]


@pytest.fixture(scope="module")
def server(kind):
    with kind.server() as standin:
        yield standin


@pytest.fixture
def state(server):
    yield server.fresh(hunks={"a.py": [(1, 20)]})
    assert server.state.problems == []


@pytest.fixture
def forge(kind, server, state):
    """Makes forges, each as a process of its own has it; time passes when one waits."""
    return lambda: kind.open(server, Clock().pacing)


def thread(key, **more):
    return BoardThread(**{"key": key, "path": "a.py", "line": 3,
                          "body": add_mark(f"Item {key}", MarkKind.ITEM, key), **more})  # fmt: skip


def board(*threads, replies=(), summary="All", notes=0):
    annotations = [
        Annotation(path="a.py", start_line=n + 1, end_line=n + 1, annotation_level="warning", message="m", title="t")
        for n in range(notes)
    ]  # fmt: skip
    check = CheckResult(
        head=HEAD,
        conclusion="failure",
        title="3 unresolved",
        summary="s",
        annotations=tuple(annotations),
    )
    return Board(
        summary=add_mark(summary, MarkKind.SUMMARY),
        check=check,
        threads=threads,
        replies=tuple(replies),
    )


def show(forge, wanted):
    async def work():
        return await forge.show(await forge.change(7), wanted)

    return asyncio.run(work())


def hear(forge):
    async def work():
        return await forge.heard(await forge.change(7))

    return asyncio.run(work())


def bodies(state):
    return sorted(each["comments"][0]["body"].split("\n")[0] for each in state.own_threads())


def test_a_board_is_shown_once_and_edited_in_place(forge, state):
    first = show(forge(), board(thread("k1"), thread("k2", first=1), notes=120))
    assert len(first.updates) == 3
    assert show(forge(), board(thread("k1"), thread("k2", first=1), notes=120)).updates == ()
    changed = thread("k1", body=add_mark("Other words", MarkKind.ITEM, "k1"), resolve=True)
    assert len(show(forge(), board(changed, thread("k2"), summary="Less", notes=120)).updates) == 3
    assert bodies(state) == ["Item k2", "Other words"]
    assert [bool(each["resolved"]) for each in state.threads] == [True, False]
    assert len(state.comments) == 1
    assert state.concluded() == [(HEAD, "failure")]


def test_replies_stand_once_in_threads_of_others_and_these_are_resolved(forge, state):
    theirs = state.add_thread("a.py", 3, "Fix it", "rabbit", bot=True)
    reply = BoardReply(thread=theirs["id"], body=add_mark("Fixed", MarkKind.REPLY), resolve=True)
    for _ in range(2):
        show(forge(), board(replies=[reply]))
    assert [each["author"] for each in theirs["comments"]] == ["rabbit", "punchy"]
    assert theirs["resolved"] == "punchy"
    show(forge(), board(replies=[replace(reply, resolve=False)]))
    assert not theirs["resolved"]


FAULTS = ["limit", LOST, Fault(502), Fault(503, effect=True)]
CASES = [(fault, at, lag) for lag in (0, 4) for fault in FAULTS for at in range(6)]
DAILY = [case for case in CASES if case[2] == 0 or case[0] is LOST]


@pytest.mark.parametrize(
    ("fault", "at", "lag"), [*DAILY, *rarely(*(case for case in CASES if case not in DAILY))]
)
def test_nothing_is_twice_when_a_request_goes_wrong(forge, server, state, fault, at, lag):
    state.lag = lag
    theirs = state.add_thread("a.py", 3, "Fix it", "rabbit")
    theirs["born"] = theirs["comments"][0]["born"] = 0
    state.faults = [None] * at + [server.limited if fault == "limit" else fault]
    reply = BoardReply(thread=theirs["id"], body=add_mark("Fixed", MarkKind.REPLY), resolve=True)
    wanted = board(thread("k1"), thread("k2"), replies=[reply])
    show(forge(), wanted)
    state.reads += 100  # lists show everything in the end
    show(forge(), wanted)
    assert bodies(state) == ["Item k1", "Item k2"]
    assert len(theirs["comments"]) == 2
    assert len(state.comments) == 1
    assert theirs["resolved"]


def test_what_a_killed_process_posted_and_a_list_did_not_show_is_deleted_once_it_is_seen(
    forge, state
):
    wanted = board(thread("k1"), thread("k2"))
    show(forge(), wanted)
    state.lag = 1000
    show(forge(), wanted)
    assert len(state.own_threads()) == 4
    state.lag = 0
    show(forge(), wanted)
    assert bodies(state) == ["Item k1", "Item k2"]
    assert len(state.comments) == 1


def test_a_line_that_the_forge_refuses_goes_to_the_file_and_then_nowhere(kind, forge, state):
    line = 99 if kind.about_files else None
    shown = show(forge(), board(thread("k1", line=line), thread("k2", path="other.py", line=None)))
    assert shown.unplaced == ({"k2"} if kind.about_files else {"k1", "k2"})
    assert [(each["path"], each["line"]) for each in state.threads] == (
        [("a.py", None)] if kind.about_files else []
    )


def test_a_token_that_may_not_resolve_leaves_a_reply_alone(forge, state):
    state.may_resolve = False
    theirs = state.add_thread("a.py", 3, "Fix it", "ann")
    reply = BoardReply(thread=theirs["id"], body=add_mark("Fixed", MarkKind.REPLY), resolve=True)
    shown = show(forge(), board(replies=[reply]))
    assert shown.notes == ("the token may not resolve threads; they have a reply alone",)
    assert len(theirs["comments"]) == 2


@pytest.mark.parametrize("status", [403, 404])
def test_a_token_that_may_not_comment_is_told_what_it_needs(forge, state, status):
    """Forges hide what a token may not see: not found can mean not allowed."""
    state.denied = status
    for wanted in (board(), board(thread("k1"))):
        with pytest.raises(WriteRefused, match=f"answered {status}") as raised:
            show(forge(), wanted)
        assert "it needs" in raised.value.hint
    assert state.writes == []


def test_a_read_that_goes_wrong_is_tried_again(forge, server, state):
    state.add_thread("a.py", 3, "Fix it", "rabbit")
    for fault in (server.limited, Fault(502), Fault(429, headers={"Retry-After": "7"})):
        for at in range(4):
            state.read_faults = [None] * at + [fault]
            assert len(hear(forge()).threads) == 1


def test_a_comment_is_never_longer_than_the_forge_takes(forge, state):
    long = "word " * 20_000
    told = thread("k1", body=add_mark(long, MarkKind.ITEM, "k1"))
    assert show(forge(), board(told, summary=long)).notes == ()
    assert show(forge(), board(told, summary=long)).updates == ()
    assert len(state.threads) == len(state.comments) == 1


def test_all_that_is_said_is_heard_with_who_may_write(kind, forge, state):
    state.permissions = {"ann": "write", "guest": "read"}
    for n in range(60):
        state.add_thread("a.py", n % 20 + 1, f"Defect {n}", "rabbit", bot=True)
    long = state.add_thread("a.py", 3, "Much said", "ann", first=2)
    for n in range(150):
        state.reply(long, f"/punchlist explain {n}", "ann" if n else "guest")
    state.comments.append(state.add_comment("/punchlist apply", "stranger"))
    heard = hear(forge())
    assert len(heard.threads) == 61
    last = heard.threads[-1]
    assert (last.path, last.first, last.line, len(last.comments)) == (
        "a.py",
        2 if kind.about_ranges else None,
        3,
        151,
    )
    assert [each.author for each in last.comments[:3]] == ["ann", "guest", "ann"]
    assert heard.writers == {"ann"}
    assert [each.body for each in heard.comments] == ["/punchlist apply"]
    assert [each.comments[0].bot for each in heard.threads] == [True] * 60 + [False]


def test_a_pull_request_is_described_and_found_by_its_branch(kind, forge, state):
    pull = asyncio.run(forge().change(7))
    assert (pull.number, pull.base, pull.head) == (7, state.base, state.head)
    assert (pull.base_name, pull.head_name, pull.ref) == ("main", "topic", kind.ref)
    assert (pull.url, pull.repository, pull.author) == (state.page, kind.repository, "ann")
    assert (pull.fork, pull.open, pull.title) == (False, True, "A change")
    assert asyncio.run(forge().find_pull("topic")) == 7
    assert asyncio.run(forge().find_pull("other")) is None
    state.fork = True
    assert asyncio.run(forge().change(7)).fork


def test_a_pull_request_that_is_missing_is_said(forge, server, state):
    with pytest.raises(Unavailable, match=f"request 8: {server.name} answered 404"):
        asyncio.run(forge().change(8))
