"""A notice of a forge that one server took: a worker drives its run, and any server shows it, once."""

import pytest

pytest.importorskip("litestar")
from forge_kinds import KINDS
from forge_standin import TOKEN
from sites import Site
from test_cli_pr import Shop
from test_hooks import SECRET, pushed, send, start

from fleet_world import wait_for
from needs import rarely


@pytest.fixture
def shop(fleet, monkeypatch):
    for name, value in {
        "HOOK_SECRET": SECRET,
        "OUR_TOKEN": TOKEN,
        "PUNCHLIST_OBJECTS": str(fleet.folder / "artifacts"),
    }.items():
        monkeypatch.setenv(name, value)
    with KINDS["github"].server() as standin:
        made = Shop(fleet.repo, fleet.folder, KINDS["github"], standin)
        made.begin({"README": "shop"}, {"a.py": "import os\n\n\nX = 1\n"})
        yield made
        assert standin.state.problems == []


@pytest.fixture
def sites(fleet):
    both = []
    for name in ("one", "other"):
        (fleet.folder / name).mkdir()
        both.append(Site(fleet.folder / name, fleet.url))
    yield both
    for site in both:
        site.end()


def list_jobs(fleet):
    return fleet.base.execute("SELECT run, state, priority FROM jobs ORDER BY queued_at").fetchall()


def count_notices(fleet):
    return fleet.base.execute("SELECT count(*) FROM pull_notices").fetchone()[0]


@pytest.mark.parametrize("killed", ["when its run is queued", *rarely("at once")])
def test_the_server_is_killed_a_worker_does_the_run_and_another_server_shows_it_once(
    fleet, shop, sites, killed
):
    one, other = sites
    start(one, shop, **{"fleet.lease": 1})
    one.register(shop.repo.root)
    with one.client(role="") as client:
        assert send(client, pushed(shop), "d-1").json()["queued"]
    if killed == "when its run is queued":
        wait_for(lambda: list_jobs(fleet))
    one.kill()
    assert count_notices(fleet) == 1
    start(other, shop, **{"fleet.lease": 1})
    worker = fleet.start_worker("a")
    wait_for(lambda: not count_notices(fleet))
    ((run, state, priority),) = list_jobs(fleet)
    assert (state, priority, fleet.job(run).worker) == ("ended", 2, worker.id)
    (comment,) = shop.state.comments
    assert shop.state.head[:10] in comment["body"]
    assert [each["path"] for each in shop.state.own_threads()] == ["a.py"]
    with other.client(role="") as client:
        assert send(client, pushed(shop), "d-1").json()["why"] == "it was delivered before"


@pytest.mark.soak
def test_two_servers_answer_each_pull_request_once_and_a_newer_push_supersedes(fleet, shop, sites):
    for site in sites:
        start(site, shop, **{"fleet.lease": 1})
    sites[0].register(shop.repo.root)
    with sites[0].client(role="") as here, sites[1].client(role="") as there:
        assert send(here, pushed(shop), "d-1").json()["queued"]
        wait_for(lambda: list_jobs(fleet))
        assert not send(there, pushed(shop), "d-1").json()["queued"]
        shop.repo.git("checkout", "--quiet", "topic")
        shop.repo.commit({"b.py": "import re\n"})
        shop.push()
        assert send(there, pushed(shop), "d-2").json()["queued"]
        wait_for(lambda: len(list_jobs(fleet)) == 2)
    fleet.start_worker("a")
    wait_for(lambda: not count_notices(fleet))
    assert [state for _, state, _ in list_jobs(fleet)] == ["stopped", "ended"]
    (comment,) = shop.state.comments
    assert shop.state.head[:10] in comment["body"]
    assert {each["path"] for each in shop.state.own_threads()} == {"a.py", "b.py"}
