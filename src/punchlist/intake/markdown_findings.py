"""Markdown findings: severities as headings, findings as list items, fields as bullets below."""

import re
from collections.abc import Iterator
from enum import Enum, auto

from msgspec import Struct

from punchlist.intake.json_entry import parse_entry
from punchlist.intake.raw_finding import Unreadable, shorten_raw
from punchlist.intake.source_files import Sources
from punchlist.model.finding.finding import Finding, RefusedEntry
from punchlist.model.finding.severity import parse_severity

_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*)")
_BULLET = re.compile(
    r"(?P<indent>\s*)(?P<mark>\d{1,6}[.)]|[-*+•‣\u2013])\s+(?:\[[ xX]\]\s+)?(?P<text>.*)"
)
_FIELD = re.compile(
    r"(?:\*\*|__)?(?P<name>[A-Za-z][A-Za-z"
    r" _-]{1,24}?)(?:\*\*|__)?\s*:\s*(?:\*\*|__)?\s*(?P<value>.*)"
)
_CATEGORY = re.compile(
    r"(?:\*\*|__)?\[(?P<name>[^\[\]]{1,80})\](?!\()\s*:?\s*(?:\*\*|__)?\s*:?\s*(?P<rest>.*)"
)
_BOLD_CATEGORY = re.compile(
    r"(?:\*\*|__)(?P<name>[^*_:]{1,80}):(?:\*\*|__)\s*(?P<rest>.+)|(?:\*\*|__)(?P<name2>[^*_:]{1,80})(?:\*\*|__)\s*:\s*(?P<rest2>.+)"
)
_NONE = re.compile(
    r"[_*(]*(?:none|nothing|n/?a|no\b[\w\s-]{0,60}?(?:issues?|findings?|problems?)\b.{0,60})[\s.)_*]*",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?:#?\d{1,6}[.):]|#\d{1,6}\b)\s*")
_OTHER = re.compile(
    r"summary|recommendation|conclusion|verdict|strength|positive|next"
    r" steps|overview|statistics|scope|acceptance",
    re.IGNORECASE,
)
_FENCE = re.compile(r"\s*(```|~~~)")
_CELLS = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r":?-*:?")
_PLACE = re.compile(r"`?(?P<place>[\w./-]*\w\.\w{1,8}:\d{1,9}(?:-\d{1,9})?)`?")
"""A file with a line inside a title."""
_RANKED = re.compile(r"[\[(](?P<word>[^\[\]()]{1,40})[\])]")
"""A word in brackets, which may be a severity."""
_NAME = re.compile(r"code review findings - round \d", re.IGNORECASE)
"""A document's own heading, which may name anything."""

_FIELDS = {
    word: field
    for field, words in {
        "file": "file, files, location, path, where",
        "line": "line, lines",
        "detail": "problem, issue, description, detail, details, evidence",
        "impact": "impact, why, why it matters, risk",
        "suggestion": "fix, suggestion, suggested fix, recommendation, remediation",
        "severity": "severity, priority",
        "category": "category, type",
        "rule": "rule",
        "id": "id",
        "status": "status",
        "title": "title",
        "url": "url, link",
        # only in our own reports
        "aside": "item, merged, proof, filed, history, flagged, commit",
    }.items()
    for word in words.split(", ")
}
"""The fields by the words for them."""
_COLUMNS = {**_FIELDS, "finding": "title", "summary": "title", "message": "detail",
            "file:line": "file", "line(s)": "line"}  # fmt: skip
"""The fields by the headings of columns for them."""
_SHORT = tuple("file line severity category rule id status title url".split())
"""Fields of one line; lines below them belong to the detail."""


class _Section(Enum):
    """Kind of section: BEFORE any known heading, SEVERITY by heading, OTHER without findings."""

    BEFORE = auto()
    SEVERITY = auto()
    OTHER = auto()


class _Draft(Struct):
    """A finding while its lines are read."""

    fields: dict[str, list[str]]
    indent: int
    field: str = "detail"
    heading: bool = False
    """It began as a heading: it is a finding only if it names a file."""

    @property
    def is_finding(self) -> bool:
        return not self.heading or "file" in self.fields


class StrayText(Struct, frozen=True):
    """Text under a severity that is not in a list item: it may be a finding."""

    text: str
    severity: str


Part = dict[str, str] | StrayText


