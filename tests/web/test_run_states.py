"""Every surface says the same of how a run stands: one table of situations, asked of all of them."""

import asyncio
import json
from contextlib import chdir, redirect_stdout
from io import BytesIO, TextIOWrapper

import pytest

pytest.importorskip("litestar")
pytest.importorskip("textual")
pytest.importorskip("mcp")
from browsing import Browser, text_of
from telling import Told, fixed, item

from punchlist.adapters.store.lease import FileLease
from punchlist.adapters.store.serving.records import FileRepositories
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.cli.root import root
from punchlist.mcp.inputs import ListRunsInput, RunStatusInput
from punchlist.mcp.session import Caller, McpSession, Options
from punchlist.mcp.tools.read import list_runs, run_status
from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import Fact, Move
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.run_row import RepositoryKey
from punchlist.tui import run_text
from punchlist.tui.backend import Backend
from punchlist.views.run_state import OUTCOME_WORDS, STATE_WORDS, State

LOOKED = ev.Reviewed(reviewer="ruff", commit="c", looked_at=1)
ASKED = ev.Asked(question="on?", choices={"a": "yes"})
ANSWERED = ev.Answered(choice="a", by="ada")
STOPPED = ev.Interrupted(reason="Ctrl-C")
RESUMED = ev.Resumed(version="1")
DOUBTS = ev.Clarified(
    agent="robot",
    doubts=(Doubt(id="q1", item=1, question="?"), Doubt(id="q2", item=1, question="?")),
)
GONE = Move(1, Fact.DISMISSED, "ada", why="no")


def replied(*names):
    return ev.Answered(choice="", by="ada", answers=dict.fromkeys(names, "so"))


RUNNING, WAITING, INTERRUPTED, NOTED, KILLED = (
    (State.UNDER_WAY, "running", "running"),
    (State.WAITING, "waiting", "waiting"),
    (State.STOPPED, "interrupted", "stopped"),
    (State.STOPPED, "stopped", "stopped"),
    (State.KILLED, "stopped", "stopped"),
)
"""The state, and what the API calls it: of one run, and in a list."""
UNENDED = {
    "driven": (RUNNING, [LOOKED]),
    "driven while it waits": (RUNNING, [ASKED]),
    "just begun and killed": (KILLED, []),
    "killed": (KILLED, [LOOKED]),
    "killed after an agent had no question": (KILLED, [ev.Clarified(agent="robot")]),
    "waiting with a question": (WAITING, [ASKED]),
    "waiting with a question and a dismissal": (WAITING, [ASKED, ("people", ev.Dismissed(by="a", why="b"))]),
    "stopped while it waits": (WAITING, [ASKED, STOPPED]),
    "waiting with the doubts of an agent": (WAITING, [DOUBTS]),
    "one doubt of two answered": (WAITING, [DOUBTS, ("people", replied("q1"))]),
    "all doubts answered": (NOTED, [DOUBTS, ("people", replied("q1", "q2"))]),
    "answered": (NOTED, [ASKED, ANSWERED]),
    "answered and dismissed": (NOTED, [ASKED, ANSWERED, ("people", ev.Dismissed(by="a", why="b"))]),
    "answered, resumed and killed": (KILLED, [ASKED, ANSWERED, RESUMED]),
    "stopped by the user": (INTERRUPTED, [LOOKED, STOPPED]),
    "stopped, resumed and killed": (KILLED, [LOOKED, STOPPED, RESUMED]),
}  # fmt: skip
ENDED = {
    "clean": [LOOKED],
    "fixed": [LOOKED, *(("items", move) for move in [fixed(1)])],
    "dismissed": [LOOKED, ("items", (GONE,))],
    "leftovers": [LOOKED, ("items", ())],
    "incomplete": [],
}
LATER = "leftovers, dismissed since"
NAMES = {name: f"261115-s{number:02}" for number, name in enumerate([*UNENDED, *ENDED, LATER])}


def written(store, git_dir, name, events):
    told = Told(git_dir, store, NAMES[name])
    for event in events:
        match event:
            case ("items", moves):
                told.items(item(1), moves=moves)
            case ("people", said):
                told.tell(said, "people")
            case _:
                told.tell(event)
    return told


@pytest.fixture(scope="module")
def home(house):
    """A home with a run for each situation; processes drive those that are driven."""
    git_dir = str(house.folder / "repo" / ".git")
    with SqliteStore.open(house.home) as store:
        for name, (_, events) in UNENDED.items():
            written(store, git_dir, name, events)
        for name, events in ENDED.items():
            written(store, git_dir, name, events).tell(ev.Ended(outcome=name))
        later = written(store, git_dir, LATER, ENDED["leftovers"]).tell(
            ev.Ended(outcome="leftovers")
        )
        later.tell(ev.Dismissed(by="ada", why="no", moves=(GONE,)), "people")
    leases = [
        FileLease.acquire(house.home, NAMES[name])
        for name, (told, _) in UNENDED.items()
        if told is RUNNING
    ]
    yield house
    for lease in leases:
        lease.release()


