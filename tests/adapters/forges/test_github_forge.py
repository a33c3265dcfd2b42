"""Showing a board on GitHub: nothing twice, whatever goes wrong; no call that GitHub's schemas refuse."""

import asyncio
from pathlib import Path

import pytest
from graphql import parse, validate
from msgspec.structs import replace
from pulls_standin import LIMITED, LOST, SCHEMA, TOKEN, WEB, Fault, PullsStandin, PullsState

from punchlist.adapters.forges.github import queries
from punchlist.adapters.forges.github.forge import GithubForge, GithubPlace
from punchlist.adapters.git.command import Git
from punchlist.adapters.trackers.github.retry import Pacing, Unavailable
from punchlist.views.pulls.board import Annotation, Board, BoardReply, BoardThread, CheckResult
from punchlist.views.pulls.marks import MarkKind, add_mark

HEAD = "h" * 40


@pytest.fixture(scope="module")
def server():
    with PullsStandin(PullsState()) as standin:
        yield standin


@pytest.fixture
def state(server):
    server.state = PullsState(hunks={"a.py": [(1, 20)]})
    yield server.state
    assert server.state.problems == []


class Clock:
    now = 1e9

    async def sleep(self, seconds):
        self.now += seconds

    def __call__(self):
        return self.now


@pytest.fixture
def forge(server, state):
    """Makes forges, each as a process of its own has it; time passes when one waits."""

    async def token(host):
        return TOKEN

    def make():
        clock = Clock()
        pacing = Pacing(sleep=clock.sleep, clock=clock, now=clock, jitter=lambda: 0.5)
        place = GithubPlace(token=token, git=Git(Path("/")), repository="acme/shop", api=server.api)
        return GithubForge(place, pacing)

    return make


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


def bodies(state):
    return sorted(each["comments"][0]["body"].split("\n")[0] for each in state.own_threads())


@pytest.mark.parametrize(
    "query",
    [
        value
        for name, value in vars(queries).items()
        if isinstance(value, str) and name.isupper() and name[0] != "_"
    ],
)
def test_queries_fit_the_schema(query):
    assert validate(SCHEMA, parse(query)) == []


def test_a_board_is_shown_once_and_edited_in_place(forge, state):
    first = show(forge(), board(thread("k1"), thread("k2", first=1), notes=120))
    assert len(first.updates) == 3
    assert show(forge(), board(thread("k1"), thread("k2", first=1), notes=120)).updates == ()
    changed = thread("k1", body=add_mark("Other words", MarkKind.ITEM, "k1"), resolve=True)
    assert len(show(forge(), board(changed, thread("k2"), summary="Less", notes=120)).updates) == 3
    assert bodies(state) == ["Item k2", "Other words"]
    assert [bool(each["resolved"]) for each in state.threads] == [True, False]
    assert len(state.comments) == 1
    assert [len(run["annotations"]) for run in state.check_runs] == [120]


def test_replies_stand_once_in_threads_of_others_and_these_are_resolved(forge, state):
    theirs = state.add_thread("a.py", 3, "Fix it", "rabbit", bot=True)
    reply = BoardReply(thread=theirs["id"], body=add_mark("Fixed", MarkKind.REPLY), resolve=True)
    for _ in range(2):
        show(forge(), board(replies=[reply]))
    assert [each["author"] for each in theirs["comments"]] == ["rabbit", "punchy"]
    assert theirs["resolved"] == "punchy"
    show(forge(), board(replies=[replace(reply, resolve=False)]))
    assert not theirs["resolved"]


@pytest.mark.parametrize("fault", [LIMITED, LOST, Fault(502), Fault(503, effect=True)], ids=str)
@pytest.mark.parametrize("at", range(6))
@pytest.mark.parametrize("lag", [0, 4])
def test_nothing_is_twice_when_a_request_goes_wrong(forge, state, fault, at, lag):
    state.lag = lag
    theirs = state.add_thread("a.py", 3, "Fix it", "rabbit")
    theirs["born"] = theirs["comments"][0]["born"] = 0
    state.faults = [None] * at + [fault]
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


