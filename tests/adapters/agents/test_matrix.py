"""Every workflow with every agent and every temper: no finding is lost, and nothing is called fixed that is not.

`make matrix` runs all of it and writes docs/reference/agent-matrix.md; `make test` runs a sample.
"""

import json
import os
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from stub_requests import Request
from wholerun import FAULTS, KINDS, Company, Project, Step, finding, said

import npm
from needs import rarely

WORKFLOWS = ("unified", "accountable", "challenged", "converge", "verified")
AGENTS = ("claude", "codex", "gemini", "opencode")
TEMPERS = {
    "honest": "fixes and tests what it is asked to, and reports on all of it",
    "forgetful": "fixes everything and does not report on the last finding",
    "excusing": "changes nothing and calls every finding out of scope",
    "contradicting": "fixes everything and calls each finding both fixed and blocked",
    "silent": "changes nothing and answers with nothing",
    "rate-limited": "is refused by its model at every request (429)",
    "never-ending": "reads the same file again and again",
}
SAMPLE = (
    "unified codex forgetful",
    "converge codex contradicting",
    "challenged claude never-ending",
)
WAITING = 4
RESULTS = npm.ENVIRONMENT.get("MATRIX", "")
"""The file to which each result is appended, as a line of JSON."""
LIMITS = {
    "rate-limited": ("retries = 0\n", ()),
    "never-ending": ("silence = 60\n", ("--max-cost", "0.06", "--max-time", "90")),
}


class Crew(Company):
    """All roles of all workflows; the agent under test has its temper when it fixes, the other agent is honest."""

    def __init__(self, agent: str, temper: str) -> None:
        super().__init__(*FAULTS)
        self.api, self.temper = KINDS[agent].api, temper
        if temper == "rate-limited":
            self.down = {self.api: {"status": 429, "error": "slow down"}}

    def pick(self, request: Request, raw: str) -> tuple[str, Step]:
        self._tempered = request.api == self.api
        return super().pick(request, raw)

    def _spec(self, prompt: str) -> list[Step]:
        return said({"findings": [], "summary": "there is no specification"})

    def _adversarial(self, prompt: str) -> list[Step]:
        return self._technical(prompt)

    def _unified(self, prompt: str) -> list[Step]:
        found = [finding(name) for name, each in self.faults.items() if each.new.strip() not in prompt]  # fmt: skip
        told = [
            {"id": f"R{n}", "file": each["file_path"], "line": str(each["line_start"]), "issue": each["title"], "detail": each["description"], "severity": "critical", "category": "correctness", "fix_hint": "put it right"}
            for n, each in enumerate(found, 1)
        ]  # fmt: skip
        return said({"groups": [{"description": "each by itself", "findings": told}]})

    def _clarifier(self, prompt: str) -> list[Step]:
        return said({"has_questions": False, "questions_by_issue": [], "ready_to_plan": True})

    def _planner(self, prompt: str) -> list[Step]:
        todo = {"approach": "patch", "steps": ["put it right"], "files": [], "verification": "tests"}  # fmt: skip
        return said({"todos": [{"code": code, **todo} for code, _ in self._meant(prompt)]})

    def _fixer(self, prompt: str) -> list[Step]:
        steps = super()._fixer(prompt)
        if not self._tempered or self.temper in ("honest", "rate-limited"):
            return steps
        meant, edits = self._meant(prompt), steps[:-2]
        outcomes = steps[-1]["json"]["outcomes"]
        match self.temper:
            case "forgetful":
                return [*edits, *said({"outcomes": outcomes[:-1]})]
            case "excusing":
                excuse = "this is out of scope for the change"
                return said({"outcomes": [{"id": code, "outcome": "deferred", "explanation": excuse} for code, _ in meant]})  # fmt: skip
            case "contradicting":
                blocked = [{"id": code, "outcome": "blocked", "explanation": "it needs a decision"} for code, _ in meant]  # fmt: skip
                return [*edits, *said({"outcomes": [*outcomes, *blocked]})]
            case "silent":
                return [{"text": " "}]
        return [edits[0]] * 500


EVERY = [" ".join(cell) for cell in product(WORKFLOWS, AGENTS, TEMPERS)]


@pytest.mark.parametrize(
    "cell", [*SAMPLE, *rarely(*(cell for cell in EVERY if cell not in SAMPLE))]
)
def test_whatever_the_agent_is_like_no_finding_is_lost_and_nothing_is_fixed_in_words(
    repo, tmp_path, cell
):
    workflow, agent, temper = cell.split()
    shared, limits = LIMITS.get(temper, ("", ()))
    with Crew(agent, temper) as model:
        project = Project(repo, tmp_path, model)
        project.use(agent, "claude" if agent == "codex" else "codex", shared=shared)
        child = project.start("run", "--json", "--yes", "--workflow", workflow, *limits)
        out, err = child.communicate(timeout=500)
        if child.returncode == WAITING and workflow == "challenged":  # a person approves the plan
            child = project.start("answer", "last", "a", "--json")
            out, err = child.communicate(timeout=500)
        assert out, f"{child.returncode}\n{err[-3000:]}"
        report = json.loads(out)["report"]
        audited, branch = project.audited(), project.branch()
    assert project.processes() == {}
    row = describe(report, child.returncode, branch)
    if RESULTS:
        keep({"cell": cell, **row})
    assert audited
    assert row["untrue"] == []
    assert (child.returncode == 0) == (row["found"] == row["fixed"] == len(FAULTS)), row
    assert temper != "honest" or child.returncode == 0, row


def describe(report: dict[str, Any], code: int, branch: dict[str, str]) -> dict[str, Any]:
    """What the run says of itself, and which of it is not so."""
    by_title = {item["title"]: item for item in report["items"]}
    called = [fault for fault in FAULTS.values() if by_title.get(fault.title, {}).get("status") == "fixed"]  # fmt: skip
    proofs = {item["proofs"][0]["kind"] for item in report["items"] if item["proofs"]}
    left = [item["status"] for item in report["items"] if item["status"] != "fixed"]
    return {
        "exit": code,
        "outcome": report["outcome"],
        "found": len(report["items"]),
        "fixed": len(called),
        "proofs": sorted(proofs) if called else [],
        "left": sorted(left),
        "dollars": report["usage"].get("dollars", 0),
        "untrue": [each.title for each in called if each.new not in branch.get(each.path, "")],
    }


def keep(row: dict[str, Any]) -> None:
    with os.fdopen(os.open(Path(RESULTS), os.O_APPEND | os.O_CREAT | os.O_WRONLY), "w") as file:
        file.write(json.dumps(row) + "\n")
