"""Which of a project's settings for ruff a file falls under, and what these exclude."""

from functools import cached_property
from pathlib import PurePosixPath
from posixpath import join, normpath
from typing import Any

from punchlist.adapters.analyzers.tool import find_files
from punchlist.model.finding.guarded_text import find_toml
from punchlist.ports.tree import Tree

_FILES = (".ruff.toml", "ruff.toml", "pyproject.toml")
"""In the order in which ruff looks for them in a folder."""
_DEEPEST = 10


class RuffConfigurations:
    """The settings for ruff of a tree: a file falls under those in the nearest folder above it."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    @cached_property
    def tables(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """By folder: the file with its settings, and the settings."""
        found: dict[str, tuple[str, dict[str, Any]]] = {}
        paths = find_files(self._tree, *_FILES)
        for path in sorted(paths, key=lambda path: _FILES.index(PurePosixPath(path).name)):
            table = self._read_table(path)
            if table is not None:
                found.setdefault(path.rpartition("/")[0], (path, table))
        return found

    def sets_exclude(self, path: str) -> bool:
        """Return whether settings name what ruff leaves out, instead of its own list."""
        folders = [str(folder) for folder in PurePosixPath(path).parents]
        near = (self.tables.get("" if folder == "." else folder) for folder in folders)
        nearest = next(filter(None, near), ("", {}))
        return any("exclude" in table for table in self._follow(*nearest))

    def find_excluding(self) -> str:
        """Return the first file with settings that leave something out, or ''."""
        for path, table in self.tables.values():
            if any(_excludes(each) for each in self._follow(path, table)):
                return path
        return ""

    def _follow(self, path: str, table: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the settings and those that they extend."""
        found = [table]
        while isinstance(more := found[-1].get("extend"), str) and len(found) < _DEEPEST:
            path = normpath(join(path.rpartition("/")[0], more))
            found.append(self._read_table(path) or {})
        return found

    def _read_table(self, path: str) -> dict[str, Any] | None:
        data = find_toml(self._tree.text(path))
        if not path.endswith("pyproject.toml"):
            return data
        tools = data.get("tool")
        table = tools.get("ruff") if isinstance(tools, dict) else None
        return table if isinstance(table, dict) else None


def _excludes(table: dict[str, Any]) -> bool:
    lint = table.get("lint")
    inner = lint if isinstance(lint, dict) else {}
    return any(table.get(key) for key in ("exclude", "extend-exclude")) or bool(
        inner.get("exclude")
    )
