"""The scripted agent: short scripts that answer for any items, do what they say, and can lie."""

import asyncio
import json
from pathlib import Path

import pytest
from seating import seat

from punchlist.adapters.agents.cli_agent import AgentSetup
from punchlist.adapters.agents.registry import build_agent
from punchlist.adapters.agents.scripted.agent import ScriptedAgent, read_calls
from punchlist.adapters.agents.scripted.placeholders import find_codes, match_items, parse_round
from punchlist.adapters.agents.scripted.script import (
    Script,
    ScriptEdit,
    ScriptFix,
    ScriptLine,
    load_script,
)
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.errors import SettingsError
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble, Ask, Reply

PROMPT = """Fix these.

F001 division by zero in mean() (shop.py:3)
F002 unused import (shop.py:1)
F007 mutable default (cart.py:9)

The change:
-import os  # unused import
"""


def scripted(*lines: ScriptLine, **options) -> ScriptedAgent:
    return ScriptedAgent(Script(lines), **options)


def asked(agent: ScriptedAgent, folder: Path, heard: list[str] | None = None, **ask) -> Reply:
    whole = Ask(
        **{
            "role": "fixer",
            "label": "fix 2.1.0",
            "prompt": PROMPT,
            "folder": folder,
            "writes": True,
            **ask,
        }
    )
    return asyncio.run(agent.ask(whole, (heard if heard is not None else []).append))


def test_the_first_line_that_fits_is_played(tmp_path):
    agent = scripted(
        ScriptLine(role="challenger", answer="no"),
        ScriptLine(role=("fixer", "re-fixer"), answer="yes"),
        ScriptLine(answer="late"),
    )
    assert asked(agent, tmp_path).text == "yes"
    assert asked(agent, tmp_path, role="re-fixer").text == "yes"
    assert asked(agent, tmp_path, role="planner").text == "late"


def test_all_that_a_line_asks_for_must_fit(tmp_path):
    agent = scripted(
        ScriptLine(role="fixer", label="fix", prompt=("F001", "missing words"), answer="one"),
        ScriptLine(label=("fix", "2.1"), prompt="mutable default", round=2, answer="two"),
        ScriptLine(label=("fix", "2.1"), prompt="mutable default", round=1, answer="three"),
    )
    assert asked(agent, tmp_path).text == "three"
    assert asked(agent, tmp_path, label="fix 2.1 round 2").text == "two"


def test_no_line_is_a_failure_that_names_role_and_label(tmp_path):
    reply = asked(scripted(ScriptLine(role="planner")), tmp_path)
    assert "role 'fixer', label 'fix 2.1.0'" in reply.failed
    assert reply.trouble is AgentTrouble.OTHER


def test_a_line_with_times_is_used_up(tmp_path):
    agent = scripted(ScriptLine(times=2, answer="first"), ScriptLine(answer="then"))
    assert [asked(agent, tmp_path).text for _ in range(4)] == ["first", "first", "then", "then"]
    assert (
        asked(agent, tmp_path, role="planner").text == "first"
    )  # in another role it was not used yet


def test_an_answer_can_have_one_entry_for_each_item_in_the_prompt(tmp_path):
    answer = {
        "outcomes": {"each": {"id": "{code}", "outcome": "fixed"}},
        "seen": "{codes}",
        "by": "{role} in round {round}",
    }
    said = json.loads(asked(scripted(ScriptLine(answer=answer)), tmp_path).text)
    assert [entry["id"] for entry in said["outcomes"]] == ["F001", "F002", "F007"] == said["seen"]
    assert said["by"] == "fixer in round 1"


def test_a_text_is_answered_as_it_is(tmp_path):
    assert asked(scripted(ScriptLine(answer='{"outcomes": [')), tmp_path).text == '{"outcomes": ['


def test_fixes_do_and_report_what_the_prompt_has(tmp_path):
    (tmp_path / "shop.py").write_text("import os\nx = 1\n")
    fixes = (
        ScriptFix(when="unused import", edits=(ScriptEdit("shop.py", replace="import os\n"),)),
        ScriptFix(when="not in this prompt", edits=(ScriptEdit("never.py", content=""),)),
        ScriptFix(
            when="mutable default",
            outcome={"outcome": "blocked", "explanation": "{code} needs a person"},
        ),
        ScriptFix(outcome={"outcome": "deferred", "explanation": "later"}),
    )
    said = json.loads(asked(scripted(ScriptLine(fixes=fixes)), tmp_path).text)["outcomes"]
    assert said == [
        {"id": "F002", "outcome": "fixed", "explanation": "done"},
        {"id": "F007", "outcome": "blocked", "explanation": "F007 needs a person"},
        {"id": "F001", "outcome": "deferred", "explanation": "later"},
    ]
    assert (tmp_path / "shop.py").read_text() == "x = 1\n"
    assert not (tmp_path / "never.py").exists()


