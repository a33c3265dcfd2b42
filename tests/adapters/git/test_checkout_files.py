"""Files in the user's checkout: written where the user asked for them, and nowhere else."""

import os

import pytest

from punchlist.adapters.git.checkout_files import check_folder, write_checkout_file
from punchlist.errors import RepositoryError, UsageError

HEADING = b"Code Review Findings - Round"
DOCUMENT = b"# Story 1 Code Review Findings - Round 1\n"


@pytest.mark.parametrize(
    "named",
    ["/etc", "../out", "docs/../../out", ".git", "docs/.GIT/x", ".", "a//b", "a\\b", "a\nb"],
)
def test_a_folder_outside_of_the_repository_is_refused(tmp_path, named):
    with pytest.raises(UsageError, match="documents: ") as refused:
        check_folder(tmp_path, named)
    assert "docs/progress" in refused.value.hint


def test_a_link_and_a_file_on_the_way_are_refused(tmp_path):
    (tmp_path / "out").mkdir()
    root = tmp_path / "root"
    root.mkdir()
    (root / "file").write_text("")
    (root / "linked").symlink_to(tmp_path / "out")
    for named in ("linked", "linked/below", "file", "file/below"):
        with pytest.raises(UsageError, match="is a link or a file"):
            check_folder(root, named)
        with pytest.raises(RepositoryError, match="a link or a file is in the way"):
            write_checkout_file(root, f"{named}/story.md", DOCUMENT, HEADING)
    assert check_folder(root, "./docs/progress/") == "docs/progress"
    assert list((tmp_path / "out").iterdir()) == []


def test_only_a_findings_document_is_replaced(tmp_path):
    write_checkout_file(tmp_path, "docs/progress/story.md", DOCUMENT, HEADING)
    write_checkout_file(tmp_path, "docs/progress/story.md", DOCUMENT + b"more", HEADING)
    assert (tmp_path / "docs/progress/story.md").read_bytes() == DOCUMENT + b"more"
    own = tmp_path / "docs/progress/own.md"
    own.write_text("my notes\n")
    (tmp_path / "docs/progress/link.md").symlink_to(own)
    os.mkfifo(tmp_path / "docs/progress/pipe.md")
    for name in ("own", "link", "pipe"):
        with pytest.raises(RepositoryError, match=f"docs/progress/{name}.md: "):
            write_checkout_file(tmp_path, f"docs/progress/{name}.md", DOCUMENT, HEADING)
    assert own.read_text() == "my notes\n"
    assert sorted(each.name for each in own.parent.iterdir()) == [
        "link.md", "own.md", "pipe.md", "story.md"
    ]  # fmt: skip
