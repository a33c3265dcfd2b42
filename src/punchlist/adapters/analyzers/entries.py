"""Parse reports entry by entry: a bad entry becomes a refusal and does not cost the others."""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from punchlist.adapters.stoppable import heed_stop
from punchlist.intake.raw_finding import RawFinding, Unreadable, shorten_raw
from punchlist.intake.source_files import Sources
from punchlist.model.finding.finding import Finding, RefusedEntry
from punchlist.model.finding.guarded_text import parse_json
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.ports.analyzer import Analysis

T = TypeVar("T")
_SURROGATES = late_pattern(
    r"(\\+)u([dD][89abAB][0-9a-fA-F]{2})(\\u[dD][c-fC-F][0-9a-fA-F]{2})?|(\\+)u[dD][c-fC-F][0-9a-fA-F]{2}"
)


def decode_json(output: bytes, shape: type[T], *, strict: bool = True) -> T:
    """Decode JSON; invalid Unicode is replaced. Raise msgspec.DecodeError otherwise."""
    text = output.removeprefix(codecs.BOM_UTF8)
    try:
        return msgspec.json.decode(text, type=shape, strict=strict)
    except msgspec.ValidationError:
        raise
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        mended = _repair_unicode(text)
        if mended == text:
            raise msgspec.DecodeError(str(error)) from error
        return parse_json(mended, shape, strict=strict)


def _repair_unicode(output: bytes) -> bytes:
    """Replace invalid UTF-8 and escapes of lone surrogates."""
    text = output.decode("utf-8", "replace")
    return (_SURROGATES.sub(_repair_escape, text) if "\\ud" in text.lower() else text).encode()


def _repair_escape(found: re.Match[str]) -> str:
    """Return the escape if its pair is complete or its backslash escaped, else that of U+FFFD."""
    slashes = found[1] or found[4]
    return found[0] if found[3] or len(slashes) % 2 == 0 else f"{slashes}ufffd"


class ReportParser(Protocol):
    """Parses a report and never raises: an unreadable one is a failed Analysis."""

    def __call__(self, output: bytes, sources: Sources, tool: str = ...) -> Analysis: ...


def report_parser(name: str) -> Callable[[Callable[[bytes, Sources, str], Analysis]], ReportParser]:
    """Decorate a reader that raises msgspec.DecodeError; `name` is the default tool."""

    def wrap_reader(read: Callable[[bytes, Sources, str], Analysis]) -> ReportParser:
        @wraps(read)
        def parse(output: bytes, sources: Sources, tool: str = name) -> Analysis:
            try:
                return read(output, sources, tool)
            except msgspec.DecodeError as error:
                return _fail_report(tool, output, error)

        return parse

    return wrap_reader


def _fail_report(tool: str, output: bytes, error: Exception) -> Analysis:
    start = output[:200].decode("utf-8", "replace").strip()
    if not start:
        return Analysis(failed=f"{tool}: it wrote no report")
    why = f"its report could not be read ({error}); it begins with {start!r}"
    return Analysis(failed=f"{tool}: {why}")


def collect_findings(
    tool: str,
    entries: Iterable[msgspec.Raw],
    read: Callable[[bytes], RawFinding | None],
    sources: Sources,
) -> Analysis:
    """Return each entry as a finding or a refusal; `read` returns None for an entry to skip."""
    findings: list[Finding] = []
    refused: list[RefusedEntry] = []
    for entry in entries:
        heed_stop()
        raw = bytes(entry)
        try:
            note = read(raw)
        except (msgspec.MsgspecError, Unreadable) as error:
            refused.append(RefusedEntry(tool, shorten_raw(raw), str(error)))
            continue
        if note is not None:
            findings.append(sources.make_finding(tool, len(findings) + 1, note))
    if not refused:
        return Analysis(findings=tuple(findings))
    # If nothing can be read, it is another format, and not a clean answer.
    why = f"none of its {len(refused)} entries could be read ({refused[0].reason})"
    return Analysis(
        findings=tuple(findings),
        refused=tuple(refused),
        failed="" if findings else f"{tool}: {why}",
        unread=("",),
    )


def collect_entries(
    tool: str,
    entries: Iterable[msgspec.Raw],
    shape: type[T],
    read: Callable[[T, Sources], RawFinding | None],
    sources: Sources,
) -> Analysis:
    """Do as `collect_findings` for entries of one shape."""
    return collect_findings(
        tool, entries, lambda raw: read(decode_json(raw, shape), sources), sources
    )


def list_unread(
    tool: str, stderr: bytes, pattern: re.Pattern[str], sources: Sources
) -> Iterator[tuple[RefusedEntry, str]]:
    """Yield the files that it could not read, by lines of stderr with the groups `line`, `file`."""
    for found in pattern.finditer(stderr.decode("utf-8", "replace")):
        refused = RefusedEntry(tool, found["line"], f"{tool} could not read the file")
        yield refused, sources.parse_path(found["file"])


def with_unread(analysis: Analysis, entries: Iterable[tuple[RefusedEntry, str]]) -> Analysis:
    """Return the analysis plus the files the tool could not read ('' if unknown)."""
    known = tuple(entries)
    return replace(
        analysis,
        refused=(*analysis.refused, *(entry for entry, _ in known)),
        unread=_merge_paths(analysis.unread, (path for _, path in known)),
    )


def with_unparsed(analysis: Analysis, is_broken: Callable[[str], bool]) -> Analysis:
    """Mark files as unread where a rule reports a syntax error: no other rule was tried there."""
    paths = (finding.spot.path for finding in analysis.findings if is_broken(finding.rule))
    return replace(analysis, unread=_merge_paths(analysis.unread, paths))


def _merge_paths(*paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set().union(*paths)))


def join_analyses(tool: str, parts: Sequence[Analysis]) -> Analysis:
    """Join parts into one analysis, findings sorted by place; a failed part fails the whole."""
    findings = sorted((finding for part in parts for finding in part.findings), key=_sort_key)
    return Analysis(
        findings=tuple(
            replace(finding, id=f"{tool}:{number}") for number, finding in enumerate(findings, 1)
        ),
        refused=tuple(entry for part in parts for entry in part.refused),
        failed="; ".join(dict.fromkeys(part.failed for part in parts if part.failed)),
        unread=_merge_paths(*(part.unread for part in parts)),
        looked=_join_looked(parts),
        missed={path: why for part in parts for path, why in part.missed.items()},
        left_out=_merge_paths(*(part.left_out for part in parts)),
        left_out_by=next((part.left_out_by for part in parts if part.left_out_by), ""),
    )


def _join_looked(parts: Sequence[Analysis]) -> frozenset[str] | None:
    """Return what the parts say together; None if one that did not fail does not say it."""
    stated = [part.looked for part in parts if part.looked is not None]
    silent = any(part.looked is None and not part.failed and not part.missed for part in parts)
    return None if silent or not stated else frozenset().union(*stated)


def _sort_key(finding: Finding) -> tuple[str, int, int, str, str]:
    spot = finding.spot
    return spot.path, spot.line or 0, spot.column or 0, finding.rule, finding.title
