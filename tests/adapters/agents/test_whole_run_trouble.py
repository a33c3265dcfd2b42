"""Whole runs with real agents in trouble: nothing is lost, nothing is approved that nobody saw, and nothing is left running."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from wholerun import KINDS, Company, Project, fixed, wait_for

BUSY = {"status": 429, "error": "slow down"}
OVERLOADED = {"status": 529, "error": "too many at once"}
REFUSED = {"status": 401, "error": "bad key"}
HANG = {"hang": 120}
CUT = {"text": "All is well, and", "cut": 2}
SILENCE = "silence = 12\n"
"""Long enough to get started on a busy machine."""


@pytest.fixture
def project(repo, tmp_path):
    """A project with one reported fault; when the test ends nothing of it may be running."""
    with Company("cheapest") as model:
        shop = Project(repo, tmp_path, model)
        yield shop
    assert shop.processes() == {}


@pytest.fixture(params=["codex", pytest.param("claude", marks=pytest.mark.soak)])
def kind(request):
    return request.param


def whys(told):
    """How the attempts at the only item went, in words."""
    (item,) = told["items"]
    bad = ("said-deferred", "absent")
    return [attempt["why"] for attempt in item["attempts"] if attempt["fact"] in bad]


PASSING = {
    "claude": {"fixer": [BUSY] * 3, "challenger": [OVERLOADED] * 3},
    "codex": {"fixer": [BUSY], "challenger": [BUSY]},
}
"""One error more than each of them bears by itself."""


def test_what_passes_by_itself_is_waited_for(project, kind):
    project.model.first = {role: list(steps) for role, steps in PASSING[kind].items()}
    told = project.use(kind).run(*project.strict(), *project.reported("cheapest"))
    assert (told["outcome"], whys(told)) == ("fixed", [])
    assert [len(project.transcripts(role)) for role in ("fixer", "challenger")] == [2, 2]
    assert project.audited()


@pytest.mark.parametrize(
    ("first", "second", "step"),
    [
        ("claude", "codex", BUSY),
        pytest.param("codex", "claude", OVERLOADED, marks=pytest.mark.soak),
    ],
)
def test_where_it_does_not_pass_the_next_agent_is_asked(project, first, second, step):
    project.model.down = {KINDS[first].api: step}
    told = project.use(first, second, shared="retries = 0").run(
        *project.strict(), *project.reported("cheapest")
    )
    assert (told["outcome"], whys(told)) == ("fixed", [])
    assert {
        attempt["by"] for attempt in told["items"][0]["attempts"] if attempt["fact"] == "said-fixed"
    } == {second}
    assert {call["api"] for call in project.model.calls if call["rule"] == "fixer"} == {
        KINDS[second].api
    }
    assert project.audited()


def test_nobody_who_is_refused_reviews_fixes_or_approves_anything(project, kind):
    project.model.down = {KINDS[kind].api: REFUSED}
    told = project.use(kind).run(
        *project.strict("technical", attempts=1), *project.reported("cheapest"), code=3
    )
    assert told["outcome"] == "incomplete"
    (item,) = told["items"]
    assert (item["status"], item["proofs"]) == ("deferred", []), "it is not the item's fault"
    assert "401" in whys(told)[0]
    assert "401" in next(
        review["failed"] for review in told["reviewers"] if review["reviewer"] == "technical"
    )
    assert project.branch() == {}
    assert project.audited()


def struck(project, kind, role, *signals):
    """Sends the agent a signal whenever it plays the role and waits for the model; one signal each time."""
    hung = project.model.hanging(role)
    for number, deadly in enumerate(signals, 1):
        wait_for(lambda least=hung + number: project.model.hanging(role) >= least, 120)
        os.kill(wait_for(lambda: project.program(kind)), deadly)


@pytest.mark.parametrize(
    "kind",
    [
        "codex",
        pytest.param("claude", marks=pytest.mark.soak),
        pytest.param("gemini", marks=pytest.mark.soak),
    ],
)
def test_a_hang_a_cut_a_crash_and_a_kill_are_survived(project, kind):
    project.model.tries, project.model.tried = [HANG, CUT, HANG], project.attempts
    project.use(kind, **{kind: SILENCE})
    child = project.begun(*project.strict(attempts=4), *project.reported("cheapest"))
    wait_for(lambda: project.transcripts("fixer") or child.poll() is not None, 120)
    with ThreadPoolExecutor() as pool:
        striking = pool.submit(struck, project, kind, "fixer", signal.SIGABRT, signal.SIGKILL)
        told = project.told(child)
        striking.result()
    silent, cut, killed = whys(told)
    assert "silent for 12 s" in silent
    assert not {"silent", "signal"} & set(cut.split())
    assert (
        "ended by signal 6" in killed
    )  # it was asked to go on with its conversation, and then to begin anew
    assert "ended by signal 9" in killed
    assert told["outcome"] == "fixed"
    assert project.audited()


@pytest.mark.parametrize(
    ("kind", "trouble"),
    [
        ("codex", "refused"),
        ("claude", "cut"),
        ("codex", "killed"),
        pytest.param("claude", "refused", marks=pytest.mark.soak),
        pytest.param("codex", "cut", marks=pytest.mark.soak),
        pytest.param("claude", "killed", marks=pytest.mark.soak),
    ],
)
def test_a_challenger_in_trouble_approves_nothing(project, kind, trouble):
    project.model.down = {"challenger": {"refused": REFUSED, "cut": CUT, "killed": HANG}[trouble]}
    child = project.use(kind).begun(*project.strict(attempts=1), *project.reported("cheapest"))
    if trouble == "killed":
        struck(project, kind, "challenger", signal.SIGKILL)
    told = project.told(child)
    (item,) = told["items"]
    assert (told["outcome"], item["status"]) == ("fixed", "fixed"), "by its other proofs"
    assert "reviewed" not in {proof["kind"] for proof in item["proofs"]}
    assert any("gave no verdict" in gap["what"] for gap in told["not_checked"])
    assert project.branch() == fixed("cheapest")
    assert project.audited()


def test_when_an_agent_is_killed_the_next_one_does_its_work(project):
    project.model.down = {KINDS["claude"].api: HANG}
    child = project.use("claude", "codex").begun(*project.strict(), *project.reported("cheapest"))
    struck(project, "claude", "fixer", signal.SIGKILL)
    told = project.told(child)
    assert (told["outcome"], whys(told)) == ("fixed", [])
    assert {
        call["api"] for call in project.model.calls if call["rule"] in ("fixer", "challenger")
    } == {KINDS["codex"].api}
    assert project.audited()
