"""Which folders `objects/info/alternates` opens to children: object stores, and nothing else."""

import subprocess
from pathlib import Path

import pytest

from punchlist.adapters.sandbox.git_view import find_borrowed_stores


@pytest.fixture
def objects(tmp_path) -> Path:
    """The objects of a repository of punchlist's."""
    return make_repository(tmp_path / "own") / "objects"


def make_repository(folder: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", "--bare", str(folder)], check=True)
    return folder


def lend(objects: Path, *lines: object) -> dict[Path, list[Path]]:
    (objects / "info/alternates").write_text("".join(f"{line}\n" for line in lines))
    return find_borrowed_stores(objects)


def test_the_objects_of_a_repository_are_shown_and_those_that_it_borrows(objects, tmp_path):
    first, second = (make_repository(tmp_path / name) / "objects" for name in ("a", "b"))
    (first / "info/alternates").write_text("../../b/objects\n")
    (first / "ab").mkdir()
    (first / "ab" / ("0" * 38)).touch()
    assert lend(objects, first) == {first: [first], second: [second]}


@pytest.mark.parametrize("name", ["folder", ".ssh", "home", "root", "linked", "named objects"])
def test_any_other_folder_is_not_shown(objects, tmp_path, monkeypatch, name):
    home = tmp_path / "home"
    places = {
        "folder": tmp_path / "other",
        ".ssh": home / ".ssh",
        "home": home,
        "root": Path("/"),
        "linked": tmp_path / "lying/objects",
        "named objects": tmp_path / "other/objects",
    }
    for place in (tmp_path / "other", home / ".ssh", tmp_path / "other/objects"):
        place.mkdir(parents=True)
        (place / "secret").write_text("x")
    lying = make_repository(tmp_path / "lying")
    (lying / "objects").rename(lying / "moved")
    (lying / "objects").symlink_to(home)
    monkeypatch.setenv("HOME", str(home))
    assert lend(objects, places[name]) == {}


def test_a_store_in_a_place_of_keys_or_around_the_home_is_not_shown(objects, tmp_path, monkeypatch):
    store = make_repository(tmp_path / "home/.ssh") / "objects"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert lend(objects, store) == {}
    monkeypatch.setenv("HOME", str(store / "pack"))
    assert lend(objects, store) == {}


def test_of_a_store_with_other_files_only_the_objects_are_shown(objects, tmp_path):
    store = make_repository(tmp_path / "a") / "objects"
    (store / "secret").write_text("x")
    (store / "ab").mkdir()
    (store / "ab/secret").write_text("x")
    (store / "cd").mkdir()
    assert lend(objects, store) == {store: [store / "cd", store / "info", store / "pack"]}
    (store / "pack/secret").write_text("x")
    assert store / "pack" not in lend(objects, store)[store]


def test_a_chain_that_never_ends_is_cut(objects, tmp_path):
    stores = [make_repository(tmp_path / f"r{number}") / "objects" for number in range(20)]
    for one, other in zip(stores, stores[1:] + stores[:1], strict=True):
        (one / "info/alternates").write_text(f"{other}\n")
    assert len(lend(objects, stores[0])) == 16
