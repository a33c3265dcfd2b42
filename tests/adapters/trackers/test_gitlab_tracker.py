"""Issues on GitLab, where they differ from GitHub's: no reason for being closed, members by number."""

import pytest
from hypothesis import given, settings
from test_github_faults import LOOSE, one_open_issue_or_told, worlds

from needs import SOAK


@settings(max_examples=300 if SOAK else 4, **LOOSE)
@given(world=worlds)
def test_any_sequence_of_faults_leaves_one_open_issue_or_one_that_is_told(gitlab, told, world):
    one_open_issue_or_told(gitlab, told, world)


def test_what_was_closed_and_is_back_is_opened_again(gitlab, told):
    (first,) = gitlab.file(told(1))
    gitlab.github.issues[1]["state"] = "closed"
    assert (
        gitlab.file(told(1))[0].ref
        == first.ref
        == "https://gitlab.example/acme/tools/shop/-/issues/1"
    )
    assert gitlab.github.issues[1]["state"] == "open"
    assert "Seen again after it was closed" in gitlab.github.issues[1]["body"]


@pytest.mark.parametrize("label", ["wontfix", "Won't fix", "wont-do", "duplicate", "invalid"])
def test_what_was_closed_with_a_label_that_declines_it_stays_closed(gitlab, told, label):
    gitlab.file(told(1))
    issue = gitlab.github.issues[1]
    issue["state"] = "closed"
    issue["labels"].append({"name": label})
    gitlab.file(told(1))
    assert issue["state"] == "closed"
    assert len(gitlab.github.issues) == 1


def test_what_was_dismissed_stays_closed_until_that_is_taken_back(gitlab, told):
    dossier = told(1)
    gitlab.file(dossier)
    assert gitlab.tracker().close([dossier.item.fingerprint], "ada", "public\n/reopen") == 1
    gitlab.file(dossier)
    assert gitlab.github.open == []
    assert gitlab.tracker().reopen([dossier.item.fingerprint]) == 1
    gitlab.github.issues[1]["state"] = "closed"
    gitlab.file(dossier)
    assert len(gitlab.github.open) == 1


def test_strangers_cannot_pose_as_an_issue_of_ours(gitlab, told):
    gitlab.github.association = "NONE"
    content = {"title": "x", "body": told(1).body, "labels": ["tech-debt"]}
    gitlab.github.add(content, user={"login": "mallory", "type": "User"})
    (filing,) = gitlab.file(told(1))
    assert filing.ref.endswith("/2")


def test_a_project_that_was_renamed_is_followed(gitlab, told):
    gitlab.github.former = "acme/old"
    (filing,) = gitlab.file(told(1), repository="acme/old")
    assert filing.ref.endswith("/acme/tools/shop/-/issues/1")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"token": "another"}, "token is not accepted"),
        ({"has_issues": False}, "issues switched off"),
        ({"archived": True}, "archived"),
        ({"repository": "acme/else"}, "does it exist"),
        ({"may_file": False}, "403 Forbidden"),
    ],
)
def test_what_every_issue_would_meet_is_told_for_each(gitlab, told, state, words):
    for name, value in state.items():
        setattr(gitlab.github, name, value)
    assert [words in filing.failed for filing in gitlab.file(told(1), told(2))] == [True] * 2


def test_lists_are_read_to_their_last_page(gitlab, told):
    gitlab.github.page = 3
    gitlab.file(*map(told, range(1, 9)))
    gitlab.github.search_lag = 1e9
    assert len({filing.ref for filing in gitlab.file(*map(told, range(1, 10)))}) == 9
