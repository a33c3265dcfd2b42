"""What tests of trackers share: items to file, and a GitHub on loopback whose time passes when somebody waits."""

import asyncio
from pathlib import Path

import pytest
from github_standin import TOKEN, Clock, Github, Standin

from punchlist.adapters.git.command import Git
from punchlist.adapters.trackers.github.retry import Pacing
from punchlist.adapters.trackers.github.tracker import GithubTarget, GithubTracker
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, Status
from punchlist.views.issue_text import render_issue


class Bench:
    """One GitHub, and those who file there."""

    def __init__(self, server: Standin) -> None:
        self.server = server
        self.fresh()

    def fresh(self, **state) -> None:
        self.clock = Clock()
        self.server.github = Github(self.clock, **state)

    @property
    def github(self) -> Github:
        return self.server.github

    def tracker(self, *, pacing=None, **place) -> GithubTracker:
        async def token(host):
            return TOKEN

        values = {
            "token": token,
            "git": Git(Path("/")),
            "repository": "acme/shop",
            "api": self.server.api,
            **place,
        }
        return GithubTracker(GithubTarget(**values), Pacing(**{**self.virtual, **(pacing or {})}))

    @property
    def virtual(self):
        return {
            "sleep": self.clock.sleep,
            "clock": self.clock,
            "now": self.clock,
            "jitter": lambda: 0.5,
        }

    def file(self, *dossiers, **how):
        return asyncio.run(self.tracker(**how).file(dossiers))


@pytest.fixture(scope="session")
def standin():
    with Standin(Github(Clock())) as server:
        yield server


@pytest.fixture
def bench(standin):
    return Bench(standin)


def told(number, severity=Severity.MAJOR, status=Status.OPEN, title="Unused import: os", **more):
    values = {
        "id": f"f{number}",
        "source": "ruff",
        "title": title,
        "spot": Spot("src/a.py", number),
        "severity": severity,
    }
    attempts, flags = more.pop("attempts", ()), more.pop("flags", ())
    item = Item(
        number=number,
        fingerprint=f"{number:032x}"[::-1],
        findings=(Finding(**values, **more),),
        status=status,
        attempts=attempts,
        flags=flags,
    )
    return render_issue(item, "r1")


@pytest.fixture(name="told")
def telling():
    """Makes dossiers by number."""
    return told
