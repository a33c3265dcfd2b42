"""What a run did not check, and notes on it."""

from collections.abc import Iterator

from punchlist.cli.drawing import Part
from punchlist.cli.show.layout import render_note
from punchlist.model.ledger.outcome import RunOutcome, run_outcome
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.summary import broken_checks, find_gaps, is_usual, shorten_reason

_TOP = 3
_NAMED = 8
_NOTES = frozenset({"scope", "stop", "filing", "network", "sandbox"})
"""Kinds of gaps that leave nothing unchecked."""

_LANGUAGES = {
    ("ruff", "bandit", "mypy", "pyright", "ty"): "Python",
    ("eslint", "biome"): "JavaScript and TypeScript",
    ("shellcheck",): "shell scripts",
}
_OWN = "a tool of your own (analyzers.custom) looks at anything"


def render_caveats(run: Run, *, verbose: bool = False) -> Iterator[Part]:
    """Yield the first of them, worst first; all if `verbose`."""
    unchecked, notes = [*suggest_analyzers(run)], [*_list_flags(run)]
    above = set(broken_checks(run))  # these stand under the headline
    for gap in find_gaps(run):
        usual = is_usual(gap) and not verbose
        if gap.about != "flag" and gap not in above and not usual:
            lines = notes if gap.about in _NOTES else unchecked
            why = shorten_reason(run, gap.why)
            lines.append(f"{gap.what}: {why}" if why else gap.what)
    every = [("Not checked", each) for each in unchecked] + [("Note", each) for each in notes]
    shown = every if verbose else every[:_TOP]
    for place, (title, text) in enumerate(shown, start=1):
        last = place == len(shown) < len(every)
        more = f" (and {pluralize(len(every) - place, 'more note')}: -v)" if last else ""
        yield render_note(title, f"{text}{more}")


def suggest_analyzers(run: Run) -> Iterator[str]:
    """Yield which analyzers would look at the files that all here skipped."""
    reviews = run.reviewing.reviews
    incomplete = run_outcome(run) is RunOutcome.INCOMPLETE
    if reviews and incomplete and all(review.skipped for review in reviews.values()):
        would = [
            f"{' or '.join(names)} looks at {what}"
            for names, what in _LANGUAGES.items()
            if reviews.keys().isdisjoint(names)
        ]
        where = ", ".join([*would, _OWN])
        yield f"No analyzer here looks at these files. Where it is installed, {where}"


def _list_flags(run: Run) -> Iterator[str]:
    by_reason: dict[str, list[int]] = {}
    for item in run.items.values():
        for flag in item.flags:
            by_reason.setdefault(flag, []).append(item.number)
    for reason, numbers in by_reason.items():
        named = ", ".join(map(str, sorted(numbers)[:_NAMED]))
        more = ", ..." if len(numbers) > _NAMED else ""
        fixes = pluralize(len(numbers), "flagged fix", "flagged fixes")
        yield f"Look at {fixes} ({named}{more}): {reason.removesuffix(': look at it')}"
