"""A small project with faults that only an agent sees, the real `punchlist` command, and a model that plays the whole crew."""

import json
import os
import re
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import realcli
from stub_requests import Request
from stubmodel import StubModel

import punchlist
import warm

KEY = "sk-dummy-0123456789abcdef"
SOURCE = str(Path(punchlist.__file__).parents[1])
BASE = {
    "shop/__init__.py": "",
    "shop/prices.py": '"""Prices."""\n\n\ndef total(prices):\n    return sum(prices)\n',
    "tests/__init__.py": "",
    "tests/test_prices.py": (
        "import unittest\n\nfrom shop.prices import total\n\n\n"
        "class Prices(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n"
    ),
}
CHANGE = {
    "shop/prices.py": f"{BASE['shop/prices.py']}\n\ndef cheapest(prices):\n    return sorted(prices)[-1]\n",
    "shop/pages.py": '"""Pages."""\n\n\ndef page(rows, number, size):\n    return rows[number * size : number * size + size]\n',
}


class Fault(NamedTuple):
    """What is wrong, where, what puts it right, and a test that shows it."""

    title: str
    path: str
    line: int
    old: str
    new: str
    shown: str

    @property
    def test(self) -> str:
        """The path of the test that the fixer writes."""
        return f"tests/test_{self.shown.partition('(')[0]}.py"

    @property
    def tested(self) -> str:
        """The test itself."""
        name, module = self.shown.partition("(")[0], self.path.removesuffix(".py").replace("/", ".")
        return (
            f"import unittest\n\nfrom {module} import {name}\n\n\n"
            f"class {name.title()}(unittest.TestCase):\n    def test_{name}(self):\n        self.assertEqual({self.shown})\n"
        )


FAULTS = {
    "cheapest": Fault(
        "cheapest returns the dearest",
        "shop/prices.py",
        9,
        "    return sorted(prices)[-1]",
        "    return sorted(prices)[0]",
        "cheapest([3, 1, 2]), 1",
    ),
    "page": Fault(
        "page skips the first page",
        "shop/pages.py",
        5,
        "    return rows[number * size : number * size + size]",
        "    return rows[(number - 1) * size : number * size]",
        "page([1, 2, 3], 1, 2), [1, 2]",
    ),
}
ROLES = {
    "technical": "You review the technique of a change.",
    "spec": "You review a change against its specification.",
    "unified": "You lead a code review.",
    "adversarial": "You see this code for the first time",
    "fixer": "You fix code. Edit the project's files",
    "challenger": "Another agent fixed the findings below. Judge each fix",
    "reproducer": "Others reported the findings below. For each of them write one test",
    "clarifier": "Others reported the findings below. Before they are fixed",
    "planner": "Others reported the findings below. Plan how each",
}
"""How the prompts begin that come with punchlist."""
_FOLDER = re.compile(r"/[^\s\"'\\<>]*/trees/(?:kept-[0-9a-f]+|t\d+)")
_CODE = re.compile(r"### (F\d{3}) ")
_HERE = "@folder"
Step = dict[str, Any]


def finding(name: str) -> dict[str, Any]:
    fault = FAULTS[name]
    return {
        "severity": "critical",
        "category": "correctness",
        "title": fault.title,
        "description": f"{fault.title}: {fault.shown} is what it should give.",
        "file_path": fault.path,
        "line_start": fault.line,
        "line_end": fault.line,
        "suggested_fix": "",
    }


def fixed(*names: str) -> dict[str, str]:
    """What the run's branch has that the user's does not: each fix, and the test that goes with it."""
    files = {}
    for name in names:
        fault = FAULTS[name]
        files[fault.path] = CHANGE[fault.path].replace(fault.old, fault.new)
        files[fault.test] = fault.tested
    return {path: text.removesuffix("\n") for path, text in sorted(files.items())}


def said(answer: Any) -> list[Step]:
    """The end of a conversation: with the agent's own tool for answers where it has one, and as text where it has not."""
    return [{"tool": "@final", "input": answer}, {"json": answer}]


