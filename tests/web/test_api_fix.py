"""Fix sessions over HTTP: clarify, plan, start with its stream of events; once, whatever is repeated or killed."""

import pytest

pytest.importorskip("litestar")
from reading import heard
from workbench import fix, fixer, review, scores

from punchlist.web.api.fix_sessions.request import make_request
from punchlist.web.api.fix_sessions.schemas import Clarify
from punchlist.web.state import Options, WebSession

READY = {
    "role": "clarifier",
    "answer": {"has_questions": False, "questions_by_issue": [], "ready_to_plan": True},
}
PLANS = {"role": "planner", "answer": {"issues": []}}
ORDER = [
    "fix_session_started",
    "fix_step_started",
    "fix_step_completed",
    "fix_challenger_evaluating",
    "fix_challenger_result",
    "fix_session_completed",
]


def question(code, text="What of no prices?"):
    asked = {"id": f"{code}-q1", "question": text, "context": "the contract is unclear"}
    answer = {
        "has_questions": True,
        "questions_by_issue": [{"issue_code": code, "questions": [asked]}],
        "ready_to_plan": False,
    }
    return {"role": "clarifier", "times": 1, "answer": answer}


def streamed(client, body, **headers):
    with client.stream(
        "POST",
        "/api/fix/start",
        json=body,
        headers={k.replace("_", "-"): v for k, v in headers.items()},
    ) as answer:
        assert answer.status_code == 200, answer.read()
        return list(heard(answer.iter_lines()))


def orders(ids):
    return tuple(ids), tuple(reversed(ids))


def of_ledger(events):
    return [event for event in events if event.id]


@pytest.fixture
def reviewed(bench, site):
    """The repository is registered, and a review has found two things; their ids."""
    bench.play(
        review("mean", "page", times=1),
        review(),
        question("F001"),
        READY,
        PLANS,
        fixer(fix("mean"), fix("page")),
        scores(F001=95, F002=95),
    )
    repository = site.start().register(bench.repo.root)
    with site.client("run") as client:
        asked = client.post("/api/fix/clarify", json={"repository_id": repository})
        assert asked.status_code == 200, asked.text
    with site.client("read") as client:
        (run,) = client.get("/api/runs").json()["runs"]
        items = client.get(f"/api/runs/{run['id']}/items").json()["items"]
    return {
        "repository_id": repository,
        "issue_ids": [item["id"] for item in items if item["status"] == "open"],
    }


def test_a_session_is_clarified_planned_and_fixed(bench, site, reviewed):
    bench.play(
        review(),
        question("F001"),
        READY,
        PLANS,
        fixer(fix("mean"), fix("page")),
        scores(F001=95, F002=95),
    )
    assert len(reviewed["issue_ids"]) == 2
    desk = WebSession(site.home, Options(), lambda: False)
    there = desk.find_repository(reviewed["repository_id"])
    there_and_back = [
        make_request(desk, there, Clarify(repository_id=there.id, issue_ids=ids))
        for ids in orders(reviewed["issue_ids"])
    ]
    assert there_and_back[0] == there_and_back[1], (
        "the same issues in any order are the same request"
    )
    with site.client("run") as client:
        first = client.post(
            "/api/fix/clarify", json={**reviewed, "session_id": None, "answers": None}
        )
        assert first.status_code == 200, first.text
        asked = first.json()
        assert asked["has_questions"]
        assert asked["questions_by_issue"][0]["questions"][0]["id"] == "F001-q1"
        assert not asked["ready_to_plan"]
        session = asked["session_id"]
        early = client.post("/api/fix/plan", json={**reviewed, "clarify_session_id": session})
        assert early.status_code == 409
        assert early.json()["session_id"] == session
        answered = client.post(
            "/api/fix/clarify",
            json={**reviewed, "session_id": session, "answers": {"F001-q1": "Return None"}},
        )
        assert answered.json()["ready_to_plan"], answered.text
        plan = client.post("/api/fix/plan", json={**reviewed, "clarify_session_id": session}).json()
        assert plan["ready"]
        assert plan["master_todo"]["summary"] == {"total_issues": 2, "total_steps": 1}
        assert {sheet["issue_code"] for sheet in plan["todos"]} == {"F001", "F002"}
        assert str(site.home) not in str(plan)
        body = {
            **reviewed,
            "clarify_session_id": session,
            "master_todo_path": plan["master_todo_path"],
            "task_id": "t",
        }
        events = streamed(client, body)
        assert [event.name for event in of_ledger(events)] == ORDER, events
        last = of_ledger(events)[-1].data
        assert {code: issue["status"] for code, issue in last["issues"].items()} == {
            "F001": "fixed",
            "F002": "fixed",
        }
        result = next(event for event in events if event.name == "fix_challenger_result")
        assert result.data["issues"]["F001"]["status"] == "SOLVED"
        again = of_ledger(streamed(client, body, last_event_id=of_ledger(events)[1].id))
        assert again == of_ledger(events)[2:], (
            "who comes back gets what is missing, and nothing twice"
        )
        answers = client.get(f"/api/runs/{session}").json()["doubts"]
        assert [(each["answer"], each["by"]) for each in answers] == [("Return None", "runer")]