def is_findings(text: str) -> bool:
    """Return whether the text has a severity heading, or findings with files."""
    headings = [found[2] for line in text.splitlines() if (found := _HEADING.fullmatch(line))]
    if any(_severity_word(heading) for heading in headings):
        return True
    return any(isinstance(part, dict) and "file" in part for part in split_parts(text))


def read_markdown(
    text: str, sources: Sources, name: str
) -> tuple[tuple[Finding, ...], tuple[RefusedEntry, ...]]:
    """Return the findings of the reviewer `name`, and what could not be read."""
    findings: list[Finding] = []
    refused: list[RefusedEntry] = []
    for part in split_parts(text):
        if isinstance(part, StrayText):
            reason = f"stands under {part.severity}, but is no list item"
            refused.append(RefusedEntry(name, shorten_raw(part.text.encode()), reason))
            continue
        try:
            findings.append(sources.make_finding(name, len(findings) + 1, parse_entry(part)))
        except Unreadable as error:
            raw = shorten_raw("\n".join(part.values()).encode())
            refused.append(RefusedEntry(name, raw, str(error)))
    return tuple(findings), tuple(refused)


def split_parts(text: str) -> Iterator[Part]:
    """Yield the findings as fields, and stray texts, in order."""
    reader = _MarkdownReader()
    for line in text.splitlines():
        yield from reader.feed_line(line.rstrip())
    yield from reader.flush()


class _MarkdownReader:
    """Parses the lines in one pass."""

    def __init__(self) -> None:
        self._section = _Section.BEFORE
        self._severity = ""
        self._level = 0
        self._draft: _Draft | None = None
        self._stray: list[str] = []
        self._fenced = False
        self._columns: list[str] = []

    def feed_line(self, line: str) -> Iterator[Part]:
        if _FENCE.match(line):
            self._fenced = not self._fenced
            return self._continue_text(line)
        if self._fenced:
            return self._continue_text(line)
        if (parts := self._read_table(_split_row(line))) is not None:
            return parts
        if heading := _HEADING.fullmatch(line):
            return self._read_heading(len(heading[1]), heading[2].rstrip("# "))
        bullet = _BULLET.fullmatch(line)
        if bullet and self._is_item(bullet):
            return self._start_item(bullet["text"], len(bullet["indent"]))
        return self._read_field(bullet["text"] if bullet else line.strip(), line)

    def flush(self) -> Iterator[Part]:
        draft, self._draft = self._draft, None
        stray, self._stray = "\n".join(self._stray).strip(), []
        if draft and draft.is_finding:
            fields = {name: "\n".join(lines).strip() for name, lines in draft.fields.items()}
            if "file" in fields:
                fields["file"] = _strip_ticks(fields["file"])
            place = _PLACE.search(fields["title"]) if "severity" in fields else None
            yield {"file": place["place"], **fields} if place else fields
        elif stray and not _NONE.fullmatch(stray):
            yield StrayText(stray, self._severity)

    def _read_heading(self, level: int, text: str) -> Iterator[Part]:
        word = "" if _NAME.search(text) else _severity_word(text)
        below = self._section is _Section.SEVERITY and level > self._level
        other = bool(_OTHER.search(text))
        if below and not other:
            yield from self._start_item(text, -1)
            return
        yield from self.flush()
        self._severity = word
        if word:
            self._section, self._level = _Section.SEVERITY, level
        else:
            self._section = _Section.OTHER if other else _Section.BEFORE
        if not other:
            self._draft = _start_draft(text, word)

    def _read_table(self, cells: list[str]) -> Iterator[Part] | None:
        """Read a line of a table of findings; None if it is none."""
        if self._columns and cells:
            return self._read_row(cells)
        self._columns = self._find_columns(cells)
        return self.flush() if self._columns else None

    def _find_columns(self, cells: list[str]) -> list[str]:
        """Return the fields of a table's columns if its heading is that of a list of findings."""
        columns = [_COLUMNS.get(cell.casefold().strip("*`_ "), "") for cell in cells]
        told = "file" in columns and not {"title", "detail"}.isdisjoint(columns)
        inside = self._draft is not None and self._draft.is_finding
        return columns if told and not inside and self._section is not _Section.OTHER else []

    def _read_row(self, cells: list[str]) -> Iterator[Part]:
        fields = {"severity": self._severity} if self._severity else {}
        named = zip(self._columns, cells, strict=False)
        fields |= {name: _strip_bold(cell) for name, cell in named if name and cell}
        fields["file"] = _strip_ticks(fields.get("file", ""))
        if not all(_RULE.fullmatch(cell) for cell in cells):
            yield fields

    def _is_item(self, bullet: re.Match[str]) -> bool:
        if self._section is _Section.OTHER or (self._draft and _parse_field(bullet["text"])):
            return False
        if self._section is _Section.BEFORE and not bullet["mark"][0].isdigit():
            return False
        if self._draft is not None and not self._draft.is_finding:
            return True
        return self._draft is None or len(bullet["indent"]) <= self._draft.indent

    def _start_item(self, text: str, indent: int) -> Iterator[Part]:
        yield from self.flush()
        if _NONE.fullmatch(text):
            return
        category, title = _split_title(_NUMBER.sub("", text, count=1) if indent < 0 else text)
        fields = {"title": [title]}
        if category:
            fields["category"] = [category]
        if self._severity:
            fields["severity"] = [self._severity]
        self._draft = _Draft(fields, indent)

    def _read_field(self, text: str, line: str) -> Iterator[Part]:
        field = _parse_field(text)
        if self._draft is None or field is None:
            return self._continue_text(line)
        name, value = field
        self._draft.field = name
        self._keep_stray(line, is_file=name == "file")
        # The item's own severity and title go before the heading's.
        before = [] if name in ("severity", "title") else self._draft.fields.get(name, [])
        self._draft.fields[name] = [*before, value]
        return iter(())

    def _continue_text(self, line: str) -> Iterator[Part]:
        """Add a line to the current field or stray text."""
        if self._draft is not None:
            name = "detail" if self._draft.field in _SHORT else self._draft.field
            if line.strip():
                text = line if self._fenced else _strip_quote(line.strip())
                self._draft.fields.setdefault(name, []).append(text)
        self._keep_stray(line)
        return iter(())

    def _keep_stray(self, line: str, *, is_file: bool = False) -> None:
        """Keep a line under a severity that belongs to no finding, or not yet."""
        unowned = self._draft is None or not (self._draft.is_finding or is_file)
        if unowned and self._section is _Section.SEVERITY and line.strip("-* _"):
            self._stray.append(line)