def test_a_fix_without_an_outcome_keeps_quiet_about_the_item(tmp_path):
    fixes = (ScriptFix(when="division", outcome=None), ScriptFix())
    said = json.loads(asked(scripted(ScriptLine(fixes=fixes)), tmp_path).text)["outcomes"]
    assert [entry["id"] for entry in said] == ["F002", "F007"]


def test_a_text_belongs_to_the_code_it_stands_closest_behind():
    assert match_items("unused import", PROMPT) == ("F002",)
    assert match_items("same title", "F001 same title\nF002 same title\n") == ("F001", "F002")
    assert match_items("nowhere", PROMPT) == ()
    assert find_codes(PROMPT) == ("F001", "F002", "F007")


HEADED = """## Findings

### F004 (major)
file: shop.py:3
title: division by zero
### F012 (minor)
title: unused import

## The change

-import os  # unused import, division by zero

## Your answer

{"outcomes": [{"id": "F003"}]}
"""


def test_where_items_have_headings_only_these_count():
    assert find_codes(HEADED) == ("F004", "F012")
    assert match_items("division by zero", HEADED) == ("F004",)
    assert match_items("title: ", HEADED) == ("F004", "F012")
    assert match_items("The change", HEADED) == ()


@pytest.mark.parametrize(
    ("label", "number"), [("fix", 1), ("3.2.0 fix b1", 2), ("review round-4", 4), ("round 12", 12)]
)
def test_a_label_may_name_the_round(label, number):
    assert parse_round(label) == number


def test_edits_write_replace_append_and_delete(tmp_path):
    (tmp_path / "a.py").write_text("old\n")
    (tmp_path / "b.py").write_text("")
    edits = (
        ScriptEdit("new/c.py", content="c\n"),
        ScriptEdit("a.py", replace="old", by="new"),
        ScriptEdit("a.py", append="end\n"),
        ScriptEdit("b.py", delete=True),
    )
    assert not asked(scripted(ScriptLine(edits=edits)), tmp_path).failed
    assert (tmp_path / "new/c.py").read_text() == "c\n"
    assert (tmp_path / "a.py").read_text() == "new\nend\n"
    assert not (tmp_path / "b.py").exists()


@pytest.mark.parametrize(("old", "new"), [("x = 1", "x = 2"), ("return x", "return x + 1")])
def test_who_is_asked_again_in_a_kept_tree_does_its_edits_only_once(tmp_path, old, new):
    (tmp_path / "a.py").write_text(f"{old}\n")
    agent = scripted(
        ScriptLine(
            edits=(ScriptEdit("a.py", replace=old, by=new), ScriptEdit("a.py", append="z\n"))
        )
    )
    for _ in range(2):
        assert not asked(agent, tmp_path).failed
    assert (tmp_path / "a.py").read_text() == f"{new}\nz\n"


def test_an_edit_that_cannot_be_made_is_a_failure(tmp_path):
    (tmp_path / "a.py").write_text("x\n")
    agent = scripted(ScriptLine(edits=(ScriptEdit("a.py", replace="y", by="z"),), answer="fine"))
    reply = asked(agent, tmp_path)
    assert "a.py: 'y' is not there" in reply.failed
    assert not reply.text


def test_an_edit_does_not_leave_the_folder_through_a_link(tmp_path):
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "out").symlink_to(tmp_path)
    assert (
        "leads out"
        in asked(scripted(ScriptLine(edits=(ScriptEdit("out/a.py", content="x"),))), folder).failed
    )
    assert not (tmp_path / "a.py").exists()


def test_only_a_disobedient_line_edits_where_reading_was_asked_for(tmp_path):
    edits = (ScriptEdit("a.py", content="x"),)
    asked(scripted(ScriptLine(edits=edits)), tmp_path, writes=False)
    assert not (tmp_path / "a.py").exists()
    asked(scripted(ScriptLine(edits=edits, disobey=True)), tmp_path, writes=False)
    assert (tmp_path / "a.py").exists()