@pytest.fixture
def cli(home, monkeypatch):
    monkeypatch.setenv("PUNCHLIST_HOME", str(home.home))
    monkeypatch.setenv("COLUMNS", "160")

    def said(*arguments):
        out = TextIOWrapper(BytesIO(), "utf-8", write_through=True)
        with chdir(home.folder / "repo"), redirect_stdout(out):
            root.main(list(arguments), standalone_mode=False)
        return out.buffer.getvalue().decode()

    return said


def expected():
    """By run: its state, its outcome, and the word that people read."""
    for name, ((state, *_), _) in UNENDED.items():
        yield NAMES[name], (state, "", STATE_WORDS[state])
    for name in (*ENDED, LATER):
        outcome = "dismissed" if name == LATER else name
        yield NAMES[name], (State.ENDED, outcome, OUTCOME_WORDS[outcome][0])


WORDS = dict(expected())


def test_the_command_line_lists_and_shows_the_same_state(cli):
    listed = {each["run"]: each for each in json.loads(cli("list", "-n", "0", "--json"))}
    shown = {run: json.loads(cli("status", run, "--json")) for run in WORDS}
    assert {run: (each["state"], each["outcome"]) for run, each in listed.items()} == {
        run: (state, outcome) for run, (state, outcome, _) in WORDS.items()
    }
    assert {run: each["state"] for run, each in shown.items()} == {
        run: state for run, (state, *_) in WORDS.items()
    }


def test_the_command_line_says_the_same_words(cli):
    lines = {line.split()[0]: line for line in cli("list", "-n", "0").splitlines()[1:]}
    for run, (_, _, word) in WORDS.items():
        assert f" {word} " in lines[run]
        title = next(line for line in cli("status", run).splitlines() if line.startswith("Run "))
        assert title.split(" · ")[-1].partition(":")[0] == word


def test_the_terminal_view_says_the_same(home):
    station = Backend(home.home, RepositoryKey(), lambda: None, "ada")
    lines = {line.id: line for line in station.list_runs()}
    for run, (state, outcome, word) in WORDS.items():
        assert (lines[run].state, lines[run].outcome, lines[run].result) == (state, outcome, word)
        look = station.take_snapshot(run)
        assert look.state is state
        assert f" · {word}" in run_text.render_head(look, 0)[0].plain
    asyncio.run(station.aclose())


def test_other_agents_are_told_the_same(home):
    async def asked():
        desk = McpSession(home.home, tuple(FileRepositories(home.home).list_all()), Options())
        asker = Caller("robot", lambda run: asyncio.sleep(0))
        page = await list_runs(desk, ListRunsInput(limit=100), asker)
        whole = [await run_status(desk, RunStatusInput(run=each.id), asker) for each in page.runs]
        await desk.close()
        return page.runs, whole

    for told in asyncio.run(asked()):
        assert {each.id: (each.state, each.outcome) for each in told} == {
            run: (state, outcome) for run, (state, outcome, _) in WORDS.items()
        }


def test_the_api_says_the_same_in_its_own_names(home):
    ended = {NAMES[name]: ("ended", "ended") for name in (*ENDED, LATER)}
    names = {NAMES[name]: (one, many) for name, ((_, one, many), _) in UNENDED.items()} | ended
    with home.client("read") as client:
        listed = {each["id"]: each for each in client.get("/api/runs").json()["runs"]}
        for run, (one, many) in names.items():
            whole = client.get(f"/api/runs/{run}").json()
            assert (whole["state"], listed[run]["state"]) == (one, many), run
            assert whole["outcome"] == listed[run]["outcome"] == WORDS[run][1]


def test_the_pages_say_the_same_words(home):
    with Browser(home, "read") as browser:
        rows = {}
        for page in (1, 2):
            table = browser.get(f"/?page={page}").text
            rows |= {part[:10]: part for part in table.split('<tr id="run-')[1:]}
        for run, (_, _, word) in WORDS.items():
            state = rows[run].split('data-label="State">')[1].split("</td>")[0]
            said = text_of(state).strip().split(" ", 1)[1].strip()
            assert said == {"unresolved": "1 unresolved"}.get(word, word)
            head = browser.get(f"/runs/{run}").text.split('role="status">')[1].split("·")[0]
            assert f" {word} " in text_of(head)
