"""Line reports: `file:line: message`, optionally with column, severity word and rule."""

import re

from msgspec.structs import replace

from punchlist.intake.raw_finding import RawFinding, shorten_raw
from punchlist.intake.source_files import Sources
from punchlist.model.finding.finding import RefusedEntry
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.severity import Severity, parse_severity
from punchlist.model.patch.line_table import LINE_END
from punchlist.ports.analyzer import Analysis

_WORDS = (
    "fatal error|fatal|critical|blocker|error|high|warning|warn|medium|"
    "note|information|info|notice|hint|style|convention|refactor|low"
)
_LINE = late_pattern(
    r"(?P<path>(?:[A-Za-z]:[\\/])?[^:\s][^:]*?)"
    r"(?:\((?P<line2>\d+)(?:,(?P<column2>\d+))?\):?|:(?P<line>\d+)(?:[:.](?P<column>\d+))?(?:-\d+(?:[:.]\d+)?)?:?)"
    rf"\s*(?:\[?(?P<word>{_WORDS})\b\]?(?:\[(?P<rule>[\w./-]+)\])?\s*:?)?"
    r"\s*(?:(?P<code>[A-Z]{1,8}\d{2,5})\b:?\s)?\s*(?P<message>\S.*?)(?:\s+[\[(](?P<tail>[a-z][\w./@-]+)[\])])?\s*$",
    re.IGNORECASE,
)
_ANSI = late_pattern(r"\x1b\[[0-9;]*[A-Za-z]")


def parse(
    output: bytes, sources: Sources, tool: str = "lines", severity: Severity | None = None
) -> Analysis:
    """Parse lines that name a place, with the indented lines below; refuse all others as one."""
    notes: list[RawFinding] = []
    odd: list[str] = []
    below = False
    for line in LINE_END.split(_ANSI.sub("", output.decode("utf-8", "replace"))):
        found = _LINE.fullmatch(line.rstrip())
        below = bool(found) or (below and line[:1].isspace())
        if found:
            notes.append(_make_note(found, severity))
        elif below and line.strip():
            detail = f"{notes[-1].detail}\n{line.strip()}".strip()
            notes[-1] = replace(notes[-1], detail=detail)
        elif line.strip():
            odd.append(line)
    findings = (sources.make_finding(tool, number, note) for number, note in enumerate(notes, 1))
    raw = shorten_raw("\n".join(odd).encode())
    refused = (RefusedEntry(tool, raw, "these lines name no file and line"),) if odd else ()
    return Analysis(findings=tuple(findings), refused=refused)


def _make_note(found: re.Match[str], severity: Severity | None) -> RawFinding:
    word = (found["word"] or "").casefold()
    rank, known = parse_severity(word.split()[0] if word else "")
    column = found["column"] or found["column2"]
    return RawFinding(
        path=found["path"],
        title=found["message"],
        severity=severity or rank,
        severity_word=word,
        rule=found["rule"] or found["code"] or found["tail"] or "",
        line=int(found["line"] or found["line2"]),
        column=int(column) if column else None,
        marks=() if known or severity else ("no severity was given",),
    )
