"""Find packages of Node.js that are code under review rather than installed."""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from punchlist.adapters.folders.look import is_link, list_folder, resolve_path
from punchlist.model.checks.protected import matches_any
from punchlist.ports.tree import Tree

_FOLDER = "node_modules"


def find_reviewed_packages(tree: Tree, checkout: Path | None, loaded: tuple[str, ...]) -> str:
    """Return why Node.js would load packages of the code under review, or ''. `loaded` are the
    patterns of the files that are run.
    """
    folders = {parent for path in tree.files() for parent in PurePosixPath(path).parents}
    for folder in sorted(folders):
        if os.path.lexists(tree.root / folder / _FOLDER):
            return f"the repository carries its own {folder / _FOLDER}, which is not loaded"
    names = list(_list_linked(checkout)) if checkout else []
    texts = [tree.text(path) or "" for path in tree.files() if names and matches_any(path, loaded)]
    for name in names:
        parts = re.sub(r"(?<=/)eslint-(?:plugin|config)-|^eslint-(?:plugin|config)-", "", name)
        quoted = re.compile(rf"[\"'`](?:{re.escape(name)}|{re.escape(parts)})[/\"'`]")
        if any(map(quoted.search, texts)):
            return f"{name} in {_FOLDER} is a link to the code under review, which is not loaded"
    return ""


def _list_linked(checkout: Path) -> Iterator[str]:
    """Yield the packages in the checkout's node_modules that are links to its own folders."""
    installed, root = checkout / _FOLDER, resolve_path(checkout)
    entries = list_folder(installed)
    entries += list_folder(installed, "@*/*")
    for entry in entries:
        target = resolve_path(entry)
        if is_link(entry) and target.is_relative_to(root) and _FOLDER not in target.parts:
            yield entry.relative_to(installed).as_posix()
