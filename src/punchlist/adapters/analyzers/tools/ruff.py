"""Ruff: lints Python, with fixes of several edits each."""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.analyzers.configuration.declared import ConfigurationKeys
from punchlist.adapters.analyzers.entries import (
    collect_entries,
    decode_json,
    list_unread,
    report_parser,
    with_unparsed,
    with_unread,
)
from punchlist.adapters.analyzers.identity import identify_binary
from punchlist.adapters.analyzers.looked import believe_names, split_records
from punchlist.adapters.analyzers.tool import AnalyzerTool, Kit
from punchlist.adapters.analyzers.tools.python_linters import find_ignored, find_ignored_by_file
from punchlist.adapters.analyzers.tools.python_project import is_test_code, oldest_python
from punchlist.adapters.analyzers.tools.ruff_configuration import RuffConfigurations
from punchlist.adapters.analyzers.tools.ruff_rules import (
    ALL,
    ALL_IGNORE,
    BUGS,
    BUGS_IGNORE,
    SECURITY,
    rank_rule,
)
from punchlist.adapters.process.run import ProcessResult
from punchlist.intake.raw_finding import RawFinding
from punchlist.intake.source_files import Sources, make_fix
from punchlist.model.finding.finding import Fix, Safety, Splice
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.severity import Severity
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

SYNTAX = "invalid-syntax"
CELL_FIX = "a fix inside a notebook cell is left to a person"
_OLDEST, _NEWEST = 7, 14
_SAFETY = {"safe": Safety.SAFE, "unsafe": Safety.UNSAFE}
_UNREAD = late_pattern(r"^warning: (?P<line>Failed to lint (?P<file>.*))$", re.MULTILINE)
_RECORD = late_pattern(r"^\[\d{4}-\d\d-\d\d\]\[[\d:]+\]\[", re.MULTILINE)
_CHECKING = late_pattern(r"\S+ Checking: (?P<file>.+)", re.DOTALL)
_CHECKED = late_pattern(r"\S+ Checked (?P<count>\d+) files? ")
_QUIET = frozenset(("-q", "--quiet", "-s", "--silent", "-v", "--verbose"))
"""Arguments that change what ruff says besides its report."""
_BROKEN = frozenset({SYNTAX, "E902", "E999"})


class RuffPosition(Struct, frozen=True):
    row: int
    column: int


class RuffEdit(Struct, frozen=True):
    content: str | None
    location: RuffPosition
    end_location: RuffPosition


class RuffFix(Struct, frozen=True):
    edits: list[RuffEdit]
    applicability: str = ""
    message: str | None = None


class RuffEntry(Struct, frozen=True):
    """One diagnostic of `--output-format json`; older versions give a syntax error no code."""

    filename: str
    message: str
    location: RuffPosition | None
    end_location: RuffPosition | None = None
    code: str | None = None
    cell: int | None = None
    fix: RuffFix | None = None
    url: str | None = None
    severity: str = ""


class RuffRules(Struct, frozen=True):
    """Which rules ruff is asked for: `kind` only where the project does not configure it."""

    kind: str = "correctness"
    select: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


class Ruff(AnalyzerTool):
    name = "ruff"
    suffixes = (".py", ".pyi", ".pyw", ".ipynb")
    steered_by = ("ruff.toml", ".ruff.toml", "pyproject.toml")
    suppressed_by = (
        r"#\s*(?:(?:ruff|flake8):\s*)?noqa",
        r"#\s*ruff:\s*(?:ignore|disable|file-ignore)",
        r"#\s*isort:\s*skip",
    )
    unsuppressed = ("--ignore-noqa",)
    configuration = ConfigurationKeys(
        files={"ruff.toml": "", ".ruff.toml": "", "pyproject.toml": "tool.ruff"}, named=("extend",)
    )
    exits = frozenset({0})
    # A project's own settings may say fix = true; an analyzer never writes. --verbose: it says of
    # each file that it checks it.
    options = tuple(
        "check --output-format=json --no-cache --exit-zero --force-exclude"
        " --no-fix --no-fix-only --verbose".split()
    )
    log = _RECORD

    def __init__(self, rules: RuffRules | None = None, args: Sequence[str] = ()) -> None:
        self._rules = rules or RuffRules()
        super().__init__([each for each in args if each not in _QUIET])

    def find_program(self, kit: Kit) -> tuple[str, ...]:
        return kit.find_bundled(self.name)

    def identify_program(self, program: Sequence[str]) -> str:
        return identify_binary(program[0])

    def project_options(self, tree: Tree, kit: Kit) -> tuple[str, ...]:
        configured = bool(RuffConfigurations(tree).tables)
        asked = self._rules
        selected = (f"--select={','.join(asked.select)}",) if asked.select else ()
        more = (f"--extend-select={','.join(asked.also)}",) if asked.also else ()
        if configured:
            return (*selected, *more)
        # Settings of folders above the tree, and of the user, are not the project's.
        rules = (*(selected or _choose_rules(tree, asked)), *more)
        oldest = oldest_python(tree)
        if oldest is None:
            return ("--isolated", *rules)
        target = min(max(oldest, _OLDEST), _NEWEST)
        return ("--isolated", *rules, f"--target-version=py3{target}")

    def group_files(
        self, files: Sequence[str], tree: Tree
    ) -> list[tuple[tuple[str, ...], list[str]]]:
        """Switch ruff's own list of folders to leave out off, but not the one of a project that
        sets `exclude`; look for insecure code outside of tests where the project has no settings.
        """
        chosen = RuffConfigurations(tree)
        groups: dict[tuple[str, ...], list[str]] = {}
        for path in files:
            options = () if chosen.sets_exclude(path) else ("--config=exclude=[]",)
            if not chosen.tables and not self._rules.select:
                options = (*options, *self._choose_security(path))
            groups.setdefault(options, []).append(path)
        return list(groups.items())

    def _choose_security(self, path: str) -> tuple[str, ...]:
        if not is_test_code(path):
            return (f"--extend-select={','.join(SECURITY)}",)
        # Ruff's own defaults have some; a rule that the user names is more than this group.
        return () if "S" in self._rules.also else ("--ignore=S",)

    def find_exclusion(self, tree: Tree) -> str:
        return RuffConfigurations(tree).find_excluding()

    def parse_output(self, ran: ProcessResult, sources: Sources) -> Analysis:
        unread = list_unread(self.name, ran.stderr, _UNREAD, sources)
        analysis = with_unread(parse(ran.stdout, sources), unread)
        return replace(analysis, looked=_list_looked(ran.stderr, sources))


