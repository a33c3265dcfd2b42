"""Artifacts are there whole or not at all, and only in their folder."""

from pathlib import Path

import pytest

from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.errors import StoreError


def test_what_was_written_is_read_back_and_a_person_finds_it(tmp_path):
    artifacts = FolderArtifacts(tmp_path / "run")
    where = artifacts.write("checks/pytest.xml", b"\x00<xml/>")
    assert Path(where).read_bytes() == b"\x00<xml/>" == artifacts.read("checks/pytest.xml")
    artifacts.write("checks/pytest.xml", b"again")
    assert artifacts.read("checks/pytest.xml") == b"again"
    assert artifacts.read("other") is None
    assert artifacts.read("checks") is None
    assert artifacts.read("checks/pytest.xml/deeper") is None


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/etc/passwd",
        "../x",
        "a/../../x",
        "a//b",
        ".hidden",
        "a/.b",
        "a\\b",
        "a\nb",
        "a\x00",
        "x" * 300,
    ],
)
def test_no_name_leads_out_of_the_folder(tmp_path, name):
    artifacts = FolderArtifacts(tmp_path / "run")
    with pytest.raises(StoreError, match="no name for an artifact"):
        artifacts.write(name, b"x")
    with pytest.raises(StoreError, match="no name for an artifact"):
        artifacts.read(name)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_old_content_and_no_rubbish(tmp_path, apart):
    FolderArtifacts(tmp_path).write("report.json", b"old")
    code = """
import sys; from pathlib import Path
from punchlist.adapters.store.artifacts import FolderArtifacts; from punchlist.errors import StoreError
try: FolderArtifacts(Path(sys.argv[1])).write("report.json", b"new" * 10_000)
except StoreError as error: print(error, error.hint)
"""
    said = apart(code, tmp_path, largest=5000)
    assert "report.json cannot be written" in said
    assert "free some space" in said
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [
        ("report.json", b"old")
    ]
