"""The state folder is its owner's alone: findings quote code, and code may hold secrets."""

import os
import stat

import pytest

from punchlist.adapters.store.sqlite import FILE, SqliteStore


@pytest.fixture(autouse=True)
def _generous():
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_state_folder_is_closed_to_others(tmp_path):
    home = tmp_path / "state"
    with SqliteStore.open(home):
        files = {path.name: mode(path) for path in home.iterdir() if path.is_file()}
    assert FILE in files
    assert set(files.values()) == {0o600}, files
    assert mode(home) == 0o700
    assert mode(home / "runs") == 0o700


def test_what_an_earlier_version_left_open_is_closed_but_a_folder_that_was_there_is_left_alone(
    tmp_path,
):
    SqliteStore.open(tmp_path).close()
    tmp_path.chmod(0o755)
    for name in ("runs", "repos"):
        (tmp_path / name).chmod(0o755)
    (tmp_path / FILE).chmod(0o644)
    SqliteStore.open(tmp_path).close()
    assert mode(tmp_path) == 0o755
    assert [mode(tmp_path / name) for name in ("runs", "repos", FILE)] == [0o700, 0o700, 0o600]
