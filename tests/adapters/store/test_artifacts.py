"""Files of a run in its folder are there whole or not at all."""

from pathlib import Path

import pytest
from artifacts_contract import *  # noqa: F403 - all tests of the contract
from artifacts_contract import RUN

from punchlist.adapters.store.artifacts import FolderArtifacts, FolderStore


@pytest.fixture
def open_files(tmp_path):
    return lambda run=RUN: FolderStore(tmp_path / "runs").open(run, print)


def test_a_person_finds_the_file_and_no_other_program_leaves_one_in_the_list(tmp_path, open_files):
    where = open_files().write("checks/pytest.xml", b"x")
    assert Path(where).read_bytes() == b"x"
    assert FolderStore(tmp_path / "runs").list_runs() == {RUN}
    (tmp_path / "runs" / RUN / "agents").mkdir()
    (tmp_path / "runs" / RUN / "agents" / "login").write_text("secret")
    assert open_files().list_sizes() == {"checks/pytest.xml": 1}


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
