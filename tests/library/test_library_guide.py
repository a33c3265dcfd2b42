"""The guides of the library and the plan files say what the code does."""

import inspect
import json
import re
from pathlib import Path

import pytest

from punchlist import ReviewFixResult, library, review_and_fix
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


def test_every_exported_part_is_explained():
    text = FENCE.sub("", (GUIDES / "library.md").read_text("utf-8"))
    told = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]+`", text))))
    beside = {"Ask", "Reply", "PunchlistError", "make_result"}  # ports and errors, told elsewhere
    assert set(library.__all__) - beside <= told


@pytest.fixture
def shop(make_repo, tmp_path, monkeypatch):
    """The guide's repository, and its agents played by a script."""
    repo = make_repo("shop")
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / "state"))
    repo.commit({"README.md": "a shop\n"})
    repo.git("checkout", "--quiet", "-b", "rebates")
    repo.commit({"shop.py": "def mean(prices):\n    return sum(prices) / len(prices)\n"})
    script = tmp_path / "script.json"
    said = {"outcome": "blocked", "explanation": "the specification names no mean of no prices"}
    fix = {"role": "fixer", "fixes": [{"when": "mean() fails", "outcome": said}]}
    script.write_text(json.dumps([{"role": "unified", "answer": {"groups": []}}, fix]))
    for name in ("CLAUDE", "CODEX"):
        monkeypatch.setenv(f"PUNCHLIST_AGENT__{name}__KIND", "scripted")
        monkeypatch.setenv(f"PUNCHLIST_AGENT__{name}__SCRIPT", str(script))
    monkeypatch.chdir(tmp_path)
    return repo


def test_the_examples_run(shop, capsys):
    said = []
    for code in blocks("library.md", "python"):
        exec(compile(code, "library.md", "exec"), {"__name__": "__main__"})
        said.append(capsys.readouterr().out)
    assert "0 of 0 fixed" in said[0]
    assert said[1] == "F002 blocked Referenced file deleted\n"
    assert said[2].startswith("F001 ")
    assert Path(said[2].split()[1]).is_file()
    assert "mean() fails for no prices" in said[3]
    assert "fix_completed" in said[3]
    assert "punchlist/" in said[3].splitlines()[-1]


def test_the_plan_files_shown_have_the_fields_that_are_written():
    master, sheet = (json.loads(text) for text in blocks("plan-files.md", "json"))
    assert tuple(master) == Master.__struct_fields__
    assert tuple(master["execution_steps"][0]) == Step.__struct_fields__
    assert tuple(sheet) == Sheet.__struct_fields__
    assert tuple(sheet["plan"]) == Way.__struct_fields__
