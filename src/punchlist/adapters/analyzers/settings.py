"""Settings of the analyzers."""

from typing import Literal

from msgspec import Struct

from punchlist.adapters.analyzers.tools.custom import CustomTool


class AnalyzerSettings(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Which analyzers run, and how. "auto": the bundled, the installed and the user's own."""

    enabled: Literal["auto"] | tuple[str, ...] = "auto"
    select: tuple[str, ...] = ()
    """Ruff's rules, instead of the project's own selection."""
    rules: Literal["correctness", "all"] = "correctness"
    """Of ruff, where the project does not configure it: `correctness` (bandit adds security), or
    `all`: style and modernisation as well.
    """
    extend_select: tuple[str, ...] = ()
    """Ruff's rules besides its selection; `review.select` adds to it."""
    args: dict[str, tuple[str, ...]] = {}
    """More arguments for a tool, by its name."""
    semgrep: tuple[str, ...] = ()
    """Files or folders of semgrep rules."""
    ast_grep: tuple[str, ...] = ()
    """Files of ast-grep rules."""
    ast_grep_rules: str = ""
    """Ast-grep rules written out, as YAML."""
    custom: tuple[CustomTool, ...] = ()
    unreviewed: tuple[str, ...] = ()
    """Patterns of program files that need no reviewer, such as `docs/make.bat` or `vendor/**`: a
    run in which no reviewer looks at other program files is incomplete.
    """
    timeout: float = 600
    """Seconds that one run of one tool may take."""
