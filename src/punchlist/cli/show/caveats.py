"""What a run did not check, and notes on it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from punchlist.cli.show.layout import indent_text, render_bullets, render_heading
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.summary import Gap, find_gaps

if TYPE_CHECKING:
    from rich.console import RenderableType

_TOP = 5
_NAMED = 8
_NOTES = frozenset({"scope", "flag", "stop", "filing"})
"""Kinds of gaps that leave nothing unchecked."""

_LANGUAGES = {
    ("ruff", "bandit", "mypy", "pyright", "ty"): "Python",
    ("eslint", "biome"): "JavaScript and TypeScript",
    ("shellcheck",): "shell scripts",
}
_OWN = "a tool of your own (analyzers.custom) looks at anything"


def render_caveats(run: Run) -> "Iterator[RenderableType]":
    known = list(find_gaps(run))
    unchecked = [_format_gap(gap) for gap in known if gap.about not in _NOTES]
    notes = [_format_gap(gap) for gap in known if gap.about in _NOTES and gap.about != "flag"]
    yield from _render_section("Not checked", [*_suggest_analyzers(run), *unchecked], run)
    yield from _render_section("Note", [*_list_flags(run), *notes], run)


def _render_section(title: str, lines: list[str], run: Run) -> "Iterator[RenderableType]":
    if not lines:
        return
    yield render_heading(title)
    yield render_bullets(*lines[:_TOP])
    if len(lines) > _TOP:
        yield indent_text(
            f"and {len(lines) - _TOP:,} more: punchlist status {run.id} --json", "dim"
        )


def _suggest_analyzers(run: Run) -> Iterator[str]:
    """Yield which analyzers would look at the files that all here skipped."""
    if run.reviewing.reviews and all(review.skipped for review in run.reviewing.reviews.values()):
        absent = {
            names: what
            for names, what in _LANGUAGES.items()
            if not run.reviewing.reviews.keys() & set(names)
        }
        would = [f"{' or '.join(names)} looks at {what}" for names, what in absent.items()]
        yield (
            "No analyzer here looks at these files. Where it is installed,"
            f" {', '.join([*would, _OWN])}"
        )


def _format_gap(gap: Gap) -> str:
    return f"{gap.what}: {gap.why}" if gap.why else gap.what


def _list_flags(run: Run) -> Iterator[str]:
    """Yield a line for each reason, with its items."""
    by_reason: dict[str, list[int]] = {}
    for item in run.items.values():
        for flag in item.flags:
            by_reason.setdefault(flag, []).append(item.number)
    for reason, numbers in by_reason.items():
        named = ", ".join(map(str, sorted(numbers)[:_NAMED])) + (
            ", ..." if len(numbers) > _NAMED else ""
        )
        yield (
            f"Look at {pluralize(len(numbers), 'flagged fix', 'flagged fixes')} ({named}):"
            f" {reason.removesuffix(': look at it')}"
        )
