"""ESLint: JavaScript and TypeScript, with the project's own rules and plugins."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.analyzers.configuration.declared import ConfigurationKeys
from punchlist.adapters.analyzers.configuration.node_packages import find_reviewed_packages
from punchlist.adapters.analyzers.entries import (
    collect_findings,
    decode_json,
    join_analyses,
    report_parser,
    with_unparsed,
)
from punchlist.adapters.analyzers.tool import SCRIPTS, AnalyzerTool, Kit, find_files
from punchlist.intake.raw_finding import RawFinding, shorten_raw
from punchlist.intake.source_files import Sources, make_fix
from punchlist.model.finding.finding import Fix, RefusedEntry, Safety, Splice
from punchlist.model.finding.severity import Severity
from punchlist.model.patch.text_positions import UTF16
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

SETTINGS = (
    *(f"eslint.config.{end}" for end in ("js", "mjs", "cjs", "ts", "mts", "cts")),
    *(f".eslintrc{end}" for end in ("", ".js", ".cjs", ".json", ".yml", ".yaml")),
)
_PROGRAMS = ("js", "cjs", "yml", "yaml")  # YAML is not parsed here: it may load some
_LOADING = ("extends", "plugins", "parser", "processor")
_RULES = "https://eslint.org/docs/latest/rules/"
_SYNTAX = "syntax"
_RANKS = {1: (Severity.MINOR, "warning"), 2: (Severity.MAJOR, "error")}


class EslintEdit(Struct, frozen=True):
    range: tuple[int, int]
    text: str = ""


class EslintSuggestion(Struct, frozen=True):
    fix: EslintEdit
    desc: str = ""


class EslintMessage(Struct, frozen=True, rename="camel"):
    message: str
    rule_id: str | None = None
    severity: int = 2
    fatal: bool = False
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    fix: EslintEdit | None = None
    suggestions: list[EslintSuggestion] | None = None


class FileReport(Struct, frozen=True, rename="camel"):
    file_path: str
    messages: list[msgspec.Raw]


@report_parser("eslint")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    files = decode_json(output, list[msgspec.Raw])
    analysis = join_analyses(tool, [_parse_file(bytes(raw), sources, tool) for raw in files])
    return analysis if files else replace(analysis, looked=frozenset())


def _parse_file(raw: bytes, sources: Sources, tool: str) -> Analysis:
    try:
        report = decode_json(raw, FileReport)
    except msgspec.DecodeError as error:
        return Analysis(refused=(RefusedEntry(tool, shorten_raw(raw), str(error)),), unread=("",))
    reader = _EslintReader(report.file_path, sources)
    analysis = collect_findings(tool, report.messages, reader.make_note, sources)
    path = sources.tracked_path(report.file_path)
    if reader.ignored:
        analysis = _leave_out(analysis, path, reader.ignored)
    else:
        analysis = replace(analysis, looked=frozenset({path} - {""}))
    return with_unparsed(analysis, lambda rule: rule == _SYNTAX)


def _leave_out(analysis: Analysis, path: str, why: str) -> Analysis:
    """Return the analysis of a file that eslint ignored: by its configuration, or by default."""
    if not path:
        return replace(analysis, looked=frozenset())
    if "by default" in why:
        reason = f"it says: {why.partition('. ')[0]}"
        return replace(analysis, missed={path: reason}, unread=(path,), looked=frozenset())
    return replace(analysis, left_out=(path,), left_out_by="its configuration", looked=frozenset())


class _EslintReader:
    """Parses the messages about one file."""

    def __init__(self, path: str, sources: Sources) -> None:
        self._path = path
        self._sources = sources
        self._positions = sources.reported_positions(path)
        self.ignored = ""
        """Why eslint did not look at the file, in its words."""

    def make_note(self, raw: bytes) -> RawFinding | None:
        entry = decode_json(raw, EslintMessage)
        general = entry.rule_id is None and entry.line is None
        if general and entry.message.startswith("File ignored"):
            self.ignored = entry.message
            return None
        severity, word = _RANKS.get(entry.severity, _RANKS[2])
        fatal = entry.fatal or (entry.rule_id is None and entry.severity == max(_RANKS))
        fix, marks = self._make_fix(entry)
        rule = entry.rule_id or (_SYNTAX if fatal else "")
        return RawFinding(
            path=self._path,
            title=entry.message,
            severity=Severity.CRITICAL if fatal else severity,
            severity_word=word,
            rule=rule,
            url=f"{_RULES}{rule}" if entry.rule_id and "/" not in rule else "",
            category="correctness" if fatal else "",
            line=entry.line,
            end_line=entry.end_line,
            column=self._find_column(entry.line, entry.column),
            end_column=self._find_column(entry.end_line, entry.end_column),
            suggestion=entry.suggestions[0].desc if entry.suggestions else "",
            fix=fix,
            marks=marks,
        )

    def _find_column(self, line: int | None, column: int | None) -> int | None:
        if self._positions is None or column is None:
            return column
        return self._positions.convert_column(line, column - 1, UTF16)

    def _make_fix(self, entry: EslintMessage) -> tuple[Fix | None, tuple[str, ...]]:
        """Return the message's fix, or its only suggestion for display."""
        if entry.fix:
            return make_fix([self._make_splice(entry.fix)], Safety.SAFE)
        match entry.suggestions:
            case [only]:
                return make_fix([self._make_splice(only.fix)], Safety.DISPLAY, only.desc)
            case _:
                return None, ()

    def _make_splice(self, edit: EslintEdit) -> Splice | None:
        if self._positions is None:
            return None
        start, end = (
            self._positions.convert_offset(units, UTF16, marked=False) for units in edit.range
        )
        return self._sources.make_splice(self._path, start, end, edit.text)