def test_it_is_heard_while_it_works_and_brings_what_a_reply_brings(tmp_path):
    heard: list[str] = []
    line = ScriptLine(
        say=("look", "ing"),
        answer="x",
        session="s1",
        usage=Usage(input_tokens=5, dollars=0.5),
        opened=("a.py",),
    )
    reply = asked(scripted(line), tmp_path, heard)
    assert heard == ["look", "ing"]
    assert (reply.session, reply.usage.input_tokens, reply.usage.dollars, reply.opened) == (
        "s1",
        5,
        0.5,
        ("a.py",),
    )
    assert asked(scripted(ScriptLine()), tmp_path, session="earlier").session == "earlier"


def test_a_failure_is_a_value_and_comes_after_the_edits(tmp_path):
    path = tmp_path / "s.json"
    fail = {"trouble": "rate-limit", "text": "slow down", "retry_after": 7}
    path.write_text(
        json.dumps(
            [{"fail": fail, "edits": [{"path": "half.py", "content": ""}], "answer": "never said"}]
        )
    )
    reply = asked(ScriptedAgent.open(path), tmp_path)
    assert (reply.failed, reply.trouble, reply.retry_after, reply.text) == (
        "slow down",
        AgentTrouble.RATE_LIMIT,
        7,
        "",
    )
    assert (tmp_path / "half.py").exists()


def test_a_line_that_takes_longer_than_it_may_times_out(tmp_path):
    reply = asked(scripted(ScriptLine(seconds=60), timeout=0.05), tmp_path)
    assert (reply.trouble, reply.failed) == (AgentTrouble.TIMEOUT, "timed out after 0.05 s")


def test_the_log_counts_across_processes_and_only_what_came_to_an_end(tmp_path):
    path = tmp_path / "s.json"
    path.write_text(
        json.dumps(
            {
                "log": "calls.jsonl",
                "lines": [{"times": 1, "answer": "1"}, {"seconds": 60, "times": 1}, {}],
            }
        )
    )

    async def cancelled() -> None:
        agent = ScriptedAgent.open(path)
        ask = Ask(role="fixer", label="a", prompt="", folder=tmp_path)
        await agent.ask(ask, print)
        task = asyncio.create_task(agent.ask(ask, print))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert agent._find_line(ask) == 1  # it was not heard to its end, and is asked again

    asyncio.run(cancelled())
    again = ScriptedAgent.open(path, timeout=0.05)
    assert asked(again, tmp_path, label="b").trouble is AgentTrouble.TIMEOUT
    assert not asked(again, tmp_path, label="c").failed
    assert [(call.label, call.line) for call in read_calls(tmp_path / "calls.jsonl")] == [
        ("a", 0),
        ("b", 1),
        ("c", 2),
    ]


def test_a_script_may_be_toml(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text(
        '[[lines]]\nrole = "fixer"\n[[lines.fixes]]\nwhen = "x"\nedits = [{path = "a", replace = "b", with = "c"}]\n'
    )
    assert load_script(path).lines[0].fixes[0].edits[0].by == "c"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"rol": "fixer"}]', "lines[0]: Object contains unknown field `rol`"),
        ('[{}, {"edits": [{"path": "a"}]}]', "lines[1].edits[0]: an edit needs exactly one of"),
        (
            '[{"edits": [{"path": "../a", "delete": true}]}]',
            "lines[0].edits[0]: `path` must lead to a file below the folder",
        ),
        ('[{"fail": {"trouble": "bad"}}]', "lines[0].fail.trouble: Invalid enum value 'bad'"),
        ("[", "not JSON"),
        ("3", "script: Expected `object`"),
    ],
)
def test_a_bad_script_is_told_with_file_place_and_remedy(tmp_path, text, said):
    path = tmp_path / "s.json"
    path.write_text(text)
    with pytest.raises(SettingsError) as caught:
        ScriptedAgent.open(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)
    assert caught.value.hint


def test_a_script_that_is_not_there_is_told(tmp_path):
    with pytest.raises(SettingsError, match=r"none\.json: cannot be read: No such file"):
        ScriptedAgent.open(tmp_path / "none.json")


def test_settings_name_the_script(tmp_path):
    (tmp_path / "s.json").write_text('[{"answer": "played"}]')
    sitting = seat(tmp_path)
    own = AgentSettings(kind="scripted", script=str(tmp_path / "s.json"))
    agent = build_agent(AgentSetup("honest", own, sitting.place, sitting.artifacts))
    reply = asked(agent, tmp_path)
    assert (agent.name, reply.agent, reply.text) == ("honest", "honest", "played")
    other = AgentSetup("other", AgentSettings(kind="scripted"), sitting.place, sitting.artifacts)
    with pytest.raises(SettingsError, match=r"agent\.other\.script: there is no script to play"):
        build_agent(other)
