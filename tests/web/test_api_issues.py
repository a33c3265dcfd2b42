"""The issues of a fix session are those the client chose, under the client's own names."""

import os
import time

import pytest

pytest.importorskip("litestar")
from reading import heard
from sites import QUICK
from workbench import FAULTS, finding, fix, fixer, review, scores

READY = {
    "role": "clarifier",
    "answer": {"has_questions": False, "questions_by_issue": [], "ready_to_plan": True},
}
PLANS = {
    "role": "planner",
    "answer": {"issues": [{"issue_code": "F001", "plan": {"steps": ["look", "change it"]}}]},
}
OTHERS = [
    {**finding("mean"), "title": f"name{number}() is hard to read", "severity": "minor"}
    for number in range(7)
]


def asks(code):
    asked = {"id": f"{code}-q1", "question": "What of page zero?", "context": "unclear"}
    answer = {"questions_by_issue": [{"issue_code": code, "questions": [asked]}]}
    return {"role": "clarifier", "times": 1, "answer": {**answer, "has_questions": True}}


def follow(client, body):
    with client.stream("POST", "/api/fix/start", json=body) as answer:
        assert answer.status_code == 200, answer.read()
        return list(heard(answer.iter_lines()))


def named(events, name):
    return [event.data for event in events if event.name == name]


def add_remote(repo, folder):
    """A remote that has the main branch; returns the commit that is checked out."""
    repo.git("init", "--quiet", "--bare", str(folder))
    repo.git("remote", "add", "origin", str(folder))
    repo.git("push", "--quiet", "origin", "main")
    return repo.head


def write_old(path):
    """A file that was written eleven days ago."""
    path.parent.mkdir(parents=True)
    path.touch()
    os.utime(path, times=(time.time() - 11 * 86400,) * 2)
    return path


def test_a_session_over_one_issue_of_eleven_touches_one_item(bench, site, tmp_path):
    first = review(*FAULTS, times=1)
    first["answer"]["findings"] += OTHERS
    bench.play(
        first, READY, PLANS, fixer(fix("page", confidence=80), say=["thinking"]), scores(F001=95)
    )
    head, kept = add_remote(bench.repo, tmp_path / "remote.git"), tmp_path / "kept"
    old = write_old(kept / "261101-aaaaaa" / "report.md")
    site.start(
        "--set", "threshold=95", "--set", f"keep.to={kept}", "--set", "keep.local=false", *QUICK
    )
    repository = site.register(bench.repo.root)
    with site.client("run") as client:
        body = {"repository_id": repository, "workflow": "review"}
        earlier = client.post("/api/runs", json=body).json()["id"]
        with client.stream("GET", f"/api/runs/{earlier}/stream") as told:
            assert list(heard(told.iter_lines()))
        found = client.get(f"/api/runs/{earlier}/items").json()["items"]
        assert len(found) == 11
        (wanted,) = [item for item in found if item["title"] == FAULTS["page"][0]]
        before = len(bench.calls)
        alone = {"repository_id": repository, "issue_ids": [wanted["id"]]}
        events = follow(client, alone)
        session = events[0].data["session_id"]
        run = client.get(f"/api/runs/{session}").json()
        items = client.get(f"/api/runs/{session}/items").json()["items"]
        told = client.get(f"/api/runs/{session}/events", params={"limit": 500})
    ledger = told.json()["events"]
    assert ".../kept" in told.text
    assert str(kept) not in told.text, "readers are told no folder of the server"
    assert [(item["title"], item["status"]) for item in items] == [(wanted["title"], "fixed")]
    roles = [role for _, role in bench.calls[before:]]
    assert roles == ["fixer", "challenger"], "nothing else is paid"
    kinds = [line["kind"] for line in ledger]
    assert [kinds.count(kind) for kind in ("attempted", "challenged", "committed")] == [1, 1, 1]
    reviewed = [line["event"]["reviewer"] for line in ledger if line["kind"] == "reviewed"]
    assert reviewed == ["file:issues.json"], "nothing is reviewed again"
    assert run["outcome"] == "fixed"
    (end,) = named(events, "fix_session_completed")
    assert len(end["commits"]) == 1
    assert end["issues"]["F001"]["issue_id"] == wanted["id"]
    assert end["issues"]["F001"]["confidence"] == items[0]["confidence"] == 80
    (step,) = named(events, "fix_step_completed")
    assert step["confidence"] == {"F001": 80}
    (judged,) = named(events, "fix_challenger_result")
    assert (judged["threshold"], judged["issues"]["F001"]["status"]) == (95, "SOLVED")
    (said,) = [data for data in named(events, "fix_issue_streaming") if data["text"] == "thinking"]
    assert (said["issue_id"], said["issue_code"]) == (wanted["id"], "F001")
    assert events[0].data["issue_ids"] == [wanted["id"]]
    assert bench.repo.head == head
    assert bench.repo.git("ls-remote", "--heads", "origin").endswith("refs/heads/main")
    assert "punchlist/" not in bench.repo.git("ls-remote", "origin"), "the user pushes"
    assert (kept / session / "plan" / "fix_todo_F001.json").is_file()
    assert not (site.home / "runs" / session / "plan").exists(), "nothing is left over here"
    assert not old.exists(), "the server removes what was kept for ten days"


