"""The bench of the examination tests."""

import pytest
from examination import Bench


@pytest.fixture
def bench(repo, tmp_path):
    return lambda files, **options: Bench(repo, tmp_path / "state", files, **options)
