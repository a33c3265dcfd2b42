"""Folders of any shape are deleted without recursion; what cannot be deleted is moved out of the way."""

import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punchlist.adapters.folders.remove import discard_folder, list_set_aside, remove_folder
from punchlist.adapters.folders.temporary import temporary_folder
from punchlist.adapters.folders.walk import skip_folder, walk_files, walk_folder
from punchlist.errors import FolderTooLarge
from punchlist.model.finding.reading_limits import ReadingLimits

NAMES = st.sampled_from(["a", "b", "ü", "-rf", " ", "\n", ".git", "x" * 200])
TREES = st.recursive(
    st.sampled_from(["file", "link", "fifo", "locked"]),
    lambda inner: st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=25,
)


@pytest.fixture(autouse=True)
def nothing_deep_is_left(tmp_path) -> Iterator[None]:
    """Pytest's own cleaning recurses."""
    yield
    subprocess.run(["rm", "-rf", str(tmp_path)], check=True)


def dig(folder: Path, levels: int, name: str = "d") -> None:
    """Make folders one in the other, deeper than any path can name."""
    program = "import os, sys\nfor _ in range(int(sys.argv[1])): os.mkdir(sys.argv[2]); os.chdir(sys.argv[2])\nopen('x.py', 'w').close()"
    subprocess.run([sys.executable, "-c", program, str(levels), name], cwd=folder, check=True)


def plant(place: Path, what: object) -> None:
    match what:
        case dict():
            place.mkdir()
            for name, inner in what.items():
                plant(place / name, inner)
        case "file":
            place.write_text("x")
        case "link":
            place.symlink_to("/")
        case "fifo":
            os.mkfifo(place)
        case _:
            place.mkdir()
            (place / "inner").mkdir()
            (place / "inner").chmod(0)
            place.chmod(0o500)


@pytest.mark.parametrize("levels", [10, 1500, 10_000])
def test_a_folder_of_any_depth_is_deleted(tmp_path, levels):
    (tmp_path / "top").mkdir()
    dig(tmp_path / "top", levels)
    assert remove_folder(tmp_path / "top")
    assert list(tmp_path.iterdir()) == []


def test_a_deep_folder_with_long_names_is_deleted(tmp_path):
    (tmp_path / "top").mkdir()
    dig(tmp_path / "top", 300, "n" * 250)
    assert remove_folder(tmp_path / "top")
    assert not (tmp_path / "top").exists()


@given(tree=TREES)
@settings(deadline=None)
def test_a_folder_of_any_shape_is_deleted_and_nothing_beside_it(tmp_path_factory, tree):
    around = tmp_path_factory.mktemp("around")
    (around / "kept").write_text("kept")
    plant(around / "top", {"inside": tree, "out": "link", "kept": "link"})
    assert remove_folder(around / "top")
    assert [path.name for path in around.iterdir()] == ["kept"]


def test_where_links_lead_stays(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("x")
    top = tmp_path / "top"
    top.mkdir()
    (top / "link").symlink_to(outside)
    link = tmp_path / "link"
    link.symlink_to(outside)
    assert remove_folder(top)
    assert remove_folder(link)
    assert (outside / "file").read_text() == "x"


def test_sockets_and_many_files_are_deleted(tmp_path):
    top = tmp_path / "top"
    top.mkdir()
    for number in range(3000):
        (top / str(number)).touch()
    with socket.socket(socket.AF_UNIX) as door:
        os.chdir(top)
        try:
            door.bind("door")
        finally:
            os.chdir("/")
    assert stat.S_ISSOCK((top / "door").lstat().st_mode)
    assert remove_folder(top)


def test_nothing_is_there_to_delete(tmp_path):
    assert not remove_folder(tmp_path / "no")
    assert discard_folder(tmp_path / "no", tmp_path / "aside") is None
    assert not (tmp_path / "aside").exists()


def test_what_cannot_be_deleted_is_renamed_out_of_the_way_and_can_be_deleted_later(tmp_path):
    """A mount point inside, in a mount namespace of our own."""
    program = (
        "import sys; from pathlib import Path; from punchlist.adapters.folders.remove import *\n"
        "top, aside = map(Path, sys.argv[1:]); (top / 'more').mkdir(); (top / 'more/file').touch()\n"
        "place = discard_folder(top, aside); print(place)\n"
        "assert place and not top.exists() and not (place / 'more').exists(), place\n"
    )
    top, aside = tmp_path / "top", tmp_path / "aside"
    (top / "mounted").mkdir(parents=True)
    script = 'mount -t tmpfs none "$1/mounted" && shift && exec "$@"'
    line = [shutil.which("unshare") or "unshare", "-rm", "sh", "-c", script, "sh", str(top)]
    probe = subprocess.run([*line, "true"], check=False, capture_output=True)
    if probe.returncode:
        pytest.skip("NOT TESTED HERE: no mount namespaces for this user")
    subprocess.run([*line, sys.executable, "-c", program, str(top), str(aside)], check=True)
    (place,) = list_set_aside(aside)
    assert remove_folder(place)


def test_a_temporary_folder_is_gone_after_use_whatever_was_left_in_it():
    with temporary_folder("punchlist-test-") as folder:
        dig(folder, 3000)
        (folder / "locked").mkdir()
        (folder / "locked").chmod(0)
    assert not folder.exists()


def test_a_walk_names_what_is_too_deep_and_goes_on_where_it_may(tmp_path):
    dig(tmp_path, 1500)
    (tmp_path / "a.py").touch()
    with pytest.raises(FolderTooLarge, match=r"d/d/.* is more than 200 folders deep"):
        list(walk_folder(tmp_path))
    beyond: list[str] = []
    walked = list(walk_folder(tmp_path, beyond=beyond.append))
    assert len(walked) == 201
    assert len(beyond) == 1
    assert [path.name for path in walk_files(tmp_path)] == ["a.py"]


def test_a_walk_names_a_path_that_is_too_long_to_be_opened(tmp_path):
    dig(tmp_path, 100, "n" * 250)
    with pytest.raises(FolderTooLarge, match="its path is too long"):
        list(walk_folder(tmp_path))
    assert len(list(walk_folder(tmp_path, beyond=skip_folder))) < 20


def test_a_walk_says_that_there_are_too_many_files(tmp_path):
    for number in range(30):
        (tmp_path / str(number)).touch()
    with pytest.raises(FolderTooLarge, match="more than 20 files"):
        list(walk_folder(tmp_path, ReadingLimits(files=20)))


@given(tree=TREES)
@settings(deadline=None)
def test_a_walk_finds_what_os_walk_finds(tmp_path_factory, tree):
    top = tmp_path_factory.mktemp("walked")
    plant(top / "top", {"inside": tree})
    ours = {(place, *sorted((*folders, *files))) for place, folders, files in walk_folder(top)}
    known = set()
    for place, folders, files in os.walk(top):
        known.add((place, *sorted((*folders, *files))))
        folders[:] = [name for name in folders if not Path(place, name).is_symlink()]
    assert ours == known
    remove_folder(top)
