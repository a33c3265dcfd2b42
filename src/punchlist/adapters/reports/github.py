"""Workflow commands of GitHub Actions: one annotation for each unresolved item.

https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
"""

from collections.abc import Iterator

from punchlist.model.finding.severity import Severity
from punchlist.model.ledger.run import Run
from punchlist.views.escaping import escape_controls, escape_path
from punchlist.views.review.diagnostics import ReviewDiagnostic, find_unreviewed, list_diagnostics

_LEVELS = {Severity.CRITICAL: "error", Severity.MAJOR: "warning", Severity.MINOR: "notice"}
_IN_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = _IN_DATA | str.maketrans({":": "%3A", ",": "%2C"})


def render(run: Run) -> bytes:
    return "".join(f"{line}\n" for line in _render_lines(run)).encode("utf-8", "replace")


def _render_lines(run: Run) -> Iterator[str]:
    for found in list_diagnostics(run):
        yield _command(_LEVELS[found.severity], _describe_message(found), _place(found))
    for gap in find_unreviewed(run):
        text = f"{gap.what}: {gap.why}" if gap.why else gap.what
        yield _command("error", text, {"title": "punchlist: not reviewed"})


def _describe_message(found: ReviewDiagnostic) -> str:
    outside = "" if found.in_scope else " (outside the change)"
    detail = found.finding.detail.strip()
    return f"{found.rule} {found.message}{outside}" + (f"\n{detail}" if detail else "")


def _place(found: ReviewDiagnostic) -> dict[str, str]:
    spot, title = found.spot, f"punchlist {found.rule}"
    if not spot.path:
        return {"title": title}
    numbers = {"line": spot.line, "endLine": spot.end_line, "col": spot.column}
    if spot.end_line in (None, spot.line):
        numbers["endColumn"] = spot.end_column if spot.column else None
    named = {name: str(number) for name, number in numbers.items() if number and spot.line}
    return {"file": spot.path, **named, "title": title}


def _command(level: str, message: str, properties: dict[str, str]) -> str:
    """Return one line, in which no text from outside can end the command or begin another."""
    given = ",".join(
        f"{name}={escape_path(value).translate(_IN_PROPERTY)}" for name, value in properties.items()
    )
    return f"::{level} {given}::{escape_controls(message).translate(_IN_DATA)}"
