"""What a job without secrets reports of a pull request. A second job, which may write, shows it: to
that one it is the text of a stranger.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from punchlist.errors import UsageError
from punchlist.model.finding.finding import Spot
from punchlist.model.finding.guarded_text import parse_json
from punchlist.model.finding.severity import Severity
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.issue_text import inline_code
from punchlist.views.pulls.board import ANNOTATIONS, REPORTED_CHECK, Annotation, Board, CheckResult
from punchlist.views.pulls.board_text import fit_body, limit_line, link_lines
from punchlist.views.pulls.conversation import PullRequest
from punchlist.views.pulls.marks import MarkKind, add_mark
from punchlist.views.review.diagnostics import ReviewDiagnostic, find_unreviewed, list_diagnostics

RESULT_LIMIT = 4 * 1024 * 1024
_ITEMS = 500
_ROWS = 100
_GAPS = 50
_LEVELS = {Severity.CRITICAL: "failure", Severity.MAJOR: "warning", Severity.MINOR: "notice"}
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_WARNING = (
    "A job without secrets reported this, and the author of the branch can change what it says."
    " It is no verdict: nothing here is proven."
)
_Line = Annotated[int, Meta(ge=1, lt=100_000_000)]


class ReportedItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    severity: Severity
    rule: Annotated[str, Meta(max_length=300)]
    title: Annotated[str, Meta(max_length=1000)]
    path: Annotated[str, Meta(max_length=1000)] = ""
    line: _Line | None = None
    end_line: _Line | None = None


class ReportedResult(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result of a review, as one job leaves it for another."""

    version: Literal[1] = 1
    head: Annotated[str, Meta(max_length=64)]
    items: Annotated[tuple[ReportedItem, ...], Meta(max_length=_ITEMS)] = ()
    more: Annotated[int, Meta(ge=0, lt=100_000_000)] = 0
    """How many items there are besides."""
    gaps: Annotated[tuple[Annotated[str, Meta(max_length=1000)], ...], Meta(max_length=_GAPS)] = ()
    """What was not reviewed."""


def make_result(run: Run) -> bytes:
    """Return the result of a run, the worst items first, as JSON."""
    found = sorted(list_diagnostics(run), key=lambda each: each.severity.rank)
    gaps = (f"{gap.what}: {gap.why}" if gap.why else gap.what for gap in find_unreviewed(run))
    result = ReportedResult(
        head=run.started.change.head,
        items=tuple(map(_make_item, found[:_ITEMS])),
        more=max(0, len(found) - _ITEMS),
        gaps=tuple(_clean(gap, 1000) for gap in gaps)[:_GAPS],
    )
    return msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n"


def _make_item(found: ReviewDiagnostic) -> ReportedItem:
    first, last = found.spot.line_range
    path = found.spot.path
    return ReportedItem(
        severity=found.severity,
        rule=_clean(found.rule, 300),
        title=_clean(found.message, 1000),
        path=path if _is_path(path) else "",
        line=first or None,
        end_line=last if last > first > 0 else None,
    )


def _clean(text: str, limit: int) -> str:
    return text.encode("utf-8", "replace").decode()[:limit]


def parse_result(raw: bytes, where: str) -> ReportedResult:
    """Return the result that a job left. Raise UsageError if it is none; nothing in it is believed:
    it says neither which pull request it is about, nor that anything is proven or fine.
    """
    if len(raw) > RESULT_LIMIT:
        raise UsageError(f"{where}: is larger than any result ({RESULT_LIMIT:,} bytes)")
    try:
        result = parse_json(raw, ReportedResult)
    except msgspec.DecodeError as error:
        raise UsageError(f"{where}: is no result of punchlist ci: {error}") from error
    if not _SHA.fullmatch(result.head):
        raise UsageError(f"{where}: is no result of punchlist ci: head is no commit")
    if bad := next((each.path for each in result.items if not _is_path(each.path)), None):
        raise UsageError(f"{where}: is no result of punchlist ci: {bad[:60]!a} is no path")
    return result


def _is_path(path: str) -> bool:
    """Return whether it is a path below the root, without control characters, or ""."""
    parts = PurePosixPath(path).parts
    return path.isprintable() and "\\" not in path and not {"/", ".."} & {*parts[:1], *parts}


def make_reported_board(result: ReportedResult, pull: PullRequest) -> Board:
    """Return a board with a comment and a check that never says success. There are no threads: each
    would be a stranger's words under punchlist's name.
    """
    summary = _render_summary(result, pull)
    check = CheckResult(
        name=REPORTED_CHECK,
        head=pull.head,
        conclusion="neutral",
        title=_count(result),
        summary=fit_body(summary),
        annotations=tuple(_make_annotations(result))[:ANNOTATIONS],
    )
    return Board(summary=add_mark(summary, MarkKind.REPORTED), check=check)


def _count(result: ReportedResult) -> str:
    return f"{pluralize(len(result.items) + result.more, 'finding')} reported"


def _render_summary(result: ReportedResult, pull: PullRequest) -> str:
    rows = [_render_row(item, pull) for item in result.items[:_ROWS]]
    if more := len(result.items) - len(rows) + result.more:
        rows.append(f"- and {more} more")
    gaps = [f"- not reviewed: {inline_code(limit_line(gap, 300))}" for gap in result.gaps]
    parts = (
        f"## Punchlist: {_count(result)}",
        f"> {_WARNING}",
        "\n".join(rows),
        "\n".join(gaps),
        f"At `{pull.head[:10]}`.",
    )
    return "\n\n".join(filter(None, parts))


def _render_row(item: ReportedItem, pull: PullRequest) -> str:
    title = inline_code(limit_line(f"{item.rule} {item.title}", 160))
    where = f"{item.path}:{item.line}" if item.line else item.path
    link = link_lines(pull, Spot(path=item.path, line=item.line)) if item.path else ""
    place = f" [{inline_code(where)}]({link})" if link else ""
    return f"- **{item.severity}** {title}{place}"


def _make_annotations(result: ReportedResult) -> Iterator[Annotation]:
    for item in result.items:
        if item.path and item.line:
            yield Annotation(
                path=item.path,
                start_line=item.line,
                end_line=max(item.line, item.end_line or 0),
                annotation_level=_LEVELS[item.severity],
                message=limit_line(item.title, 500),
                title=limit_line(f"reported: {item.rule}", 200),
            )
