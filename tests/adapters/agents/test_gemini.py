"""How Gemini is asked, and what its events mean; the samples were printed by the real program."""

import json

import pytest
from calculator import ANSWER
from msgspec.structs import replace
from recorded import ASK, DESK, ran, sample, stands_anything, told

from punchlist.adapters.agents.dialects.gemini import Gemini
from punchlist.adapters.agents.json_lines import parse_events
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble


def test_a_whole_conversation_is_understood():
    read = told(Gemini(), "gemini-fix")
    assert (json.loads(read.text), read.failed) == (ANSWER, "")
    assert read.session == "f5f1ab64-1aa6-4d47-9121-da1de9dda4cc"
    assert read.usage == Usage(input_tokens=4000, output_tokens=400)
    assert set(read.opened) == {"/tree/calc.py"}
    said = [Gemini().describe_event(event) for event in parse_events(sample("gemini-fix"))]
    assert [words for words in said if words][:3] == [
        "Reading.",
        "read_file /tree/calc.py",
        "replace /tree/calc.py",
    ]


@pytest.mark.parametrize(
    ("name", "code", "trouble"),
    [
        ("401", 145, AgentTrouble.AUTH),
        ("403", 147, AgentTrouble.AUTH),
        ("429", 173, AgentTrouble.RATE_LIMIT),
        ("503", 247, AgentTrouble.OVERLOADED),
        ("529", 17, AgentTrouble.OVERLOADED),
        ("404", 1, AgentTrouble.OTHER),
        ("too-long", 144, AgentTrouble.TOO_LONG),
        ("cut", 1, AgentTrouble.CUT),
        ("empty", 0, AgentTrouble.OTHER),
    ],
)
def test_trouble_is_told_by_the_result_and_the_exit_code(name, code, trouble):
    read = told(Gemini(), f"gemini-{name}", code)
    assert (read.trouble, read.text) == (trouble, "")
    assert read.session


def test_without_a_result_an_exit_code_of_zero_is_no_success():
    beginning = b"\n".join(sample("gemini-fix").splitlines()[:-1])
    assert Gemini().parse_output(ran(beginning), ASK).trouble is AgentTrouble.CUT
    assert Gemini().parse_output(ran(b"", 53), ASK).trouble is AgentTrouble.LIMIT
    assert (
        Gemini().parse_output(ran(b"", 41, b"Please set an Auth method"), ASK).trouble
        is AgentTrouble.AUTH
    )
    assert Gemini().parse_output(ran(sample("gemini-fix"), 7), ASK).trouble is AgentTrouble.CRASHED


def test_a_prompt_that_was_cut_on_its_way_in_has_no_answer():
    long = replace(ASK, prompt="x" * (8 << 20) + "y")
    assert Gemini().parse_output(ran(sample("gemini-fix")), long).trouble is AgentTrouble.TOO_LONG


def test_words_about_errors_in_an_answer_are_an_answer():
    words = "API Error: 429 quota exceeded, invalid API key"
    printed = sample("gemini-fix").replace(
        b'{\\"verdict\\": \\"fixed\\", \\"files\\": [\\"calc.py\\"]}', words.encode()
    )
    read = Gemini().parse_output(ran(printed), ASK)
    assert (read.text, read.failed) == (words, "")


def test_a_reviewer_gets_a_policy_of_its_own_and_a_fixer_all_tools():
    reads, writes = (
        Gemini().build_call(ASK, DESK),
        Gemini().build_call(replace(ASK, writes=True), DESK),
    )
    assert reads.arguments[-2:] == ("--admin-policy", "/home/agent/.gemini/read-only.toml")
    assert "yolo" not in reads.arguments
    assert "yolo" in writes.arguments
    assert reads.files[".gemini/settings.json"] == writes.files[".gemini/settings.json"]


@pytest.mark.parametrize(
    ("key", "auth"),
    [("GEMINI_API_KEY", "gemini-api-key"), ("GOOGLE_API_KEY", "vertex-ai"), ("", "oauth-personal")],
)
def test_it_logs_in_with_what_there_is(key, auth):
    files = Gemini().build_call(ASK, replace(DESK, key=key)).files
    assert json.loads(files[".gemini/settings.json"])["security"] == {
        "auth": {"selectedType": auth}
    }


def test_a_model_is_always_named():
    assert "pro" in Gemini().build_call(ASK, DESK).arguments
    assert (
        "flash"
        in Gemini().build_call(ASK, replace(DESK, settings=AgentSettings(model="flash"))).arguments
    )


def test_a_session_goes_on_from_its_longest_file_and_anew_where_there_is_none(tmp_path):
    chats = tmp_path / ".gemini" / "tmp" / "one" / "chats"
    chats.mkdir(parents=True)
    (chats / "session-1-0cb916db.jsonl").write_text("x" * 9)
    (chats / "session-2-0cb916db.jsonl").write_text("x")
    desk = replace(DESK, home=tmp_path)
    kept = Gemini().build_call(replace(ASK, session="0cb916db-26aa-40f2-86b5-1ba81b225fd2"), desk)
    assert kept.arguments[-2:] == ("--session-file", str(chats / "session-1-0cb916db.jsonl"))
    for session in ("11111111-26aa", "*", "../../etc", ""):
        assert (
            "--session-file"
            not in Gemini().build_call(replace(ASK, session=session), desk).arguments
        )


def test_its_reader_stands_anything():
    stands_anything(Gemini(), "gemini-fix")
