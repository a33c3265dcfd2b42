"""What every forge promises of our stacked pull request: there is one, whatever goes wrong; it is edited in place, closed with the
reason, and never taken for that of others.
"""

import asyncio

import pytest
from forge_kinds import KINDS, Clock
from forge_state import LOST, Fault
from msgspec.structs import replace

from needs import rarely
from punchlist.views.pulls.marks import MarkKind, add_mark
from punchlist.views.pulls.stack import StackBoard, find_refused, hash_key

BRANCH = "punchlist/pr-7"
FIXES = f"<!-- punchlist-fixes {hash_key('k1')} -->"
BOARD = StackBoard(
    branch=BRANCH,
    base_name="topic",
    title="Punchlist: 1 proven fix",
    body=add_mark(f"One fix\n\n{FIXES}", MarkKind.STACK, "7"),
)
END = StackBoard(branch=BRANCH, base_name="topic", open=False, why="nothing is left")


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request):
    return KINDS[request.param]


@pytest.fixture(scope="module")
def server(kind):
    with kind.server() as standin:
        yield standin


@pytest.fixture
def state(server):
    yield server.fresh(branches={BRANCH: "f" * 40})
    assert server.state.problems == []


@pytest.fixture
def forge(kind, server, state):
    """Makes forges, each as a process of its own has it."""
    return lambda: kind.open(server, Clock().pacing)


def show(forge, board=BOARD):
    return asyncio.run(forge.show_stack(board))


def find(forge):
    return asyncio.run(forge.find_stacks(BRANCH))


def list_open(state):
    return [each["number"] for each in state.pulls if each["state"] == "open"]


def test_it_is_opened_once_edited_in_place_and_closed_with_the_reason(kind, forge, state):
    first = show(forge())
    assert (first.pull.number, first.updates) == (8, (f"open {BRANCH} to topic",))
    assert show(forge()).updates == ()
    other = replace(BOARD, title="Punchlist: 2 proven fixes", body=BOARD.body.replace("One", "Two"))
    assert show(forge(), other).updates == (f"edit {BRANCH}",)
    (found,) = find(forge())
    assert (found.title, found.open, found.own, found.base_name) == (
        other.title,
        True,
        True,
        "topic",
    )
    assert found.fixes == {hash_key("k1")}
    assert show(forge(), END).updates == (f"close {found.url}",)
    (pull,) = state.pulls
    assert "**Closed by punchlist**: nothing is left" in pull["body"]
    assert ["nothing is left" in each["body"] for each in pull["comments"]] == [True]
    (found,) = find(forge())
    assert (found.open, found.refused, find_refused([found])) == (False, False, frozenset())
    assert show(forge(), END).updates == ()
    assert show(forge()).pull.number == 9


def test_our_own_one_is_described_as_ours(forge, state):
    show(forge())
    pull = asyncio.run(forge().change(8))
    assert (pull.head_name, pull.base_name, pull.fork) == (BRANCH, "topic", False)
    assert pull.author == asyncio.run(forge().read_viewer()) == "punchy"


def test_one_that_a_person_closed_or_merged_is_known_as_such(forge, state):
    show(forge())
    state.pulls[0]["state"] = "closed"
    (closed,) = find(forge())
    assert (closed.open, closed.refused) == (False, True)
    assert find_refused([closed]) == {hash_key("k1")}
    state.pulls[0]["state"] = "merged"
    (merged,) = find(forge())
    assert (merged.open, merged.merged, merged.refused) == (False, True, False)
    state.branches.clear()  # as the forge does after a merge
    assert [each.merged for each in find(forge())] == [True]


@pytest.mark.parametrize("lag", [0, 3, *rarely(1, 1000)])
@pytest.mark.parametrize("fault", [LOST, Fault(502), *rarely("limit", Fault(503, effect=True))])
def test_there_is_one_when_the_request_goes_wrong(forge, server, state, fault, lag):
    state.lag = lag
    state.faults = [server.limited if fault == "limit" else fault]
    shown = show(forge())
    assert shown.pull or "does not list it yet" in shown.notes[0]
    state.reads += 1000
    assert show(forge()).pull.number == 8
    assert list_open(state) == [8]


def test_of_two_processes_one_opens_it_and_a_lagging_list_opens_no_second(forge, state):
    show(forge())
    state.lag = 1000
    assert show(forge()).notes[0].startswith("the pull request with the fixes is open")
    assert list_open(state) == [8]


def test_those_of_others_are_left_alone(kind, forge, state):
    state.open_pull("topic", "main", "Mine", BOARD.body)
    state.open_pull(BRANCH, "topic", "Theirs", BOARD.body, author="ann")
    state.open_pull(BRANCH, "main", "Without a mark", "By hand")
    assert find(forge()) == ()
    left = "is left" if kind.name != "gitea" else "does not list it yet"  # only ours are listed
    assert left in show(forge()).notes[0]
    assert show(forge(), END).updates == ()
    assert list_open(state) == [8, 9, 10]


def test_one_for_another_branch_is_moved_and_a_second_is_closed(forge, state):
    state.open_pull(BRANCH, "main", BOARD.title, BOARD.body)
    assert show(forge()).updates == (f"edit {BRANCH}",)
    assert [each["base"] for each in state.pulls] == ["topic"]
    state.open_pull(BRANCH, "main", BOARD.title, BOARD.body)
    show(forge())
    assert [(each["base"], each["state"]) for each in state.pulls] == [
        ("topic", "open"),
        ("main", "closed"),
    ]


def test_what_the_forge_refuses_is_a_note_with_what_is_needed(kind, forge, state):
    state.may_open = False
    (said,) = show(forge()).notes
    assert "answered 403" in said
    assert {"github": "contents: write", "gitlab": "Developer", "gitea": "write:repository"}[
        kind.name
    ] in said
    state.may_open = True
    (said,) = show(forge(), replace(BOARD, base_name="gone")).notes
    assert any(f"answered {status}" in said for status in (400, 404, 422))
    if kind.name == "github":
        state.branches[BRANCH] = state.head
        assert "No commits between topic and punchlist/pr-7" in show(forge()).notes[0]
    assert state.pulls == []
