"""The kinds of forges that one contract holds for."""

from dataclasses import dataclass
from pathlib import Path

from forge_standin import TOKEN, ForgeServer
from gitea_pulls import GiteaServer
from github_pulls import GithubServer
from gitlab_pulls import PROJECT, GitlabServer

from punchlist.adapters.forges.gitea.forge import GiteaForge
from punchlist.adapters.forges.github.forge import GithubForge
from punchlist.adapters.forges.gitlab.forge import GitlabForge
from punchlist.adapters.git.command import Git
from punchlist.adapters.rest.place import ForgePlace
from punchlist.adapters.rest.retry import Pacing
from punchlist.adapters.rest.style import STYLES


@dataclass(frozen=True)
class ForgeKind:
    name: str
    server: type[ForgeServer]
    forge: type
    ref: str = "refs/pull/7/head"
    """The ref of the head of pull request 7."""
    repository: str = "acme/shop"
    suggestion: str = "suggestion"
    """How the block of a suggestion for one line begins; "" if the forge has none."""
    about_files: bool = True
    """It takes comments on a whole file."""
    about_ranges: bool = True
    """It takes comments on several lines."""

    def open(self, server: ForgeServer, pacing: Pacing):
        async def token(host):
            return TOKEN

        place = ForgePlace(
            style=STYLES[self.name],
            token=token,
            git=Git(Path("/")),
            repository=self.repository,
            api=server.api,
        )
        return self.forge(place, pacing)


KINDS = {
    kind.name: kind
    for kind in (
        ForgeKind("github", GithubServer, GithubForge),
        ForgeKind(
            "gitlab",
            GitlabServer,
            GitlabForge,
            "refs/merge-requests/7/head",
            PROJECT,
            "suggestion:-0+0",
        ),
        ForgeKind(
            "gitea", GiteaServer, GiteaForge, suggestion="", about_files=False, about_ranges=False
        ),
    )
}


class Clock:
    """Time that passes when one waits."""

    now = 1e9

    async def sleep(self, seconds):
        self.now += seconds

    def __call__(self):
        return self.now

    @property
    def pacing(self):
        return Pacing(sleep=self.sleep, clock=self, now=self, jitter=lambda: 0.5)
