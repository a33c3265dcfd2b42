"""What the hostile tests share: a repository with a state folder and the command."""

import pytest
from hostile_ground import Ground


@pytest.fixture
def ground(repo, tmp_path) -> Ground:
    return Ground(repo.root, tmp_path / "state")
