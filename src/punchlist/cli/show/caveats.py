"""What a run cannot vouch for, and what else a person should know about it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from punchlist.cli.show.layout import bullets, heading, indented
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import amount
from punchlist.views.summary import Gap, gaps

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


def caveats(run: Run) -> "Iterator[RenderableType]":
    known = list(gaps(run))
    unchecked = [_sentence(gap) for gap in known if gap.about not in _NOTES]
    notes = [_sentence(gap) for gap in known if gap.about in _NOTES and gap.about != "flag"]
    yield from _section("Not checked", [*_unlooked(run), *unchecked], run)
    yield from _section("Note", [*_flagged(run), *notes], run)


def _section(title: str, lines: list[str], run: Run) -> "Iterator[RenderableType]":
    if not lines:
        return
    yield heading(title)
    yield bullets(*lines[:_TOP])
    if len(lines) > _TOP:
        yield indented(f"and {len(lines) - _TOP:,} more: punchlist status {run.id} --json", "dim")


def _unlooked(run: Run) -> Iterator[str]:
    """Who would look, where everybody here had nothing to look at."""
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


def _sentence(gap: Gap) -> str:
    return f"{gap.what}: {gap.why}" if gap.why else gap.what


def _flagged(run: Run) -> Iterator[str]:
    """One line for each reason, with the items it is about."""
    by_reason: dict[str, list[int]] = {}
    for item in run.items.values():
        for flag in item.flags:
            by_reason.setdefault(flag, []).append(item.number)
    for reason, numbers in by_reason.items():
        named = ", ".join(map(str, sorted(numbers)[:_NAMED])) + (
            ", ..." if len(numbers) > _NAMED else ""
        )
        yield (
            f"Look at {amount(len(numbers), 'flagged fix', 'flagged fixes')} ({named}):"
            f" {reason.removesuffix(': look at it')}"
        )
