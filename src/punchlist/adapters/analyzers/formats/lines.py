"""Reports of lines: `file:line: message`, with or without a column, a severity word and a rule."""

import re

import msgspec

from punchlist.intake.raw_finding import Note, shortened
from punchlist.intake.source_files import Sources
from punchlist.model.finding.finding import Refused
from punchlist.model.finding.severity import Severity, severity_of
from punchlist.model.patch.line_table import LINE_END
from punchlist.ports.analyzer import Analysis

_WORDS = (
    "fatal error|fatal|critical|blocker|error|high|warning|warn|medium|"
    "note|information|info|notice|hint|style|convention|refactor|low"
)
_LINE = re.compile(
    r"(?P<path>(?:[A-Za-z]:[\\/])?[^:\s][^:]*?)"
    r"(?:\((?P<line2>\d+)(?:,(?P<column2>\d+))?\):?|:(?P<line>\d+)(?:[:.](?P<column>\d+))?(?:-\d+(?:[:.]\d+)?)?:?)"
    rf"\s*(?:\[?(?P<word>{_WORDS})\b\]?(?:\[(?P<rule>[\w./-]+)\])?\s*:?)?"
    r"\s*(?:(?P<code>[A-Z]{1,8}\d{2,5})\b:?\s)?\s*(?P<message>\S.*?)(?:\s+[\[(](?P<tail>[a-z][\w./@-]+)[\])])?\s*$",
    re.IGNORECASE,
)
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def parse(
    output: bytes, sources: Sources, tool: str = "lines", severity: Severity | None = None
) -> Analysis:
    """A finding for every line that names a place; indented lines below it are its detail, all
    others are kept in one refusal.
    """
    notes: list[Note] = []
    odd: list[str] = []
    below = False
    for line in LINE_END.split(_ANSI.sub("", output.decode("utf-8", "replace"))):
        found = _LINE.fullmatch(line.rstrip())
        below = bool(found) or (below and line[:1].isspace())
        if found:
            notes.append(_note(found, severity))
        elif below and line.strip():
            notes[-1] = msgspec.structs.replace(
                notes[-1], detail=f"{notes[-1].detail}\n{line.strip()}".strip()
            )
        elif line.strip():
            odd.append(line)
    findings = tuple(sources.finding(tool, number, note) for number, note in enumerate(notes, 1))
    refused = (
        (Refused(tool, shortened("\n".join(odd).encode()), "these lines name no file and line"),)
        if odd
        else ()
    )
    return Analysis(findings=findings, refused=refused)


def _note(found: re.Match[str], severity: Severity | None) -> Note:
    word = (found["word"] or "").casefold()
    rank, known = severity_of(word.split()[0] if word else "")
    column = found["column"] or found["column2"]
    return Note(
        path=found["path"],
        title=found["message"],
        severity=severity or rank,
        severity_word=word,
        rule=found["rule"] or found["code"] or found["tail"] or "",
        line=int(found["line"] or found["line2"]),
        column=int(column) if column else None,
        marks=() if known or severity else ("no severity was given",),
    )
