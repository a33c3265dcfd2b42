"""Pyright and basedpyright: types of a Python project."""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.analyzers.configuration.declared import ConfigurationKeys
from punchlist.adapters.analyzers.entries import collect_entries, decode_json, report_parser
from punchlist.adapters.analyzers.tools.typechecker import TypeChecker, rank_severity
from punchlist.intake.raw_finding import RawFinding, split_headline
from punchlist.intake.source_files import Sources
from punchlist.model.patch.text_positions import UTF16, Positions
from punchlist.ports.analyzer import Analysis

_DOCS = "https://github.com/microsoft/pyright/blob/main/docs/configuration.md"


class PyrightPosition(Struct, frozen=True):
    line: int
    character: int = 0


class PyrightRange(Struct, frozen=True):
    start: PyrightPosition
    end: PyrightPosition


class PyrightEntry(Struct, frozen=True):
    message: str
    severity: str
    file: str = ""
    range: PyrightRange | None = None
    rule: str | None = None


class PyrightReport(Struct, frozen=True, rename="camel"):
    general_diagnostics: list[msgspec.Raw]


@report_parser("pyright")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    report = decode_json(output, PyrightReport)
    return collect_entries(tool, report.general_diagnostics, PyrightEntry, _make_note, sources)


def _make_note(entry: PyrightEntry, sources: Sources) -> RawFinding:
    positions = sources.reported_positions(entry.file)
    start, end = (entry.range.start, entry.range.end) if entry.range else (None, None)
    rule = entry.rule or ("syntax" if entry.severity == "error" else "")
    title, detail = split_headline(entry.message)
    return RawFinding(
        path=entry.file,
        title=title,
        detail=detail,
        severity=rank_severity(entry.severity, rule),
        severity_word=entry.severity,
        rule=rule,
        category="typing",
        url=f"{_DOCS}#{entry.rule}" if entry.rule else "",
        line=start.line + 1 if start else None,
        end_line=end.line + 1 if end else None,
        column=_find_column(start, positions),
        end_column=_find_column(end, positions),
    )


def _find_column(place: PyrightPosition | None, positions: Positions | None) -> int | None:
    if place is None or positions is None:
        return None
    column = positions.convert_column(place.line + 1, place.character, UTF16)
    return None if column is None else positions.skip_mark(place.line + 1, column)


class Pyright(TypeChecker):
    name = "pyright"
    files = ("pyrightconfig.json",)
    steered_by = (*files, "pyproject.toml", ".basedpyright/**")
    configuration = ConfigurationKeys(
        files={"pyrightconfig.json": "", "pyproject.toml": "tool.pyright"},
        named=("extends", "baselineFile"),
        reads=("venvPath", "typeshedPath", "stubPath", "extraPaths", "include"),
        anywhere=False,
    )
    suppressed_by = (r"#\s*type:\s*ignore", r"#\s*pyright:\s*(?:ignore|basic|report\w+=false)")
    options = ("--outputjson",)
    reach_known = False  # its report has the number of files, and not their names
    python_option = "--pythonpath"
    parser = staticmethod(parse)


class Basedpyright(Pyright):
    name = "basedpyright"
    configuration = replace(
        Pyright.configuration,
        files={"pyrightconfig.json": "", "pyproject.toml": "tool.basedpyright"},
    )
