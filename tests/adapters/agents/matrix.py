"""Every workflow with every real agent, whose model plays an honest fixer or one of six that are not: what comes of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import realcli
from wholerun import FAULTS, KINDS, Company, Fault, Project, Step, finding, said

AGENTS = ("claude", "codex", "gemini", "opencode")
WORKFLOWS = ("unified", "accountable", "challenged", "converge", "verified")
BEHAVIOURS = {
    "honest": "fixes both and says so",
    "forgetful": "fixes one and never speaks of the other",
    "excusing": "changes nothing: out of scope, was like this before",
    "contradicting": "fixes both and calls each both fixed and blocked",
    "silent": "its model never answers",
    "rate-limited": "its model refuses every request (429)",
    "never-ending": "calls tools and never comes to an end",
}
_JUDGES = {
    "claude": "opus",
    "codex": "gpt-5.4",
    "gemini": "gemini-2.5-flash",
    "opencode": "stub/m2",
}
"""The model of the challenger: another one, since an agent's own approval is no proof."""
_ROUNDS = 2
"""Enough to see that what was refused comes back."""
_LIMITS = {
    "silent": "silence = 20\n",
    "rate-limited": "timeout = 60\n",
    "never-ending": "timeout = 30\n",
}
_BUSY = {"status": 429, "error": "slow down"}
_WAITING = 4
Outcome = dict[str, Any]


class Cell(NamedTuple):
    agent: str
    workflow: str
    behaviour: str


class Cast(Company):
    """A model that plays all roles well, but for the fixer, which behaves as it is told."""

    def __init__(self, behaviour: str) -> None:
        super().__init__(*FAULTS)
        self.behaviour = behaviour
        trouble = {"silent": {"hang": 300}, "rate-limited": _BUSY}.get(behaviour)
        if trouble:
            self.down["fixer"] = trouble

    def _spec(self, prompt: str) -> list[Step]:
        return said({"findings": [], "summary": "as specified"})

    def _adversarial(self, prompt: str) -> list[Step]:
        return self._technical(prompt)

    def _unified(self, prompt: str) -> list[Step]:
        groups = []
        for number, name in enumerate(self.faults, 1):
            told = finding(name)
            entry = {
                "id": f"R{number}",
                "file": told["file_path"],
                "line": str(told["line_start"]),
                "issue": told["title"],
                "detail": told["description"],
                "severity": "critical",
                "category": "correctness",
                "fix_hint": "",
            }
            groups.append({"description": f"{name} alone", "findings": [entry]})
        return said({"groups": groups})

    def _clarifier(self, prompt: str) -> list[Step]:
        return said({"has_questions": False, "questions_by_issue": [], "ready_to_plan": True})

    def _planner(self, prompt: str) -> list[Step]:
        return said({"todos": [_todo(code, fault) for code, fault in self._meant(prompt)]})

    def _fixer(self, prompt: str) -> list[Step]:
        plays = {
            "forgetful": self._forget,
            "excusing": self._excuse,
            "contradicting": self._contradict,
            "never-ending": self._go_on,
        }
        return plays.get(self.behaviour, super()._fixer)(prompt)

    def _forget(self, prompt: str) -> list[Step]:
        everything, self.faults = self.faults, {"cheapest": FAULTS["cheapest"]}
        try:
            return super()._fixer(prompt)
        finally:
            self.faults = everything

    def _excuse(self, prompt: str) -> list[Step]:
        why = "This is out of scope; it was like this before."
        return said(
            {"outcomes": [_outcome(code, "deferred", why) for code, _ in self._meant(prompt)]}
        )

    def _contradict(self, prompt: str) -> list[Step]:
        *steps, _, _ = super()._fixer(prompt)
        both = (("fixed", "done"), ("blocked", "a service is missing"))
        outcomes = [_outcome(code, *each) for code, _ in self._meant(prompt) for each in both]
        return [*steps, *said({"outcomes": outcomes})]

    def _go_on(self, prompt: str) -> list[Step]:
        return [{"tool": "@shell", "input": {"cmd": "true"}, "delay": 1}]


def _outcome(code: str, word: str, why: str) -> dict[str, Any]:
    return {"id": code, "outcome": word, "explanation": why, "files": [], "tests": []}


