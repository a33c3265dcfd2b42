"""Windows on real ledgers, made by real runs with agents that play by a script."""

import pytest
import window
import workbench


@pytest.fixture
def bench(repo, tmp_path, monkeypatch) -> workbench.Workbench:
    """A branch with four faults that no tool sees, to be played on by a script."""
    workbench.homes(tmp_path, monkeypatch)
    return workbench.Workbench(repo, tmp_path)


@pytest.fixture
def watching(repo, tmp_path):
    """`watching(journey)` opens a window in the repository and lets the journey press its keys."""
    return lambda journey, **more: window.opened(repo.root, tmp_path / "state", journey, **more)