class Eslint(AnalyzerTool):
    name = "eslint"
    suffixes = (*SCRIPTS, ".vue", ".svelte", ".astro")
    steered_by = (".eslintrc*", "eslint.config.*", ".eslintignore", "package.json")
    suppressed_by = (r"(?://|/\*)\s*eslint-disable",)
    unsuppressed = ("--no-inline-config",)
    configuration = ConfigurationKeys(
        files={".eslintrc.json": "", "package.json": "eslintConfig"},
        programs=("eslint.config.*", ".eslintrc", *(f".eslintrc.{end}" for end in _PROGRAMS)),
        code=tuple(f"{part}{key}" for part in ("", "overrides.*.") for key in _LOADING),
        harmless=("eslint:",),
    )
    borrows = ("node_modules",)
    options = ("--format=json", "--no-color", "--no-error-on-unmatched-pattern")
    parser = staticmethod(parse)

    def group_files(
        self, files: Sequence[str], tree: Tree
    ) -> list[tuple[tuple[str, ...], list[str]]]:
        """Give eslint files with a dot in front, which it ignores by default where the project's
        configuration is of the old style.
        """
        flat = bool(find_files(tree, *(name for name in SETTINGS if name[0] != ".")))
        hidden = [path for path in files if not flat and "/." in f"/{path}"]
        others = [path for path in files if path not in frozenset(hidden)]
        groups = [(("--ignore-pattern=!.*",), hidden), ((), others)]
        return [(options, group) for options, group in groups if group]

    def find_obstacle(self, tree: Tree, kit: Kit) -> str:
        known = kit.configurations.get(self.name)
        loaded = (*self.steered_by, *(known.named if known else ()))
        return find_reviewed_packages(tree, kit.checkout, loaded)

    def skip_reason(self, tree: Tree) -> str:
        configured = self.asked or configures_eslint(tree)
        return "" if configured else "the project has no settings for eslint"


def configures_eslint(tree: Tree) -> bool:
    package = tree.text("package.json") or ""
    return bool(find_files(tree, *SETTINGS)) or '"eslintConfig"' in package
