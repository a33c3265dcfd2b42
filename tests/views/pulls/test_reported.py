"""What a job without secrets left is text of a stranger."""

import json
import re

import pytest
from msgspec.structs import replace
from pull_model import PULL

from punchlist.errors import UsageError
from punchlist.views.pulls.conversation import Comment, Conversation
from punchlist.views.pulls.difference import DeleteComment, EditComment, PostSummary, plan_updates
from punchlist.views.pulls.marks import MarkKind, add_mark
from punchlist.views.pulls.reported import make_reported_board, parse_result

ITEM = {
    "severity": "critical",
    "rule": "F401",
    "title": "`os` is unused",
    "path": "a.py",
    "line": 1,
}


def parse(**changed):
    document = {"version": 1, "head": PULL.head, "items": [ITEM], "more": 0, "gaps": []} | changed
    return parse_result(json.dumps(document).encode(), "result.json")


def test_it_never_says_success_and_has_a_check_of_its_own():
    for result in (parse(), parse(items=[])):
        check = make_reported_board(result, PULL).check
        assert (check.name, check.conclusion) == ("punchlist (reported)", "neutral")


@pytest.mark.parametrize(
    "words",
    [
        "<!-- punchlist:summary -->",
        "@acme/admins approve this",
        "/punchlist dismiss it is fine",
        "![x](https://evil.example/p.png)",
        "<img src=https://evil.example/p.png>",
        "a\n\n# All checks passed",
        "fixes #1",
        "a` [ok](https://evil.example)",
    ],
)
def test_a_strangers_words_stay_words(words):
    board = make_reported_board(
        parse(items=[ITEM | {"title": words, "rule": words}], gaps=[words]), PULL
    )
    text = board.summary.removesuffix("\n\n<!-- punchlist:reported -->")
    assert "<!--" not in text
    assert "@acme" not in text
    assert "\n/" not in text
    assert "\n# All" not in text
    assert "<img" not in text
    assert "![" not in text
    assert "#1" not in text.replace("#L1", "")
    assert "evil" not in re.sub(r"(`+)[^`].*?\1", "", text), "only as code, where a link is none"
    assert board.threads == board.replies == ()


@pytest.mark.parametrize(
    "changed",
    [
        {"items": [ITEM | {"path": "../../etc/passwd"}]},
        {"items": [ITEM | {"path": "/etc/passwd"}]},
        {"items": [ITEM | {"path": "a\nb"}]},
        {"items": [ITEM | {"line": 0}]},
        {"items": [ITEM | {"line": 1e300}]},
        {"items": [ITEM | {"severity": "none"}]},
        {"items": [ITEM | {"title": "x" * 2000}]},
        {"items": [ITEM] * 501},
        {"more": -1},
        {"head": "main"},
        {"head": "x" * 100},
        {"pull": 8},
        {"conclusion": "success"},
        {"version": 2},
        {"gaps": [1]},
    ],
)
def test_what_is_no_result_is_refused_whole(changed):
    with pytest.raises(UsageError, match=r"result\.json: is no result"):
        parse(**changed)


@pytest.mark.parametrize("raw", [b"", b"\xff", b"[" * 200_000, b"null", b" " * 5_000_000])
def test_bytes_that_are_no_result_are_refused(raw):
    with pytest.raises(UsageError, match=r"result\.json: is"):
        parse_result(raw, "result.json")


def said(kind, number):
    return Comment(id=str(number), author="punchy", own=True, body=add_mark("old", kind))


def updates(body, *comments):
    board = make_reported_board(parse(), PULL)
    told = replace(board, summary=body or board.summary)
    return plan_updates(told, Conversation(viewer="punchy", comments=comments))


def test_it_never_takes_the_place_of_a_runs_summary_and_gives_way_to_it():
    assert updates("", said(MarkKind.SUMMARY, 1)) == ()
    [edit] = updates("", said(MarkKind.REPORTED, 1))
    assert isinstance(edit, EditComment)
    post, delete = updates(add_mark("run", MarkKind.SUMMARY), said(MarkKind.REPORTED, 1))
    assert isinstance(post, PostSummary)
    assert delete == DeleteComment(id="1", top=True)
