"""How Copilot is asked, and what its events mean; the samples were printed by the real program."""

import json

import pytest
from calculator import ANSWER
from msgspec.structs import replace
from recorded import ASK, DESK, ran, sample, stands_anything, told

from punchlist.adapters.agents.dialects.copilot import Copilot
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.ports.agent import Trouble


def test_a_whole_conversation_is_understood():
    read = told(Copilot(), "copilot-fix")
    assert (json.loads(read.text), read.failed) == (ANSWER, "")
    assert read.session == "8019b603-c77c-481d-a8da-948cb99ab374"


@pytest.mark.parametrize(
    ("name", "trouble"),
    [
        ("401", Trouble.AUTH),
        ("404", Trouble.OTHER),
        ("429", Trouble.RATE_LIMIT),
        ("529", Trouble.OVERLOADED),
        ("too-long", Trouble.TOO_LONG),
        ("cut", Trouble.CUT),
        ("empty", Trouble.OTHER),
    ],
)
def test_trouble_is_told_by_the_error_of_the_session(name, trouble):
    read = told(Copilot(), f"copilot-{name}", 1)
    assert (read.trouble, read.text) == (trouble, "")
    assert read.session


def test_a_session_goes_on_but_not_in_a_copy():
    assert "--resume=s1" in Copilot().call(replace(ASK, session="s1"), DESK).arguments
    assert (
        "--resume=s1" not in Copilot().call(replace(ASK, session="s1", fork=True), DESK).arguments
    )


def test_a_reviewer_only_gets_tools_that_read():
    assert "--available-tools=view,rg,grep,glob" in Copilot().call(ASK, DESK).arguments
    assert "--allow-all-tools" not in Copilot().call(ASK, DESK).arguments
    assert "--allow-all-tools" in Copilot().call(replace(ASK, writes=True), DESK).arguments


def test_it_stays_off_the_network_of_github_only_where_the_model_is_the_user_s_own():
    assert "COPILOT_OFFLINE" not in Copilot().call(ASK, DESK).env
    assert (
        Copilot()
        .call(ASK, replace(DESK, base_url="http://127.0.0.1:8099/v1"))
        .env["COPILOT_OFFLINE"]
        == "true"
    )


def test_model_and_effort_are_passed_on():
    arguments = (
        Copilot()
        .call(ASK, replace(DESK, settings=AgentSettings(model="gpt-5.4", effort="low")))
        .arguments
    )
    assert arguments[-2:] == ("--model=gpt-5.4", "--reasoning-effort=low")


def test_a_result_without_an_exit_code_is_no_success():
    printed = sample("copilot-fix").replace(b'"exitCode":0', b'"exitCode":null')
    assert Copilot().told(ran(printed), ASK).trouble is Trouble.CRASHED


def test_its_reader_stands_anything():
    stands_anything(Copilot(), "copilot-fix")
