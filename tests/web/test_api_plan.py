"""A session's plan over HTTP: looked at and changed as in its files, checked at once, and only until the fixing starts."""

import json

import pytest

pytest.importorskip("litestar")
from reading import heard
from workbench import fix, fixer, review, scores

from punchlist.adapters.store.lease import FileLease

READY = {
    "role": "clarifier",
    "answer": {"has_questions": False, "questions_by_issue": [], "ready_to_plan": True},
}
PLANS = {"role": "planner", "answer": {"issues": []}}


@pytest.fixture
def planned(bench, site):
    """A session that waits with its plan of two issues; its client, and what requests about it begin with."""
    bench.play(
        review("mean", "page"),
        READY,
        PLANS,
        fixer(fix("mean"), fix("page")),
        scores(F001=95, F002=95),
    )
    body = {"repository_id": site.start().register(bench.repo.root)}
    with site.client("run") as client:
        plan = client.post("/api/fix/plan", json=body).json()
        assert plan["ready"], plan
        yield (
            client,
            plan,
            f"/api/fix/{plan['session_id']}/plan",
            {**body, "clarify_session_id": plan["session_id"]},
        )


def started(client, body) -> list:
    with client.stream("POST", "/api/fix/start", json=body) as answer:
        return list(heard(answer.iter_lines()))


def test_the_session_goes_by_the_plan_as_it_was_changed(bench, site, planned):
    client, plan, path, body = planned
    assert client.get(path).json() == plan
    sheet = next(each for each in plan["todos"] if each["issue_code"] == "F001")
    sheet["plan"] |= {"steps": ["Treat the empty list as Ada said"], "approach": "refactor"}
    changed = client.put(
        f"{path}/fix_todo/F001", json={**sheet, "title": "another", "file": "/etc/passwd"}
    )
    assert changed.status_code == 200, changed.text
    (now,) = [each for each in changed.json()["todos"] if each["issue_code"] == "F001"]
    assert now["plan"]["steps"] == ["Treat the empty list as Ada said"]
    assert (now["title"], now["file"]) == (sheet["title"], sheet["file"]), (
        "what it is about stays as it is"
    )
    master = plan["master_todo"]
    for step in master["execution_steps"]:
        step["issues"] = [issue for issue in step["issues"] if issue["code"] == "F001"]
    changed = client.put(f"{path}/master_todo", json=master).json()
    assert changed["master_todo"]["summary"] == {"total_issues": 1, "total_steps": 1}
    on_disk = json.loads((bench.artifacts() / "plan" / "master_todo.json").read_text())
    (issue,) = on_disk["execution_steps"][0]["issues"]
    assert issue["todo_file"] == str(bench.artifacts() / "plan" / "fix_todo_F001.json")
    done = started(client, body)[-1].data["issues"]
    assert done["F001"]["status"] == "fixed"
    item = client.get(f"/api/runs/{plan['session_id']}/items/2").json()
    assert "taken out of master_todo.json by hand" in json.dumps(item)
    events = client.get(f"/api/runs/{plan['session_id']}/events", params={"limit": 500}).json()[
        "events"
    ]
    todos = [
        todo
        for event in events
        if event["kind"] == "planned"
        for todo in event["event"].get("todos", ())
    ]
    assert ["Treat the empty list as Ada said"] in [
        todo.get("steps") for todo in todos if todo["item"] == 1
    ]
    late = client.put(f"{path}/master_todo", json=master)
    assert late.status_code == 409, late.text
    assert client.get(path).json()["ready"] is False


def test_what_cannot_be_used_is_refused_with_its_place_and_nothing_changes(bench, site, planned):
    client, plan, path, _ = planned
    sheet, master = plan["todos"][0], plan["master_todo"]
    step = {"step": 1, "reason": "", "issues": [{"code": "F777"}]}
    refusals = [
        ("fix_todo/F001", {**sheet, "plan": {"approach": "magic"}}, "approach"),
        ("fix_todo/F002", sheet, "the address says F002"),
        (
            "fix_todo/F777",
            {**sheet, "issue_code": "F777"},
            'no issue of this plan is called "F777"',
        ),
        (
            "fix_todo/F001",
            {**sheet, "context": {"related_files": [{"path": "../../etc/passwd"}]}},
            "inside of the repository",
        ),
        ("fix_todo/..%2f..%2fx", sheet, ""),
        (
            "master_todo",
            {**master, "execution_steps": [step]},
            'no issue of this plan is called "F777"',
        ),
        (
            "master_todo",
            {**master, "execution_steps": master["execution_steps"] * 2},
            "earlier step as well",
        ),
        ("master_todo", {"execution_steps": "all"}, "execution_steps"),
    ]
    for name, body, said in refusals:
        answer = client.put(f"{path}/{name}", json=body)
        assert answer.status_code in (400, 404), (name, answer.text)
        assert said in answer.json()["what"], answer.text
        assert str(site.home) not in answer.text
    assert client.get(path).json() == plan


def test_files_that_were_broken_by_hand_are_named_and_can_be_put_right(bench, site, planned):
    client, plan, path, body = planned
    file = bench.artifacts() / "plan" / "fix_todo_F002.json"
    file.write_text("{")
    broken = client.get(path).json()
    assert broken["problems"][0].startswith("fix_todo_F002.json: not JSON")
    assert [each["issue_code"] for each in broken["todos"]] == ["F001"]
    other = client.put(f"{path}/fix_todo/F001", json=plan["todos"][0])
    assert other.status_code == 200, "another's fault keeps nobody from changing theirs"
    mended = client.put(f"{path}/fix_todo/F002", json=plan["todos"][1]).json()
    assert mended == plan
    assert {issue["status"] for issue in started(client, body)[-1].data["issues"].values()} == {
        "fixed"
    }


def test_a_plan_is_not_changed_while_somebody_is_at_the_run(bench, site, planned):
    client, plan, path, _ = planned
    with FileLease.acquire(site.home, plan["session_id"]):
        assert client.put(f"{path}/master_todo", json=plan["master_todo"]).status_code == 409
