"""What only GitHub has: GraphQL, check runs with annotations, reviews, alerts of code scanning."""

import pytest
from forge_kinds import KINDS, Clock
from forge_state import Fault
from github_pulls import SCHEMA, WEB, GithubServer
from graphql import parse, validate
from test_forge_contract import HEAD, board, hear, show

from punchlist.adapters.forges.github import queries
from punchlist.adapters.rest.retry import Unavailable


@pytest.fixture(scope="module")
def server():
    with GithubServer() as standin:
        yield standin


@pytest.fixture
def state(server):
    yield server.fresh(hunks={"a.py": [(1, 20)]})
    assert server.state.problems == []


@pytest.fixture
def forge(server, state):
    return lambda: KINDS["github"].open(server, Clock().pacing)


@pytest.mark.parametrize(
    "query",
    [
        value
        for name, value in vars(queries).items()
        if isinstance(value, str) and name.isupper() and name[0] != "_"
    ],
)
def test_queries_fit_the_schema(query):
    assert validate(SCHEMA, parse(query)) == []


def test_a_check_has_all_its_annotations_once(forge, state):
    for _ in range(2):
        show(forge(), board(notes=120))
    assert [len(run["annotations"]) for run in state.check_runs] == [120]


def test_a_token_that_may_make_no_check_runs_sets_a_status_once(forge, state):
    state.may_check = False
    for _ in range(2):
        show(forge(), board())
    assert [(each["context"], each["state"]) for each in state.statuses] == [
        ("punchlist", "failure")
    ]


def test_checks_and_statuses_are_read_to_the_last_page(forge, state):
    note = {"path": "a.py", "start_line": 2, "end_line": 2, "annotation_level": "failure", "message": "m",
            "start_column": None, "end_column": None, "raw_details": None}  # fmt: skip
    for n in range(130):
        state.check_runs.append(
            {"id": n, "name": f"c{n}", "head_sha": HEAD, "annotations": [note] * (n // 129 * 120)}
        )
        state.statuses.append({"id": n, "sha": HEAD, "context": f"s{n}", "state": "success", "description": ""})  # fmt: skip
    assert [each.source for each in hear(forge()).reports] == ["c129"] * 120
    state.may_check = False
    for _ in range(2):
        show(forge(), board())
    assert [each["context"] for each in state.statuses[130:]] == ["punchlist"]


def test_a_limit_that_graphql_tells_of_ends_the_answer(forge, state):
    state.read_faults = [None, Fault(200, message="API rate limit exceeded")]
    with pytest.raises(Unavailable, match="API rate limit exceeded"):
        hear(forge())


def test_an_unfinished_list_of_annotations_is_completed(forge, state):
    state.faults = [
        None,
        None,
        Fault(422, message="no"),
    ]  # summary, check run, then its second batch
    with pytest.raises(Exception, match="422"):
        show(forge(), board(notes=70))
    assert [len(run["annotations"]) for run in state.check_runs] == [50]
    show(forge(), board(notes=70))
    assert [len(run["annotations"]) for run in state.check_runs] == [70]


def test_reviews_annotations_and_alerts_are_heard(forge, state):
    state.reviews.append(
        {**state.add_comment("Please change", "ann"), "state": "CHANGES_REQUESTED"}
    )
    run = {"id": 5, "name": "eslint", "head_sha": HEAD, "annotations": [
        {"path": "a.py", "start_line": 2, "end_line": 2, "annotation_level": "failure", "message": "no-undef",
         "start_column": None, "end_column": None, "raw_details": None}]}  # fmt: skip
    state.check_runs += [run, {**run, "id": 6, "name": "punchlist"}]
    state.alerts = [{
        "number": 4, "html_url": f"{WEB}/security/code-scanning/4", "state": "open",
        "rule": {"id": "py/sql", "severity": "error", "description": "SQL injection"}, "tool": {"name": "CodeQL"},
        "most_recent_instance": {"message": {"text": "Query from user input"}, "state": "open",
                                 "location": {"path": "a.py", "start_line": 9, "end_line": 9}, "ref": "refs/pull/7/merge"},
    }]  # fmt: skip

    heard = hear(forge())
    assert [each.demands for each in heard.reviews] == [True]
    assert [(each.source, each.line, each.rule) for each in heard.reports] == [
        ("eslint", 2, ""),
        ("CodeQL", 9, "py/sql"),
    ]
