"""Which event a CI job is about, and what is done about it."""

import json

import pytest

from punchlist.app.ci.decide import CiMode, decide_mode
from punchlist.app.ci.event import read_event
from punchlist.errors import UsageError

BASE, HEAD = "b" * 40, "c" * 40


def actions(path, event, payload, **env):
    path.write_text(payload if isinstance(payload, str) else json.dumps(payload))
    return {
        "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": event, "GITHUB_EVENT_PATH": str(path), "GITHUB_REPOSITORY": "acme/shop",
        "GITHUB_SERVER_URL": "https://github.example", **env,
    }  # fmt: skip


def repository(name="acme/shop"):
    return {"full_name": name, "owner": {"login": name.split("/")[0]}, "default_branch": "main"}


def pull(theirs="acme/shop", action="synchronize", **changed):
    head = {"sha": HEAD, "ref": "topic", "repo": repository(theirs)} | changed
    base = {"sha": BASE, "ref": "main", "repo": repository()}
    return {"action": action, "pull_request": {"number": 7, "head": head, "base": base}}


def comment(body, **more):
    return {
        "action": "created",
        "issue": {"number": 7, "pull_request": {"url": "x"}} | more,
        "comment": {"body": body},
    }


def ended(theirs="someone/shop", event="pull_request"):
    return {
        "workflow_run": {
            "head_sha": HEAD,
            "head_branch": "topic",
            "event": event,
            "head_repository": repository(theirs),
        }
    }


GROUP = {"action": "checks_requested", "merge_group": {
    "head_sha": HEAD, "base_sha": BASE, "base_ref": "refs/heads/main", "head_ref": "refs/heads/gh-readonly-queue/main/pr-7-c"}}  # fmt: skip
PUSH = {"before": BASE, "after": HEAD, "ref": "refs/heads/main", "repository": repository()}


@pytest.mark.parametrize(
    ("event", "payload", "mode", "restricted"),
    [
        ("pull_request", pull(), CiMode.ANSWER, False),
        ("pull_request", pull("someone/shop"), CiMode.REPORT, True),
        ("pull_request", pull(repo=None), CiMode.REPORT, True),
        ("pull_request", pull(action="closed"), CiMode.NOTHING, False),
        ("pull_request_target", pull("someone/shop"), CiMode.ANSWER, True),
        ("issue_comment", comment("/punchlist again\nthanks"), CiMode.ANSWER, False),
        ("issue_comment", comment("I like /punchlist"), CiMode.NOTHING, False),
        ("issue_comment", comment("/punchlist again", pull_request=None), CiMode.NOTHING, False),
        ("merge_group", GROUP, CiMode.GATE, False),
        ("merge_group", GROUP | {"action": "destroyed"}, CiMode.NOTHING, False),
        ("push", PUSH, CiMode.GATE, False),
        ("push", PUSH | {"ref": "refs/tags/v1"}, CiMode.NOTHING, False),
        ("push", PUSH | {"after": "0" * 40, "deleted": True}, CiMode.NOTHING, False),
        ("workflow_run", ended(), CiMode.RELAY, False),
        ("workflow_run", ended("acme/shop"), CiMode.NOTHING, False),
        ("workflow_run", ended(event="push"), CiMode.NOTHING, False),
    ],
)
def test_each_event_has_its_mode(tmp_path, event, payload, mode, restricted):
    found = decide_mode(read_event(actions(tmp_path / "e.json", event, payload)), token=True)
    assert (found.mode, found.restricted) == (mode, restricted)
    assert found.why


def test_without_a_token_the_result_stays_in_the_job(tmp_path):
    env = actions(tmp_path / "e.json", "pull_request", pull())
    assert decide_mode(read_event(env), token=False).mode is CiMode.REPORT
    bot = decide_mode(read_event(env | {"GITHUB_ACTOR": "dependabot[bot]"}), token=True)
    assert bot.mode is CiMode.REPORT
    gitea = decide_mode(read_event(env | {"GITEA_ACTIONS": "true"}), token=True, shows=False)
    assert gitea.mode is CiMode.REPORT


