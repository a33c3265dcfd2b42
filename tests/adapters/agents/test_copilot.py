"""How Copilot is asked, and what its events mean; the samples were printed by the real program."""

import json

import pytest
from calculator import ANSWER
from msgspec.structs import replace
from recorded import ASK, DESK, ran, sample, stands_anything, told

from punchlist.adapters.agents.dialects.copilot import Copilot
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.ports.agent import AgentTrouble


def test_a_whole_conversation_is_understood():
    read = told(Copilot(), "copilot-fix")
    assert (json.loads(read.text), read.failed) == (ANSWER, "")
    assert read.session == "8019b603-c77c-481d-a8da-948cb99ab374"


@pytest.mark.parametrize(
    ("name", "trouble"),
    [
        ("401", AgentTrouble.AUTH),
        ("404", AgentTrouble.OTHER),
        ("429", AgentTrouble.RATE_LIMIT),
        ("529", AgentTrouble.OVERLOADED),
        ("too-long", AgentTrouble.TOO_LONG),
        ("cut", AgentTrouble.CUT),
        ("empty", AgentTrouble.OTHER),
    ],
)
def test_trouble_is_told_by_the_error_of_the_session(name, trouble):
    read = told(Copilot(), f"copilot-{name}", 1)
    assert (read.trouble, read.text) == (trouble, "")
    assert read.session


def test_a_session_goes_on_but_not_in_a_copy():
    assert "--resume=s1" in Copilot().build_call(replace(ASK, session="s1"), DESK).arguments
    assert (
        "--resume=s1"
        not in Copilot().build_call(replace(ASK, session="s1", fork=True), DESK).arguments
    )


def test_a_reviewer_only_gets_tools_that_read():
    assert "--available-tools=view,rg,grep,glob" in Copilot().build_call(ASK, DESK).arguments
    assert "--allow-all-tools" not in Copilot().build_call(ASK, DESK).arguments
    assert "--allow-all-tools" in Copilot().build_call(replace(ASK, writes=True), DESK).arguments


def test_it_stays_off_the_network_of_github_only_where_the_model_is_the_user_s_own():
    assert "COPILOT_OFFLINE" not in Copilot().build_call(ASK, DESK).env
    assert (
        Copilot()
        .build_call(ASK, replace(DESK, base_url="http://127.0.0.1:8099/v1"))
        .env["COPILOT_OFFLINE"]
        == "true"
    )


def test_model_and_effort_are_passed_on():
    arguments = (
        Copilot()
        .build_call(ASK, replace(DESK, settings=AgentSettings(model="gpt-5.4", effort="low")))
        .arguments
    )
    assert arguments[-2:] == ("--model=gpt-5.4", "--reasoning-effort=low")


def test_a_result_without_an_exit_code_is_no_success():
    printed = sample("copilot-fix").replace(b'"exitCode":0', b'"exitCode":null')
    assert Copilot().parse_output(ran(printed), ASK).trouble is AgentTrouble.CRASHED


def test_its_reader_stands_anything():
    stands_anything(Copilot(), "copilot-fix")
