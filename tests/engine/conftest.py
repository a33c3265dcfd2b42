"""A stage for the engine: the real engine, cursor, fold and ledger; verbs that a test writes."""

import pytest
from probes import Lines, Stage

from punchlist.adapters.store.sqlite import SqliteStore


@pytest.fixture
def stage(tmp_path, monkeypatch):
    """With the ledger on disk, as it is in earnest."""
    with SqliteStore.open(tmp_path / "state") as store:
        yield Stage(tmp_path, monkeypatch, store)


@pytest.fixture
def paper_stage(tmp_path, monkeypatch):
    """With a ledger in memory, for tests that drive many runs."""
    return Stage(tmp_path, monkeypatch, Lines())
