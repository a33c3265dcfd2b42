"""`punchlist pr`, `run` and `doctor` as a GitHub App, typed: real git over HTTP with the App's tokens, GitHub on loopback."""

import json
import time

import pytest
from app_keys import make_key
from forge_kinds import KINDS
from git_http import serve_git
from github_app import GithubApp
from github_standin import Github, Standin
from test_cli_pr import Shop

from needs import rarely

LOOKS = """
import os
import pytest
from a import one

def test_a():
    assert one() == 1
    assert not any("KEY" in name or "PRIVATE" in value for name, value in os.environ.items())
    with pytest.raises(OSError):
        open({file!r})
"""


@pytest.fixture(scope="module")
def key_file(tmp_path_factory):
    return make_key(tmp_path_factory.mktemp("key"))


@pytest.fixture
def site(repo, tmp_path, key_file):
    """A GitHub with an App, its git server at the same address, and a clone without any credentials."""
    with KINDS["github"].server() as standin, serve_git(tmp_path, standin) as (address, seen):
        shop = Shop(repo, tmp_path, KINDS["github"], standin)
        standin.api = address
        shop.state.app = GithubApp(key_file)
        shop.seen = seen
        yield shop
        assert standin.state.problems == []


@pytest.fixture
def typed(site, repo, make_punchlist, key_file):
    punchlist = make_punchlist(repo.root)
    settings = {
        "analyzers.enabled": "ruff", "analyzers.select": "F", "track.api": site.standin.api, "track.repository": "acme/shop",
        "track.app": "4242", "track.app-key-file": str(key_file), "pr.pause": "0",
    }  # fmt: skip

    def type_(command, *more, **changed):
        given = settings | {name.replace("__", "."): value for name, value in changed.items()}
        said = punchlist(
            command, *more, *(f"--set={name}={value}" for name, value in given.items())
        )
        shown = said.stdout + said.stderr
        assert "PRIVATE KEY" not in shown
        assert not any(token in shown for token in site.state.app.tokens)
        return said

    type_.punchlist = punchlist
    return type_


def leave_no_trace(key_file, home):
    """No file that punchlist wrote has a line of the key, or a token."""
    secrets = [key_file.read_bytes().splitlines()[3], b"ghs_dummy"]
    written = [file for file in home.rglob("*") if file.is_file()]
    assert written
    assert not [file for file in written for each in secrets if each in file.read_bytes()]


def test_a_pull_request_is_answered_as_the_app_with_a_token_that_expires_in_between(
    site, typed, repo, key_file, tmp_path
):
    site.begin({"README": "shop"}, {"a.py": "import os\n\n\nX = 1\n"})
    path = f"/{site.remote.relative_to(site.remote.parents[1])}"
    repo.git("remote", "set-url", "origin", f"{site.standin.api}{path}")
    repo.git("branch", "--quiet", "--delete", "--force", "topic")
    repo.git("update-ref", "-d", "refs/remotes/origin/topic")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "--prune=now", "--quiet")
    told, ran = tmp_path / "told", tmp_path / "ran"
    repo.git("config", "credential.helper", f"store --file={told}")
    for name in ("pre-push", "reference-transaction"):
        hook = repo.root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\nenv >> {ran}\n")
        hook.chmod(0o755)
    app = site.state.app
    # None lasts long enough for another connection, and some end in the middle of one.
    app.lasts, app.uses = 200, 5
    said = typed("pr", "7", "--no-checks", "--push", "--json")
    site.follow()
    assert json.loads(said.stdout)["pushed"] == site.state.head, said.stderr
    assert f"POST {path}/git-upload-pack" in site.seen, "the pull request was fetched"
    assert f"POST {path}/git-receive-pack" in site.seen
    assert not told.exists(), "no other helper of git is told the token"
    assert not ran.exists(), "no hook sees it"
    assert len(app.asked) > 3
    assert [len(site.state.comments), len(site.state.check_runs)] == [1, 1]
    app.lasts, app.uses = 3600, 10**9
    again = typed("pr", "7", "--no-checks", "--json")
    assert again.returncode == 0, again.stderr
    assert len(site.state.comments) == 1, "the App finds its own comment again"
    leave_no_trace(key_file, typed.punchlist.home)


def test_the_app_pushes_the_branch_with_the_fixes_and_finds_its_pull_request_again(
    site, typed, repo
):
    site.begin({"README": "shop"}, {"a.py": "import os\n\n\nX = 1\n"})
    path = f"/{site.remote.relative_to(site.remote.parents[1])}"
    repo.git("remote", "set-url", "origin", f"{site.standin.api}{path}")
    said = typed("pr", "7", "--no-checks", "--stack", "--json")
    assert said.returncode == 0, said.stderr
    first = json.loads(said.stdout)
    assert first["stack"], said.stdout
    assert f"POST {path}/git-receive-pack" in site.seen
    again = json.loads(typed("pr", "7", "--no-checks", "--stack", "--json").stdout)
    assert (again["stack"], again["updates"]) == (first["stack"], [])


def test_a_remote_that_is_not_on_the_server_does_not_get_to_see_the_token(
    site, typed, repo, tmp_path, isolated
):
    """By a program that the user's own configuration names for ssh."""
    site.begin({"README": "shop"}, {"a.py": "import os\n\n\nX = 1\n"})
    seen, secure_shell = tmp_path / "seen", tmp_path / "secure-shell"
    secure_shell.write_text(f'#!/bin/sh\nenv > {seen}\nshift\nexec sh -c "$*"\n')
    secure_shell.chmod(0o755)
    (isolated / ".gitconfig").write_text(
        f"[core]\n\tsshCommand = {secure_shell}\n[ssh]\n\tvariant = simple\n"
    )
    repo.git("remote", "set-url", "origin", f"elsewhere:{site.remote}")
    said = typed("pr", "7", "--no-checks", "--stack", "--json")
    assert json.loads(said.stdout)["stack"], said.stderr
    assert "PATH=" in seen.read_text()
    assert "ghs_" not in seen.read_text()


