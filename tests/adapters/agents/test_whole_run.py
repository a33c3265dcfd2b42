"""Whole runs with the real agents: found, fixed with their own tools, proven, challenged, and landed on a branch."""

import pytest
from wholerun import FAULTS, KEY, KINDS, Company, Project, fixed

from needs import rarely

PROOFS = ["reproduced", "witnessed", "checked", "claim"]


@pytest.fixture
def project(repo, tmp_path):
    """Makes a project whose agents talk to a company of their own; when the test ends nothing of it may be running."""
    with Company("cheapest", "page") as model:
        shop = Project(repo, tmp_path, model)
        yield shop
    assert shop.processes() == {}


def spent(told):
    usage = told["usage"]
    return usage["input_tokens"], usage["output_tokens"]


@pytest.mark.parametrize("kind", ["codex", *rarely("claude", "gemini")])
def test_two_faults_are_found_reproduced_fixed_challenged_and_land(project, kind):
    before = project.repo.git("status", "--porcelain"), project.repo.head
    told = project.use(kind).run()
    assert (told["outcome"], told["run"]["workflow"]) == ("fixed", "proven")
    assert [[proof["kind"] for proof in item["proofs"]] for item in told["items"]] == [
        PROOFS,
        PROOFS,
    ]
    assert {item["title"]: item["status"] for item in told["items"]} == {
        fault.title: "fixed" for fault in FAULTS.values()
    }
    assert {
        attempt["by"]
        for item in told["items"]
        for attempt in item["attempts"]
        if attempt["fact"] == "said-fixed"
    } == {kind}
    assert project.branch() == fixed("cheapest", "page")
    assert project.audited()
    calls = len([call for call in project.model.calls if call["rule"] != "side"])
    assert spent(told) == (1000 * calls, 100 * calls)
    assert told["usage"]["dollars"] > 0
    assert (project.repo.git("status", "--porcelain"), project.repo.head) == before
    assert not [
        path
        for path in project.folder.glob("state/**/*")
        if path.is_file() and KEY.encode() in path.read_bytes()
    ]


@pytest.mark.soak
def test_opencode_goes_the_whole_way_too(project):
    project.model.faults.pop("page")
    told = project.use("opencode").run(*project.strict("technical"))
    assert told["outcome"] == "fixed"
    assert [[proof["kind"] for proof in item["proofs"]] for item in told["items"]] == [PROOFS[1:]]
    assert project.branch() == fixed("cheapest")
    assert project.audited()
    assert spent(told)[0] == 1000 * len(project.model.calls)
    assert told["usage"]["dollars"] > 0


def test_one_agent_fixes_and_another_challenges(project):
    told = project.use("claude", "codex").run(*project.strict("technical"))
    assert told["outcome"] == "fixed"
    assert {
        (call["rule"], call["api"]) for call in project.model.calls if call["rule"] != "side"
    } == {
        ("technical", KINDS["claude"].api),
        ("fixer", KINDS["claude"].api),
        ("challenger", KINDS["codex"].api),
    }
    assert {
        proof["said"]
        for item in told["items"]
        for proof in item["proofs"]
        if proof["kind"] == "reviewed"
    } == {"scored 95 by codex"}
    assert project.branch() == fixed("cheapest", "page")
    assert project.audited()
