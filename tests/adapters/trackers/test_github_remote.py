"""Which repository is meant, and whose token: from settings, from git, from gh, and never shown."""

import asyncio
import os

import httpx
import pytest

from punchlist.adapters.git.command import Git
from punchlist.adapters.rest.remote import make_token_reader, parse_name, parse_remote, read_origin
from punchlist.adapters.rest.retry import Unavailable, is_rate_limited, parse_retry_after
from punchlist.adapters.rest.style import GITHUB

API = httpx.URL(GITHUB.api)


@pytest.mark.parametrize(
    "remote",
    [
        "git@github.com:acme/shop.git",
        "git@github.com:acme/shop",
        "github.com:acme/shop.git",
        "org-1234@github.com:acme/shop.git",
        "ssh://git@github.com/acme/shop.git",
        "ssh://git@github.com:22/acme/shop",
        "ssh://git@ssh.github.com:443/acme/shop.git",
        "https://github.com/acme/shop.git",
        "https://github.com/acme/shop",
        "https://github.com/acme/shop/",
        "https://ada:secret@GitHub.com/acme/shop.git",
        "git://github.com/acme/shop.git",
    ],
)
def test_every_spelling_of_a_remote_is_understood(remote):
    assert parse_remote(remote, GITHUB, API) == "acme/shop"


@pytest.mark.parametrize(
    "remote",
    [
        "https://ada:secret@gitlab.com/acme/shop.git",
        "https://github.com.evil.example/acme/shop",
        "git@work:acme/shop.git",
        "/srv/git/shop.git",
        "../shop",
        "https://github.com/acme",
        "https://github.com/acme/shop/tree/main",
        "https://github.com/acme/..",
        "https://[github.com/acme/shop",
        "",
    ],
)
def test_what_is_no_repository_there_is_told_without_repeating_it(remote):
    with pytest.raises(Unavailable) as raised:
        parse_remote(remote, GITHUB, API)
    assert "secret" not in str(raised.value)
    assert raised.value.hint.startswith("set track.repository to OWNER/NAME")


@pytest.mark.parametrize("name", ["acme/shop", " acme/shop.git ", "a_b/c.d-e"])
def test_a_repository_may_be_named(name):
    assert parse_name(name, GITHUB) == name.strip().removesuffix(".git")


@pytest.mark.parametrize(
    "name",
    [
        "acme",
        "acme/shop/x",
        "acme/..",
        "../shop",
        "acme/sh op",
        "acme/shop?x=1",
        "/",
        "acme/shop#1",
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(name):
    with pytest.raises(Unavailable, match="is not OWNER/NAME"):
        parse_name(name, GITHUB)


@pytest.mark.parametrize(
    ("api", "host"),
    [
        ("https://api.github.com", "github.com"),
        ("https://git.acme.example/api/v3", "git.acme.example"),
        ("https://api.acme.ghe.com", "acme.ghe.com"),
    ],
)
def test_people_see_issues_at_the_host_of_the_interface(api, host):
    assert GITHUB.web_host(httpx.URL(api)) == host


def test_the_origin_is_what_git_makes_of_it(repo):
    repo.git("remote", "add", "origin", "gh:acme/shop.git")
    repo.git("config", "url.https://github.com/.insteadOf", "gh:")
    assert (
        parse_remote(asyncio.run(read_origin(Git(repo.root, theirs=True))), GITHUB, API)
        == "acme/shop"
    )


def test_without_an_origin_one_is_asked_to_name_the_repository(repo):
    with pytest.raises(Unavailable, match="no remote called origin"):
        asyncio.run(read_origin(Git(repo.root, theirs=True)))


def gh(folder, script):
    folder.mkdir()
    (folder / "gh").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "gh").chmod(0o755)
    return str(folder)


def test_the_token_is_in_the_variable_that_the_settings_name(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", gh(tmp_path / "bin", "echo from-gh"))
    monkeypatch.setenv("OUR_TOKEN", " dummy \n")
    assert asyncio.run(make_token_reader(GITHUB, "OUR_TOKEN")("github.com")) == "dummy"


def test_where_the_variable_is_empty_gh_is_asked_for_that_host(monkeypatch, tmp_path):
    folder = gh(tmp_path / "bin", 'echo "$*" | tr " " -')
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.delenv("OUR_TOKEN", raising=False)
    assert (
        asyncio.run(make_token_reader(GITHUB, "OUR_TOKEN")("git.acme.example"))
        == "auth-token---hostname-git.acme.example"
    )


@pytest.mark.parametrize(
    "script", ["", "echo 'secret words' >&2; exit 1", "echo half-a-token; exit 4", None]
)
def test_without_a_token_one_is_told_how_to_get_one(monkeypatch, tmp_path, script):
    monkeypatch.setenv(
        "PATH", gh(tmp_path / "bin", script) if script is not None else str(tmp_path)
    )
    monkeypatch.delenv("OUR_TOKEN", raising=False)
    with pytest.raises(Unavailable, match="no token for github") as raised:
        asyncio.run(make_token_reader(GITHUB, "OUR_TOKEN")("github.com"))
    assert raised.value.hint == "set OUR_TOKEN, or sign in: gh auth login"
    assert "secret" not in str(raised.value)
    assert "half" not in str(raised.value)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        (
            {
                "retry-after": "Thu, 01 Jan 1970 00:02:00 GMT",
                "date": "Thu, 01 Jan 1970 00:01:00 GMT",
            },
            60,
        ),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "160"}, 60),
        (
            {
                "x-ratelimit-remaining": "0",
                "x-ratelimit-reset": "160",
                "date": "Thu, 01 Jan 1970 00:02:30 GMT",
            },
            10,
        ),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "5"}, 1),
        ({"x-ratelimit-remaining": "4000", "x-ratelimit-reset": "5000"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_time_to_wait_is_read_by_the_servers_clock(headers, seconds):
    assert parse_retry_after(headers, 100.0) == seconds


@pytest.mark.parametrize(
    ("status", "headers", "words", "is_limit"),
    [
        (429, {}, "", True),
        (403, {"retry-after": "1"}, "", True),
        (403, {"x-ratelimit-remaining": "0"}, "", True),
        (403, {}, "You have exceeded a secondary rate limit", True),
        (403, {}, "You have triggered an abuse detection mechanism", True),
        (403, {"x-ratelimit-remaining": "10"}, "Resource not accessible by integration", False),
        (404, {"retry-after": "1"}, "", False),
    ],
)
def test_a_limit_is_told_apart_from_a_refusal(status, headers, words, is_limit):
    assert is_rate_limited(status, headers, words) == is_limit