def _start_draft(heading: str, severity: str) -> _Draft:
    """Return a finding that a heading may begin: "1. mean() fails (critical)"."""
    category, title = _split_title(_NUMBER.sub("", heading, count=1))
    ranked = [word for word in _RANKED.findall(heading) if parse_severity(word)[1]]
    fields = {"title": [title]}
    if ranked or severity:
        fields["severity"] = [ranked[0] if ranked else severity]
    if category and category not in ranked:
        fields["category"] = [category]
    return _Draft(fields, -1, heading=True)


def _split_row(line: str) -> list[str]:
    """Return the cells of a table's row; none if the line is no row."""
    plain = line.strip()
    if not plain.startswith("|") or plain.count("|") < 3:
        return []
    return [cell.strip().replace("\\|", "|") for cell in _CELLS.split(plain.strip("|"))]


def _parse_field(text: str) -> tuple[str, str] | None:
    """Return the name and value of a known field, or None."""
    found = _FIELD.fullmatch(text)
    name = _FIELDS.get(found["name"].casefold().strip()) if found else None
    return (name, found["value"].strip()) if found and name else None


def _strip_quote(line: str) -> str:
    """Return the line without a quote mark: our documents quote further lines of a field."""
    return line.removeprefix(">").removeprefix(" ") if line.startswith(">") else line


def _severity_word(heading: str) -> str:
    """Return a heading's first severity word ("Critical Issues (Must Fix)": Critical), or ''."""
    if _OTHER.search(heading):
        return ""
    for word in re.findall(r"[A-Za-z]+\d?", heading)[:4]:
        if word.casefold() not in ("none", "style", "information") and parse_severity(word)[1]:
            return str(word)
    return ""


def _split_title(text: str) -> tuple[str, str]:
    """Return the category in brackets or bold (or ''), and the title without it."""
    if found := _CATEGORY.fullmatch(text):
        return found["name"].strip(), _strip_bold(found["rest"]) or found["name"].strip()
    if found := _BOLD_CATEGORY.fullmatch(text):
        name, rest = found["name"] or found["name2"], found["rest"] or found["rest2"]
        return name.strip(), _strip_bold(rest)
    return "", _strip_bold(text)


def _strip_ticks(place: str) -> str:
    """Return a place that stands in code marks as a whole without these."""
    inner = place.removeprefix("`").removesuffix("`")
    return inner if "`" not in inner else place


def _strip_bold(text: str) -> str:
    return text.strip().removeprefix("**").removesuffix("**").strip()
