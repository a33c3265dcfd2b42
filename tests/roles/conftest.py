"""A small project as a tree."""

import pytest
from canned import CODE, Folder


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text(CODE)
    return Folder(root)
