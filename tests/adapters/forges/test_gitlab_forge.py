"""What only GitLab has: positions of lines, quick actions, commit statuses, forks that may be pushed to, tokens of jobs."""

import asyncio

import pytest
from forge_kinds import KINDS, Clock
from forge_state import Fault
from gitlab_pulls import GitlabServer
from test_forge_contract import board, hear, show, thread

from punchlist.adapters.rest.remote import make_token_reader
from punchlist.adapters.rest.retry import Unavailable
from punchlist.adapters.rest.style import GITLAB
from punchlist.views.pulls.board import BoardReply
from punchlist.views.pulls.marks import MarkKind, add_mark

DIFF = """@@ -1,4 +1,5 @@
 one
-two
+deux
+trois
 four
 five
"""


@pytest.fixture(scope="module")
def server():
    with GitlabServer() as standin:
        yield standin


@pytest.fixture
def state(server):
    yield server.fresh(hunks={"a.py": [(1, 20)]})
    assert server.state.problems == []


@pytest.fixture
def forge(server, state):
    return lambda: KINDS["gitlab"].open(server, Clock().pacing)


def test_unchanged_lines_are_named_by_both_numbers_and_new_ones_by_one(forge, state):
    state.diffs = {"a.py": DIFF}
    wanted = board(
        thread("k1", line=4, old_lines={4: 3}),
        thread("k2", line=4, first=2, old_lines={4: 3}),
        thread("k3", line=3),
        thread("k4", line=4),  # as if it were new: GitLab has no such line
    )
    shown = show(forge(), wanted)
    assert shown.unplaced == frozenset()
    assert [(each["first"], each["line"]) for each in state.threads] == [
        (None, 4), (2, 4), (None, 3), (None, None)
    ]  # fmt: skip


def test_the_diff_of_a_new_head_is_waited_for(forge, state):
    made = forge()
    pull = asyncio.run(made.change(7))
    state.head = "n" * 40
    with pytest.raises(Unavailable, match="has no diff of hhhhhhhhhhhh yet"):
        asyncio.run(made.show(pull, board(thread("k1"))))
    assert state.threads == []


def test_no_text_makes_gitlab_act_neither_new_nor_edited_nor_in_code(forge, state):
    evil = "ok\n/close\n\r/merge\n  /approve\n````diff\n/close\n````\n~~~\n/label ~x\n~~~"
    theirs = state.add_thread("a.py", 3, "Fix it", "rabbit")
    reply = BoardReply(thread=theirs["id"], body=add_mark(evil, MarkKind.REPLY))
    for words in ("", "once more\n"):
        told = thread("k1", body=add_mark(f"{words}{evil}", MarkKind.ITEM, "k1"))
        show(forge(), board(told, replies=[reply], summary=f"{words}{evil}"))
    assert {write.split()[0] for write in state.writes} == {"POST", "PUT"}


def test_a_status_is_set_once_for_each_result_and_again_after_a_lost_answer(forge, state):
    state.faults = [None, Fault(502, effect=True)]  # the summary, the status
    for _ in range(2):
        show(forge(), board())
    assert [(each["name"], each["state"], each["ref"]) for each in state.statuses] == [
        ("punchlist", "failed", "topic")
    ]
    state.may_check = False
    shown = show(forge(), board(summary="Other"))
    assert shown.notes == ()
    state.statuses.clear()
    (note,) = show(forge(), board(summary="Other")).notes
    assert note == "the commit status was not set: GitLab answered 403: 403 Forbidden"


def test_a_status_that_another_request_is_in_the_way_of_is_set_in_the_end(forge, state):
    state.busy = 3
    assert show(forge(), board()).notes == ()
    assert len(state.statuses) == 1


