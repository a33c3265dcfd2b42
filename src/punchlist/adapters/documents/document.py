"""A findings file: detect its format by content, then parse it entry by entry."""

import codecs
import stat
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Self

import msgspec

from punchlist.adapters.analyzers.entries import collect_findings, decode_json
from punchlist.adapters.analyzers.formats import rdjson, sarif
from punchlist.adapters.documents import markdown
from punchlist.adapters.stoppable import heed_stop, run_stoppable
from punchlist.errors import UsageError
from punchlist.intake.json_entry import LISTS, PATH, TITLE, decode_entry
from punchlist.intake.source_files import Sources
from punchlist.model.finding.guarded_text import Unparsable, parse_json
from punchlist.model.finding.reading_limits import MEGABYTE, reading_limits
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

FORMATS = (
    "SARIF 2.1.0, reviewdog's rdjson or rdjsonl, a JSON list of findings (or an object that has"
    " one), or a Markdown findings document"
)

Read = Callable[[bytes, Sources, str], Analysis]

_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_RAW_LIST = list[msgspec.Raw]
_RAW_FIELDS = dict[str, msgspec.Raw]


class FindingsDocument:
    """Analyzer that reports the file's findings, also those outside the given paths."""

    confined = True

    def __init__(self, name: str, content: bytes, read: Read) -> None:
        self.name = name
        self._content = content
        self._read = read

    @classmethod
    def open(cls, path: Path, *, name: str = "") -> Self:
        """Open a file; `name` is the source of the findings (default: the file). Raise UsageError
        if it is unreadable or of unknown format.
        """
        return cls.parse(_read_file(path), path, name=name)

    @classmethod
    def parse(cls, content: bytes, path: Path, *, name: str = "") -> Self:
        """As `open`, with what the file holds."""
        content = _repair_escapes(_convert_utf8(content))
        hint = f"give {FORMATS}"
        try:
            read = detect_format(content)
        except Unparsable as error:
            raise UsageError(f"{path} is {error}", hint=hint) from error
        except msgspec.MsgspecError as error:
            problem = f"{path} is not valid JSON: {error}"
            hint = "make the report again; nothing was read from this one"
            raise UsageError(problem, hint=hint) from error
        if read is None:
            raise UsageError(f"{path} is of no format that punchlist knows", hint=hint)
        return cls(name or f"file:{path.name}", content, read)

    async def analyze(self, tree: Tree, paths: Sequence[str] | None) -> Analysis:
        return await run_stoppable(self._parse_content, tree)

    def _parse_content(self, tree: Tree) -> Analysis:
        try:
            return self._read(self._content, Sources(tree), self.name)
        except msgspec.MsgspecError as error:
            return Analysis(failed=f"{self.name} could not be read: {error}")


def detect_format(content: bytes) -> Read | None:
    """Return the parser for the content, or None. Raise msgspec.MsgspecError for broken JSON."""
    start = content.lstrip()[:1]
    if start == b"[":
        parse_json(content, _RAW_LIST)
        return _read_list
    if start == b"{":
        try:
            return _detect_object(parse_json(content, _RAW_FIELDS))
        except msgspec.DecodeError:
            if not _is_json_lines(content):
                raise
            return _read_lines
    return markdown.parse if markdown.is_findings(content.decode()) else None


def _detect_object(fields: dict[str, msgspec.Raw]) -> Read | None:
    if "runs" in fields:
        return sarif.parse
    if "diagnostics" in fields:
        return rdjson.parse
    if "groups" in fields:
        return partial(_read_fields, keys=("groups", "findings"))
    if any(name in fields for name in LISTS):
        return partial(_read_fields, keys=LISTS)
    if rdjson.is_diagnostic(fields):
        return rdjson.parse_lines
    return _read_lines if _is_finding(fields) else None


def _is_finding(fields: dict[str, msgspec.Raw]) -> bool:
    return not fields.keys().isdisjoint(TITLE) and not fields.keys().isdisjoint(PATH)


