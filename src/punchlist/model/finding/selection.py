"""Which findings a review is about, by rule, path and severity; what is left out is counted."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from punchlist.model.finding.finding import Finding
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.path_patterns import is_excluded
from punchlist.model.finding.severity import Severity

_GROUP = late_pattern(r"[A-Z]+\d*")


class Selection(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename="kebab",
):
    """Which findings count. Those that are left out are listed by `punchlist show RUN --left-out`.
    Each key can be set for a folder in a `.punchlist.toml` of its own; it is read from the base.
    """

    select: tuple[str, ...] = ()
    """Only these rules: names or patterns, `TOOL:RULE` or `RULE`; `F4` stands for all that begin
    with it. Ruff is asked for them where its selection lacks them.
    """
    ignore: tuple[str, ...] = ()
    """Not these rules, in the same spelling."""
    exclude: tuple[str, ...] = ()
    """Not these paths, as in .gitignore."""
    min_severity: Severity = Severity.MINOR
    """Nothing less severe: `critical`, `major` or `minor`."""
    new_only: bool = False
    """Only what the analyzers do not report of the base."""
    fail_on: Severity = Severity.MINOR
    """The exit code is 0 if only less severe items are unresolved."""

    def find_reason(self, finding: Finding) -> str:
        """Return the key by which a finding is left out, or ''."""
        if is_excluded(finding.spot.path, self.exclude):
            return "exclude"
        if self.select and not names_rule(self.select, finding):
            return "select"
        if names_rule(self.ignore, finding):
            return "ignore"
        return "min-severity" if finding.severity.rank > self.min_severity.rank else ""


class FolderSelection(Struct, frozen=True, omit_defaults=True):
    """The selection that holds in a folder. `origins`: by key, how to name what set it."""

    selection: Selection
    origins: dict[str, str] = {}

    def find_reason(self, finding: Finding) -> str:
        """Return what leaves a finding out, in words, or ''."""
        key = self.selection.find_reason(finding)
        return self.describe_key(key) if key else ""

    def describe_key(self, key: str) -> str:
        return self.origins.get(key, f"review.{key}")


def names_rule(patterns: Sequence[str], finding: Finding) -> bool:
    """Return whether a pattern names the finding's rule, or its category if it has none."""
    rule = finding.rule or finding.category
    return any(is_named(pattern, finding.source, rule) for pattern in patterns)


def is_named(pattern: str, tool: str, rule: str) -> bool:
    """Return whether a pattern names a tool's rule."""
    if fnmatchcase(rule, pattern) or fnmatchcase(f"{tool}:{rule}", pattern):
        return True
    named, _, group = pattern.rpartition(":")
    if (named and named != tool) or not _GROUP.fullmatch(group) or not rule.startswith(group):
        return False
    rest = rule[len(group) :]  # "I" must not speak for "ISC001", nor any group for a word
    return rest.isdecimal()


def find_selection(folders: Mapping[str, FolderSelection], path: str) -> FolderSelection:
    """Return the selection of the nearest folder that has one."""
    while path:
        path = path.rpartition("/")[0]
        if path in folders:
            return folders[path]
    return folders.get("", FolderSelection(Selection()))
