"""A repository over time: the same figures on the page, from the API and on the command line."""

import json
import re
import subprocess
import sys

import pytest

pytest.importorskip("litestar")
from browsing import Browser, text_of
from msgspec.structs import replace
from reading import started
from telling import HOSTILE, Told, fixed, item

from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.app.after.trends import TrendReader
from punchlist.model.item.item import Fact, Move
from punchlist.model.item.usage import Usage
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.run_row import RepositoryKey
from punchlist.views.tables.trends import AgentClaims, make_point

ODD = f"robot {HOSTILE}"


def claim(number: int, agent: str, judge: str) -> tuple[Move, ...]:
    return Move(number, Fact.SAID_FIXED, agent), Move(number, Fact.REJECTED, judge, "no")


def tell_run(git_dir: str, run: str = "261115-aaaaaa", store: SqliteStore | None = None) -> Told:
    """One item is fixed at the second try, one dismissed, one filed, one open, one outside."""
    begun = replace(started(git_dir), crew={"fixer": ("robot", ODD), "challenger": ("judge",)})
    moves = (
        *claim(1, "robot", "verify"),
        *claim(1, ODD, "judge"),
        *fixed(1),
        *claim(2, "robot", "git"),
        Move(2, Fact.DISMISSED, "ada", "no"),
        Move(3, Fact.FILED, "files", ref="x"),
        Move(4, Fact.SAID_FIXED, "ruff"),
        Move(4, Fact.REJECTED, "verify"),
    )
    items = [item(number) for number in (1, 2, 3, 4)] + [item(5, in_scope=False)]
    cost = Usage(dollars=1.5, input_tokens=10)
    made = Told(git_dir, store, run).tell(begun).items(*items, moves=moves)
    return made.tell(ev.Attempted(fixer="agent", agent="robot", usage=cost))


def test_a_point_counts_items_in_scope_and_claims_that_were_refuted_by_a_judge():
    point = make_point(tell_run("/srv/shop/.git").run)
    assert (point.unresolved, point.fixed, point.filed, point.dismissed) == (1, 1, 1, 1)
    assert (point.dollars, point.unpriced, point.ended) == (1.5, False, False)
    assert point.agents == (
        AgentClaims(agent="robot", claims=3, refuted=1),
        AgentClaims(agent=ODD, claims=1, refuted=1),
    )


@pytest.fixture(scope="module")
def told(house):
    git_dir = str(house.folder / "repo" / ".git")
    with SqliteStore.open(house.home) as store:
        for number in range(3):
            run = tell_run(git_dir, f"261115-run{number}", store)
            run.tell(ev.Ended(outcome="leftovers"))
        tell_run("/srv/other/.git", "261115-other", store)
    return house


def test_page_api_and_command_line_have_the_same_figures(told):
    with told.client("read") as client:
        found = client.get(f"/api/repositories/{told.repository}/trends?limit=2").json()
        assert client.get("/api/repositories/0123456789abcdef/trends").status_code == 404
        assert client.get(f"/api/repositories/{told.repository}/trends?limit=0").status_code == 400
    assert [point["run"] for point in found["runs"]] == ["261115-run1", "261115-run2"]
    assert found["earlier"] == 1
    assert {each["agent"]: (each["claims"], each["refuted"]) for each in found["agents"]} == {
        "robot": (6, 2),
        ODD: (2, 2),
    }
    command = [sys.executable, "-m", "punchlist", "-C", str(told.folder / "repo"), "trends"]
    ran = subprocess.run(
        [*command, "-n", "2", "--json"], env=told.env, capture_output=True, text=True, check=True
    )
    assert json.loads(ran.stdout) == found
    plain = subprocess.run(command, env=told.env, capture_output=True, text=True, check=True).stdout
    assert "261115-run0" in plain
    assert "261115-other" not in plain
    assert "\x1b" not in plain
    with Browser(told, "read") as reader:
        page = reader.get(f"/repositories/{told.repository}/trends").text
    said = text_of(page)
    assert re.search(r"261115-run2 \S+ \S+ 1 1 1 1 \$1.50 2", said), said
    assert "robot 9 3 33 %" in said
    assert page.count("<svg") == 3
    assert "261115-run2: 1 fixed, 1 filed, 1 dismissed, 1 unresolved" in said
    for bad in ("<script>alert", "<img src=x", "\u202e", "\x1b", "style="):
        assert bad not in page, bad


def test_a_repository_without_runs_has_a_page_and_a_line(house, tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for git in (("init", "--quiet"), ("commit", "--quiet", "--allow-empty", "--message", "first")):
        subprocess.run(["git", *who, *git], cwd=folder, check=True)
    repository = house.register(folder)
    with Browser(house, "read") as reader:
        page = reader.get(f"/repositories/{repository}/trends")
    assert (page.status_code, "No run is recorded here yet." in page.text) == (200, True)
    command = [sys.executable, "-m", "punchlist", "-C", str(folder), "trends"]
    ran = subprocess.run(command, env=house.env, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("No run is recorded here yet.")


class CountingStore(SqliteStore):
    """Remembers which ledgers were read."""

    read_runs: list[str]

    def read(self, run, after=0):
        self.read_runs.append(run)
        return super().read(run, after)


def test_each_ledger_is_read_once_and_again_only_when_it_has_grown(tmp_path):
    with CountingStore.open(tmp_path) as store:
        store.read_runs = []
        for number in range(20):
            last = tell_run("/srv/shop/.git", f"261115-{number:06}", store)
        store.read_runs.clear()
        reader = TrendReader()
        first = reader.load_trends(store, RepositoryKey("/srv/shop/.git"), 0)
        assert sorted(store.read_runs) == sorted(point.run for point in first.runs)
        assert reader.load_trends(store, RepositoryKey("/srv/shop/.git"), 0) == first
        assert len(store.read_runs) == 20
        last.tell(ev.Ended(outcome="leftovers"))
        assert reader.load_trends(store, RepositoryKey("/srv/shop/.git"), 0).runs[-1].ended
        assert len(store.read_runs) == 21
