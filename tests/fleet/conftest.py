"""A fleet for each test."""

from pathlib import Path

import pytest

from fleet_databases import fleet_server, fleet_url, open_fleet
from fleet_world import Fleet

__all__ = ["fleet_server", "fleet_url", "open_fleet"]


@pytest.fixture
def fleet(repo, tmp_path, fleet_url, open_fleet):
    folder = Path(tmp_path) / "fleet"
    folder.mkdir()
    made = Fleet(repo, folder, fleet_url, open_fleet())
    made.play()
    yield made
    made.close()
