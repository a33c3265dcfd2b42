"""converge on the command line: a story, its documents in the checkout, the question, and what each answer does."""

import json
import re
from pathlib import Path

import workbench
from workbench import finding, fix, fixer

WHY = "a shop without prices cannot open"
ALL = [finding("mean", impact=WHY), finding("initials")]
LEFT = {"findings": ALL, "summary": "looked"}
ORDER = [("adversarial", 1), ("fixer", 1), ("adversarial", 2), ("fixer", 2), ("adversarial", 3)]
"""Who is asked in which round."""


def play(repo, tmp_path, make_punchlist):
    """A fixer that fixes one fault and defers the others, and a reviewer that reports the others."""
    bench = workbench.Workbench(repo, tmp_path)
    bench.play(
        {
            "role": "adversarial",
            "answer": {**LEFT, "findings": [*ALL, finding("page")]},
            "times": 1,
        },
        {"role": "adversarial", "answer": LEFT},
        fixer(fix("page"), fix("mean", "deferred", "later"), fix("initials", "deferred", "later")),
    )
    command = make_punchlist(repo.root)
    command.env["PUNCHLIST_CONFIG"] = str(tmp_path / "settings.toml")
    return command


def test_a_story_is_seen_through_to_the_question_and_accepted(repo, tmp_path, make_punchlist):
    command = play(repo, tmp_path, make_punchlist)
    story = ("--story", "2.3", "--title", "Cart totals", "--documents", "docs/progress")
    asked = command("run", "--workflow", "converge", "--yes", *story)
    assert asked.returncode == 4, asked.stderr
    shown = asked.stdout
    path = "docs/progress/story-2.3-review-findings-round-3.md"
    for line in (
        "    Story 2.3: Cart totals: review blocked\n    After 3 review rounds, issues remain:\n",
        "    - Critical: 0\n    - Important: 1\n    - Minor: 1\n",
        f"    Findings document: {path}\n",
    ):
        assert line in shown
    document = (repo.root / path).read_text()
    assert "- **Total findings:** 2\n- **Critical:** 0\n- **Important:** 1\n" in document
    assert f"impact: {WHY}" in command("show", "last", "2").stdout
    again = command("answer", "last", "c")
    assert (again.returncode, "After 4 review rounds" in again.stdout) == (4, True)
    done = command("answer", "last", "b", "--by", "kim")
    assert done.returncode == 0
    said = "Story 2.3: Cart totals is done: kim accepted the findings that were open."
    assert said in done.stdout
    listed = done.stdout.partition("Accepted, and not fixed\n")[2]
    assert ("mean() fails" in listed, "accepted after 4 rounds" in listed) == (True, True)


def test_what_a_round_did_is_told_with_the_number_of_that_round(repo, tmp_path, make_punchlist):
    """In the events, in items' histories and issues, and in the message of a commit."""
    command = play(repo, tmp_path, make_punchlist)
    named = ("--set", "commit-subject=round {round} - {title}")
    told = command("run", "--workflow", "converge", "--yes", "--events", *named).stdout
    events = [json.loads(line)["event"] for line in told.splitlines()]
    begun = [(event["role"], event["round"]) for event in events if event.get("role")]
    assert begun == ORDER
    fixed, left = (command("show", "last", number).stdout for number in ("1", "2"))
    assert set(re.findall(r"round (\d): ", fixed)) == {"1"}
    assert re.findall(r"round (\d): deferred", left) == ["1", "2"]
    assert repo.git("log", "--all", "--format=%s", "--grep=^round").startswith("round 1 - page()")
    command("answer", "last", "a")
    (issue,) = [item["issue"] for item in command.json("show", "last") if item["number"] == 2]
    assert re.findall(r"Round (\d), robot: deferred", Path(issue).read_text()) == ["1", "2"]


def test_a_dry_run_says_what_it_would_start_and_writes_no_document(repo, tmp_path, make_punchlist):
    command = play(repo, tmp_path, make_punchlist)
    story = ("--story", "2.3", "--documents", "docs/progress", "--set", "coverage=80")
    shown = command("run", "--workflow", "converge", "--yes", "--dry-run", *story)
    assert shown.returncode == 0, shown.stderr
    lines = [line.strip(" -") for line in shown.stdout.splitlines() if "[DRY-RUN]" in line]
    assert lines == [
        f"[DRY-RUN] Would start robot as {role} for Story 2.3 round {number}"
        for role, number in ORDER
    ]
    assert "This is about Story 2.3\nBranch: feature\n" in shown.stdout
    assert not (repo.root / "docs").exists()
    assert not (tmp_path / "calls.jsonl").exists()
    assert not list((tmp_path / "state").rglob("*findings*"))
    assert command.json("list") == []


def test_what_a_workflow_does_not_do_is_said(repo, tmp_path, make_punchlist):
    command = play(repo, tmp_path, make_punchlist)
    wanted = ("--documents", "docs/progress", "--set", "coverage=80", "--dry-run")
    notes = command.json("run", "--workflow", "review", *wanted)["notes"]
    assert "test coverage is not measured: review runs no checks" in notes
    assert "docs/progress gets no findings document: review writes none" in notes
    refused = command("run", "--workflow", "converge", "--documents", "../out", "--dry-run")
    assert (refused.returncode, "leads out of the repository" in refused.stderr) == (2, True)
    alone = command("run", "--title", "Cart totals", "--dry-run")
    assert (alone.returncode, "--story 2.3" in alone.stderr) == (2, True)