OWN = {
    "issue_id": "7f0e-page",
    "issue_code": "BE-001",
    "title": FAULTS["page"][0],
    "category": "off by one",
    "file": "shop/pages.py",
    "line": 5,
    "user_notes": "pages count from one",
}


def test_issues_of_the_client_keep_their_ids_codes_titles_and_categories(bench, site):
    bench.play(
        asks("F001"),
        READY,
        PLANS,
        fixer(fix("page"), prompt="pages count from one"),
        scores(F001=85),
    )
    repository = site.start().register(bench.repo.root)
    other = {**OWN, "issue_id": "other", "issue_code": "be-002"}
    asked = {"repository_id": repository, "issue_ids": ["7f0e-page"]}
    with site.client("run") as client:
        body = {**asked, "issues": [OWN, other], "threshold": 80, "max_iterations": 1}
        said = client.post("/api/fix/clarify", json=body).json()
        (questions,) = said["questions_by_issue"]
        assert (questions["issue_code"], questions["issue_id"]) == ("BE-001", "7f0e-page")
        assert [each["id"] for each in questions["questions"]] == ["BE-001-q1"]
        goes_on = {**asked, "session_id": said["session_id"]}
        said = client.post(
            "/api/fix/clarify", json={**goes_on, "answers": {"BE-001-q1": "as before"}}
        ).json()
        assert said["ready_to_plan"], said
        begun = {**asked, "clarify_session_id": said["session_id"]}
        less = client.post("/api/fix/plan", json={**begun, "issue_ids": ["other"]})
        assert less.status_code == 409, less.text
        assert client.post("/api/fix/plan", json={**begun, "threshold": 90}).status_code == 409
        plan = client.post("/api/fix/plan", json=begun).json()
        (step,) = plan["master_todo"]["execution_steps"]
        (issue,) = step["issues"]
        assert issue["code"] == "BE-001"
        assert issue["todo_file"].endswith("/fix_todo_BE-001.json")
        (sheet,) = plan["todos"]
        assert (sheet["issue_code"], sheet["issue_id"]) == ("BE-001", "7f0e-page")
        assert (sheet["file"], sheet["line"], sheet["title"]) == ("shop/pages.py", 5, OWN["title"])
        assert [each["answer"] for each in sheet["clarifications"]] == ["as before"]
        sheet["plan"]["steps"] = ["count from one"]
        changed = client.put(
            f"/api/fix/{said['session_id']}/plan/fix_todo/BE-001", json=sheet
        ).json()
        assert changed["todos"][0]["plan"]["steps"] == ["count from one"]
        events = follow(client, begun)
        part = client.get(f"/api/runs/{said['session_id']}/items/1").json()
        report = client.get(f"/api/runs/{said['session_id']}/reports/json").json()
    for name in ("fix_step_started", "fix_step_completed", "fix_challenger_evaluating"):
        (data,) = named(events, name)
        assert (list(data["issues"]), data["issue_ids"]) == (["BE-001"], ["7f0e-page"])
    for name in ("fix_challenger_result", "fix_session_completed"):
        (data,) = named(events, name)
        mine = data["issues"]["BE-001"]
        assert (mine["issue_id"], mine["issue_code"]) == ("7f0e-page", "BE-001")
    (end,) = named(events, "fix_session_completed")
    assert (end["issues"]["BE-001"]["title"], end["issues"]["BE-001"]["category"]) == (
        OWN["title"],
        "off by one",
    )
    assert end["issues"]["BE-001"]["status"] == "fixed"
    (commit,) = end["commits"]
    message = bench.repo.git("show", "--no-patch", "--format=%B", commit)
    assert "Punchlist-Issues: BE-001\n" in message
    assert part["confidence"] is report["items"][0]["confidence"] is None, "it said nothing of it"
    for item in (part, report["items"][0]):
        assert (item["issue_id"], item["issue_code"]) == ("7f0e-page", "BE-001"), item


