"""What Gitea and Forgejo lack is said, and not asked for."""

import asyncio

import pytest
from forge_kinds import KINDS, Clock
from gitea_pulls import GiteaServer
from msgspec.structs import replace
from test_forge_contract import board, hear, show, thread

from punchlist.adapters.forges.gitea.api import Abilities, parse_abilities
from punchlist.adapters.rest.retry import Unavailable
from punchlist.app.pulls.connect import parse_pull_name
from punchlist.views.pulls.board import BoardReply
from punchlist.views.pulls.marks import MarkKind, add_mark

OLD = "1.22.3"


@pytest.fixture(scope="module")
def server():
    with GiteaServer() as standin:
        yield standin


@pytest.fixture
def state(server):
    yield server.fresh(hunks={"a.py": [(1, 20)]})
    assert server.state.problems == []


@pytest.fixture
def forge(server, state):
    return lambda: KINDS["gitea"].open(server, Clock().pacing)


@pytest.mark.parametrize(
    ("version", "able"),
    [
        ("1.22.3", Abilities()),
        ("1.25.9", Abilities()),
        ("1.26.0", Abilities(resolve=True)),
        ("1.27.0+dev-12", Abilities(resolve=True, reply=True)),
        ("2.0.1", Abilities(resolve=True, reply=True)),
        ("12.0.1+gitea-1.22.0", Abilities()),  # Forgejo
        ("", Abilities()),
        ("main", Abilities()),
    ],
)
def test_what_a_server_can_do_is_told_by_its_version(version, able):
    assert parse_abilities(version) == able


def test_where_threads_cannot_be_answered_a_review_at_the_line_names_what_it_answers(forge, state):
    state.version = OLD
    theirs = state.add_thread("a.py", 3, "Fix it", "rabbit", bot=True)
    state.add_thread("a.py", 3, "Another at the same line", "ann")
    reply = BoardReply(thread=theirs["id"], body=add_mark("Fixed", MarkKind.REPLY), resolve=True)
    assert len(show(forge(), board(thread("k1"), replies=[reply])).updates) == 3
    assert show(forge(), board(thread("k1"), replies=[reply])).updates == ()
    heard = hear(forge())
    assert [[each.author for each in one.comments] for one in heard.threads] == [
        ["rabbit", "punchy"],
        ["ann"],
        ["punchy"],
    ]
    assert not heard.resolvable
    other = replace(reply, body=add_mark("Not fixed", MarkKind.REPLY), resolve=False)
    assert len(show(forge(), board(thread("k1"), replies=[other])).updates) == 1
    assert show(forge(), board(thread("k1"), replies=[other])).updates == ()
    assert len(state.threads) == 4
    assert not any(each["resolved"] for each in state.threads)


def test_a_comment_of_others_that_names_one_it_answers_stays_a_thread(forge, state):
    state.version = OLD
    theirs = state.add_thread("a.py", 3, "Fix it", "ann")
    forged = f"Mine\n<!-- punchlist-answers {theirs['id']} -->\n<!-- punchlist:reply -->"
    state.add_thread("a.py", 3, forged, "guest")
    assert [len(each.comments) for each in hear(forge()).threads] == [1, 1]


def test_a_token_that_may_not_ask_who_may_write_obeys_no_order_and_says_so(forge, state):
    state.permissions, state.may_ask = {"ann": "write"}, False
    state.comments.append(state.add_comment("/punchlist apply", "ann"))
    heard = hear(forge())
    assert heard.writers == frozenset()
    assert "must be an administrator of the repository" in heard.unread[0]
    state.may_ask = True
    assert hear(forge()).writers == {"ann"}


def test_a_token_that_may_set_no_status_says_so_and_the_rest_is_shown(forge, state):
    state.may_check = False
    assert show(forge(), board()).notes == ("the token may not set commit statuses",)
    assert len(state.comments) == 1


def test_a_line_that_the_diff_does_not_show_is_not_placed(forge, state):
    assert show(forge(), board(thread("k1", line=99), thread("k2"))).unplaced == {"k1"}
    assert len(state.threads) == 1


def test_a_review_that_requests_changes_is_a_demand(forge, state):
    state.reviews.append(
        {**state.add_comment("Please change", "ann"), "state": "CHANGES_REQUESTED"}
    )
    state.reviews.append(state.add_comment("Fine", "bob"))
    assert [(each.author, each.demands) for each in hear(forge()).reviews] == [
        ("ann", True),
        ("bob", False),
    ]


def test_a_status_is_set_once_and_again_when_it_differs(forge, state):
    wanted = board()
    for check in (
        wanted.check,
        wanted.check,
        replace(wanted.check, conclusion="neutral"),
        wanted.check,
    ):
        show(forge(), replace(wanted, check=check))
    assert [each["state"] for each in state.statuses] == ["failure", "success", "failure"]
    assert state.statuses[1]["description"].startswith("neutral: ")


def test_a_token_that_is_not_accepted_is_said(forge, server, state):
    server.is_signed = lambda headers: False
    try:
        with pytest.raises(Unavailable, match="Gitea answered 401"):
            asyncio.run(forge().change(7))
    finally:
        del server.is_signed


def test_the_address_of_a_pull_request_names_it():
    for address in (
        "https://git.example/acme/shop/pulls/7",
        "https://git.example/sub/acme/shop/pulls/7/files",
    ):
        named = parse_pull_name(address)
        assert (named.kind, named.number, named.repository) == ("gitea", 7, "acme/shop")
