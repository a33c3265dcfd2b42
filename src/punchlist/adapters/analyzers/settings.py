"""Settings of the analyzers."""

from typing import Literal

from msgspec import Struct

from punchlist.adapters.analyzers.tools.custom import CustomTool
from punchlist.model.checks.own_files import LEFT_OUT, LeaveOut


class AnalyzerSettings(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Which analyzers run, and how. "auto": ruff, the installed and the user's own."""

    enabled: Literal["auto"] | tuple[str, ...] = "auto"
    select: tuple[str, ...] = ()
    """Ruff's rules, instead of the project's own selection."""
    rules: Literal["correctness", "all"] = "correctness"
    """Of ruff, where the project does not configure it: `correctness` (ruff's own defaults, bugs
    and insecure code), or `all`: style and modernisation as well.
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
    leave_out: tuple[str, ...] = LEFT_OUT
    """Patterns, as in .gitignore, of vendored and generated files: a look at the whole repository
    leaves them out and says how many. Files that the change touches, and those that are named on
    the command line, are looked at. `build/`, `dist/` and `env/` do not fit Python packages.
    """
    leave_out_generated: bool = True
    """Whether it also leaves out minified files, and those that say among their first lines that
    they are generated (`@generated`, `DO NOT EDIT`).
    """
    languages: Literal["auto"] | tuple[str, ...] = "auto"
    """The languages that count: a run is incomplete if no reviewer looks at a file in one of them;
    files in others are only named. "auto": those that the project has program files in outside of
    docs and tests, without HTML and CSS.
    """
    timeout: float = 600
    """Seconds that one run of one tool may take."""

    @property
    def left_out(self) -> LeaveOut:
        return LeaveOut(self.leave_out, generated=self.leave_out_generated)
