"""ESLint: JavaScript and TypeScript, with the project's own rules and plugins."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from punchlist.adapters.analyzers.entries import decoded, gathered, joined, report_of, with_unparsed
from punchlist.adapters.analyzers.tool import Kit, Tool, named
from punchlist.adapters.process.run import Ran
from punchlist.intake.raw_finding import Note, shortened
from punchlist.intake.source_files import Sources, proposed
from punchlist.model.finding.finding import Fix, Refused, Safety, Splice
from punchlist.model.finding.severity import Severity
from punchlist.model.patch.text_positions import UTF16, Positions
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

SETTINGS = (
    *(f"eslint.config.{end}" for end in ("js", "mjs", "cjs", "ts", "mts", "cts")),
    *(f".eslintrc{end}" for end in ("", ".js", ".cjs", ".json", ".yml", ".yaml")),
)
_RULES = "https://eslint.org/docs/latest/rules/"
_SYNTAX = "syntax"
_RANKS = {1: (Severity.MINOR, "warning"), 2: (Severity.MAJOR, "error")}


class Edit(Struct, frozen=True):
    range: tuple[int, int]
    text: str = ""


class Suggestion(Struct, frozen=True):
    fix: Edit
    desc: str = ""


class Message(Struct, frozen=True, rename="camel"):
    message: str
    rule_id: str | None = None
    severity: int = 2
    fatal: bool = False
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    fix: Edit | None = None
    suggestions: list[Suggestion] | None = None


class FileReport(Struct, frozen=True, rename="camel"):
    file_path: str
    messages: list[msgspec.Raw]


class Eslint(Tool):
    name = "eslint"
    suffixes = (
        ".js",
        ".jsx",
        ".mjs",
        ".cjs",
        ".ts",
        ".tsx",
        ".mts",
        ".cts",
        ".vue",
        ".svelte",
        ".astro",
    )
    steered_by = (".eslintrc*", "eslint.config.*", ".eslintignore", "package.json")
    suppressed_by = (r"(?://|/\*)\s*eslint-disable",)
    unsuppressed = ("--no-inline-config",)
    borrows = ("node_modules",)

    def idle(self, tree: Tree) -> str:
        configured = named(tree, *SETTINGS) or '"eslintConfig"' in (tree.text("package.json") or "")
        return "" if configured or self.asked else "the project has no settings for eslint"

    def command(
        self, program: Sequence[str], tree: Tree, kit: Kit
    ) -> tuple[str, ...]:  # the port's shape
        return (
            *program,
            "--format=json",
            "--no-color",
            "--no-error-on-unmatched-pattern",
            *self.args,
            "--",
        )

    def read(self, ran: Ran, sources: Sources) -> Analysis:
        return parse(ran.stdout, sources)


@report_of("eslint")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    files = decoded(output, list[msgspec.Raw])
    return joined(tool, [_file(bytes(raw), sources, tool) for raw in files])


def _file(raw: bytes, sources: Sources, tool: str) -> Analysis:
    try:
        report = decoded(raw, FileReport)
    except msgspec.DecodeError as error:
        return Analysis(refused=(Refused(tool, shortened(raw), str(error)),), unread=("",))
    reader = _Reader(report.file_path, sources)
    return with_unparsed(
        gathered(tool, report.messages, reader.note, sources), lambda rule: rule == _SYNTAX
    )


class _Reader:
    """Reads the messages about one file."""

    def __init__(self, path: str, sources: Sources) -> None:
        self._path = path
        self._sources = sources
        self._positions: Positions | None = sources.positions_of(path)

    def note(self, raw: bytes) -> Note | None:
        entry = decoded(raw, Message)
        if (
            entry.rule_id is None
            and entry.line is None
            and entry.message.startswith("File ignored")
        ):
            return None
        severity, word = _RANKS.get(entry.severity, _RANKS[2])
        fatal = entry.fatal or (entry.rule_id is None and entry.severity == max(_RANKS))
        fix, marks = self._fix(entry)
        rule = entry.rule_id or (_SYNTAX if fatal else "")
        return Note(
            path=self._path,
            title=entry.message,
            severity=Severity.CRITICAL if fatal else severity,
            severity_word=word,
            rule=rule,
            url=f"{_RULES}{rule}" if entry.rule_id and "/" not in rule else "",
            category="correctness" if fatal else "",
            line=entry.line,
            end_line=entry.end_line,
            column=self._column(entry.line, entry.column),
            end_column=self._column(entry.end_line, entry.end_column),
            suggestion=entry.suggestions[0].desc if entry.suggestions else "",
            fix=fix,
            marks=marks,
        )

    def _column(self, line: int | None, column: int | None) -> int | None:
        if self._positions is None or column is None:
            return column
        return self._positions.column(line, column - 1, UTF16)

    def _fix(self, entry: Message) -> tuple[Fix | None, tuple[str, ...]]:
        """Its own fix; or its one suggestion, which eslint shows and never applies."""
        if entry.fix:
            return proposed([self._splice(entry.fix)], Safety.SAFE)
        if entry.suggestions and len(entry.suggestions) == 1:
            return proposed(
                [self._splice(entry.suggestions[0].fix)], Safety.DISPLAY, entry.suggestions[0].desc
            )
        return None, ()

    def _splice(self, edit: Edit) -> Splice | None:
        if self._positions is None:
            return None
        start, end = (self._positions.of_units(units, UTF16, marked=False) for units in edit.range)
        return self._sources.splice(self._path, start, end, edit.text)
