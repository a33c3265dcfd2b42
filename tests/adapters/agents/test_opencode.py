"""How opencode is asked, and what its events mean; the samples were printed by the real program."""

import json
from pathlib import Path

import pytest
from calculator import ANSWER
from msgspec.structs import replace
from recorded import ASK, DESK, ran, sample, stands_anything, told

from punchlist.adapters.agents.dialects.opencode import Opencode
from punchlist.adapters.agents.json_lines import parse_events
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble


def test_a_whole_conversation_is_understood():
    read = told(Opencode(), "opencode-fix")
    assert (json.loads(read.text), read.failed) == (ANSWER, "")
    assert read.session.startswith("ses_e20becb76ffeHfawL4kq3dxMS6@")
    assert read.usage == Usage(input_tokens=4000, output_tokens=400)
    assert set(read.opened) == {"/tree/calc.py"}
    said = [Opencode().describe_event(event) for event in parse_events(sample("opencode-fix"))]
    assert [words for words in said if words][:4] == [
        "Reading.",
        "read /tree/calc.py",
        "edit /tree/calc.py",
        "bash git diff --stat",
    ]


@pytest.mark.parametrize(
    ("name", "code", "trouble", "wait"),
    [
        ("401", 1, AgentTrouble.AUTH, 0),
        ("429", 1, AgentTrouble.RATE_LIMIT, 0.3),
        ("529", 1, AgentTrouble.OVERLOADED, 0.1),
        ("too-long", 1, AgentTrouble.TOO_LONG, 0),
        ("cut", 1, AgentTrouble.CUT, 0),
        ("empty", 0, AgentTrouble.OTHER, 0),
    ],
)
def test_trouble_is_told_by_the_error_event(name, code, trouble, wait):
    read = told(Opencode(), f"opencode-{name}", code)
    assert (read.trouble, read.text) == (trouble, "")
    assert read.retry_after == pytest.approx(wait)
    assert read.session


def test_a_run_that_ends_after_a_tool_was_refused_is_no_success_though_its_exit_code_is_zero():
    beginning = b"\n".join(sample("opencode-fix").splitlines()[:4])
    read = Opencode().parse_output(ran(beginning), ASK)
    assert (read.trouble, read.text) == (AgentTrouble.CUT, "")
    assert "tool-calls" in read.failed
    assert read.usage.input_tokens == 1000


def test_an_answer_that_was_too_long_to_finish_is_no_answer():
    printed = sample("opencode-fix").replace(b'"reason":"stop"', b'"reason":"length"')
    assert Opencode().parse_output(ran(printed), ASK).trouble is AgentTrouble.LIMIT


def test_what_it_spent_counts_caches_thoughts_and_dollars():
    part = {
        "reason": "stop",
        "cost": 0.25,
        "tokens": {"input": 1, "output": 2, "reasoning": 3, "cache": {"read": 4, "write": 5}},
    }
    line = json.dumps({"type": "step_finish", "part": part}).encode()
    assert Opencode().parse_output(ran(line + b"\n" + line), ASK).usage == Usage(
        input_tokens=20, output_tokens=10, dollars=0.5
    )


def test_a_session_goes_on_only_in_the_folder_where_it_began():
    session = told(Opencode(), "opencode-fix").session
    name = session.partition("@")[0]
    here = Opencode().build_call(replace(ASK, session=session), DESK)
    fork = Opencode().build_call(replace(ASK, session=session, fork=True), DESK)
    assert here.arguments[-2:] == ("-s", name)
    assert fork.arguments[-3:] == ("-s", name, "--fork")
    for elsewhere in (
        replace(ASK, session=session, folder=Path("/other")),
        replace(ASK, session=name),
    ):
        assert "-s" not in Opencode().build_call(elsewhere, DESK).arguments


def test_a_reviewer_may_only_read_and_no_wish_is_left_to_be_asked_about():
    reads = json.loads(Opencode().build_call(ASK, DESK).env["OPENCODE_PERMISSION"])
    writes = json.loads(
        Opencode().build_call(replace(ASK, writes=True), DESK).env["OPENCODE_PERMISSION"]
    )
    assert [tool for tool, may in reads.items() if may == "allow"] == [
        "read",
        "grep",
        "glob",
        "list",
    ]
    assert {"edit", "bash", "task", "webfetch", "external_directory"} < {
        tool for tool, may in reads.items() if may == "deny"
    }
    assert "ask" not in {*reads.values(), *writes.values()}


def test_model_and_effort_are_passed_on():
    settings = AgentSettings(model="anthropic/some-model", effort="high")
    arguments = Opencode().build_call(ASK, replace(DESK, settings=settings)).arguments
    assert arguments[-4:] == ("-m", "anthropic/some-model", "--variant", "high")


def test_its_reader_stands_anything():
    stands_anything(Opencode(), "opencode-fix")
