"""Base of the Python type checkers: they check a whole project and share severities."""

from punchlist.adapters.analyzers.tool import AnalyzerTool, Kit
from punchlist.adapters.analyzers.tools.python_project import has_tool_table
from punchlist.model.finding.severity import Severity
from punchlist.ports.tree import Tree

_SYNTAX = frozenset({"syntax", "invalid-syntax"})
_UNDEFINED = frozenset({"name-defined", "reportUndefinedVariable", "unresolved-reference"})
_RANKS = {
    "error": Severity.MAJOR,
    "major": Severity.MAJOR,
    "critical": Severity.MAJOR,
    "blocker": Severity.CRITICAL,
}


class TypeChecker(AnalyzerTool):
    """Unless enabled by name, it runs only in projects that configure it."""

    suffixes = (".py", ".pyi")
    whole = True
    files: tuple[str, ...] = ()
    """The names of its own settings files."""
    python_option: str
    """The option that names the project's interpreter."""

    def project_options(self, tree: Tree, kit: Kit) -> tuple[str, ...]:
        python = kit.find_python(tree)
        return (f"{self.python_option}={python}",) if python else ()

    def find_exclusion(self, tree: Tree) -> str:
        return "its settings, or by how it finds files"

    def skip_reason(self, tree: Tree) -> str:
        if self.asked or self.is_configured(tree):
            return ""
        hint = "enable it by name to run it all the same"
        return f"the project has no settings for {self.name}; {hint}"

    def is_configured(self, tree: Tree) -> bool:
        return has_tool_table(tree, "pyproject.toml", self.name) or any(
            tree.text(name) is not None for name in self.files
        )


def rank_severity(word: str, rule: str) -> Severity:
    if rule in _SYNTAX or (rule in _UNDEFINED and word in _RANKS):
        return Severity.CRITICAL
    return _RANKS.get(word, Severity.MINOR)
