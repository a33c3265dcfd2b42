"""A server with a run in every state that pages can show: told by real runs with scripted agents, and one told by the crowd."""

import os
import subprocess
import time
from pathlib import Path

import httpx
from crowd import RUN, crowd
from sites import Site
from workbench import Workbench, finding, fix, fixer, review, scores

HOSTILE = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>{{ 7*7 }} \u202egnp.exe"
"""What would do something if anybody let it."""
READY = {
    "role": "clarifier",
    "answer": {"has_questions": False, "questions_by_issue": [], "ready_to_plan": True},
}
STEPS = {
    "approach": "patch",
    "steps": ["count from one", HOSTILE],
    "risks": ["callers count from zero"],
}
PLANS = {
    "role": "planner",
    "answer": {"issues": [{"issue_code": "F001", "plan": STEPS, "files": []}]},
}
HALF = {
    **fix("page"),
    "edits": [{"path": "shop/pages.py", "replace": "rows[number", "with": "rows[(number - 1)"}],
}
LEFT = fix("mean", "deferred", "the owner of the data has to decide")
_QUIET = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
_WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")


def asks(code: str, text: str) -> dict:
    """A line: a clarifier with one question."""
    question = {"id": f"{code}-q1", "question": text, "context": "The contract does not say."}
    by_issue = [{"issue_code": code, "questions": [question]}]
    return {
        "role": "clarifier",
        "times": 1,
        "answer": {"has_questions": True, "questions_by_issue": by_issue, "ready_to_plan": False},
    }


class Checkout:
    """A repository for as long as a module's tests."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *_WHO, *arguments],
            cwd=self.root,
            env={**os.environ, **_QUIET},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(self, files: dict[str, str], message: str) -> None:
        for path, content in files.items():
            full = self.root / path
            full.parent.mkdir(parents=True, exist_ok=True)
            full.write_text(content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)


class Museum:
    """`ended`, `asking`, `deciding`, `running` and `crowded` are runs."""

    def __init__(self, folder: Path, items: int = 300) -> None:
        self.site = Site(folder)
        self.bench = Workbench(Checkout(folder / "shop"), folder)
        self.repository = self.site.start().register(self.bench.repo.root)
        crowd(self.site.home, self.bench.repo.root, items)
        self.crowded = RUN
        with self.site.client() as client:
            self.ended = self._ended(client)
            self.asking = self._asking(client)
            self.deciding = self._deciding(client)
            self.running = self._running(client)

    def play(self, *lines: dict) -> None:
        """What agents do from now on; how often lines of the last script were played is forgotten."""
        (self.site.folder / "calls.jsonl").unlink(missing_ok=True)
        self.bench.play(*lines)

    def begin(self, client: httpx.Client, workflow: str) -> str:
        wish = {
            "repository_id": self.repository,
            "workflow": workflow,
            "allow_checks": True,
            "force": True,
        }
        answer = client.post("/api/runs", json=wish)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def _ended(self, client: httpx.Client) -> str:
        """The first fix of page() scores low and the second one lands; mean() is put off; one item is about a file of no kind."""
        odd = {
            **finding("mean"),
            "title": HOSTILE,
            "file_path": "shop/<b>odd&.py",
            "description": HOSTILE,
            "severity": "major",
        }
        said = review("mean", "page")
        said["answer"]["findings"].append(odd)
        self.play(
            said,
            asks("F001", f"Pages from 1? {HOSTILE}"),
            READY,
            PLANS,
            fixer(
                fix("page"),
                LEFT,
                round=1,
                say=[HOSTILE],
                usage={"input_tokens": 12_400, "output_tokens": 900, "dollars": 0.07},
            ),
            fixer(HALF, LEFT),
            scores(times=1, F001=40),
            scores(F001=95),
        )
        run = self.begin(client, "challenged")
        self.until(client, run, "waiting")
        self.answer(client, run, answers={"F001-q1": f"As {HOSTILE} says"})
        self.until(client, run, "waiting")
        self.answer(client, run, choice="a")
        self.until(client, run, "ended")
        return run

    def _asking(self, client: httpx.Client) -> str:
        self.play(review("mean", "page"), asks("F001", "Is the first page 0 or 1?"))
        run = self.begin(client, "challenged")
        self.until(client, run, "waiting")
        return run

    def _deciding(self, client: httpx.Client) -> str:
        self.play({"role": "adversarial", "fail": {"text": "quota exceeded", "trouble": "other"}})
        run = self.begin(client, "converge")
        self.until(client, run, "waiting")
        return run

    def _running(self, client: httpx.Client) -> str:
        """An agent is at work, and says things, for as long as the server lives."""
        talk = [f"first {HOSTILE}\n", f"then {HOSTILE}\n"]
        self.play(review("page", "mean", role="adversarial"), fixer(say=talk, seconds=3600))
        return self.begin(client, "converge")

    def answer(self, client: httpx.Client, run: str, **said) -> None:
        answer = client.post(f"/api/runs/{run}/answers", json=said)
        assert answer.status_code == 200, answer.text

    @staticmethod
    def until(client: httpx.Client, run: str, state: str, seconds: float = 60) -> None:
        limit = time.monotonic() + seconds
        while (now := client.get(f"/api/runs/{run}").json())["state"] != state:
            assert time.monotonic() < limit, now
            time.sleep(0.1)

    def number(self, run: str, title: str) -> int:
        with self.site.client() as client:
            items = client.get(f"/api/runs/{run}/items", params={"text": title}).json()["items"]
            return int(items[0]["number"])

    def pages(self) -> dict[str, str]:
        """By name, every page that there is."""
        page, mean, odd = (self.number(self.ended, title) for title in ("page()", "mean()", "<img"))
        return {
            "home": "/",
            "fleet": "/fleet",
            "pulls": "/pulls",
            "home without a match": "/?q=nothing-like-it",
            "start": f"/repositories/{self.repository}/start",
            "ended run": f"/runs/{self.ended}",
            "asking run": f"/runs/{self.asking}",
            "deciding run": f"/runs/{self.deciding}",
            "running run": f"/runs/{self.running}",
            "crowded run": f"/runs/{self.crowded}",
            "crowded table": f"/runs/{self.crowded}?view=table&by=rule",
            "one group": f"/runs/{self.crowded}?view=table&by=rule&in=S608",
            "group that is not there": f"/runs/{self.crowded}?view=table&by=rule&in=nowhere",
            "trends": f"/repositories/{self.repository}/trends",
            "crowded run, filtered": f"/runs/{self.crowded}?severity=critical&status=open&q=rows",
            "run without a match": f"/runs/{self.crowded}?q=nothing-like-it",
            "fixed item": f"/runs/{self.ended}/items/{page}",
            "item that was put off": f"/runs/{self.ended}/items/{mean}",
            "hostile item": f"/runs/{self.ended}/items/{odd}",
            "dismissed item": f"/runs/{self.crowded}/items/12",
            "diff": f"/runs/{self.ended}/diff",
            "compared rounds": f"/runs/{self.ended}/compare?a=1&b=2",
            "compared runs": f"/runs/{self.ended}/compare?with={self.asking}",
        }
