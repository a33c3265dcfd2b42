"""A repository with faults that only an agent can fix, and MCP clients to fix them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "journeys"))
sys.path.append(str(Path(__file__).parents[1] / "agents"))
import workbench
from clients import Place


@pytest.fixture
def place(repo, tmp_path) -> Place:
    """A branch with four faults that no tool sees."""
    workbench.Workbench(repo, tmp_path)
    return Place(repo, tmp_path)