def _list_looked(log: bytes, sources: Sources) -> frozenset[str] | None:
    names: list[str] = []
    count = None
    for record in split_records(log, _RECORD):
        if found := _CHECKING.match(record):
            known = sources.tracked_path(found["file"])
            # A line that is no record, such as a warning, may follow the name.
            names.append(found["file"] if known else found["file"].partition("\n")[0])
        elif found := _CHECKED.match(record):
            count = int(found["count"])
    return believe_names(names, sources, count)


def _choose_rules(tree: Tree, asked: RuffRules) -> tuple[str, ...]:
    """Return the options for a project without settings for ruff, besides ruff's own defaults; what
    it says to flake8, isort and pylint is respected. Of the rules that we leave out, those that the
    user names are not.
    """
    if asked.kind == "all":
        left_out = [rule for rule in ALL_IGNORE.split(",") if rule not in asked.also]
        return (f"--extend-select={BUGS},{ALL}", f"--ignore={','.join(left_out)}")
    left_out = [rule for rule in BUGS_IGNORE.split(",") if rule not in asked.also]
    ignored = [*left_out, *find_ignored(tree)]
    per_file = [f"--per-file-ignores={each}" for each in find_ignored_by_file(tree)]
    return (f"--extend-select={BUGS}", f"--ignore={','.join(ignored)}", *per_file)


@report_parser("ruff")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    entries = decode_json(output, list[msgspec.Raw])
    analysis = collect_entries(tool, entries, RuffEntry, _make_note, sources)
    return with_unparsed(analysis, _BROKEN.__contains__)


def _make_note(entry: RuffEntry, sources: Sources) -> RawFinding:
    rule = entry.code or SYNTAX
    severity, category = (Severity.CRITICAL, "correctness") if rule == SYNTAX else rank_rule(rule)
    start, end = entry.location, entry.end_location
    fix, marks = _make_fix(entry, sources)
    return RawFinding(
        path=entry.filename,
        title=entry.message,
        severity=severity,
        rule=rule,
        # Rows of a notebook count within a cell; the file itself has no such line.
        line=start.row if start and entry.cell is None else None,
        column=start.column if start and entry.cell is None else None,
        end_line=end.row if end else None,
        end_column=end.column if end else None,
        detail=f"cell {entry.cell}, line {start.row}" if start and entry.cell is not None else "",
        category=category,
        url=entry.url or "",
        severity_word=entry.severity,
        suggestion=(entry.fix.message or "") if entry.fix else "",
        fix=fix,
        marks=marks,
    )


def _make_fix(entry: RuffEntry, sources: Sources) -> tuple[Fix | None, tuple[str, ...]]:
    if entry.fix is None or not entry.fix.edits:
        return None, ()
    if entry.cell is not None or entry.filename.endswith(".ipynb"):
        return None, (CELL_FIX,)
    splices = [_make_splice(entry.filename, edit, sources) for edit in entry.fix.edits]
    safety = _SAFETY.get(entry.fix.applicability.casefold(), Safety.DISPLAY)
    return make_fix(splices, safety, entry.fix.message or "")


def _make_splice(filename: str, edit: RuffEdit, sources: Sources) -> Splice | None:
    positions = sources.reported_positions(filename)
    if positions is None:
        return None
    start = positions.offset(edit.location.row, edit.location.column)
    end = positions.offset(edit.end_location.row, edit.end_location.column)
    return sources.make_splice(filename, start, end, edit.content or "")
