"""A repository with faults that only an agent can fix, and MCP clients to fix them."""

import pytest
import workbench
from clients import Place


@pytest.fixture
def place(repo, tmp_path) -> Place:
    """A branch with four faults that no tool sees."""
    workbench.Workbench(repo, tmp_path)
    return Place(repo, tmp_path)