class Company(StubModel):
    """A model that knows from the prompt who it is to be, and which folder it is in.

    `down` are steps that an API, or a role, plays at every request; `first` are those a role plays before it is well, one a
    request; `tries` are those of a fixer's first tries, of which `tried` tells how many there were. `aside` is a command that a
    fixer runs before it begins.
    """

    def __init__(self, *faults: str, aside: str = "") -> None:
        super().__init__({})
        self.aside = aside
        self.faults = {name: FAULTS[name] for name in faults}
        self.down: dict[str, Step] = {}
        self.first: dict[str, list[Step]] = {}
        self.tries: list[Step] = []
        self.tried: Callable[[], int] = lambda: 0
        self._hung: list[str] = []

    def pick(self, request: Request, raw: str) -> tuple[str, Step]:
        if not request.tools:
            return "side", {"text": "t"}
        role = next((role for role, words in ROLES.items() if words in request.last_user), "nobody")
        # Prompts that were never answered come along with the newest, as one.
        prompt = request.last_user[request.last_user.rfind(ROLES.get(role, "")) :]
        if trouble := self._trouble(request.api, role):
            if "hang" in trouble:
                self._hung.append(role)
            return f"{role} in trouble", trouble
        steps = getattr(self, f"_{role}")(prompt)
        return role, _placed(steps[min(request.rounds, len(steps) - 1)], _folder(raw))

    def _trouble(self, api: str, role: str) -> Step | None:
        if (down := self.down.get(api) or self.down.get(role)) is not None:
            return down
        if role == "fixer" and self.tries and (tried := self.tried()) < len(self.tries):
            return self.tries[tried]
        with self._lock:
            return self.first[role].pop(0) if self.first.get(role) else None

    def _nobody(self, prompt: str) -> list[Step]:
        return [{"text": f"nobody expects: {prompt[:200]}"}]

    def _technical(self, prompt: str) -> list[Step]:
        left = [name for name, fault in self.faults.items() if fault.new.strip() not in prompt]
        first = next(iter(self.faults.values()))
        read = {
            "blocks": [
                {"text": "Reading."},
                {"tool": "@read", "input": {"path": f"{_HERE}/{first.path}"}},
            ]
        }
        return [read, *said({"findings": [finding(name) for name in left], "summary": "looked"})]

    def _reproducer(self, prompt: str) -> list[Step]:
        tests = [
            {
                "id": code,
                "path": fault.test.replace("test_", "test_private_"),
                "content": fault.tested,
            }
            for code, fault in self._meant(prompt)
        ]
        return said({"tests": tests})

    def _fixer(self, prompt: str) -> list[Step]:
        meant = self._meant(prompt)
        steps: list[Step] = [{"tool": "@shell", "input": {"cmd": self.aside}}] if self.aside else []
        for _, fault in meant:
            path = f"{_HERE}/{fault.path}"
            steps += [
                {"tool": "@read", "input": {"path": path}},
                {"tool": "@edit", "input": {"path": path, "old": fault.old, "new": fault.new}},
                {
                    "tool": "@write",
                    "input": {"path": f"{_HERE}/{fault.test}", "content": fault.tested},
                },
            ]
        steps.append({"tool": "@shell", "input": {"cmd": "git diff --stat"}})
        outcomes = [
            {
                "id": code,
                "outcome": "fixed",
                "explanation": "done",
                "files": [fault.path],
                "tests": [fault.test],
            }
            for code, fault in meant
        ]
        return [*steps, *said({"outcomes": outcomes})]

    def _challenger(self, prompt: str) -> list[Step]:
        score = {"score": 95, "status": "SOLVED", "feedback": "seen", "improvements_needed": []}
        whole = {**score, "quality_scores": {"correctness": 95, "safety": 95, "style": 95}}
        return said({"issues": {code: whole for code, _ in self._meant(prompt)}})

    def _meant(self, prompt: str) -> list[tuple[str, Fault]]:
        """The items of a prompt, and the fault that each of them speaks of."""
        parts = _CODE.split(prompt)[1:]
        told = zip(parts[::2], parts[1::2], strict=True)
        return [
            (code, fault)
            for code, text in told
            for fault in self.faults.values()
            if f"title: {fault.title}" in text
        ]

    def begun(self) -> Counter[str]:
        """How many conversations there were with each role."""
        return Counter(
            call["rule"] for call in self.calls if call["rule"] != "side" and not call["rounds"]
        )

    def hanging(self, role: str) -> int:
        """How often a role was left waiting."""
        return self._hung.count(role)


