"""Projects on GitLab: in groups of groups, on servers of one's own, below a path; and which forge is meant."""

import asyncio

import httpx
import pytest

from punchlist.adapters.git.command import Git
from punchlist.adapters.rest.client import check_api_url
from punchlist.adapters.rest.remote import parse_name, parse_remote
from punchlist.adapters.rest.retry import Unavailable, parse_retry_after
from punchlist.adapters.rest.style import GITHUB, GITLAB
from punchlist.app.places import choose_style
from punchlist.app.pulls.connect import PullName, open_forge, parse_pull_name
from punchlist.errors import SettingsError, UsageError
from punchlist.settings import Settings, TrackSettings

API = httpx.URL("https://gitlab.com/api/v4")


@pytest.mark.parametrize(
    ("remote", "api"),
    [
        ("git@gitlab.com:acme/tools/shop.git", GITLAB.api),
        ("ssh://git@altssh.gitlab.com:443/acme/tools/shop.git", GITLAB.api),
        ("https://oauth2:secret@gitlab.com/acme/tools/shop.git", GITLAB.api),
        ("ssh://git@git.acme.example:2222/acme/tools/shop", "https://git.acme.example/api/v4"),
        ("git@api.acme.example:acme/tools/shop.git", "https://api.acme.example/api/v4"),
        ("https://acme.example/gitlab/acme/tools/shop.git", "https://acme.example/gitlab/api/v4/"),
        ("git@acme.example:acme/tools/shop.git", "https://acme.example/gitlab/api/v4"),
    ],
)
def test_every_spelling_of_a_remote_is_understood(remote, api):
    assert parse_remote(remote, GITLAB, httpx.URL(api)) == "acme/tools/shop"


@pytest.mark.parametrize(
    "remote",
    [
        "https://ada:secret@github.com/acme/shop.git",
        "https://gitlab.com.evil.example/acme/shop",
        "https://gitlab.com/acme",
        "https://gitlab.com/acme/../shop",
        "https://gitlab.com/acme/shop/-/tree/main",
        "/srv/git/shop.git",
    ],
)
def test_what_is_no_project_there_is_told_without_repeating_it(remote):
    with pytest.raises(Unavailable) as raised:
        parse_remote(remote, GITLAB, API)
    assert "secret" not in str(raised.value)
    assert raised.value.hint.startswith("set track.repository to GROUP/NAME")


def test_a_server_of_ones_own_is_told_what_to_set(repo):
    repo.git("remote", "add", "origin", "git@gitlab.acme.example:acme/shop.git")
    git = Git(repo.root, theirs=True)
    style = asyncio.run(choose_style(TrackSettings(), git))
    with pytest.raises(Unavailable, match="points to gitlab") as raised:
        parse_remote("git@gitlab.acme.example:acme/shop.git", style, API)
    assert raised.value.hint.endswith("track.api to https://gitlab.acme.example/api/v4")


@pytest.mark.parametrize(
    "name", ["acme", "../shop", "acme/..", "acme/./shop", "acme/-/x", "a/b?c", "a/b#1"]
)
def test_a_name_that_leads_elsewhere_is_refused(name):
    with pytest.raises(Unavailable, match="is not GROUP/NAME"):
        parse_name(name, GITLAB)


@pytest.mark.parametrize(
    ("style", "api"),
    [
        (GITLAB, "https://api.github.com"),
        (GITLAB, "https://git.acme.example/api/v3"),
        (GITHUB, "https://git.acme.example/api/v4"),
    ],
)
def test_a_token_does_not_go_to_the_api_of_another_kind(style, api):
    with pytest.raises(Unavailable, match="is no address of Git"):
        check_api_url(style, api)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("!7", PullName(7)),
        (
            "https://gitlab.com/a/b/c/-/merge_requests/7",
            PullName(7, "gitlab", "gitlab.com", "a/b/c"),
        ),
        (
            "https://X.example:8443/a/b/merge_requests/7/diffs?x=1",
            PullName(7, "gitlab", "x.example", "a/b"),
        ),
        ("https://github.com/a/b/pull/7/files", PullName(7, "github", "github.com", "a/b")),
    ],
)
def test_a_merge_request_is_named_by_its_number_or_its_address(said, meant):
    assert parse_pull_name(said) == meant


@pytest.mark.parametrize(
    "said",
    [
        "!",
        "!x",
        "https://gitlab.com/a/b/-/issues/7",
        "\u0667",
        "!-7",
        "7/8",
        "https://[x/a/b/pull/7",
    ],
)
def test_what_names_no_merge_request_is_told(said):
    with pytest.raises(UsageError, match="names no pull request"):
        parse_pull_name(said)


@pytest.mark.parametrize(
    ("track", "named", "kind"),
    [
        ({}, "", "gitlab"),
        ({}, "github", "github"),
        ({"forge": "github"}, "", "github"),
        ({"forge": "github"}, "gitlab", "gitlab"),
        ({"to": "github"}, "", "github"),
        ({"api": "https://git.acme.example/api/v3"}, "", "github"),
        ({"api": "https://git.acme.example/api/v4/"}, "", "gitlab"),
    ],
)
def test_the_forge_is_the_one_that_is_named_or_shown(repo, track, named, kind):
    repo.git("remote", "add", "origin", "git@gitlab.com:acme/shop.git")
    git = Git(repo.root, theirs=True)
    assert asyncio.run(choose_style(TrackSettings(**track), git, named)).kind == kind


def test_a_forge_that_there_is_none_of_is_told(repo):
    with pytest.raises(SettingsError, match="no forge is called 'gitlub'"):
        asyncio.run(choose_style(TrackSettings(forge="gitlub"), Git(repo.root), "github"))


@pytest.mark.parametrize("remote", ["", "git@work:acme/shop.git", "/srv/gitlab.com/shop"])
def test_without_any_sign_it_is_github(repo, remote):
    if remote:
        repo.git("remote", "add", "origin", remote)
    assert asyncio.run(choose_style(TrackSettings(), Git(repo.root, theirs=True))) is GITHUB


def test_a_merge_request_on_another_host_gets_no_token(repo):
    pull = parse_pull_name("https://evil.example/acme/shop/-/merge_requests/7")
    with pytest.raises(UsageError, match=r"the token is for gitlab\.com, not for evil\.example"):
        asyncio.run(open_forge(Settings(), Git(repo.root, theirs=True), pull))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"ratelimit-remaining": "0", "ratelimit-reset": "160"}, 60),
        ({"ratelimit-remaining": "9", "ratelimit-reset": "160"}, None),
        ({"retry-after": "7", "ratelimit-remaining": "0", "ratelimit-reset": "160"}, 7),
    ],
)
def test_the_end_of_a_limit_is_read_from_its_headers(headers, seconds):
    assert parse_retry_after(headers, 100.0) == seconds
