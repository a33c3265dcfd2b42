"""punchlist replay: fold a recorded run again offline, and try other rules on it."""

from collections.abc import Iterator
from difflib import get_close_matches

import click

from punchlist.app.after.replay import FileMatch, ReplayResult, replay_run
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.drawing import Part
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import run_session
from punchlist.cli.show.layout import make_table
from punchlist.cli.show.words import one_line
from punchlist.cli.terminal import print_result
from punchlist.errors import UsageError
from punchlist.model.finding.severity import Severity
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.what_if import ReplayRules

_RULES = ("threshold", "attempts", "floor")
_EXAMPLES = "threshold=95, attempts=2 or floor=major"
_TOP = 100


@click.command()
@options.run_argument
@options.repeatable(
    "--with",
    "rules",
    metavar="RULE=VALUE",
    help="Try another rule on: threshold=95, attempts=2, floor=major; may be given several times.",
)
@options.json_option
def command(run_id: str, rules: tuple[str, ...], json_: bool) -> Exit:
    """Fold a recorded run again, offline: it comes to the same, byte for byte, or the exit code
    says so.

    With --with it says which items would have ended differently under other rules. No agent is
    started: what only an agent could tell is said to be unknown.
    """
    chosen = _parse_rules(rules)

    async def look(session: Session) -> Exit:
        result = replay_run(session, run_id, chosen)
        print_result(result, _render_result(result), json=json_)
        if not result.same:
            return Exit.LEDGER
        return Exit.FINE if result.whole else Exit.INCOMPLETE

    return run_session(look, repository=None, readonly=True)


def _parse_rules(given: tuple[str, ...]) -> ReplayRules:
    named: dict[str, str] = {}
    for rule in given:
        name, found, value = map(str.strip, rule.partition("="))
        if not found:
            raise UsageError(f"--with {rule}: must be RULE=VALUE", hint=_EXAMPLES)
        if name not in _RULES:
            close = get_close_matches(name, _RULES, n=1)
            guess = f'; did you mean "{close[0]}"?' if close else ""
            raise UsageError(f"--with {rule}: no such rule{guess}", hint=_EXAMPLES)
        named[name] = value
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


def _render_result(result: ReplayResult) -> Iterator[Part]:
    verdict = "NOT the same"
    if result.same:
        verdict = f"the same, {'byte for byte' if result.whole else 'as far as it is there'}"
    entries = pluralize(result.entries, "entry", "entries")
    yield f"Run {result.run}: {entries} folded again: {verdict}"
    yield f"  state  {result.state}"
    for each in result.files:
        why = f"  {one_line(each.why)}" if each.why else ""
        yield f"  {each.likeness:<7}  {each.name}{why}"
    if not result.files:
        yield f"  {FileMatch.GONE:<7}  no report was written so far"
    yield from (f"  problem: {one_line(problem)}" for problem in result.problems)
    if result.rules != ReplayRules():
        yield from _render_differences(result)


def _render_differences(result: ReplayResult) -> Iterator[Part]:
    values = {name: getattr(result.rules, name) for name in _RULES}
    rules = ", ".join(f"{name} {values[name]}" for name in _RULES if values[name] is not None)
    yield ""
    if not result.differences:
        yield f"With {rules}: every item ends as it did."
        return
    yield f"With {rules}: {pluralize(len(result.differences), 'item')} would have gone differently."
    table = make_table("Item", "Ended", "Round", "Instead", "Why")
    for each in result.differences:
        table.add_row(
            str(each.item), each.ended.value, str(each.round), each.fate.value, one_line(each.why)
        )
    yield table
    yield from (f"Not known: {line}." for line in result.unknown)