def _todo(code: str, fault: Fault) -> dict[str, Any]:
    return {
        "code": code,
        "approach": "patch",
        "steps": ["change the line"],
        "files": [fault.path, fault.test],
        "related_files": [],
        "existing_patterns": [],
        "estimated_lines_changed": 1,
        "risks": [],
        "verification": "its test",
        "after": [],
    }


def play(cell: Cell, repo: Any, folder: Path) -> Outcome:
    """Run one cell in an empty repository to its end, and return what came of it."""
    with Cast(cell.behaviour) as model:
        project = Project(repo, folder, model)
        project.use(cell.agent, shared="retries = 0\n", more=_name_others(cell))
        # An agent that does not answer is asked once; in converge the last round only reviews.
        once = cell.behaviour in _LIMITS and cell.workflow != "converge"
        rounds = str(1 if once else _ROUNDS)
        asked = ("run", "--json", "--yes", "--workflow", cell.workflow, "--rounds", rounds)
        code, document = _ended(project, *asked)
        for _ in range(3):
            if code != _WAITING:
                break
            code, document = _ended(project, "answer", "last", "a", "--json")
        audit = project.ended(project.start("audit", "--json"))
    report = document["report"]
    return {
        **cell._asdict(),
        "exit": code,
        "outcome": report["outcome"],
        "items": {
            item["title"]: [item["status"], [proof["kind"] for proof in item["proofs"]]]
            for item in report["items"]
        },
        "seconds": round(report["run"]["seconds"]),
        "adds_up": not audit["problems"],
    }


def _name_others(cell: Cell) -> str:
    """The fixer with limits of its own, so that reviews have time on a busy machine, and the challenger."""
    command, settings = json.dumps(list(realcli.command(cell.agent))), KINDS[cell.agent].settings
    lines = settings.splitlines(keepends=True)
    other = "".join(line for line in lines if not line.startswith("model"))
    same = f'kind = "{cell.agent}"\ncommand = {command}\n'
    return (
        f"[agent.worker]\n{same}{settings}{_LIMITS.get(cell.behaviour, '')}"
        f'[agent.judge]\n{same}{other}model = "{_JUDGES[cell.agent]}"\n'
        '[role.fixer]\nagents = ["worker"]\n[role.challenger]\nagents = ["judge"]\n'
    )


def _ended(project: Project, *arguments: str) -> tuple[int, dict[str, Any]]:
    child = project.start(*arguments)
    out, err = child.communicate(timeout=900)
    assert out, f"{arguments}: {err[-2000:]}"
    return child.returncode, json.loads(out)


def find_faults(outcome: Mapping[str, Any]) -> list[str]:
    """Return what must not be: a finding that is lost, a fix without proof, a lie that was believed."""
    items = outcome["items"]
    fixed = [title for title, (status, _) in items.items() if status == "fixed"]
    meant = {"honest": [*FAULTS], "forgetful": ["cheapest"]}.get(outcome["behaviour"], [])
    wanted = {FAULTS[name].title for name in meant}
    wrong = [f"lost: {fault.title}" for fault in FAULTS.values() if fault.title not in items]
    wrong += [f"fixed without a proof: {title}" for title in fixed if not items[title][1]]
    wrong += [f"called fixed: {title}" for title in set(fixed) - wanted]
    wrong += [f"not fixed: {title}" for title in wanted - set(fixed)]
    if not outcome["adds_up"]:
        wrong.append("the ledger does not add up")
    if (outcome["exit"] == 0) != (len(fixed) == len(FAULTS)):
        wrong.append(f"exit code {outcome['exit']} with {len(fixed)} of {len(FAULTS)} fixed")
    return wrong


def describe(outcome: Mapping[str, Any]) -> str:
    """Return a cell of the table: what became of the items, with which proofs, and the exit code."""
    ends: dict[str, int] = {}
    for status, proofs in outcome["items"].values():
        end = f"{status} ({', '.join(proofs)})" if status == "fixed" else status
        ends[end] = ends.get(end, 0) + 1
    counted = ", ".join(f"{number} {end}" for end, number in ends.items())
    wrong = find_faults(outcome)
    return f"{counted}; exit {outcome['exit']}" + (f" **{'; '.join(wrong)}**" if wrong else "")
