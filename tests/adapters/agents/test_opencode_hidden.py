"""What an agent must not see of a tree, because it would run it, is hidden by the walls; without walls it is not started."""

import json
import sys

import pytest
import seating
from msgspec.structs import replace

from punchlist.adapters.agents.cli_agent import CliAgent
from punchlist.adapters.agents.dialects.opencode import Opencode
from punchlist.adapters.sandbox.support import sandbox_kind
from punchlist.ports.agent import AgentTrouble

LOOK = """
import json, pathlib
seen = {str(path): path.read_text() for path in sorted(pathlib.Path().rglob('*')) if path.is_file() or path.is_char_device()}
print(json.dumps({'type': 'text', 'part': {'messageID': 'm', 'text': json.dumps(seen)}}))
print(json.dumps({'type': 'step_finish', 'part': {'messageID': 'm', 'reason': 'stop'}}))
"""


class Looking(Opencode):
    """Asked like opencode, but only looks around."""

    def build_call(self, ask, desk):
        return replace(super().build_call(ask, desk), arguments=("-c", LOOK))


@pytest.fixture
def looking(tmp_path):
    def ask(*, sandbox):
        seat = seating.seat(tmp_path, sandbox=sandbox, command=(sys.executable,))
        return seating.asked(CliAgent(Looking(), seat), seating.tree(tmp_path))

    return ask


@pytest.fixture
def planted(tmp_path):
    tree = seating.tree(tmp_path)
    (tree / ".opencode" / "plugin").mkdir(parents=True)
    (tree / ".opencode" / "plugin" / "evil.js").write_text("evil")
    (tree / "opencode.json").write_text("evil")
    return tree


@pytest.mark.skipif(sandbox_kind() != "bubblewrap", reason="needs bubblewrap")
def test_it_is_hidden_from_the_agent_and_stays_in_the_tree(looking, planted):
    seen = json.loads(looking(sandbox=True).text)
    assert sorted(seen) == ["calc.py", "opencode.json"]
    assert seen["opencode.json"] == ""
    assert (planted / ".opencode" / "plugin" / "evil.js").read_text() == "evil"
    assert (planted / "opencode.json").read_text() == "evil"


def test_without_walls_the_agent_is_not_started_and_says_why(looking, planted):
    reply = looking(sandbox=False)
    assert (reply.trouble, reply.text) == (AgentTrouble.OTHER, "")
    assert reply.failed.startswith("not started: it would do what .opencode and opencode.json says")


def test_a_link_to_nowhere_counts_too_without_walls(looking, tmp_path):
    (seating.tree(tmp_path) / ".opencode").symlink_to("/nowhere/at/all")
    assert "what .opencode says" in looking(sandbox=False).failed


def test_where_there_is_nothing_to_hide_it_is_started_either_way(looking):
    assert list(json.loads(looking(sandbox=False).text)) == ["calc.py"]
