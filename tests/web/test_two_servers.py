"""Two servers on one database, each with a home of its own, are one server to their clients."""

import threading
from contextlib import closing

import pytest

pytest.importorskip("litestar")
pytest.importorskip("psycopg")
import workbench
from browsing import Browser
from reading import end, grow, heard, ledger
from sites import QUICK, Site
from test_api_stop import LONG, running, until

from postgres_server import start_server
from punchlist.app.stores import open_state, upgrade_store
from punchlist.model.ledger.hash_chain import verify_entries

PROXY = "127.0.0.1:9999"
"""What browsers call: something that stands before both servers."""


@pytest.fixture(scope="module")
def database():
    with start_server() as server:
        yield server


@pytest.fixture
def sites(database, tmp_path, request):
    """Two servers that are not started yet; each token counts at both."""
    url = database.make_database(f"test_{abs(hash(request.node.nodeid))}")
    upgrade_store(url)
    both = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        both.append(Site(tmp_path / name, url))
    yield both
    for site in both:
        site.end()


@pytest.fixture
def pair(sites):
    return [site.start() for site in sites]


@pytest.fixture
def store(sites):
    with closing(open_state(sites[0].store, sites[0].home)) as state:
        yield state.store


def test_a_token_counts_at_both_until_it_is_dropped(pair):
    one, other = pair
    token = one.punchlist("serve", "--new-token", "read", "--name", "eve").stdout.strip()
    headers = {"authorization": f"Bearer {token}"}
    with other.client("") as client:
        assert client.get("/api/runs", headers=headers).status_code == 200
        listed = other.punchlist("serve", "--tokens").stdout.splitlines()
        (name,) = (line.split()[0] for line in listed if line.endswith("eve"))
        assert one.punchlist("serve", "--drop-token", name).returncode == 0
        assert client.get("/api/runs", headers=headers).status_code == 401


def test_who_signs_out_of_one_is_signed_out_of_the_other(pair):
    with Browser(pair[0]) as here, Browser(pair[1]) as there:
        form = {"host": PROXY, "origin": f"http://{PROXY}"}
        answer = here.post("/sign-in", data={"token": pair[1].tokens["run"]}, headers=form)
        form["cookie"] = answer.headers["set-cookie"].partition(";")[0]
        here.cookies.clear()
        for status in (200, 303):
            for browser in (here, there):
                assert browser.get("/", headers=form).status_code == status
            there.post("/sign-out", headers=form)


def test_the_token_and_the_link_of_one_start_count_at_the_other_while_that_server_lives(sites):
    one, other = sites
    with closing(open_state(one.store, one.home)) as state:
        for token in state.access.list_tokens():
            state.access.drop_token(token.visitor.id)
    one.start()
    token = one.log.read_text().split("(admin): ")[1].split()[0]
    other.start()
    headers = {"authorization": f"Bearer {token}"}
    with other.client("") as client:
        assert client.get("/api/repositories", headers=headers).status_code == 200
        one.end()
        assert client.get("/api/repositories", headers=headers).status_code == 401


def test_a_repository_that_one_registers_is_at_the_other_until_that_forgets_it(pair, repo):
    repo.commit({"a.py": "import os\n"})
    identifier = pair[0].register(repo.root)
    with pair[0].client() as here, pair[1].client() as there:
        for known in ([identifier], []):
            for client in (here, there):
                assert [each["id"] for each in client.get("/api/repositories").json()] == known
            there.delete(f"/api/repositories/{identifier}")


def test_a_key_that_is_sent_to_both_at_once_begins_one_run(pair, repo):
    repo.commit({"a.py": "import os\n"})
    asked = {"repository_id": pair[0].register(repo.root), "kind": "all", "workflow": "review"}
    answers, gate = [], threading.Barrier(4)

    def ask(site):
        with site.client() as client:
            gate.wait()
            headers = {"x-idempotency-key": "the same"}
            answers.append(client.post("/api/runs", json=asked, headers=headers))

    threads = [threading.Thread(target=ask, args=(site,)) for site in pair * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status_code for answer in answers} == {201}, [each.text for each in answers]
    assert len({answer.json()["id"] for answer in answers}) == 1
    with pair[1].client() as client:
        assert client.get("/api/runs").json()["total"] == 1
        other = {**asked, "workflow": "proven"}
        told = client.post("/api/runs", json=other, headers={"x-idempotency-key": "the same"})
        assert (told.status_code, told.json()["run"]) == (422, answers[0].json()["id"])


def test_a_run_that_one_drives_is_stopped_and_seen_to_stop_through_the_other(sites, repo):
    bench = workbench.Workbench(repo, sites[0].folder)
    bench.play(LONG)
    one, other = (site.start(*QUICK) for site in sites)
    repository = one.register(bench.repo.root)
    with one.client() as here, other.client("run") as there:
        asked = {"repository_id": repository, "workflow": "accountable"}
        run = here.post("/api/runs", json=asked).json()["id"]
        assert until(lambda: running(there), "the other sees it") == run
        with there.stream("GET", f"/api/runs/{run}/stream") as stream:
            assert there.post(f"/api/runs/{run}/cancel").json()["state"] == "interrupted"
            event = next(each for each in heard(stream.iter_lines()) if each.name == "interrupted")
        assert event.data["event"]["reason"] == "stopped by runer"
        assert here.get(f"/api/runs/{run}").json()["state"] == "interrupted"


def test_a_database_that_goes_away_is_told_and_streams_go_on_without_a_gap(
    pair, repo, store, database
):
    repo.commit({"a.py": "import os\n"})
    one = pair[0]
    one.register(repo.root)
    run = "261115-000001"
    ledger(store, run, str(repo.root / ".git"), 5)
    with one.client("read") as client, client.stream("GET", f"/api/runs/{run}/stream") as answer:
        events = heard(answer.iter_lines())
        assert [next(events).id for _ in range(5)] == ["1", "2", "3", "4", "5"]
        database.stop()
        try:
            with one.client("read") as second, one.client("") as probe:
                told = second.get(f"/api/runs/{run}")
                assert probe.get("/api/health").status_code == 200
        finally:
            database.start()
        assert told.status_code == 503
        assert told.json()["what"] == "the server's database cannot be reached"
        assert told.headers["retry-after"]
        assert "postgres" not in told.text
        grow(store, run, range(6, 9))
        end(store, run)
        assert [next(events).id for _ in range(4)] == ["6", "7", "8", "9"]
        assert next(events).name == "end"
        with one.client("read") as second:
            assert second.get(f"/api/runs/{run}").json()["state"] == "ended"


def test_a_run_goes_on_after_the_database_was_away_and_both_servers_tell_the_same(
    sites, repo, store, database
):
    bench = workbench.Workbench(repo, sites[0].folder)
    bench.play({**workbench.review("mean"), "seconds": 5})
    one, other = (site.start(*QUICK) for site in sites)
    repository = one.register(bench.repo.root)
    asked = {"repository_id": repository, "workflow": "accountable", "allow_checks": True}
    with one.client() as here, other.client() as there:
        run = here.post("/api/runs", json=asked).json()["id"]
        with there.stream("GET", f"/api/runs/{run}/stream") as stream:
            events = heard(stream.iter_lines())
            seen = [next(events)]
            database.stop()
            database.start()
            seen += list(events)
        assert seen[-1].name == "end"
        assert [event.id for event in seen if event.id] == [
            str(entry.seq) for entry in store.read(run)
        ]
        assert here.get(f"/api/runs/{run}").json() == there.get(f"/api/runs/{run}").json()
    assert verify_entries(store.read(run)) == ""
