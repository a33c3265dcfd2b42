"""Links from an environment to a checkout, which checks must follow into the tree instead."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from punchlist.adapters.folders.look import (
    is_folder,
    list_folder,
    path_exists,
    read_text,
    resolve_path,
)

NOTE = "punchlist-environment.json"


class EnvironmentNote(Struct, frozen=True, kw_only=True):
    """What is kept in an environment that punchlist made; without it the environment is not
    finished.
    """

    folders: tuple[str, ...] = ()
    """Where the project's packages are, as paths from the root of its tree."""
    version: str = ""
    commit: str = ""
    tree: str = ""
    """What it was made from: code of that commit may have run, and may have left anything."""


def read_note(prefix: Path) -> EnvironmentNote | None:
    try:
        return msgspec.json.decode((prefix / NOTE).read_bytes(), type=EnvironmentNote)
    except (OSError, msgspec.MsgspecError):
        return None


def find_main_root(checkout: Path) -> Path | None:
    """Return the main work tree if the checkout is a linked one."""
    pointer = read_text(checkout / ".git").removeprefix("gitdir:").strip()
    folder = checkout / pointer
    common = resolve_path(folder / read_text(folder / "commondir").strip())
    return common.parent if pointer and common.name == ".git" else None


def find_import_folders(prefixes: Sequence[Path], roots: Sequence[Path], tree: Path) -> list[Path]:
    """Return the tree's folders that correspond to what environments import from a checkout."""
    below = [name for prefix in prefixes for root in roots for _, name in find_links(prefix, root)]
    noted = [name for prefix in prefixes if (note := read_note(prefix)) for name in note.folders]
    names = (name for name in dict.fromkeys([*noted, *below]) if not name.startswith(("..", "/")))
    folders = [folder for folder in map(tree.joinpath, names) if is_folder(folder)]
    return [path.parent if path_exists(path / "__init__.py") else path for path in folders]


def find_links(prefix: Path, root: Path) -> Iterator[tuple[Path, str]]:
    """Yield each file of an environment's packages that leads into a folder, and where to."""
    mention = re.compile(re.escape(str(root)) + r"(/[^\n'\":]*)?(?![^\n'\":/])")
    for file in list_folder(prefix, "lib/python*/site-packages/*"):
        if file.suffix in {".pth", ".egg-link"} or "editable" in file.name:
            for name in mention.findall(read_text(file)):
                yield file, os.path.normpath(name.strip("/"))