def test_what_scores_under_the_threshold_is_in_progress_and_is_fixed_again(bench, site):
    low = {"score": 70, "status": "SOLVED", "improvements_needed": ["think of page zero"]}
    quality = {"quality_scores": {"correctness": 60, "safety": 90, "style": 95}}
    bench.play(
        fixer(fix("page"), prompt="think of page zero"),
        fixer(fix("page")),
        {"role": "challenger", "answer": {"issues": {"F001": low | quality}}, "times": 1},
        scores(F001=90),
    )
    repository = site.start().register(bench.repo.root)
    with site.client("run") as client:
        events = follow(client, {"repository_id": repository, "issues": [OWN]})
    told = [(data["round"], data["issues"]["BE-001"]) for data in named(events, "fix_challenger_result")]  # fmt: skip
    assert [(number, mine["score"], mine["status"]) for number, mine in told] == [
        (1, 70, "IN_PROGRESS"),
        (2, 90, "SOLVED"),
    ]
    assert told[0][1]["improvements_needed"] == ["think of page zero"]
    assert told[0][1]["quality_scores"] == quality["quality_scores"]
    assert [role for _, role in bench.calls] == ["fixer", "challenger"] * 2


@pytest.mark.parametrize(
    ("path", "wanted", "why"),
    [
        ("fix/clarify", {"threshold": 0}, "threshold: 0 is not a score from 1 to 100"),
        ("fix/start", {"threshold": 101}, "threshold: 101 is not a score"),
        ("fix/plan", {"rounds": 101}, "rounds: 101 is not a number from 0 to 100"),
        ("fix/plan", {"max_iterations": -1}, "rounds: -1 is not a number"),
        ("fix/plan", {"max_iterations": 1, "rounds": 2}, "and differ"),
        ("runs", {"rounds": 1, "workflow": "review"}, "the workflow review has no rounds"),
        ("runs", {"threshold": 95, "workflow": "verified"}, "no agent scores fixes"),
    ],
)
def test_rounds_and_thresholds_out_of_range_are_refused(house, path, wanted, why):
    with house.client("run") as client:
        said = client.post(f"/api/{path}", json={"repository_id": house.repository, **wanted})
        assert said.status_code == 422, said.text
        assert why in said.json()["what"]
        assert said.json()["next"]


@pytest.mark.parametrize(
    ("issues", "issue_ids", "status", "why"),
    [
        ([], ["nothing"], 400, "no issue is called"),
        ([OWN, OWN], [], 422, "two issues have this id"),
        ([OWN, {**OWN, "issue_id": "b"}], [], 422, "two issues have the code"),
        ([{**OWN, "issue_code": "F002"}, {**OWN, "issue_id": "b", "issue_code": ""}], [], 422, ""),
        ([{**OWN, "file": "../secret"}], [], 422, "inside of the repository"),
        ([{**OWN, "issue_code": "../up"}], [], 400, ""),
        ([{**OWN, "title": ""}], [], 400, ""),
    ],
)
def test_issues_that_cannot_be_told_apart_or_placed_are_refused(
    house, issues, issue_ids, status, why
):
    with house.client("run") as client:
        body = {"repository_id": house.repository, "issues": issues, "issue_ids": issue_ids}
        said = client.post("/api/fix/clarify", json=body)
        assert said.status_code == status, said.text
        assert why in said.json()["what"]
        assert said.json()["next"]
        assert client.get("/api/runs").json()["total"] == 0
