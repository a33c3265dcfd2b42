"""A repository with faults that only an agent can fix, and agents that play by a script."""

import json
import os
import sys

from shop import Place

from punchlist.adapters.agents.scripted.agent import read_calls
from punchlist.model.ledger.run import Run

BASE = {
    "shop/__init__.py": "",
    "shop/prices.py": '"""Prices."""\n\n\ndef total(prices):\n    return sum(prices)\n',
    "tests/__init__.py": "",
    "tests/test_prices.py": (
        "import unittest\n\nfrom shop.prices import total\n\n\n"
        "class Prices(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n"
    ),
    "AGENTS.md": "Use plain functions.\n",
}
CHANGE = {
    "shop/prices.py": (
        '"""Prices."""\n\n\ndef total(prices):\n    return sum(prices)\n\n\n'
        "def mean(prices):\n    return total(prices) / len(prices)\n\n\n"
        "def cheapest(prices):\n    return sorted(prices)[-1]\n"
    ),
    "shop/pages.py": '"""Pages."""\n\n\ndef page(rows, number, size):\n    return rows[number * size : number * size + size]\n',
    "shop/names.py": '"""Names."""\n\n\ndef initials(name):\n    return "".join(part[0] for part in name.split(" "))\n',
}
FAULTS = {
    "mean": ("mean() fails for no prices", "shop/prices.py", 9, "major"),
    "cheapest": ("cheapest() returns the dearest", "shop/prices.py", 13, "critical"),
    "page": ("page() skips the first page", "shop/pages.py", 5, "critical"),
    "initials": ("initials() fails for two spaces", "shop/names.py", 5, "minor"),
}
EDITS = {
    "mean": (
        "shop/prices.py",
        "total(prices) / len(prices)",
        "total(prices) / len(prices) if prices else None",
    ),
    "cheapest": ("shop/prices.py", "sorted(prices)[-1]", "sorted(prices)[0]"),
    "page": (
        "shop/pages.py",
        "rows[number * size : number * size + size]",
        "rows[(number - 1) * size : number * size]",
    ),
    "initials": ("shop/names.py", 'name.split(" ")', "name.split()"),
}

SCORED = """
steps:
  - review: {by: [technical], analyzers: false}
  - consolidate
  - repeat:
      steps: [plan, fix, verify, challenge, {commit: {needs: reviewed}}, {stop-when: settled}]
  - report
"""
"""A workflow in which nothing lands that no challenger approved."""


def finding(name: str, **more) -> dict:
    title, path, line, severity = FAULTS[name]
    said = {
        "title": title,
        "description": f"{title}.",
        "file_path": path,
        "line_start": line,
        "line_end": line,
    }
    return {**said, "severity": severity, "category": "correctness", **more}


def review(*names: str, role="technical", **more) -> dict:
    """A line: what a reviewer says."""
    return {
        "role": role,
        "answer": {"findings": [finding(name) for name in names], "summary": "looked"},
        **more,
    }


def fix(
    name: str, outcome="fixed", explanation="done", *, edit: bool | None = None, **more
) -> dict:
    """What is done about one fault; an edit goes with `fixed`, unless told otherwise."""
    path, old, new = EDITS[name]
    edits = (
        [{"path": path, "replace": old, "with": new}]
        if (outcome == "fixed" if edit is None else edit)
        else []
    )
    return {
        "when": FAULTS[name][0],
        "edits": edits,
        "outcome": {"outcome": outcome, "explanation": explanation, **more},
    }


def fixer(*fixes: dict, **more) -> dict:
    return {"role": "fixer", "fixes": list(fixes), **more}


def scores(times: int = 0, **by_code) -> dict:
    """A line: what a challenger says, F001=95 and so on."""
    issues = {
        code: {"score": score, "status": "SOLVED", "feedback": f"worth {score}"}
        for code, score in by_code.items()
    }
    return {
        "role": "challenger",
        "answer": {"issues": issues},
        **({"times": times} if times else {}),
    }


class Workbench(Place):
    """The repository on a branch with the faults, and whoever was told to play."""

    def __init__(self, repo, folder, *, new: bool = True) -> None:
        super().__init__(repo)
        self.folder = folder
        if not new:
            return
        repo.commit(BASE, "base")
        repo.git("checkout", "--quiet", "-b", "feature")
        repo.commit(CHANGE, "a change with faults")

    def play(
        self, *lines: dict, agents=("robot",), settings="", python=sys.executable
    ) -> "Workbench":
        """The same script for each of the agents."""
        (self.folder / "script.json").write_text(
            json.dumps({"log": "calls.jsonl", "lines": list(lines)})
        )
        named = "".join(
            f'[agent.{name}]\nkind = "scripted"\nscript = "{self.folder / "script.json"}"\n'
            for name in agents
        )
        check = f'[[checks]]\nname = "tests"\ncommand = ["{python}", "-m", "unittest"]\nkind = "unittest"\n'
        use = f"[agents]\nuse = {json.dumps(list(agents))}\n"
        (self.folder / "settings.toml").write_text(f"{use}{named}{settings}\n{check}")
        return self

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Who was asked, in which role, in order."""
        return [(call.agent, call.role) for call in read_calls(self.folder / "calls.jsonl")]

    def run(self, workflow="proven", watch=None, flags=None, **request) -> Run:
        return super().run(watch, flags, **{"kind": None, "workflow": workflow, **request})

    def answer(self, said, by="pat", *, resume=True, watch=None) -> Run:
        """Type `punchlist answer`: a choice, or texts by the ids of the questions."""
        words = [said] if isinstance(said, str) else [f"{id_}={text}" for id_, text in said.items()]
        only = [] if resume else ["--no-resume"]
        return self.order("answer", "last", *words, "--by", by, *only, watch=watch)

    def artifacts(self):
        """The run's folder."""
        (found,) = (self.folder / "state" / "runs").iterdir()
        return found

    def landed(self, path: str) -> str:
        """A file as the run's branch has it."""
        branch = self.repo.git(
            "for-each-ref", "--format=%(refname)", "refs/heads/punchlist"
        ).splitlines()[-1]
        return self.repo.git("show", f"{branch}:{path}")


def homes(folder, monkeypatch) -> None:
    monkeypatch.setenv("PUNCHLIST_HOME", str(folder / "state"))
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(folder / "settings.toml"))
    assert "PUNCHLIST_HOME" in os.environ
