"""A whole run that files on GitHub: chosen by settings, owed while GitHub is down, and never where code under review says."""

import asyncio
import contextlib
import time

import pytest
from github_standin import FAULTS, TOKEN, Github

from punchlist.app.session import Session
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.app.start.start import start_run
from punchlist.errors import SettingsError
from punchlist.model.item.item import Status
from punchlist.model.patch.change import ScopeKind


class Quiet:
    def handle_start(self, place, action):
        pass

    def handle_event(self, entry, run):
        pass

    def handle_output(self, label, piece):
        pass


@pytest.fixture
def run(repo, standin, tmp_path, monkeypatch):
    """Runs punchlist in a repository with one finding that no tool can fix."""
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("OUR_TOKEN", TOKEN)
    standin.github = Github(time.time)
    repo.commit({"a.py": "print(undefined_name)\n"})
    flags = {
        "analyzers.enabled": "ruff", "analyzers.select": "F", "track.to": "github", "track.api": standin.api,
        "track.repository": "acme/shop", "track.token": "OUR_TOKEN",
    }  # fmt: skip

    def once(**more):
        async def main():
            app = await Session.open(repo.root, flags | more)
            with contextlib.closing(app):
                return await start_run(
                    app,
                    await prepare_run(app, Request(kind=ScopeKind.ALL, allow_checks=False)),
                    Quiet(),
                )

        return asyncio.run(main())

    return once


def test_a_run_files_on_github_and_the_next_one_finds_it_there(run, standin):
    (item,) = run().find_items(Status.FILED)
    assert item.issue.endswith("/acme/shop/issues/1")
    (again,) = run().find_items(Status.FILED)
    assert again.issue == item.issue
    assert len(standin.github.issues) == 1


def test_what_github_did_not_take_is_owed_and_filed_by_the_next_run(run, standin):
    standin.github.token = "revoked"
    first = run()
    assert first.ended == "incomplete"
    assert "the token is not accepted" in next(iter(first.filing.unfiled.values()))
    assert TOKEN not in str(first)
    standin.github.token = TOKEN
    standin.github.writing = [FAULTS["bad gateway after the effect"]]
    second = run()
    assert second.started.owed
    assert len(standin.github.issues) == 1
    assert not second.filing.owed


def test_without_a_name_the_origin_says_which_repository(run, repo):
    repo.git("remote", "add", "origin", "git@127.0.0.1:acme/shop.git")
    (item,) = run(**{"track.repository": ""}).find_items(Status.FILED)
    assert item.issue.endswith("/acme/shop/issues/1")


def test_a_tracker_that_there_is_none_of_is_refused_before_the_run_begins(run):
    with pytest.raises(SettingsError, match="no tracker is called 'gitlab'") as raised:
        run(**{"track.to": "gitlab"})
    assert raised.value.hint == "one of: files, github"


@pytest.mark.parametrize(
    "line", ['api = "https://evil.example"', 'token = "AWS_SECRET_ACCESS_KEY"']
)
def test_code_under_review_does_not_choose_which_token_goes_where(
    repo, tmp_path, monkeypatch, line
):
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / "state"))
    repo.commit({".punchlist.toml": f'[track]\nto = "github"\n{line}\n', "a.py": ""})

    async def main():
        app = await Session.open(repo.root, {})
        with contextlib.closing(app):
            await prepare_run(app, Request(kind=ScopeKind.ALL, allow_checks=True))

    with pytest.raises(SettingsError, match="does not choose which token"):
        asyncio.run(main())