def test_a_status_stands_in_the_newest_pipeline_of_the_commit(forge, state):
    ref = "refs/merge-requests/7/head"
    state.pipelines = [
        {"id": 8, "sha": "0" * 40, "ref": ref, "status": "success"},
        {"id": 5, "sha": state.head, "ref": "topic", "status": "success"},
        {"id": 7, "sha": state.head, "ref": ref, "status": "running", "project_id": 42},
    ]
    show(forge(), board())
    assert [(each["pipeline_id"], each["ref"]) for each in state.statuses] == [(7, ref)]


@pytest.mark.parametrize(("allowed", "name"), [(True, "someone/tools/shop"), (False, "")])
def test_a_fork_is_pushed_to_only_where_its_author_allows_it(forge, state, allowed, name):
    state.fork, state.may_push = True, allowed
    pull = asyncio.run(forge().change(7))
    assert (pull.fork, pull.push_to) == (True, name)


def test_the_status_of_a_fork_is_set_there_or_told(forge, state):
    state.fork = True
    (note,) = show(forge(), board()).notes
    assert "status was not set" in note
    assert state.project == "43"


def test_a_programs_orders_and_notes_of_the_system_are_told_apart(forge, state):
    state.permissions = {"ann": "write", "project_42_bot_1f": "admin", "bob": "triage"}
    for name in ("ann", "project_42_bot_1f", "bob"):
        state.comments.append(state.add_comment("/punchlist apply", name))
    heard = hear(forge())
    assert [(each.author, each.bot) for each in heard.comments] == [
        ("ann", False), ("project_42_bot_1f", True), ("bob", False)
    ]  # fmt: skip
    assert heard.writers == {"ann"}


def test_a_thread_about_no_file_and_one_whose_line_is_gone_are_heard(forge, state):
    state.add_thread("", None, "In general", "ann")
    state.add_thread("a.py", None, "Outdated", "ann")
    assert [(each.path, each.line) for each in hear(forge()).threads] == [
        ("", None),
        ("a.py", None),
    ]


def test_what_only_members_see_is_not_heard(forge, state):
    inside = state.add_thread("a.py", 3, "Our secret plan", "ann")
    inside["comments"][0]["internal"] = True
    state.comments.append(state.add_comment("Inside", "ann") | {"internal": True})
    heard = hear(forge())
    assert (heard.threads, heard.comments) == ((), ())


@pytest.mark.parametrize("setting", [True, False])
def test_a_thread_that_a_push_may_have_resolved_was_resolved_by_no_person(forge, state, setting):
    state.permissions, state.push_resolves = {"ann": "write"}, setting
    for line in (3, None):
        state.add_thread("a.py", line, "Fix it", "rabbit")["resolved"] = "ann"
    found = [(each.resolved, each.resolved_by) for each in hear(forge()).threads]
    assert found == [(True, "ann"), (True, "" if setting else "ann")]


def test_lists_are_read_to_the_last_page_by_their_links(forge, server, state, monkeypatch):
    monkeypatch.setattr(server, "largest", 7)
    for n in range(40):
        state.add_thread("a.py", n % 20 + 1, f"Defect {n}", "rabbit")
    assert len(hear(forge()).threads) == 40


@pytest.mark.parametrize(
    ("variable", "token"), [("CI_JOB_TOKEN", "x"), ("OUR_TOKEN", "glcbt-64_x")]
)
def test_the_token_of_a_job_is_refused_with_what_to_use(monkeypatch, variable, token):
    monkeypatch.setenv(variable, token)
    with pytest.raises(Unavailable, match="token of a CI job") as raised:
        asyncio.run(make_token_reader(GITLAB, variable)("gitlab.com"))
    assert raised.value.hint == "put a project access token into GITLAB_TOKEN"


def test_a_token_is_sent_as_its_kind_needs_it():
    assert GITLAB.sign("glpat-x") == {"PRIVATE-TOKEN": "glpat-x"}
    assert GITLAB.sign("0a" * 32) == {"Authorization": f"Bearer {'0a' * 32}"}