def test_a_line_that_github_refuses_goes_to_the_file_and_then_nowhere(forge, state):
    shown = show(forge(), board(thread("k1", line=99), thread("k2", path="other.py")))
    assert shown.unplaced == {"k2"}
    assert [(each["path"], each["line"]) for each in state.threads] == [("a.py", None)]


def test_a_token_that_may_make_no_check_runs_sets_a_status_once(forge, state):
    state.may_check = False
    for _ in range(2):
        show(forge(), board())
    assert [(each["context"], each["state"]) for each in state.statuses] == [
        ("punchlist", "failure")
    ]


def test_a_token_that_may_not_resolve_leaves_a_reply_alone(forge, state):
    state.may_resolve = False
    theirs = state.add_thread("a.py", 3, "Fix it", "ann")
    reply = BoardReply(thread=theirs["id"], body=add_mark("Fixed", MarkKind.REPLY), resolve=True)
    shown = show(forge(), board(replies=[reply]))
    assert shown.notes == ("the token may not resolve threads; they have a reply alone",)
    assert len(theirs["comments"]) == 2


def test_an_unfinished_list_of_annotations_is_completed(forge, state):
    state.faults = [
        None,
        None,
        Fault(422, message="no"),
    ]  # summary, check run, then its second batch
    with pytest.raises(Exception, match="422"):
        show(forge(), board(notes=70))
    assert [len(run["annotations"]) for run in state.check_runs] == [50]
    show(forge(), board(notes=70))
    assert [len(run["annotations"]) for run in state.check_runs] == [70]


def test_all_that_is_said_is_heard_with_who_may_write(forge, state):
    state.permissions = {"ann": "write", "guest": "read"}
    for n in range(60):
        state.add_thread("a.py", n % 20 + 1, f"Defect {n}", "rabbit", bot=True)
    long = state.add_thread("a.py", 3, "Much said", "ann")
    for n in range(150):
        state.reply(long, f"/punchlist explain {n}", "ann" if n else "guest")
    state.comments.append(state.add_comment("/punchlist apply", "stranger"))
    state.reviews.append(
        {**state.add_comment("Please change", "ann"), "state": "CHANGES_REQUESTED"}
    )
    run = {"id": 5, "name": "eslint", "head_sha": HEAD, "annotations": [
        {"path": "a.py", "start_line": 2, "end_line": 2, "annotation_level": "failure", "message": "no-undef",
         "start_column": None, "end_column": None, "raw_details": None}]}  # fmt: skip
    state.check_runs += [run, {**run, "id": 6, "name": "punchlist"}]
    state.alerts = [{
        "number": 4, "html_url": f"{WEB}/security/code-scanning/4", "state": "open",
        "rule": {"id": "py/sql", "severity": "error", "description": "SQL injection"}, "tool": {"name": "CodeQL"},
        "most_recent_instance": {"message": {"text": "Query from user input"}, "state": "open",
                                 "location": {"path": "a.py", "start_line": 9, "end_line": 9}, "ref": "refs/pull/7/merge"},
    }]  # fmt: skip

    async def work():
        made = forge()
        return await made.heard(await made.change(7))

    heard = asyncio.run(work())
    assert len(heard.threads) == 61
    assert len(heard.threads[-1].comments) == 151
    assert heard.writers == {"ann"}
    assert [each.demands for each in heard.reviews] == [True]
    assert [(each.source, each.line, each.rule) for each in heard.reports] == [
        ("eslint", 2, ""),
        ("CodeQL", 9, "py/sql"),
    ]


def test_a_revoked_token_and_a_missing_pull_request_are_said(forge, state):
    with pytest.raises(Unavailable, match="pull request 8: GitHub answered 404"):
        asyncio.run(forge().change(8))
