"""ShellCheck: shell scripts, by name or by their first line."""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from punchlist.adapters.analyzers.entries import decoded, gathered, report_of, with_unparsed
from punchlist.adapters.analyzers.tool import Kit, Tool
from punchlist.adapters.process.run import Ran
from punchlist.intake.raw_finding import Note
from punchlist.intake.source_files import Sources, proposed
from punchlist.model.finding.finding import Fix, Safety, Splice
from punchlist.model.finding.severity import Severity
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

_SHEBANG = re.compile(r"#!.*\b(?:ba|da|k|a)?sh\b")
_RANKS = {
    "error": Severity.MAJOR,
    "warning": Severity.MAJOR,
    "info": Severity.MINOR,
    "style": Severity.MINOR,
}
_PARSER = range(1000, 2000)
_STOPPED = frozenset({"SC1070", "SC1071", "SC1072", "SC1088", "SC1089"})
"""With these it says that it read no further, or not at all."""


class Replacement(Struct, frozen=True, rename="camel"):
    line: int
    column: int
    end_line: int
    end_column: int
    replacement: str


class Replacements(Struct, frozen=True):
    replacements: list[Replacement]


class Comment(Struct, frozen=True, rename="camel"):
    file: str
    line: int
    column: int
    level: str
    code: int
    message: str
    end_line: int | None = None
    end_column: int | None = None
    fix: Replacements | None = None


class Report(Struct, frozen=True):
    comments: list[msgspec.Raw]


class Shellcheck(Tool):
    name = "shellcheck"
    suffixes = (".sh", ".bash", ".dash", ".ksh", ".bats")
    steered_by = (".shellcheckrc", "shellcheckrc")
    suppressed_by = (r"#\s*shellcheck\s+disable",)
    unsuppressed = ()

    def wants(self, path: str, tree: Tree) -> bool:
        if path.endswith(self.suffixes):
            return True
        name = path.rpartition("/")[2]
        return "." not in name and bool(_SHEBANG.match((tree.text(path) or "")[:100]))

    def command(
        self, program: Sequence[str], tree: Tree, kit: Kit
    ) -> tuple[str, ...]:  # the port's shape
        return (*program, "--format=json1", *self.args, "--")

    def read(self, ran: Ran, sources: Sources) -> Analysis:
        return parse(ran.stdout, sources)


@report_of("shellcheck")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    """The comments of a `json1` report, in which a tab is one column."""
    report = decoded(output, Report)
    analysis = gathered(
        tool, report.comments, lambda raw: _note(decoded(raw, Comment), sources), sources
    )
    return with_unparsed(analysis, _STOPPED.__contains__)


def _note(entry: Comment, sources: Sources) -> Note:
    fix, marks = _fix(entry, sources)
    unparsed = entry.code in _PARSER and entry.level == "error"
    return Note(
        path=entry.file,
        title=entry.message.strip(),
        severity=Severity.CRITICAL if unparsed else _RANKS.get(entry.level, Severity.MAJOR),
        severity_word=entry.level,
        rule=f"SC{entry.code}",
        category="style" if entry.level == "style" else "correctness",
        url=f"https://www.shellcheck.net/wiki/SC{entry.code}",
        line=entry.line,
        end_line=entry.end_line,
        column=entry.column,
        end_column=entry.end_column,
        fix=fix,
        marks=marks,
    )


def _fix(entry: Comment, sources: Sources) -> tuple[Fix | None, tuple[str, ...]]:
    if entry.fix is None:
        return None, ()
    return proposed(
        [_splice(entry.file, part, sources) for part in entry.fix.replacements], Safety.UNSAFE
    )


def _splice(file: str, part: Replacement, sources: Sources) -> Splice | None:
    positions = sources.positions_of(file)
    if positions is None:
        return None
    start, end = (
        positions.offset(part.line, part.column),
        positions.offset(part.end_line, part.end_column),
    )
    return sources.splice(file, start, end, part.replacement)
