"""A run over HTTP, from registering a repository to applying the fixes, with a real server and a scripted agent."""

import time

import pytest

pytest.importorskip("litestar")
from workbench import fix, fixer, review, scores

READY = {
    "role": "clarifier",
    "answer": {"has_questions": False, "questions_by_issue": [], "ready_to_plan": True},
}
PLANS = {"role": "planner", "answer": {"issues": []}}


def settled(client, run, *states, seconds=30):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        now = client.get(f"/api/runs/{run}").json()
        if now["state"] in (states or ("ended", "waiting")):
            return now
        time.sleep(0.1)
    raise AssertionError(now)


def test_a_run_is_started_answered_looked_at_and_applied(bench, site):
    bench.play(
        review("mean", "page"),
        READY,
        PLANS,
        fixer(fix("mean"), fix("page")),
        scores(F001=95, F002=95),
    )
    repository = site.start().register(bench.repo.root)
    with site.client() as client:
        started = client.post(
            "/api/runs",
            json={"repository_id": repository, "workflow": "challenged", "allow_checks": True},
        )
        assert started.status_code == 201, started.text
        run = started.json()["id"]
        waiting = settled(client, run)
        assert waiting["state"] == "waiting"
        assert str(bench.folder / "state") not in str(waiting)
        assert client.post(f"/api/runs/{run}/answers", json={"choice": "z"}).status_code == 400
        answered = client.post(
            f"/api/runs/{run}/answers", json={"choice": waiting["question"]["choices"] and "a"}
        )
        assert answered.status_code == 200, answered.text
        ended = settled(client, run)
        assert ended["state"] == "ended", ended
        assert ended["by_status"]["fixed"] == 2, ended
        items = client.get(f"/api/runs/{run}/items", params={"status": "fixed"}).json()
        assert [item["code"] for item in items["items"]] == ["F001", "F002"]
        item = client.get(f"/api/runs/{run}/items/1").json()
        assert item["proofs"]
        assert item["change"]["hunks"]
        assert "rows[(number - 1) * size" in client.get(f"/api/runs/{run}/diff").text
        page = client.get(f"/api/runs/{run}/events", params={"limit": 3}).json()
        assert [event["seq"] for event in page["events"]] == [1, 2, 3]
        assert page["more"]
        assert (
            page["events"][0]["event"]["settings"] == ""
            if "settings" in page["events"][0]["event"]
            else True
        )
        names = [each["name"] for each in client.get(f"/api/runs/{run}/artifacts").json()]
        assert "report.json" in names
        assert not any(name.startswith("agents/") or name == "lock" for name in names)
        assert client.get(f"/api/runs/{run}/artifacts/report.json").json()["run"]["id"] == run
        for form in ("md", "json", "sarif", "junit", "html"):
            assert client.get(f"/api/runs/{run}/reports/{form}").status_code == 200
        listed = client.get("/api/runs").json()
        assert [(each["id"], each["state"], each["workflow"]) for each in listed["runs"]] == [
            (run, "ended", "challenged")
        ]
        applied = client.post(f"/api/runs/{run}/apply", json={})
        assert applied.status_code == 200, applied.text
    assert "(number - 1)" in (bench.repo.root / "shop/pages.py").read_text()


def test_an_escalation_is_decided_over_http_in_the_name_of_the_token(bench, site):
    bench.play({"role": "adversarial", "fail": {"text": "quota exceeded", "trouble": "other"}})
    repository = site.start().register(bench.repo.root)
    with site.client("run") as client:
        request = {"repository_id": repository, "workflow": "converge", "story": "2.3"}
        placed = client.post("/api/runs", json={**request, "documents": "docs/progress"})
        assert placed.status_code == 403, "only an admin may have the checkout written to"
        titled = client.post("/api/runs", json={**request, "story": "", "title": "Cart"})
        assert (titled.status_code, "no story" in titled.text) == (400, True)
        run = client.post("/api/runs", json={**request, "title": "Cart totals"}).json()["id"]
        waiting = settled(client, run)
        assert waiting["story"] == "Story 2.3: Cart totals"
        asked = waiting["question"]["question"]
        assert asked.startswith("Story 2.3: Cart totals: review blocked\nAfter 3 review rounds")
        assert "story-2.3-review-findings-round-3.md" in asked
        assert str(bench.folder / "state") not in asked
        assert client.post(f"/api/runs/{run}/resume").status_code == 400, "it waits for a person"
        assert (
            client.post(
                f"/api/runs/{run}/answers", json={"choice": "c", "asked": waiting["asked"]}
            ).status_code
            == 200
        )
        again = settled(client, run)
        assert (waiting["asked"], again["asked"], again["state"]) == (1, 2, "waiting")
        stale = client.post(
            f"/api/runs/{run}/answers", json={"choice": "b", "asked": waiting["asked"]}
        )
        assert (stale.status_code, settled(client, run)["seq"]) == (400, again["seq"]), (
            "that was about another question"
        )
        noted = client.post(
            f"/api/runs/{run}/answers", json={"choice": "b", "asked": 2, "resume": False}
        ).json()
        assert noted["state"] == "stopped"
        assert client.post(f"/api/runs/{run}/resume").status_code == 200
        ended = settled(client, run)
        assert (ended["state"], ended["outcome"]) == ("ended", "incomplete"), (
            "nobody's word makes a review of it"
        )
        events = client.get(f"/api/runs/{run}/events", params={"limit": 500}).json()["events"]
        assert [event["event"]["by"] for event in events if event["kind"] == "answered"] == [
            "runer",
            "runer",
        ]
        assert client.post(f"/api/runs/{run}/resume").status_code == 409
        assert client.delete(f"/api/repositories/{repository}").status_code == 403
    with site.client() as client:
        assert client.delete(f"/api/repositories/{repository}").status_code == 204
        assert client.get(f"/api/runs/{run}").status_code == 404, (
            "what is not registered is not there"
        )
        assert client.get("/api/runs").json() == {"total": 0, "runs": []}
