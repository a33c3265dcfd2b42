"""Items are dismissed over HTTP as on the command line: with a reason, under the token's name, remembered until it is undone."""

import time

import pytest
from msgspec.structs import replace

pytest.importorskip("litestar")
from reading import started

from punchlist.adapters.store.lease import FileLease
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.app.after.dismissals import load_dismissals
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.run_row import RepositoryKey
from punchlist.settings import encode_settings, load_settings
from punchlist.web.client import Client, NotDone
from punchlist.web.schemas import Dismissing

RULES = {1: "S101", 2: "S101", 3: "F401"}
PATHS = {1: "shop/a.py", 2: "tests/b.py", 3: "shop/c.py"}


def item(number: int) -> Item:
    spot = Spot(path=PATHS[number], line=number)
    found = Finding(
        id=f"f{number}",
        source="ruff",
        title="t",
        severity=Severity.MINOR,
        spot=spot,
        rule=RULES[number],
    )
    return Item(number=number, fingerprint=f"{number:016}", findings=(found,), in_scope=True)


@pytest.fixture
def run(house, request) -> str:
    name = f"261115-{abs(hash(request.node.name)) % 10**6:06}"
    with SqliteStore.open(house.home) as store:
        begun = replace(started(git_dir(house)), settings=encode_settings(load_settings(None, {})))
        store.append(name, "start", "started", begun, time.time())
        store.append(
            name, "1", "items", ev.Consolidated(items=tuple(map(item, RULES))), time.time()
        )
    return name


def git_dir(house) -> str:
    return str(house.folder / "repo" / ".git")


def remembered(house) -> dict[str, ev.Dismissal]:
    with SqliteStore.open(house.home, readonly=True) as store:
        return load_dismissals(store, RepositoryKey(git_dir(house)))


def statuses(client, run: str) -> dict[int, str]:
    return {
        each["number"]: each["status"]
        for each in client.get(f"/api/runs/{run}/items").json()["items"]
    }


def test_a_dismissal_is_recorded_under_the_tokens_name_remembered_and_can_be_undone(house, run):
    with house.client("run") as client:
        answer = client.post(
            f"/api/runs/{run}/dismissals", json={"numbers": [3], "why": "generated code"}
        )
        assert answer.status_code == 200, answer.text
        assert answer.json() == {
            "run": run,
            "items": [3],
            "by": "runer",
            "why": "generated code",
            "undone": False,
        }
        assert statuses(client, run) == {1: "open", 2: "open", 3: "dismissed"}
        assert remembered(house)[f"{3:016}"] == ev.Dismissal("runer", "generated code", run)
        undone = client.post(f"/api/runs/{run}/dismissals", json={"numbers": [3], "undo": True})
        assert undone.json()["undone"]
        assert statuses(client, run)[3] == "open"
        assert f"{3:016}" not in remembered(house)


def test_all_of_a_rule_or_below_a_path_are_dismissed_at_once(house, run):
    with Client(house.address, house.tokens["run"]) as client:
        assert client.dismiss(
            run, Dismissing(rules=("S101",), paths=("tests",), why="asserts in tests")
        ).items == (2,)
        assert client.dismiss(run, Dismissing(rules=("S101",), why="all of them")).items == (1,)
        with pytest.raises(NotDone, match="can be dismissed"):
            client.dismiss(run, Dismissing(rules=("S101",), why="once more"))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"numbers": [3]}, "needs a reason"),
        ({"numbers": [3], "why": "  "}, "needs a reason"),
        ({"why": "all"}, "which items"),
        ({"numbers": [99], "why": "w"}, "no item 99"),
        ({"numbers": [3], "undo": True}, "nothing to undo"),
        ({"numbers": [0], "why": "w"}, ">= 1"),
        ({"paths": ["../.."], "why": "w"}, "can be dismissed"),
    ],
    ids=str,
)
def test_what_cannot_be_dismissed_is_said_and_nothing_is_done(house, run, body, said):
    with house.client("admin") as client:
        answer = client.post(f"/api/runs/{run}/dismissals", json=body)
        assert answer.status_code == 400, answer.text
        assert said in answer.json()["what"]
        assert client.get(f"/api/runs/{run}").json()["seq"] == 2


def test_a_run_that_is_under_way_is_not_talked_into(house, run):
    with FileLease.acquire(house.home, run), house.client("run") as client:
        answer = client.post(f"/api/runs/{run}/dismissals", json={"numbers": [3], "why": "w"})
        assert (answer.status_code, answer.json()["run"]) == (409, run)
