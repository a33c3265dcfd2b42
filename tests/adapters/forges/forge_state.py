"""The state of a stand-in for a forge, and what can go wrong with a request."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class Refused(Exception):
    def __init__(self, status: int, message: Any, *details: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.details = details


@dataclass
class Fault:
    """How a request that changes something goes wrong; `effect`: it was done all the same."""

    status: int = 502
    effect: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "Bad Gateway"
    kill: bool = False
    """The process that asks is killed before it has the answer."""


LOST = Fault(502, effect=True)


@dataclass
class ForgeState:
    """The state. Lists leave out what is younger than `lag` reads."""

    head: str = "h" * 40
    base: str = "b" * 40
    fork: bool = False
    viewer: str = "punchy"
    page: str = ""
    """The address of the pull request."""
    hunks: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    threads: list[dict[str, Any]] = field(default_factory=list)
    comments: list[dict[str, Any]] = field(default_factory=list)
    reviews: list[dict[str, Any]] = field(default_factory=list)
    check_runs: list[dict[str, Any]] = field(default_factory=list)
    statuses: list[dict[str, Any]] = field(default_factory=list)
    notes: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    alerts: list[dict[str, Any]] = field(default_factory=list)
    permissions: dict[str, str] = field(default_factory=dict)
    may_check: bool = True
    may_resolve: bool = True
    may_push: bool = False
    """The author of a fork lets others push to the branch."""
    diffs: dict[str, str] = field(default_factory=dict)
    """By path, where lines are looked at exactly: the diff."""
    push_resolves: bool = False
    """A push resolves the threads whose lines it changes."""
    pipelines: list[dict[str, Any]] = field(default_factory=list)
    busy: int = 0
    """How many commit statuses are refused because another request changes the same."""
    pulls: list[dict[str, Any]] = field(default_factory=list)
    """Pull requests besides number 7."""
    state: str = "open"
    """Of number 7."""
    branches: dict[str, str] = field(default_factory=dict)
    """By name of a branch besides `topic` and `main`: its tip."""
    read_branch: Callable[[str], str] | None = None
    """Returns the tip of a branch, or "", where there is a real repository."""
    has_commits: Callable[[str, str], bool] = lambda base, tip: base != tip
    """Whether a branch has commits that another lacks."""
    may_open: bool = True
    """The token may open pull requests."""
    project: str = ""
    """The repository of the last request, where a forge has several."""
    app: Any = None
    """The App that is the viewer, in the place of a user, where a forge has such."""
    lag: int = 0
    faults: list[Fault | None] = field(default_factory=list)
    """What happens to the next requests that change something."""
    read_faults: list[Fault | None] = field(default_factory=list)
    """What happens to the next requests that change nothing."""
    denied: int = 0
    """What a token that may not comment is told, such as 404; 0: it may."""
    written: list[float] = field(default_factory=list)
    """When requests changed something, by the clock."""
    writes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    hold_after: int = 0
    """The answer to this write, counted from 1, is held back until `release`."""
    held: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)
    watch: Callable[[], object] = lambda: None
    """Called after each request."""
    kill: Callable[[], object] = lambda: None
    dying: bool = False
    clock: Callable[[], float] | None = None
    """With it no request may come before Retry-After is over."""
    limited_until: float = 0.0
    processes: int = 1
    """How many ask at the same time: of several, none knows what limit another was told of, or how much it has written."""
    reads: int = 0
    ids: int = 1000
    lock: threading.RLock = field(default_factory=threading.RLock)

    def next_id(self) -> int:
        self.ids += 1
        return self.ids

    def add_comment(self, body: str, author: str, *, bot: bool = False) -> dict[str, Any]:
        number = self.next_id()
        return {"id": number, "body": body, "author": author, "bot": bot, "born": self.reads,
                "url": f"{self.page}#note_{number}"}  # fmt: skip

    def add_thread(
        self,
        path: str,
        line: int | None,
        body: str,
        author: str,
        *,
        bot: bool = False,
        first: int | None = None,
    ):
        thread = {"id": f"{self.next_id():040x}", "path": path, "line": line, "first": first, "resolved": "",
                  "comments": [self.add_comment(body, author, bot=bot)], "born": self.reads}  # fmt: skip
        self.threads.append(thread)
        return thread

    def reply(self, thread: dict[str, Any], body: str, author: str) -> None:
        thread["comments"].append(self.add_comment(body, author))

    def delete_comment(self, gone: dict[str, Any]) -> None:
        for thread in self.threads:
            thread["comments"] = [each for each in thread["comments"] if each is not gone]
        self.threads[:] = [thread for thread in self.threads if thread["comments"]]
        self.comments[:] = [each for each in self.comments if each is not gone]

    def find_branch(self, name: str) -> str:
        if self.read_branch is not None:
            return self.read_branch(name)
        return {"topic": self.head, "main": self.base, **self.branches}.get(name, "")

    def judge_opening(self, head: str, base: str) -> str:
        """Return why a pull request cannot be opened: `denied`, `head`, `base`, `exists`, `empty`, or ""."""
        if not self.may_open:
            return "denied"
        missing = [
            name
            for name, branch in (("base", base), ("head", head))
            if not self.find_branch(branch)
        ]
        if missing:
            return missing[0]
        ours = (each for each in self.pulls if each["state"] == "open")
        if any((each["head"], each["base"]) == (head, base) for each in ours):
            return "exists"
        return "" if self.has_commits(self.find_branch(base), self.find_branch(head)) else "empty"

    def open_pull(
        self, head: str, base: str, title: str, body: str, author: str = ""
    ) -> dict[str, Any]:
        made = {"number": 8 + len(self.pulls), "head": head, "base": base, "title": title, "body": body, "state": "open",
                "author": author or self.viewer, "born": self.reads, "comments": []}  # fmt: skip
        self.pulls.append(made)
        return made

    def find_pull(self, number: str) -> dict[str, Any]:
        found = next((each for each in self.pulls if str(each["number"]) == number), None)
        if found is None:
            raise Refused(404, "Not Found")
        return found

    def edit_pull(self, pull: dict[str, Any], **changes: str | None) -> None:
        """Edit one; one of another author is not ours to edit."""
        if pull["author"] != self.viewer:
            self.problems.append(f"{pull['number']} is a pull request of {pull['author']}")
        if changes.get("state") and pull["state"] == "merged":
            self.problems.append(f"{pull['number']} is merged, and was closed")
        pull.update({key: value for key, value in changes.items() if value is not None})

    def say_below(self, number: str, body: str) -> dict[str, Any]:
        """Comment below a pull request."""
        said = self.add_comment(body, self.viewer)
        (self.comments if number == "7" else self.find_pull(number)["comments"]).append(said)
        return said

    def visible(self, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            each for each in entries if each["born"] + self.lag <= self.reads or each["born"] == 0
        ]

    def concluded(self) -> list[tuple[str, str]]:
        """Our checks: the commit and what came of it, in GitHub's words."""
        ours = [
            (run["head_sha"], run["conclusion"])
            for run in self.check_runs
            if run["name"] == "punchlist"
        ]
        return [*ours, *((each["sha"], self.status_word(each)) for each in self.statuses)]

    @staticmethod
    def status_word(status: dict[str, Any]) -> str:
        neutral = str(status.get("description")).startswith("neutral")
        return "neutral" if neutral else {"failed": "failure"}.get(status["state"], status["state"])

    def own_threads(self) -> list[dict[str, Any]]:
        return [each for each in self.threads if each["comments"][0]["author"] == self.viewer]
