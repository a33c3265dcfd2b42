"""punchlist replay: fold a recorded run again offline, and try other rules on it."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from punchlist.app import Session
from punchlist.app.after.replay import FileMatch, ReplayResult, replay_run
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import run_reader
from punchlist.cli.show.words import one_line
from punchlist.cli.terminal import print_json, say
from punchlist.errors import UsageError
from punchlist.model.finding.severity import Severity
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.what_if import ReplayRules

if TYPE_CHECKING:
    from rich.console import RenderableType

_RULES = ("threshold", "attempts", "floor")
_TOP = 100


@click.command()
@options.run_argument
@click.option(
    "--with",
    "rules",
    metavar="RULE=VALUE",
    multiple=True,
    help="Try another rule on: threshold=95, attempts=2, floor=major; may be given several times.",
)
@options.json_option
def command(run_id: str, rules: tuple[str, ...], json_: bool) -> Exit:
    """Fold a recorded run again, offline: it comes to the same, byte for byte, or the exit code
    says so.

    With --with it says which items would have ended differently under other rules. No agent is
    started: what only an agent could tell is said to be unknown.
    """
    tried_on = _parse_rules(rules)

    def look(session: Session) -> Exit:
        told = replay_run(session, run_id, tried_on)
        if json_:
            print_json(told)
        else:
            say(*_render_result(told))
        if not told.same:
            return Exit.LEDGER
        return Exit.FINE if told.whole else Exit.INCOMPLETE

    return run_reader(look)


def _parse_rules(given: tuple[str, ...]) -> ReplayRules:
    named: dict[str, str] = {}
    for rule in given:
        name, found, value = rule.partition("=")
        if not found:
            raise UsageError(
                f"--with {rule}: must be RULE=VALUE", hint="threshold=95, attempts=2 or floor=major"
            )
        if name.strip() not in _RULES:
            close = get_close_matches(name.strip(), _RULES, n=1)
            guess = f'; did you mean "{close[0]}"?' if close else ""
            raise UsageError(
                f"--with {rule}: no such rule{guess}",
                hint="threshold=95, attempts=2 or floor=major",
            )
        named[name.strip()] = value.strip()
    return ReplayRules(
        threshold=_parse_number("threshold", named.get("threshold"), _TOP),
        attempts=_parse_number("attempts", named.get("attempts"), None),
        floor=_parse_floor(named.get("floor")),
    )


def _parse_number(name: str, text: str | None, top: int | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or (top is not None and int(text) > top):
        upto = f"from 0 to {top}" if top is not None else "0 or more"
        raise UsageError(
            f"--with {name}={text}: must be a whole number, {upto}",
            hint=f"for example --with {name}=3",
        )
    return int(text)


def _parse_floor(text: str | None) -> Severity | None:
    known = [severity.value for severity in Severity]
    if text is None or text in known:
        return Severity(text) if text else None
    raise UsageError(
        f'--with floor={text}: "{text}" is no severity', hint=f"there are {', '.join(known)}"
    )


def _render_result(told: ReplayResult) -> "Iterator[RenderableType]":
    verdict = (
        "the same, byte for byte"
        if told.same and told.whole
        else ("the same, as far as it is there" if told.same else "NOT the same")
    )
    yield f"Run {told.run}: {pluralize(told.entries, 'entry', 'entries')} folded again: {verdict}"
    yield f"  state  {told.state}"
    for each in told.files:
        why = f"  {one_line(each.why)}" if each.why else ""
        yield f"  {each.likeness:<7}  {each.name}{why}"
    if not told.files:
        yield f"  {FileMatch.GONE:<7}  no report was written so far"
    yield from (f"  problem: {one_line(problem)}" for problem in told.problems)
    if told.rules != ReplayRules():
        yield from _render_differences(told)


def _render_differences(told: ReplayResult) -> "Iterator[RenderableType]":
    from rich.table import Table

    tried = ", ".join(
        f"{name} {value}" for name in _RULES if (value := getattr(told.rules, name)) is not None
    )
    yield ""
    if not told.differences:
        yield f"With {tried}: every item ends as it did."
        return
    yield f"With {tried}: {pluralize(len(told.differences), 'item')} would have gone differently."
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("Item", "Ended", "Round", "Instead", "Why"):
        table.add_column(column, overflow="fold")
    for each in told.differences:
        table.add_row(
            str(each.item), each.ended.value, str(each.round), each.fate.value, one_line(each.why)
        )
    yield table
    yield from (f"Not known: {line}." for line in told.unknown)
