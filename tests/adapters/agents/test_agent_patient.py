"""Asking patiently, in order, and never twice for the same answer."""

import asyncio
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from punchlist.adapters.agents.journal import Journal
from punchlist.adapters.agents.retry import AgentRetryPolicy, RetryingAgent
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble, Ask, Reply

ASK = Ask(role="fixer", label="fix/1", prompt="fix it", folder=Path("/"))
GOOD = Reply(agent="", text="done", session="s1", usage=Usage(output_tokens=10, dollars=0.5))


def bad(trouble, **more):
    return Reply(
        agent="",
        failed=f"trouble: {trouble}",
        trouble=trouble,
        usage=Usage(output_tokens=1),
        **more,
    )


class Actor:
    """An agent that says its lines, and remembers what it was asked."""

    def __init__(self, name, *lines):
        self.name, self.lines, self.asked = name, iter(lines), []

    async def ask(self, ask, hear):
        self.asked.append(ask)
        return replace(next(self.lines), agent=self.name)


def asked(agents, ask=ASK, patience=None, luck=1.0):
    slept, heard = [], []

    async def sleep(seconds):
        slept.append(seconds)

    patient = RetryingAgent(agents, patience or AgentRetryPolicy(), sleep=sleep, luck=lambda: luck)
    return asyncio.run(patient.ask(ask, heard.append)), slept, heard


def test_a_good_answer_is_passed_on_with_its_owner_named_in_the_session():
    reply, slept, heard = asked([Actor("claude", GOOD)])
    assert (reply.agent, reply.text, reply.session, reply.tries) == (
        "claude",
        "done",
        "claude:s1",
        1,
    )
    assert slept == heard == []


def test_passing_trouble_is_waited_out_longer_each_time_and_all_tries_are_paid():
    reply, slept, heard = asked(
        [
            Actor(
                "claude",
                bad(AgentTrouble.RATE_LIMIT),
                bad(AgentTrouble.OVERLOADED),
                bad(AgentTrouble.RATE_LIMIT),
                GOOD,
            )
        ]
    )
    assert slept == [2, 4, 8]
    assert (reply.failed, reply.tries, reply.usage.output_tokens) == ("", 4, 13)
    assert heard[0] == "(claude: rate-limit; asked again in 2 s)"


def test_it_waits_as_long_as_it_was_told_and_not_for_somebody_who_wants_hours():
    _, slept, _ = asked([Actor("claude", bad(AgentTrouble.RATE_LIMIT, retry_after=30), GOOD)])
    assert slept == [30]
    reply, slept, _ = asked(
        [Actor("claude", bad(AgentTrouble.RATE_LIMIT, retry_after=18000)), Actor("codex", GOOD)]
    )
    assert (reply.agent, slept) == ("codex", [])


def test_patience_ends_and_the_next_agent_is_asked():
    first = Actor("claude", *[bad(AgentTrouble.RATE_LIMIT)] * 5)
    reply, slept, _ = asked([first, Actor("codex", GOOD)])
    assert (reply.agent, len(first.asked), slept) == ("codex", 5, [2, 4, 8, 16])


@pytest.mark.parametrize(
    "trouble", [trouble for trouble in AgentTrouble if not trouble.is_transient]
)
def test_trouble_that_does_not_pass_goes_to_the_next_agent_at_once(trouble):
    first = Actor("claude", bad(trouble))
    reply, slept, _ = asked([first, Actor("codex", GOOD)])
    assert (reply.agent, reply.session, reply.usage.output_tokens, reply.tries) == (
        "codex",
        "codex:s1",
        11,
        2,
    )
    assert (len(first.asked), slept) == (1, [])


def test_when_all_fail_every_one_says_why():
    reply, _, _ = asked(
        [Actor("claude", bad(AgentTrouble.AUTH)), Actor("codex", bad(AgentTrouble.TIMEOUT))]
    )
    assert (reply.failed, reply.trouble) == (
        "claude: trouble: auth; codex: trouble: timeout",
        AgentTrouble.TIMEOUT,
    )


def test_a_session_goes_to_its_owner_first_and_never_to_another():
    claude, codex = Actor("claude", GOOD), Actor("codex", bad(AgentTrouble.AUTH))
    reply, _, _ = asked([claude, codex], replace(ASK, session="codex:t9", fork=True))
    assert [(ask.session, ask.fork) for ask in codex.asked] == [("t9", True)]
    assert [(ask.session, ask.fork) for ask in claude.asked] == [("", False)]
    assert reply.agent == "claude"


def test_a_session_nobody_has_any_more_is_begun_anew():
    claude = Actor("claude", bad(AgentTrouble.CRASHED), GOOD)
    reply, _, _ = asked([claude], replace(ASK, session="claude:gone"))
    assert [ask.session for ask in claude.asked] == ["gone", ""]
    assert not reply.failed


@given(st.integers(0, 9), st.floats(0, 1000), st.floats(0, 1))
def test_a_wait_is_never_shorter_than_asked_for_nor_longer_than_the_longest(tried, asked_for, luck):
    patience = AgentRetryPolicy(retries=6, first=1, longest=60)
    wait = patience.next_delay(tried + 1, asked_for, luck)
    assert (wait is None) == (tried >= 6 or asked_for > 60)
    if wait is not None:
        assert asked_for <= wait <= 60
        assert wait >= min(2**tried, 60) / 2


@pytest.fixture
def journal(tmp_path):
    numbers = (replace(GOOD, text=f"answer {n}") for n in count(1))
    actor = Actor("claude")
    actor.lines = numbers
    return actor, lambda: Journal(actor, FolderArtifacts(tmp_path), FolderArtifacts(tmp_path))


def told(journal, **changes):
    return asyncio.run(journal.ask(replace(ASK, **changes), lambda _: None))


def test_an_answer_is_there_after_a_kill_and_is_not_asked_for_again(journal):
    actor, opened = journal
    first = told(opened())
    again = told(opened())
    assert again == first
    assert len(actor.asked) == 1
    assert opened().find_reply("fix/1") == first
    assert opened().find_reply("fix/2") is None


def test_another_question_under_the_same_label_is_asked_and_so_is_another_label(journal):
    actor, opened = journal
    told(opened())
    assert told(opened(), prompt="fix it better").text == "answer 2"
    assert told(opened(), prompt="fix it better", session="s2").text == "answer 2"
    assert told(opened(), label="fix/2").text == "answer 3"
    assert told(opened(), label="fix-1").text == "answer 4"
    assert told(opened(), label="fix/2", schema={"type": "object"}).text == "answer 5"
    assert len(actor.asked) == 5


def test_a_failure_is_not_kept(tmp_path):
    actor = Actor("claude", bad(AgentTrouble.RATE_LIMIT), GOOD)
    journal = Journal(actor, FolderArtifacts(tmp_path), FolderArtifacts(tmp_path))
    assert told(journal).failed
    assert journal.find_reply("fix/1") is None
    assert not told(journal).failed


def test_an_entry_that_cannot_be_read_is_asked_for_again(journal, tmp_path):
    _, opened = journal
    told(opened())
    for file in (tmp_path / "answers").iterdir():
        file.write_text('{"label": 3}')
    assert told(opened()).text == "answer 2"
