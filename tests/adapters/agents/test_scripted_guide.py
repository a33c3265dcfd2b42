"""The guide to the scripted agent: its example does what the guide says, from the command line."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from punchlist.adapters.agents.scripted.agent import read_calls
from punchlist.adapters.agents.scripted.script import ScriptLine, load_script
from punchlist.ports.agent import AgentTrouble
from punchlist.ports.roles import ROLES

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs/guides/scripted-agent.md").read_text("utf-8")
(SCRIPT,) = re.findall(r"^```json\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def script(tmp_path):
    (tmp_path / "robot.json").write_text(SCRIPT)
    return tmp_path / "robot.json"


def test_the_example_is_a_script(script):
    assert len(load_script(script).lines) == 3


def test_the_guide_names_every_field_trouble_and_role():
    named = set(re.findall(r"`\"?([\w-]+)", GUIDE))
    assert {*ScriptLine.__struct_fields__, *AgentTrouble, *ROLES} - named == set()


def test_the_example_runs_as_the_guide_says(script, repo, tmp_path):
    repo.commit({"shop.py": "def mean(values):\n    return sum(values) / len(values)\n"})
    (tmp_path / "settings.toml").write_text(
        f'[agents]\nuse = ["robot"]\n[agent.robot]\nkind = "scripted"\nscript = "{script}"\n'
    )
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "PUNCHLIST_HOME": str(tmp_path / "state"),
        "PUNCHLIST_CONFIG": str(tmp_path / "settings.toml"),
    }
    command = [sys.executable, "-m", "punchlist", "run", "--workflow", "unified", "--all"]
    ran = subprocess.run(
        command, cwd=repo.root, env=env, capture_output=True, text=True, check=False
    )
    assert "The only item is fixed" in ran.stdout + ran.stderr, ran.stdout + ran.stderr
    assert [call.role for call in read_calls(tmp_path / "calls.jsonl")] == ["unified", "fixer"]