def _folder(raw: str) -> str:
    """The folder that the agent says it is in; a conversation that goes on speaks of earlier ones, which are gone."""
    return next((found for found in reversed(_FOLDER.findall(raw)) if Path(found).is_dir()), ".")


def _placed(step: Any, folder: str) -> Any:
    """The step with the folder that the agent is in."""
    if isinstance(step, str):
        return step.replace(_HERE, folder)
    if isinstance(step, dict):
        return {key: _placed(value, folder) for key, value in step.items()}
    return [_placed(each, folder) for each in step] if isinstance(step, list) else step


def _opencode(url: str) -> str:
    options = {"baseURL": f"{url}/v1", "apiKey": KEY}
    priced = {"cost": {"input": 1, "output": 2}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": options,
        "models": {"m1": priced, "m2": priced},
    }
    return json.dumps({"provider": {"stub": provider}, "small_model": "stub/m1"})


class Kind(NamedTuple):
    """What a user of an agent has in the environment and in the settings."""

    env: Callable[[str], dict[str, str]]
    settings: str = ""
    api: str = ""


KINDS = {
    "claude": Kind(
        lambda url: {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url}, api="anthropic"
    ),
    "codex": Kind(
        lambda url: {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}/v1"},
        'model = "gpt-5.5"\ninput-price = 1\noutput-price = 2\n',
        api="responses",
    ),
    "gemini": Kind(
        lambda url: {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url},
        'model = "gemini-2.5-pro"\ninput-price = 1\noutput-price = 2\n',
        api="gemini",
    ),
    "opencode": Kind(
        lambda url: {"OPENCODE_CONFIG_CONTENT": _opencode(url)}, 'model = "stub/m1"\n', api="chat"
    ),
}
STRICT = """\
about: Reviewed, fixed, verified and challenged; nothing lands that no challenger approved.
steps:
  - review: {by: REVIEWERS, optional: true}
  - consolidate: {rule: smart}
  - repeat:
      rounds: 6
      on_limit: go-on
      steps:
        - plan: {attempts: ATTEMPTS}
        - fix: {mode: fan-out}
        - verify: {}
        - challenge: {threshold: 90}
        - commit: {needs: checked}
        - stop-when: settled
  - report: {}
"""