GITLAB = {
    "GITLAB_CI": "true", "CI_PIPELINE_SOURCE": "merge_request_event", "CI_PROJECT_PATH": "acme/group/shop",
    "CI_SERVER_URL": "https://gitlab.example", "CI_COMMIT_SHA": HEAD, "CI_MERGE_REQUEST_IID": "7",
    "CI_MERGE_REQUEST_PROJECT_ID": "1", "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "1", "CI_MERGE_REQUEST_DIFF_BASE_SHA": BASE,
    "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "topic",
}  # fmt: skip


def test_gitlab_says_it_in_variables():
    event = read_event(GITLAB)
    assert (event.number, event.base, event.head, event.fork) == (7, BASE, HEAD, False)
    assert event.url == "https://gitlab.example/acme/group/shop/-/merge_requests/7"
    theirs = {"CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "2", "CI_PROJECT_PATH": "someone/shop"}
    fork = read_event(GITLAB | theirs | {"CI_MERGE_REQUEST_PROJECT_PATH": "acme/group/shop"})
    assert (fork.fork, fork.url) == (True, event.url), "of the project that it is for"
    train = read_event(GITLAB | {"CI_MERGE_REQUEST_EVENT_TYPE": "merge_train"})
    assert decide_mode(train, token=True).mode is CiMode.GATE
    merged = read_event(GITLAB | {"CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": "d" * 40})
    assert merged.head == "d" * 40, "not the merge commit that GitLab made for the pipeline"


@pytest.mark.parametrize(
    ("event", "payload", "named"),
    [
        ("pull_request", "{", "no payload of the event pull_request"),
        ("pull_request", "[" * 100_000, "no payload of the event pull_request"),
        ("pull_request", b"\xff\xfe".decode("latin-1"), "no payload"),
        ("pull_request", {}, "pull_request"),
        ("pull_request", {"pull_request": {"number": "7; id"}}, "number"),
        ("pull_request", {"pull_request": {"number": -7}}, "number"),
        ("pull_request", pull(sha="HEAD; rm -rf ~"), "head.sha is malformed"),
        ("pull_request", pull(sha="--upload-pack=x"), "head.sha is malformed"),
        ("pull_request", pull(ref="--force"), "head.ref is malformed"),
        ("pull_request", pull(ref="a\n::set-output name=x::y"), "head.ref is malformed"),
        ("pull_request", pull(ref="a:refs/heads/main"), "head.ref is malformed"),
        ("pull_request", pull(ref="a..b"), "head.ref is malformed"),
        ("merge_group", {"merge_group": GROUP["merge_group"] | {"base_sha": "main"}}, "base_sha"),
        ("push", PUSH | {"before": "$(id)"}, "before the push is malformed"),
        ("workflow_run", ended("some one/../x"), "malformed"),
        ("schedule", {}, "has no change to review"),
    ],
)
def test_a_malformed_event_is_refused_and_says_what_is_wrong(tmp_path, event, payload, named):
    with pytest.raises(UsageError, match=named):
        read_event(actions(tmp_path / "e.json", event, payload))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CI_MERGE_REQUEST_IID", "7 8"),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", "-o"),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "a b"),
        ("CI_PROJECT_PATH", "https://evil.example/x"),
        ("CI_SERVER_URL", "ext::sh -c id"),
        ("CI_PIPELINE_SOURCE", "schedule"),
    ],
)
def test_malformed_variables_are_refused_by_name(name, value):
    with pytest.raises(UsageError, match=name):
        read_event(GITLAB | {name: value})


def test_outside_of_a_job_it_says_what_was_looked_for(tmp_path):
    with pytest.raises(UsageError, match=r"GITHUB_ACTIONS.*GITHUB_EVENT_PATH.*GITLAB_CI"):
        read_event({})
    with pytest.raises(UsageError, match="GITHUB_EVENT_PATH is not set"):
        read_event(actions(tmp_path / "e.json", "pull_request", pull()) | {"GITHUB_EVENT_PATH": ""})
