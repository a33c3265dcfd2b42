"""Mypy: types of a Python project."""

from collections.abc import Mapping, Sequence
from configparser import ConfigParser
from configparser import Error as ConfigError
from typing import Any

import msgspec
from msgspec import Struct

from punchlist.adapters.analyzers.entries import collect_entries
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.analyzers.tools.python_project import parse_toml
from punchlist.adapters.analyzers.tools.typechecker import TypeChecker, rank_severity
from punchlist.intake.raw_finding import RawFinding
from punchlist.intake.source_files import Sources
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree


class MypyEntry(Struct, frozen=True):
    file: str
    line: int
    message: str
    column: int = -1
    end_line: int | None = None
    end_column: int | None = None
    hint: str | None = None
    code: str | None = None
    severity: str = "error"


def parse(output: bytes, sources: Sources, tool: str = "mypy") -> Analysis:
    """Parse one JSON object per line; empty output is clean, since the exit code was checked."""
    lines = [msgspec.Raw(line) for line in output.splitlines() if line.strip()]
    return collect_entries(tool, lines, MypyEntry, _make_note, sources)


def _make_note(entry: MypyEntry, sources: Sources) -> RawFinding:
    positions = sources.reported_positions(entry.file)
    # On lines with other than ASCII characters versions differ in what they count.
    exact = positions is not None and positions.is_plain(entry.line) and entry.column >= 0
    end = -1 if entry.end_column is None else entry.end_column
    docs = "https://mypy.readthedocs.io/en/stable/_refs.html#code-"
    return RawFinding(
        path=entry.file,
        title=entry.message,
        detail=entry.hint or "",
        severity=rank_severity(entry.severity, entry.code or ""),
        severity_word=entry.severity,
        rule=entry.code or "",
        category="typing",
        url=f"{docs}{entry.code}" if entry.code else "",
        line=entry.line if entry.line > 0 else None,
        end_line=entry.end_line,
        column=entry.column + 1 if exact else None,
        end_column=end + 1 if exact and end >= 0 else None,
    )


def _names_targets(tree: Tree) -> bool:
    """Return whether mypy's settings name files, packages or modules."""
    sections: list[Mapping[str, Any]] = [
        parse_toml(tree.text("pyproject.toml")).get("tool", {}).get("mypy", {})
    ]
    for name in ("mypy.ini", ".mypy.ini", "setup.cfg"):
        settings = ConfigParser(interpolation=None, strict=False)
        try:
            settings.read_string(tree.text(name) or "")
        except ConfigError:
            continue
        if settings.has_section("mypy"):
            sections.append(settings["mypy"])
    return any(key in section for section in sections for key in ("files", "packages", "modules"))


class Mypy(TypeChecker):
    name = "mypy"
    files = ("mypy.ini", ".mypy.ini")
    steered_by = (*files, "setup.cfg", "pyproject.toml")
    suppressed_by = (
        r"#\s*type:\s*ignore",
        r"#\s*mypy:\s*(?:ignore|disable|allow)",
        r"@(?:typing\.|t\.)?no_type_check",
    )
    options = tuple(
        "--output=json --show-error-end --no-error-summary --no-incremental"
        " --cache-dir=/dev/null".split()
    )
    python_option = "--python-executable"
    parser = staticmethod(parse)

    def is_configured(self, tree: Tree) -> bool:
        return super().is_configured(tree) or "[mypy]" in (tree.text("setup.cfg") or "")

    def build_command(self, program: Sequence[str], tree: Tree, kit: Kit) -> tuple[str, ...]:
        target = () if _names_targets(tree) else (".",)
        return (*super().build_command(program, tree, kit), *target)
