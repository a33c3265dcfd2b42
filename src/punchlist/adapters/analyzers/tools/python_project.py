"""Read a Python project's own configuration files, as far as analyzers need it."""

import re
import tomllib
from typing import Any

from punchlist.ports.tree import Tree

_SETUP_REQUIRES = re.compile(r"python_requires\s*=\s*[\"']?([^\"'\n#]*)")
_LOWER_BOUND = re.compile(r"(?:>=|~=|==|\^)\s*3\.(\d+)")


def parse_toml(text: str | None) -> dict[str, Any]:
    """Parse TOML; {} if it is missing or broken, which the tools report themselves."""
    try:
        return tomllib.loads(text) if text else {}
    except tomllib.TOMLDecodeError:
        return {}


def has_tool_table(tree: Tree, path: str, name: str) -> bool:
    tools = parse_toml(tree.text(path)).get("tool")
    return isinstance(tools, dict) and name in tools


def oldest_python(tree: Tree) -> int | None:
    """Return the minor version of the oldest supported Python 3, or None if not stated."""
    project = parse_toml(tree.text("pyproject.toml")).get("project")
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