def _is_json_lines(content: bytes) -> bool:
    line, end, rest = content.lstrip().partition(b"\n")
    if not end or not rest.strip():
        return False
    try:
        fields = parse_json(line, _RAW_FIELDS)
    except msgspec.MsgspecError:
        return False
    return _is_finding(fields) or rdjson.is_diagnostic(fields)


def _read_list(content: bytes, sources: Sources, name: str) -> Analysis:
    entries = _unfold_groups(parse_json(content, _RAW_LIST))
    return collect_findings(name, entries, decode_entry, sources)


def _read_fields(content: bytes, sources: Sources, name: str, keys: Iterable[str]) -> Analysis:
    """Read the lists under those keys, in their order."""
    fields = parse_json(content, _RAW_FIELDS)
    entries: list[msgspec.Raw] = []
    for key in keys:
        if key in fields:
            entries += parse_json(fields[key], _RAW_LIST)
    return collect_findings(name, _unfold_groups(entries), decode_entry, sources)


def _read_lines(content: bytes, sources: Sources, name: str) -> Analysis:
    if not _is_json_lines(content):
        return collect_findings(name, [msgspec.Raw(content)], decode_entry, sources)
    lines = [line for line in content.splitlines() if line.strip()]
    first = parse_json(lines[0], _RAW_FIELDS)
    if rdjson.is_diagnostic(first):
        return rdjson.parse_lines(content, sources, name)
    return collect_findings(name, map(msgspec.Raw, lines), decode_entry, sources)


class _FindingGroup(msgspec.Struct):
    findings: list[msgspec.Raw]
    status: str = ""


def _unfold_groups(entries: list[msgspec.Raw]) -> list[msgspec.Raw]:
    """Return the findings inside groups and report items, each with its item's status."""
    unfolded: list[msgspec.Raw] = []
    for entry in entries:
        heed_stop()
        try:
            group = parse_json(entry, _FindingGroup)
        except msgspec.MsgspecError:
            unfolded.append(entry)
        else:
            unfolded += [_with_status(finding, group.status) for finding in group.findings]
    return unfolded


def _with_status(finding: msgspec.Raw, status: str) -> msgspec.Raw:
    fields = parse_json(finding, object) if status else None
    if not isinstance(fields, dict):
        return finding
    return msgspec.Raw(msgspec.json.encode({**fields, "status": status}))


def _read_file(path: Path) -> bytes:
    most = reading_limits().report_size
    try:
        size, mode = path.stat().st_size, path.stat().st_mode
        # A pipe can be read only once, and a resumed run reads again.
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            hint = "save the findings into a file, and give that"
            raise UsageError(f"{path} is no plain file", hint=hint)
        if size > most * MEGABYTE:
            problem = f"{path} is {size / MEGABYTE:.3g} MB; at most {most} MB are read"
            hint = "split it, leave out what is not needed, or raise limits.report-size"
            raise UsageError(problem, hint=hint)
        return path.read_bytes()
    except OSError as error:
        hint = "give the path of a findings file"
        raise UsageError(f"{path} cannot be read: {error.strerror}", hint=hint) from error


def _repair_escapes(content: bytes) -> bytes:
    """Replace escapes of lone surrogates, if the content is JSON."""
    if b"\\ud" not in content and b"\\uD" not in content:
        return content
    try:
        return bytes(decode_json(content, msgspec.Raw))
    except msgspec.DecodeError:
        return content  # it is not one JSON value; its parser reports that


def _convert_utf8(content: bytes) -> bytes:
    """Return the text as UTF-8 without a byte order mark; invalid bytes are replaced."""
    for bom, encoding in _BOMS.items():
        if content.startswith(bom):
            return content[len(bom) :].decode(encoding, "replace").encode("utf-8", "replace")
    try:
        content.decode()
    except UnicodeDecodeError:
        return content.decode("utf-8", "replace").encode()
    return content
