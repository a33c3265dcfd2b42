"""What a Python project says about itself in its own files, as far as analyzers need it."""

import re
import tomllib
from typing import Any

from punchlist.ports.tree import Tree

_SETUP_REQUIRES = re.compile(r"python_requires\s*=\s*[\"']?([^\"'\n#]*)")
_LOWER_BOUND = re.compile(r"(?:>=|~=|==|\^)\s*3\.(\d+)")


def table(text: str | None) -> dict[str, Any]:
    """A TOML file's content; a broken or missing one says nothing here (the tools themselves
    complain about it).
    """
    try:
        return tomllib.loads(text) if text else {}
    except tomllib.TOMLDecodeError:
        return {}


def has_tool_table(tree: Tree, path: str, name: str) -> bool:
    tools = table(tree.text(path)).get("tool")
    return isinstance(tools, dict) and name in tools


def oldest_python(tree: Tree) -> int | None:
    """The minor version of the oldest Python 3 the project supports; None if it does not say."""
    project = table(tree.text("pyproject.toml")).get("project")
    said = project.get("requires-python") if isinstance(project, dict) else None
    for text in (
        said if isinstance(said, str) else "",
        *(_setup_requires(tree.text(name)) for name in ("setup.cfg", "setup.py")),
    ):
        if bound := _LOWER_BOUND.search(text):
            return int(bound[1])
    return None


def _setup_requires(text: str | None) -> str:
    found = _SETUP_REQUIRES.search(text or "")
    return found[1] if found else ""
