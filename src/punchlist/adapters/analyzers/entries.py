"""Reading reports entry by entry: one bad entry never costs the others, and none is dropped."""

import codecs
import re
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from punchlist.intake.raw_finding import Note, Unreadable, shortened
from punchlist.intake.source_files import Sources
from punchlist.model.finding.finding import Finding, Refused
from punchlist.ports.analyzer import Analysis

T = TypeVar("T")
_SURROGATES = re.compile(
    r"(\\+)u([dD][89abAB][0-9a-fA-F]{2})(\\u[dD][c-fC-F][0-9a-fA-F]{2})?|(\\+)u[dD][c-fC-F][0-9a-fA-F]{2}"
)


def decoded(output: bytes, shape: type[T], *, strict: bool = True) -> T:
    """The report as a whole; what is no Unicode is replaced, so that one odd name does not cost the
    report.
    """
    text = output.removeprefix(codecs.BOM_UTF8)
    try:
        return msgspec.json.decode(text, type=shape, strict=strict)
    except msgspec.ValidationError:
        raise
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        mended = _mended(text)
        if mended == text:
            raise msgspec.DecodeError(str(error)) from error
        return msgspec.json.decode(mended, type=shape, strict=strict)


def _mended(output: bytes) -> bytes:
    """Bytes that are no UTF-8, and escapes of half a character, as replacement characters."""
    text = output.decode("utf-8", "replace")
    return (_SURROGATES.sub(_whole, text) if "\\ud" in text.lower() else text).encode()


def _whole(found: re.Match[str]) -> str:
    """An escape as it is if both halves are there, or if its backslash is itself escaped; else the
    replacement character.
    """
    slashes = found[1] or found[4]
    if found[3] or len(slashes) % 2 == 0:
        return found[0]
    return f"{slashes}ufffd"


class Parse(Protocol):
    """Reads a report, never raising: what is no report is a failure."""

    def __call__(self, output: bytes, sources: Sources, tool: str = ...) -> Analysis: ...


def report_of(name: str) -> Callable[[Callable[[bytes, Sources, str], Analysis]], Parse]:
    """Makes a Parse of a reader that raises msgspec.DecodeError for what it cannot read as a whole;
    `name` is the usual tool.
    """

    def made(read: Callable[[bytes, Sources, str], Analysis]) -> Parse:
        @wraps(read)
        def parse(output: bytes, sources: Sources, tool: str = name) -> Analysis:
            try:
                return read(output, sources, tool)
            except msgspec.DecodeError as error:
                return _broken(tool, output, error)

        return parse

    return made


def _broken(tool: str, output: bytes, error: Exception) -> Analysis:
    said = output[:200].decode("utf-8", "replace").strip()
    if not said:
        return Analysis(failed=f"{tool}: it wrote no report")
    return Analysis(
        failed=f"{tool}: its report could not be read ({error}); it begins with {said!r}"
    )


def gathered(
    tool: str,
    entries: Iterable[msgspec.Raw],
    read: Callable[[bytes], Note | None],
    sources: Sources,
) -> Analysis:
    """Every entry as a finding or as a refusal; None from `read` is an entry that
    reports nothing.
    """
    findings: list[Finding] = []
    refused: list[Refused] = []
    for entry in entries:
        raw = bytes(entry)
        try:
            note = read(raw)
        except (msgspec.MsgspecError, Unreadable) as error:
            refused.append(Refused(tool, shortened(raw), str(error)))
            continue
        if note is not None:
            findings.append(sources.finding(tool, len(findings) + 1, note))
    # Where nothing at all can be read, the format is not the one we know: that is no clean answer.
    failed = (
        f"{tool}: none of its {len(refused)} entries could be read ({refused[0].reason})"
        if refused and not findings
        else ""
    )
    return Analysis(
        findings=tuple(findings),
        refused=tuple(refused),
        failed=failed,
        unread=("",) if refused else (),
    )


def with_unread(analysis: Analysis, entries: Iterable[tuple[Refused, str]]) -> Analysis:
    """The analysis with what the tool says it could not look at, each with the file that is meant
    (empty: unknown).
    """
    known = tuple(entries)
    refused = (*analysis.refused, *(entry for entry, _ in known))
    return replace(
        analysis, refused=refused, unread=_each_once(analysis.unread, (path for _, path in known))
    )


def with_unparsed(analysis: Analysis, is_broken: Callable[[str], bool]) -> Analysis:
    """The analysis with the files as unread in which a rule says that the code could not be parsed:
    no other rule was tried.
    """
    paths = (finding.spot.path for finding in analysis.findings if is_broken(finding.rule))
    return replace(analysis, unread=_each_once(analysis.unread, paths))


def _each_once(*paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set().union(*paths)))


def joined(tool: str, parts: Sequence[Analysis]) -> Analysis:
    """The parts of one analysis as one, in order of place, for tools differ from run to run; a
    failed part fails the whole.
    """
    findings = sorted((finding for part in parts for finding in part.findings), key=_place)
    return Analysis(
        findings=tuple(
            replace(finding, id=f"{tool}:{number}") for number, finding in enumerate(findings, 1)
        ),
        refused=tuple(entry for part in parts for entry in part.refused),
        failed="; ".join(dict.fromkeys(part.failed for part in parts if part.failed)),
        unread=_each_once(*(part.unread for part in parts)),
    )


def _place(finding: Finding) -> tuple[str, int, int, str, str]:
    return (
        finding.spot.path,
        finding.spot.line or 0,
        finding.spot.column or 0,
        finding.rule,
        finding.title,
    )
