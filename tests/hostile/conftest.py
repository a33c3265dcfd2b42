"""What the hostile tests share: a repository with a state folder and the command."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from hostile_ground import Ground


@pytest.fixture
def ground(repo, tmp_path) -> Ground:
    return Ground(repo.root, tmp_path / "state")
