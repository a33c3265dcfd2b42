"""What tools say of themselves, without a server."""

import jsonschema
import msgspec
import pytest

from made import made_run
from punchlist.adapters.agents.outside.mailbox import Mailbox
from punchlist.mcp import schemas
from punchlist.mcp.tools import TOOLS
from punchlist.mcp.views import build_task
from punchlist.ports.agent import Task

CASES = {
    "start_run": ({"play": ["fixer"], "paths": ["src"]}, {"paths": ["/etc"]}),
    "report_outcomes": (
        {"task": "261115-0a1b2c/0123456789ab", "outcomes": [{"id": "F001", "outcome": "fixed"}]},
        {"task": "261115-0a1b2c/0123456789ab", "outcomes": [{"id": "F001", "outcome": "great"}]},
    ),
    "list_items": ({"status": ["open"], "limit": 10}, {"limit": 0}),
    "show_item": ({"item": 7}, {"item": "7"}),
    "run_status": ({"run": "last"}, {"run": "../x"}),
}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_schema_is_one_and_forbids_what_it_does_not_know(tool):
    taken, given = schemas.input_schema(tool.takes), schemas.output_schema(tool.gives)
    for schema in (taken, given):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    assert taken["additionalProperties"] is False
    assert "$ref" not in msgspec.json.encode(taken).decode()


@pytest.mark.parametrize("name", CASES)
def test_the_schema_and_the_reader_agree_on_what_is_right(name):
    tool = next(each for each in TOOLS if each.name == name)
    right, wrong = CASES[name]
    check = jsonschema.Draft202012Validator(schemas.input_schema(tool.takes))
    assert check.is_valid(right)
    msgspec.convert(right, type=tool.takes)
    assert not check.is_valid(wrong)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, type=tool.takes)


def test_names_say_what_is_done_and_only_one_tool_touches_what_is_the_users():
    assert [tool.name for tool in TOOLS if tool.destructive] == ["apply_run"]
    assert all(tool.about.endswith(".") and len(tool.about) < 500 for tool in TOOLS)


def test_a_prompt_that_is_too_long_for_an_answer_breaks_off_and_names_its_file(tmp_path):
    task = Task(
        id="0123456789ab",
        agent="outside",
        role="fixer",
        label="fix",
        prompt="x" * 50_000,
        folder="/tree",
    )
    file = tmp_path / "prompt.md"
    told = build_task(task, made_run(id="261115-0a1b2c"), file)
    assert (
        told.prompt == "x" * 40_000 + f"\n\n[It goes on in {file}: read it there before you begin.]"
    )
    assert told.prompt_file == str(file)


def test_the_whole_prompt_lies_beside_the_task(tmp_path):
    box = Mailbox(tmp_path / "tasks")
    task = Task(
        id="0123456789ab",
        agent="outside",
        role="fixer",
        label="fix",
        prompt="Fix F001",
        folder="/tree",
    )
    with box.post_task(task):
        assert box.prompt_path(task.id).read_text() == "Fix F001"
