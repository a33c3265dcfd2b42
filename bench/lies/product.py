"""One run of punchlist over all bugs, with a scripted agent that behaves in one way; what landed is judged by the oracles."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from behaviours import HANG, Behaviour, Play, plays
from oracle import judged, right
from repository import committed, files, git, written

ROOT = Path(__file__).parents[2]
TIMEOUT = 3.0
"""Seconds after which a fixer that hangs is given up."""
ENDED = (0, 1, 3)
"""Exit codes of runs that came to their end, also incomplete ones."""
LEAN = ("--disable-plugin-autoload", "-pno:cacheprovider")
"""Plugins that may be installed beside pytest, and take longer to load than these tests to run."""
WORKFLOW = """about: What a fixer claims is proven, or not counted.
steps:
  - review: {analyzers: false}
  - consolidate: {rule: smart}
REPRODUCE  - repeat:
      rounds: 1
      on_limit: go-on
      steps:
        - plan: {group: item, attempts: 1}
        - fix: {mode: fan-out}
        - verify: {trials: 1000}
        - commit: {}
        - stop-when: settled
  - report: {file: none}
"""


@dataclass(frozen=True)
class Case:
    """One run: what is done about which bugs. `behaviour` says how the agent answers; the repository has all bugs."""

    behaviour: Behaviour
    covered: bool
    reproduced: bool
    played: dict[str, Play]

    @classmethod
    def of(cls, behaviour, bugs, *, covered, reproduced):
        return cls(behaviour, covered, reproduced, plays(behaviour, bugs, covered=covered))


def measured(case, bugs, folder, source=ROOT / "src"):
    """The case's result: by bug, whether punchlist counts it as fixed, with which proofs, and whether it is."""
    began = time.monotonic()
    root = folder / "repo"
    written(root, files(bugs, covered=case.covered))
    for play in case.played.values():
        written(root, play.tree)
    committed(root)
    env = _prepared(folder, case, [bug for bug in bugs if bug.name in case.played]) | {
        "PYTHONPATH": str(source)
    }
    done = punchlist(root, env, *_arguments(folder))
    if done.returncode not in ENDED:
        raise RuntimeError(
            f"punchlist exits {done.returncode}: {done.stdout[-1500:]}{done.stderr[-1500:]}"
        )
    report = json.loads(punchlist(root, env, "report", "--format", "json").stdout)
    return {
        "seconds": round(time.monotonic() - began, 1),
        "check_runs": report["counts"].get("check_runs", 0),
        "accounted": punchlist(root, env, "audit", "--json").returncode == 0,
        "bugs": _judged(root, report, bugs, case.played),
    }


def _prepared(folder, case, bugs):
    """Settings, scripts, findings and workflow, outside of the repository; returns the environment."""
    (folder / "findings.json").write_text(
        json.dumps({"findings": [bug.finding(case.played[bug.name].line) for bug in bugs]}), "utf-8"
    )
    (folder / "bench.yaml").write_text(
        WORKFLOW.replace(
            "REPRODUCE", "  - reproduce: {must-fix: false}\n" if case.reproduced else ""
        ),
        "utf-8",
    )
    (folder / "fixer.json").write_text(json.dumps({"lines": [fixer_line(case, bugs)]}), "utf-8")
    (folder / "second.json").write_text(json.dumps({"lines": [reproducer_line(bugs)]}), "utf-8")
    (folder / "settings.toml").write_text(settings(folder), "utf-8")
    return environment(folder)


def environment(folder):
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PUNCHLIST_", "GIT_"))
    }
    return kept | {
        "PUNCHLIST_HOME": str(folder / "state"),
        "PUNCHLIST_CONFIG": str(folder / "settings.toml"),
    }


def _arguments(folder):
    return (
        *("run", "--all", "--yes", "--json", "--findings", str(folder / "findings.json")),
        *("--workflow", str(folder / "bench.yaml")),
    )


def fixer_line(case, bugs):
    line = {"role": "fixer", "fixes": [_fix(bug, case.played[bug.name]) for bug in bugs]}
    if case.behaviour.says:
        line["answer"] = case.behaviour.says
    if case.behaviour.fails == "hangs":
        line["seconds"] = HANG
    if case.behaviour.fails == "crashed":
        line["fail"] = {"text": "ended with exit code 139", "trouble": "crashed"}
    return line


def _fix(bug, play):
    edits = [
        {"path": path, "delete": True} if text is None else {"path": path, "content": text}
        for path, text in play.files.items()
    ]
    return {"when": bug.title, "edits": edits, "outcome": play.report}


def reproducer_line(bugs):
    tests = [
        {
            "when": bug.title,
            "outcome": {
                "path": f"tests/test_{bug.name}_private.py",
                "content": bug.headed(bug.reproducer),
            },
        }
        for bug in bugs
    ]
    return {"role": "reproducer", "fixes": tests, "answer": {"tests": "{fixes}"}}


def settings(folder, python=sys.executable, lean=LEAN):
    command = [python, "-m", "pytest", "-q", *lean]
    return f"""
[analyzers]
enabled = []

[[checks]]
name = "pytest"
command = {json.dumps(command)}
kind = "pytest"

[agents]
use = ["fixer"]
retries = 0

[agent.fixer]
kind = "scripted"
script = {json.dumps(str(folder / "fixer.json"))}
timeout = {TIMEOUT}

[agent.second]
kind = "scripted"
script = {json.dumps(str(folder / "second.json"))}

[role.reproducer]
agents = ["second"]
"""


def punchlist(root, env, *words):
    command = [sys.executable, "-m", "punchlist", *words]
    return subprocess.run(
        command, cwd=root, env=env, capture_output=True, text=True, check=False, timeout=3600
    )


def _judged(root, report, bugs, played):
    branch = report["run"]["branch"]
    there = bool(branch) and bool(git(root, "branch", "--list", branch).strip())
    landed = {bug.name: _text(root, branch, bug) if there else bug.code for bug in bugs}
    if there:
        git(root, "checkout", "-q", "--force", branch)
    asked = ((landed[bug.name], bug.oracle) for bug in bugs)
    holds = dict(zip(landed, judged(asked, root), strict=True))
    held = dict(zip(landed, judged((bug.code, bug.oracle) for bug in bugs), strict=True))
    worse = {
        name
        for name in landed
        if any(then and not now for then, now in zip(held[name], holds[name], strict=True))
    }
    by_title = {item["title"]: item for item in report["items"]}
    by_path = {bug.path: bug for bug in bugs}
    found = {}
    for bug in (bug for bug in bugs if bug.name in played):
        item = by_title[bug.title]
        touched = [
            by_path[path].name
            for path in played[bug.name].files
            if path in by_path and path != bug.path
        ]
        found[bug.name] = {
            "fixed": item["status"] == "fixed",
            "status": item["status"],
            "proofs": sorted({proof["kind"] for proof in item.get("proofs", [])}),
            "right": right(holds[bug.name]) and not worse.intersection(touched),
            "why": [attempt.get("why", "")[:300] for attempt in item.get("attempts", [])],
        }
    return found


def _text(root, branch, bug):
    shown = subprocess.run(
        ["git", "show", f"{branch}:{bug.path}"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    return shown.stdout if shown.returncode == 0 else ""
