"""The guides of the library and the plan files say what the code does."""

import ast
import inspect
import json
import re
from pathlib import Path

from punchlist import ReviewFixResult, review_and_fix
from punchlist.views.plans.plan_forms import Master, Sheet, Step, Way

GUIDES = Path(__file__).parents[2] / "docs/guides"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    return [
        text for kind, text in FENCE.findall((GUIDES / page).read_text("utf-8")) if kind == language
    ]


def named(page: str, column: str) -> list[str]:
    """The names in the first column of the table with this head."""
    table = (
        (GUIDES / page)
        .read_text("utf-8")
        .partition(f"| {column} | meaning |\n|---|---|\n")[2]
        .partition("\n\n")[0]
    )
    return [
        name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.split("|")[1])
    ]


def test_every_argument_and_every_field_is_explained():
    assert named("library.md", "argument") == list(inspect.signature(review_and_fix).parameters)
    assert set(named("library.md", "field")) == set(ReviewFixResult.__struct_fields__)


def test_the_example_calls_it_as_it_can_be_called():
    (code,) = blocks("library.md", "python")
    (call,) = (
        node
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "review_and_fix"
    )
    keywords = {keyword.arg: None for keyword in call.keywords}
    inspect.signature(review_and_fix).bind(*call.args, **keywords)


def test_the_plan_files_shown_have_the_fields_that_are_written():
    master, sheet = (json.loads(text) for text in blocks("plan-files.md", "json"))
    assert tuple(master) == Master.__struct_fields__
    assert tuple(master["execution_steps"][0]) == Step.__struct_fields__
    assert tuple(sheet) == Sheet.__struct_fields__
    assert tuple(sheet["plan"]) == Way.__struct_fields__