def test_a_hook_of_a_remote_on_this_machine_is_not_started_and_that_is_said(site, typed, tmp_path):
    site.begin({"README": "shop"}, {"a.py": "import os\n\n\nX = 1\n"})
    ran, hook = tmp_path / "ran", site.remote / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    said = typed("pr", "7", "--no-checks", "--stack")
    words = " ".join((said.stdout + said.stderr).split())
    assert "it has hooks of its own (post-receive), and punchlist starts none" in words
    assert not ran.exists()


def test_doctor_says_that_the_key_works_and_what_the_app_lacks(site, typed, key_file):
    site.repo.commit({"README": "shop"})
    app = site.state.app

    def probe(**changed):
        said = typed("doctor", "--json", **changed)
        (found,) = (each for each in json.loads(said.stdout) if each["name"] == "GitHub App")
        return said.returncode, found

    code, fine = probe()
    assert (fine["found"], fine["version"]) == (True, "Punchy")
    assert fine["note"] == "its key works, it comments as punchy[bot], it is installed on acme/shop"
    app.granted.pop("security_events")
    app.granted["contents"] = "read"
    app.now = lambda: time.time() + 3600
    _, lacking = probe()
    assert "and lacks Contents: write (resolve threads, fetch and push commits)" in lacking["note"]
    assert "this machine's clock is 60 minutes slow" in lacking["note"]
    assert lacking["remedy"].endswith("settings/installations/99")
    app.suspended = True
    assert "suspended on acme/shop" in probe()[1]["note"]
    code, missing = probe(track__repository="acme/other")
    assert (code, missing["found"]) == (6, False)
    assert missing["note"] == "the App Punchy is not installed on acme/other"
    key_file.chmod(0o644)
    try:
        assert "can be read by other users" in probe()[1]["note"]
    finally:
        key_file.chmod(0o600)


def test_a_key_that_is_given_in_the_place_of_its_name_is_not_shown(typed):
    said = typed.punchlist("doctor", "--set=track.app-key=-----BEGIN MY KEY-----")
    assert said.returncode != 0
    assert "BEGIN" not in said.stdout + said.stderr


@pytest.mark.parametrize("checks", ["--no-checks", *rarely("--yes")])
def test_issues_are_filed_as_the_app_and_checks_see_nothing_of_its_key(
    repo, make_punchlist, key_file, checks
):
    state = Github(time.time, login="punchy[bot]", person=False)
    state.app = GithubApp(key_file)
    punchlist = make_punchlist(repo.root)
    punchlist.env["GITHUB_APP_KEY"] = key_file.read_text()
    code = "import os\n\n\ndef one():\n    return 1\n\n\ndef two():\n    return undefined_name\n"
    repo.commit({"a.py": code, "test_a.py": LOOKS.format(file=str(key_file))})
    with Standin(state) as server:
        given = {
            "analyzers.enabled": "ruff", "analyzers.select": "F", "track.to": "github", "track.api": server.api,
            "track.repository": "acme/shop", "track.app": "4242", "track.labels": "",
        }  # fmt: skip
        words = [f"--set={name}={value}" for name, value in given.items()]
        said = punchlist("run", "--all", checks, *words)
    assert "PRIVATE" not in said.stdout + said.stderr
    fixed, filed = sorted(punchlist.json("show", "last"), key=lambda each: each["issue"])
    assert filed["issue"].endswith("/acme/shop/issues/1"), said.stderr
    assert fixed["status"] == "fixed", "with --yes its test was green, so it saw no key"
    assert "cannot judge" not in said.stderr
    assert state.app.asked == [{"repositories": ["shop"], "permissions": {"metadata": "read", "issues": "write"}}]  # fmt: skip
    leave_no_trace(key_file, punchlist.home)


@pytest.mark.soak
def test_a_job_with_the_key_answers_as_the_app_and_one_without_it_reports(
    site, make_punchlist, key_file, tmp_path
):
    site.begin({"README": "shop"}, {"a.py": "import os\n\n\nX = 1\n"})
    punchlist = make_punchlist(site.repo.root)
    repository = {"full_name": "acme/shop", "owner": {"login": "acme"}}
    head = {"sha": site.state.head, "ref": "topic", "repo": repository}
    base = {"sha": site.state.base, "ref": "main", "repo": repository}
    event = {"action": "opened", "pull_request": {"number": 7, "head": head, "base": base}}
    (tmp_path / "event.json").write_text(json.dumps(event))
    job = {
        "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_REPOSITORY": "acme/shop", "GITHUB_SERVER_URL": "https://github.example", "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }  # fmt: skip
    words = ["--set=analyzers.enabled=ruff", "--set=analyzers.select=F", "--set=pr.pause=0", "--set=track.app=4242"]  # fmt: skip
    words += [f"--set=track.api={site.standin.api}", f"--reports={tmp_path / 'reports'}"]
    punchlist("ci", *words, **job)
    assert (site.state.comments, site.state.app.asked) == ([], [])
    punchlist("ci", *words, **job, GITHUB_APP_KEY=key_file.read_text())
    assert [len(site.state.comments), len(site.state.check_runs)] == [1, 1]
