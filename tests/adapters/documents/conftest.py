"""The tree that documents are about."""

import pytest
from folder_tree import CODE, Folder


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text(CODE)
    (root / "src/with space.py").write_text(CODE)
    (root / "src/emoji.py").write_text("x = '🎉' + y\n")
    return Folder(root)
