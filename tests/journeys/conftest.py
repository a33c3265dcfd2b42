"""A run as a person starts it, on the shop, in this process."""

import pytest
import shop
import workbench


@pytest.fixture
def place(repo, tmp_path, monkeypatch) -> shop.Place:
    shop.written(repo.root)
    repo.commit(message="the shop")
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(shop.settings(tmp_path / "settings.toml")))
    return shop.Place(repo)


@pytest.fixture
def bench(repo, tmp_path, monkeypatch) -> workbench.Workbench:
    """A branch with four faults that no tool sees, to be played on by a script."""
    workbench.homes(tmp_path, monkeypatch)
    return workbench.Workbench(repo, tmp_path)