class Project:
    """The repository on its branch, and punchlist as a person has it: in a clean environment, with its own homes."""

    def __init__(self, repo: Any, folder: Path, model: Company) -> None:
        self.repo, self.folder, self.model = repo, folder, model
        repo.commit(BASE, "base")
        repo.git("checkout", "--quiet", "-b", "feature")
        repo.commit(CHANGE, "a change with faults")
        (folder / "home").mkdir()
        self.env = {
            "PATH": f"{Path(realcli.node()).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder / "home"),
            "PUNCHLIST_HOME": str(folder / "state"),
            "PUNCHLIST_CONFIG": str(folder / "settings.toml"),
            "PYTHONPATH": SOURCE,
            **{name: value for name, value in os.environ.items() if name.startswith("GIT_")},
        }

    def use(self, *agents: str, shared: str = "", more: str = "", **own: str) -> "Project":
        """These agents, the first one first; `own` are further settings of each, `shared` those of all."""
        named = ""
        for name in agents:
            self.env |= KINDS[name].env(self.model.url)
            command = json.dumps(list(realcli.command(name)))
            named += (
                f"[agent.{name}]\ncommand = {command}\n{KINDS[name].settings}{own.get(name, '')}\n"
            )
        check = f'[[checks]]\nname = "tests"\ncommand = ["{sys.executable}", "-m", "unittest"]\nkind = "unittest"\n'
        use = f"[agents]\nuse = {json.dumps(list(agents))}\ntimeout = 120\n{shared}\n[analyzers]\nenabled = []\n"
        (self.folder / "settings.toml").write_text(f"{use}{named}{more}\n{check}")
        return self

    def attempts(self) -> int:
        """How many attempts at fixing are in the ledger."""
        with closing(
            sqlite3.connect(Path(self.env["PUNCHLIST_HOME"]) / "ledger.sqlite3")
        ) as ledger:
            found = ledger.execute("SELECT count(*) FROM entries WHERE kind = 'attempted'")
            return int(found.fetchone()[0])

    def strict(self, *reviewers: str, attempts: int = 3) -> tuple[str, str]:
        """The option for a workflow in which the challenger must approve."""
        path = self.folder / "strict.yaml"
        path.write_text(
            STRICT.replace("ATTEMPTS", str(attempts)).replace("REVIEWERS", json.dumps(reviewers))
        )
        return "--workflow", str(path)

    def reported(self, *names: str) -> tuple[str, str]:
        """The option for faults that somebody reported in a file."""
        path = self.folder / "findings.json"
        path.write_text(json.dumps({"findings": [finding(name) for name in names]}))
        return "--findings", str(path)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        line = warm.command(*arguments)
        pipe = subprocess.PIPE
        return subprocess.Popen(
            line,
            cwd=self.repo.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )

    def ended(self, child: subprocess.Popen[str], code: int = 0) -> dict[str, Any]:
        out, err = child.communicate(timeout=400)
        assert child.returncode == code, f"{child.returncode}\n{out[-5000:]}\n{err[-3000:]}"
        document: dict[str, Any] = json.loads(out)
        return document

    def run(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        """A run to its end, as the report tells it."""
        return self.told(self.begun(*arguments), code)

    def begun(self, *arguments: str) -> subprocess.Popen[str]:
        return self.start("run", "--json", "--yes", *arguments)

    def told(self, child: subprocess.Popen[str], code: int = 0) -> dict[str, Any]:
        report: dict[str, Any] = self.ended(child, code)["report"]
        return report

    def audited(self) -> bool:
        audit = self.ended(self.start("audit", "--json"))
        return not audit["problems"]

    def branch(self) -> dict[str, str]:
        """The files that the run's branch changes, as it has them; none where there is no branch."""
        branches = self.repo.git(
            "for-each-ref", "--format=%(refname)", "refs/heads/punchlist"
        ).splitlines()
        names = (
            self.repo.git("diff", "--name-only", "feature", branches[-1]).splitlines()
            if branches
            else ()
        )
        return {name: self.repo.git("show", f"{branches[-1]}:{name}") for name in names}

    def transcripts(self, role: str) -> list[str]:
        """Names of the conversations that were kept, of every try."""
        return sorted(
            path.name for path in (self.folder / "state" / "runs").glob(f"*/calls/*{role}*")
        )

    def processes(self) -> dict[int, list[str]]:
        """Command lines of what is running and has to do with this project: its folder is in the arguments or the environment."""
        mark, found = str(self.folder).encode(), {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and int(folder.name) != os.getpid():
                with suppress(OSError):
                    line = (folder / "cmdline").read_bytes()
                    if mark in line + (folder / "environ").read_bytes():
                        found[int(folder.name)] = os.fsdecode(line).split("\0")
        return found

    def program(self, kind: str) -> int | None:
        """The process of an agent that is running, not the walls around it."""
        name = realcli.command(kind)[-1]
        found = [
            pid
            for pid, line in self.processes().items()
            if name in line and not line[0].endswith(("bwrap", "punchlist"))
        ]
        return min(found, default=None)


def wait_for(true: Callable[[], Any], seconds: float = 300) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.2)
    return found
