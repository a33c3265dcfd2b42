"""The workbench of the tests that make commits."""

import pytest
from joinery import Bench


@pytest.fixture
def bench(tmp_path):
    return lambda repo: Bench(repo.root, tmp_path / "state")
