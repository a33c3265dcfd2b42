"""How forges spell links and suggestions, and that no line of a comment is an order to one."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pull_model import PULL, make_item, make_picture

from punchlist.model.item.item import Status
from punchlist.views.pulls.board import make_board
from punchlist.views.pulls.conversation import PullRequest
from punchlist.views.pulls.diff_table import parse_table
from punchlist.views.pulls.markup import GITHUB, GITLAB
from punchlist.views.pulls.suggestion import Suggestion, render_suggestion

LAB = PullRequest(
    number=7, repository="acme/tools/shop", url="https://gitlab.example/acme/tools/shop/-/merge_requests/7", base="b" * 40,
    head="c" * 40, base_name="main", head_name="topic", ref="refs/merge-requests/7/head", markup=GITLAB,
)  # fmt: skip


def test_links_are_those_of_the_forge():
    assert (
        LAB.link_commit("d" * 40) == f"https://gitlab.example/acme/tools/shop/-/commit/{'d' * 40}"
    )
    assert LAB.link_lines("a.py", 3, 5).endswith(f"/acme/tools/shop/-/blob/{'c' * 40}/a.py#L3-5")
    assert PULL.link_lines("a.py", 3, 5).endswith(f"/acme/shop/blob/{PULL.head}/a.py#L3-L5")
    assert PULL.link_lines("a.py", 0, 0).endswith("/a.py")


def test_a_suggestion_says_how_many_lines_above_its_own_it_replaces():
    several = Suggestion("a.py", 3, 5, "x")
    assert render_suggestion(several, GITLAB) == "```suggestion:-2+0\nx\n```"
    assert render_suggestion(several, GITHUB) == "```suggestion\nx\n```"


@pytest.mark.parametrize(
    ("text", "takes"), [("x\n/close", False), ("// no", True), ("a /close", True)]
)
def test_lines_that_would_be_obeyed_are_not_suggested(text, takes):
    assert GITLAB.takes_suggestion(text) == takes
    assert GITHUB.takes_suggestion(text)


@given(st.text(alphabet="/\n\r\t >`~-ac", max_size=40))
def test_no_line_of_a_comment_is_an_order_to_gitlab(text):
    safe = GITLAB.finish(text)
    assert not re.search(r"^/\w", safe.replace("\r", ""), re.MULTILINE)
    assert GITLAB.finish(safe) == safe
    assert safe.replace("\u200b", "") == text
    assert GITHUB.finish(text) == text


def test_what_others_wrote_cannot_order_gitlab_by_a_board():
    evil = "x\n/close\n\n```\n```\n/merge"
    item = make_item(1, Status.FILED, title=evil, detail=evil, suggestion=evil)
    board = make_board(replace(make_picture(item), pull=LAB))
    for body in (board.summary, *(each.body for each in board.threads)):
        assert not re.search(r"^/\w", body, re.MULTILINE)


def test_the_table_knows_the_numbers_that_unchanged_lines_had():
    diff = (
        "diff --git a/old.py b/new.py\nsimilarity index 90%\nrename from old.py\nrename to new.py\n--- a/old.py\n+++ b/new.py\n"
        "@@ -2,3 +2,4 @@\n two\n-three\n+drei\n+vier\n five\n\\ No newline at end of file\n"
    )
    table = parse_table(diff)
    assert table.before == {"new.py": {2: 2, 5: 4}}
    assert table.moved == {"new.py": "old.py"}
