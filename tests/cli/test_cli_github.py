"""Whole runs that file on GitHub, or GitLab: chosen by settings, patient, owed while GitHub is down, and never where code under review says."""

import time
from itertools import pairwise

import pytest
import workbench
from github_standin import FAULTS, TOKEN, Fault, Github, Standin
from gitlab_standin import PROJECT, Gitlab
from workbench import fix, fixer, review


@pytest.fixture(scope="module")
def standin():
    with Standin(Github(time.time)) as server:
        yield server


@pytest.fixture
def typed(repo, standin, make_punchlist):
    """Types `punchlist run` in a repository with one finding that no tool can fix; returns the items and what was said."""
    standin.github = Github(time.time)
    repo.commit({"a.py": "print(undefined_name)\n"})
    punchlist = make_punchlist(repo.root)
    punchlist.env["OUR_TOKEN"] = TOKEN
    settings = {
        "analyzers.enabled": "ruff", "analyzers.select": "F", "track.to": "github", "track.api": standin.api,
        "track.repository": "acme/shop", "track.token": "OUR_TOKEN",
    }  # fmt: skip

    def run(*arguments, **more):
        named = [f"--set={name}={value}" for name, value in (settings | more).items()]
        said = punchlist("run", *(arguments or ("--all", "--no-checks")), *named)
        assert TOKEN not in said.stdout + said.stderr
        return punchlist.json("show", "last") if said.returncode in (0, 1, 3) else [], said

    run.env, run.punchlist = punchlist.env, punchlist
    return run


def test_a_run_files_on_github_and_the_next_one_finds_it_there(typed, standin):
    ((item,), _), ((again,), _) = typed(), typed()
    assert item["issue"].endswith("/acme/shop/issues/1")
    assert (again["issue"], again["status"]) == (item["issue"], "filed")
    assert len(standin.github.issues) == 1


def test_an_issue_has_every_attempt_and_labels(repo, standin, tmp_path, typed):
    bench = workbench.Workbench(repo, tmp_path)
    bench.play(
        review("mean", "page"),
        review(role="spec"),
        fixer(fix("page"), fix("mean", "blocked", "needs the owner of the data")),
    )
    typed.env["PUNCHLIST_CONFIG"] = str(tmp_path / "settings.toml")
    items, _ = typed("--workflow", "accountable", "--yes")
    assert sorted(item["status"] for item in items) == ["filed", "fixed"]
    (issue,) = standin.github.issues.values()
    assert {label["name"] for label in issue["labels"]} == {"tech-debt", "major"}
    assert "1. Round 1, robot: blocked: needs the owner of the data" in issue["body"]


def test_requests_are_made_again_after_growing_pauses_and_a_limit_is_waited_for(typed, standin):
    standin.github.reading = [FAULTS["server error"], FAULTS["bad gateway"], Fault("too many", seconds=1)]  # fmt: skip
    ((item,), _) = typed()
    assert item["status"] == "filed"
    times = [asked.at for asked in standin.github.asked]
    pauses = [late - early for early, late in pairwise(times)]
    for pause, least in zip(pauses, (0.5, 1, 1), strict=False):
        assert pause >= least, times
    assert len({asked.path for asked in standin.github.asked[:4]}) == 1, "it is the same request"
    assert standin.github.early == 0
    assert len(standin.github.issues) == 1


def test_what_github_did_not_take_is_owed_and_filed_by_the_next_run(typed, standin):
    standin.github.token = "revoked"
    _, said = typed()
    assert said.returncode == 3, said.stdout
    assert "the token is not accepted" in " ".join(said.stdout.split())
    assert not standin.github.issues
    standin.github.token = TOKEN
    standin.github.writing = [FAULTS["bad gateway after the effect"]]
    ((item,), said) = typed()
    assert (item["status"], len(standin.github.issues)) == ("filed", 1)
    assert "could not be filed" not in said.stdout


def test_a_dismissal_closes_the_issue_and_its_undoing_opens_it_again(typed, standin):
    typed()
    assert typed.punchlist("dismiss", "last", "1", "--why", "it is public").returncode == 0
    (issue,) = standin.github.issues.values()
    assert (issue["state"], issue["state_reason"]) == ("closed", "not_planned")
    assert "Dismissed by `" in issue["body"]
    standin.github.token = "revoked"
    said = typed.punchlist("dismiss", "last", "1", "--undo")
    assert (
        "it is recorded, but its issue was not changed: github: GitHub answered 401" in said.stderr
    )
    standin.github.token = TOKEN
    typed.punchlist("dismiss", "last", "1", "--why", "it is public")
    assert typed.punchlist("dismiss", "last", "1", "--undo").returncode == 0
    assert issue["state"] == "open"


def test_a_run_files_on_gitlab_and_a_dismissal_closes_it_there(typed, standin):
    standin.github = Gitlab(time.time, repository=PROJECT)
    there = {"track.to": "gitlab", "track.api": standin.api, "track.repository": PROJECT}
    ((item,), _), ((again,), _) = typed(**there), typed(**there)
    assert item["issue"] == again["issue"] == "https://gitlab.example/acme/tools/shop/-/issues/1"
    assert typed.punchlist("dismiss", "last", "1", "--why", "it is public").returncode == 0
    assert standin.github.open == []


def test_without_a_name_the_origin_says_which_repository(typed, repo):
    repo.git("remote", "add", "origin", "git@127.0.0.1:acme/shop.git")
    ((item,), _) = typed(**{"track.repository": ""})
    assert item["issue"].endswith("/acme/shop/issues/1")


def test_a_tracker_that_there_is_none_of_is_refused_before_the_run_begins(typed):
    _, said = typed(**{"track.to": "jira"})
    assert "no tracker is called 'jira'" in said.stderr
    assert "one of: files, github" in said.stderr


@pytest.mark.parametrize(
    "line",
    [
        'api = "https://evil.example"',
        'token = "AWS_SECRET_ACCESS_KEY"',
        "app = 31337",
        'app-key = "AWS_SECRET_ACCESS_KEY"',
        'app-key-file = "/etc/ssl/private/key.pem"',
    ],
)
def test_code_under_review_does_not_choose_which_token_goes_where(repo, make_punchlist, line):
    repo.commit({".punchlist.toml": f'[track]\nto = "github"\n{line}\n', "a.py": ""})
    said = make_punchlist(repo.root)("run", "--all", "--yes")
    assert "does not choose which token" in said.stderr
