"""What tests of trackers share: items to file, and a GitHub on loopback whose time passes when somebody waits."""

import asyncio
from pathlib import Path

import pytest
from github_standin import TOKEN, Clock, Github, Standin
from gitlab_standin import PROJECT, Gitlab

from punchlist.adapters.git.command import Git
from punchlist.adapters.rest.place import ForgePlace
from punchlist.adapters.rest.retry import Pacing
from punchlist.adapters.rest.style import STYLES
from punchlist.adapters.trackers.github.issues import GithubIssues
from punchlist.adapters.trackers.gitlab.issues import GitlabIssues
from punchlist.adapters.trackers.issues.tracker import IssueTracker
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, Status
from punchlist.views.issue_text import render_issue

OPENERS = {"github": GithubIssues.open, "gitlab": GitlabIssues.open}


class Bench:
    """One GitHub, or GitLab, and those who file there."""

    def __init__(self, server: Standin, kind: str = "github") -> None:
        self.server = server
        self.kind = kind
        self.fresh()

    def fresh(self, **state) -> None:
        self.clock = Clock()
        if self.kind == "gitlab":
            self.server.github = Gitlab(self.clock, **{"repository": PROJECT, **state})
        else:
            self.server.github = Github(self.clock, **state)

    @property
    def github(self) -> Github:
        return self.server.github

    def tracker(self, *, pacing=None, labels=("tech-debt",), issues=None, **place) -> IssueTracker:
        async def token(host):
            return TOKEN

        values = {
            "style": STYLES[self.kind],
            "token": token,
            "git": Git(Path("/")),
            "repository": "acme/shop" if self.kind == "github" else PROJECT,
            "api": self.server.api,
            **place,
        }
        return IssueTracker(
            ForgePlace(**values),
            issues or OPENERS[self.kind],
            labels,
            Pacing(**{**self.virtual, **(pacing or {})}),
        )

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
def make_bench(standin):
    """Makes the bench of a kind of forge."""
    return lambda kind: Bench(standin, kind)


@pytest.fixture
def bench(make_bench):
    return make_bench("github")


@pytest.fixture
def gitlab(make_bench):
    return make_bench("gitlab")


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
