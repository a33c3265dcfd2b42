"""What an entry of the ledger says to a person who watches: one line, or nothing."""

from punchlist.cli.words import count, one_line
from punchlist.model import events as ev
from punchlist.model.item import Fact
from punchlist.model.run import Run


def line_of(entry: ev.Entry, run: Run) -> str:  # noqa: C901, PLR0911, PLR0912 - one arm per event that is worth a line
    """`run` is the run after the entry."""
    match entry.event:
        case ev.Started() as event:
            return f"run {run.id}: workflow {event.workflow_name}, {_scope(event)}"
        case ev.Resumed():
            return f"run {run.id} goes on"
        case ev.Reviewed() as event:
            return f"review: {_reviewed(event)}"
        case ev.Consolidated() as event if event.items:
            return f"consolidate: {count(len(event.items), 'new item')}, {len(run.items)} in all"
        case ev.Planned() as event:
            later = f", {event.waiting} wait for the next round" if event.waiting else ""
            return f"plan: round {run.round}, {_fixes(len(event.batches))} to try{later}"
        case ev.Attempted() as event:
            refused = f", {len(event.refused)} refused" if event.refused else ""
            return (
                f"fix: {len(event.patches)} of {_fixes(len(event.patches) + len(event.refused))} made by {event.fixer}{refused}"
            )
        case ev.Rechecked() as event:
            return f"verify: looked again, {len(event.passed)} of {_fixes(len(event.passed) + len(event.failed))} hold"
        case ev.Baselined() as event:
            return f"verify: {_baselined(event)}"
        case ev.Tried() as event:
            return f"verify: {', '.join(f'{v.check}: {v.why}' for v in event.verdicts)} ({_fixes(len(event.batches))} together)"
        case ev.Verified() as event:
            return f"verify: {_fixes(len(event.passed))} proven, {len(event.failed)} not" + _unverified(event)
        case ev.Committed() as event:
            return "commit: " + (event.refused or f"{count(len(event.landed), 'commit')} on {event.branch}")
        case ev.Filed() as event:
            filed = sum(move.fact is Fact.FILED for move in event.moves)
            failed = f", {len(event.failed)} could not be" if event.failed else ""
            return f"report: {count(filed, 'item')} filed in {event.tracker}{failed}"
        case ev.Failed() as event:
            return f"failed: {event.reason}"
        case ev.RoundEnded() as event if event.stop:
            return f"round {event.round}: {event.stop}"
        case ev.Asked() as event:
            return f"asked: {event.question}"
        case ev.Halted() as event:
            return f"halted: {event.limit}"
        case ev.Interrupted() as event:
            return event.reason
        case _:
            return ""


def shown(entry: ev.Entry, run: Run) -> str:
    return one_line(line_of(entry, run))


def _scope(event: ev.Started) -> str:
    change = event.change
    against = f" against {change.base_name}" if change.base_name else ""
    return f"scope {change.kind}{against} at {change.head[:10]}"


def _reviewed(event: ev.Reviewed) -> str:
    if event.failed:
        return f"{event.reviewer} failed: {event.failed}"
    if event.skipped:
        return f"{event.reviewer} skipped: {event.skipped}"
    looked = f" in {count(event.looked_at, 'file')}" if event.looked_at else ""
    refused = f", {len(event.refused)} not understood" if event.refused else ""
    return f"{event.reviewer}, {count(len(event.findings), 'finding')}{looked}{refused}"


def _baselined(event: ev.Baselined) -> str:
    if event.unusable:
        return f"{event.check} cannot judge here: {event.unusable}"
    tests = f"{event.passed} passed, {event.failed} failed" if event.passed or event.failed else f"exit code {event.exit_code}"
    return f"{event.check} before any fix: {tests}" + (" (known from an earlier run)" if event.cached else "")


def _fixes(number: int) -> str:
    return f"{number} fix" if number == 1 else f"{number} fixes"


def _unverified(event: ev.Verified) -> str:
    return f"; unverified: {event.unverified}" if event.unverified else ""