def test_a_session_without_a_plan_goes_through_and_is_done_once_under_its_key(bench, site):
    bench.play(
        review("mean"), READY, PLANS, fixer(fix("mean"), say=["thinking aloud"]), scores(F001=95)
    )
    body = {"repository_id": site.start().register(bench.repo.root)}
    with site.client("run") as client:
        events = streamed(client, body, x_idempotency_key="one")
        assert [event.name for event in of_ledger(events)] == ORDER, events
        assert [event.data["text"] for event in events if event.name == "fix_issue_streaming"] == [
            "thinking aloud"
        ]
        assert of_ledger(streamed(client, body, x_idempotency_key="one")) == of_ledger(events)
        other = client.post(
            "/api/fix/start", json={**body, "user_notes": "x"}, headers={"x-idempotency-key": "one"}
        )
        assert other.status_code == 422
        assert client.get("/api/runs").json()["total"] == 1


def test_the_same_request_twice_is_told_who_is_at_it(bench, site):
    bench.play({**review("mean"), "seconds": 4}, READY, PLANS, fixer(fix("mean")), scores(F001=95))
    body = {"repository_id": site.start().register(bench.repo.root), "workflow": "challenged"}
    with site.client("run") as client:
        run = client.post("/api/runs", json=body).json()["id"]
        second = client.post("/api/runs", json=body)
        assert second.status_code == 409, second.text
        assert second.json()["session_id"] == run
        forced = client.post("/api/runs", json={**body, "force": True})
        assert forced.status_code == 201
        for each in (run, forced.json()["id"]):
            assert client.post(f"/api/runs/{each}/cancel").json()["state"] == "interrupted"
        assert client.post(f"/api/runs/{run}/cancel").status_code == 409
        assert client.post(f"/api/runs/{run}/resume").json()["state"] == "running"
    assert site.end() == 0
    with site.start().client("run") as client:
        now = client.get(f"/api/runs/{run}").json()
        assert now["state"] == "interrupted", (
            "a server that stops leaves its runs so that they can go on"
        )
        assert client.post(f"/api/runs/{run}/resume").status_code == 200


def test_a_killed_server_goes_on_where_its_reader_was(bench, site):
    bench.play(review("mean"), READY, PLANS, {**fixer(fix("mean")), "seconds": 3}, scores(F001=95))
    body = {"repository_id": site.start().register(bench.repo.root)}
    with site.client("run") as client, client.stream("POST", "/api/fix/start", json=body) as answer:
        events = heard(answer.iter_lines())
        seen = []
        while not seen or seen[-1].name != "fix_step_started":
            seen += [each for each in [next(events)] if each.id]
        site.kill()
    session = seen[0].data["session_id"]
    with site.start().client("run") as client:
        assert client.get(f"/api/runs/{session}").json()["state"] == "stopped"
        assert client.post(f"/api/runs/{session}/resume").status_code == 200
        with client.stream(
            "GET", f"/api/fix/{session}/stream", headers={"last-event-id": seen[-1].id}
        ) as answer:
            rest = of_ledger(heard(answer.iter_lines()))
    assert [event.name for event in [*seen, *rest]] == ORDER
