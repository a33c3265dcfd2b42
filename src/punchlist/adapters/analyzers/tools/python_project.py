"""Read a Python project's own configuration files, as far as analyzers need it."""

from functools import lru_cache

from punchlist.model.checks.protected import TESTS, matches_any
from punchlist.model.finding.guarded_text import find_toml
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.ports.tree import Tree

_SETUP_REQUIRES = late_pattern(r"python_requires\s*=\s*[\"']?([^\"'\n#]*)")
_LOWER_BOUND = late_pattern(r"(?:>=|~=|==|\^)\s*3\.(\d+)")


_TESTS = (*TESTS, "conftest.py")


def is_test_code(path: str) -> bool:
    """Return whether a file is part of the tests, where insecure code is no news."""
    return matches_any(path, _TESTS)


def has_tool_table(tree: Tree, path: str, name: str) -> bool:
    return name in _list_tools(tree.text(path))


@lru_cache(maxsize=8)
def _list_tools(text: str | None) -> frozenset[str]:
    tools = find_toml(text).get("tool")
    return frozenset(tools) if isinstance(tools, dict) else frozenset()


def oldest_python(tree: Tree) -> int | None:
    """Return the minor version of the oldest supported Python 3, or None if not stated."""
    project = find_toml(tree.text("pyproject.toml")).get("project")
    required = [project.get("requires-python") if isinstance(project, dict) else None]
    for name in ("setup.cfg", "setup.py"):
        required += _SETUP_REQUIRES.findall(tree.text(name) or "")[:1]
    for text in required:
        if isinstance(text, str) and (bound := _LOWER_BOUND.search(text)):
            return int(bound[1])
    return None
