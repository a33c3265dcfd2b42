"""The bench of the examination tests."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from examination import Bench


@pytest.fixture
def bench(repo, tmp_path):
    return lambda files, **options: Bench(repo, tmp_path / "state", files, **options)
