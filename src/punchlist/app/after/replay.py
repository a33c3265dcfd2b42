"""A recorded run folded again offline: does it come to the same, byte for byte, and what would
other rules have made of it?
"""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

from msgspec import MsgspecError, Struct
from msgspec.structs import replace

from punchlist._version import __version__
from punchlist.adapters.reports import WRITTEN
from punchlist.app.session import Session
from punchlist.errors import WorkflowError
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import begin, fold, folded
from punchlist.model.ledger.hash_chain import broken_lines
from punchlist.model.ledger.outcome import outcome
from punchlist.model.ledger.run import Run
from punchlist.ports.artifacts import Artifacts
from punchlist.steps.plan import Options as PlanOptions
from punchlist.views.findings_document import FOLDER, findings_document
from punchlist.views.what_if import UNKNOWN, Difference, Rules, state_hash, what_if
from punchlist.workflow import Do, Repeat
from punchlist.workflow.loader import parse

Render = Callable[[], bytes]


class Likeness(StrEnum):
    SAME = "same"
    DIFFERS = "differs"
    GONE = "gone"


class Compared(Struct, frozen=True):
    """A file that the run wrote, beside what its ledger makes of it now."""

    name: str
    likeness: Likeness
    why: str = ""


class Replayed(Struct, frozen=True, kw_only=True):
    """`state` names all that the run came to; folding the same entries anywhere gives the same."""

    run: str
    entries: int
    state: str
    same: bool
    """Nothing is wrong, and no file differs from what the ledger makes of it."""
    whole: bool
    """Everything that was written could be compared, and something was."""
    problems: tuple[str, ...] = ()
    files: tuple[Compared, ...] = ()
    rules: Rules = Rules()
    differences: tuple[Difference, ...] = ()
    unknown: tuple[str, ...] = ()
    """What cannot be told without asking agents again."""


def replayed(
    run_id: str,
    entries: Sequence[ev.Entry],
    written: Sequence[bytes],
    artifacts: Artifacts,
    rules: Rules,
) -> Replayed:
    """`written` are the entries as they are on disk."""
    run = folded(run_id, entries)
    state = state_hash(run)
    tried_on = rules != Rules()
    differences = what_if(run_id, entries, _rules(run), rules) if tried_on else ()
    fates = dict.fromkeys(difference.fate for difference in differences)
    problems = tuple(_problems(entries, written, state))
    files = tuple(
        _compared(name, render, artifacts, run) for name, render in _files(run_id, entries).items()
    )
    seen = {each.likeness for each in files}
    return Replayed(
        run=run_id,
        entries=len(entries),
        state=state,
        same=not problems and Likeness.DIFFERS not in seen,
        whole=bool(files) and Likeness.GONE not in seen,
        problems=problems,
        files=files,
        rules=rules,
        differences=differences,
        unknown=tuple(UNKNOWN[fate] for fate in fates if fate in UNKNOWN),
    )


def _problems(entries: Sequence[ev.Entry], written: Sequence[bytes], state: str) -> Iterator[str]:
    """The chain holds, the bytes on disk fold to the same as the entries did, and the end is the
    one that was recorded.
    """
    if broken := broken_lines(written):
        yield broken
        return
    run_id = entries[0].run if entries else ""
    try:
        again = state_hash(folded(run_id, (wire.decode(line, ev.Entry) for line in written)))
    except MsgspecError as error:
        yield f"the exported ledger cannot be read again: {error}"
        return
    if entries and again != state:
        yield f"the exported ledger folds to another state: {again[:16]}, not {state[:16]}"
    lines = iter(entries)
    run = begin(run_id, lines)
    for entry in lines:
        if isinstance(entry.event, ev.Ended) and entry.event.outcome != outcome(run).value:
            yield (
                f'entry {entry.seq}: the run ended "{entry.event.outcome}", and folded again it'
                f' ends "{outcome(run).value}"'
            )
        run = fold(run, entry)


def _files(run_id: str, entries: Sequence[ev.Entry]) -> dict[str, Render]:
    """By name: how what is in the file now was made. Of several writers the last one counts."""
    files: dict[str, Render] = {}
    lines = iter(entries)
    run = begin(run_id, lines)
    for entry in lines:
        event = entry.event
        if isinstance(event, ev.Reported):
            files |= _reported(run, event)
        run = fold(run, entry)
        if isinstance(event, ev.Dismissed) and run.ended and run.filing.artifacts:
            files |= {name: _made(name, run) for name in WRITTEN if WRITTEN[name](run)}
    return files


def _reported(run: Run, event: ev.Reported) -> dict[str, Render]:
    filing = replace(run.filing, listed=event.listed)
    told = replace(run, filing=filing, ended=outcome(run).value)
    names = [path.partition(f"/{run.id}/")[2] for path in event.artifacts]
    reports = {name: _made(name, told) for name in names if name in WRITTEN}
    return reports | {name: _document(run) for name in names if name.startswith(f"{FOLDER}/")}


def _made(name: str, run: Run) -> Render:
    return lambda: WRITTEN[name](run)


def _document(run: Run) -> Render:
    return lambda: findings_document(run, run.position.round)[1]


def _compared(name: str, render: Render, artifacts: Artifacts, run: Run) -> Compared:
    kept = artifacts.read(name)
    if kept is None:
        return Compared(
            name, Likeness.GONE, "it is not there any more, so there is nothing to compare"
        )
    made = render()
    if made == kept:
        return Compared(name, Likeness.SAME)
    first = next(
        (at for at, (old, new) in enumerate(zip(kept, made, strict=False)) if old != new),
        min(len(kept), len(made)),
    )
    version = run.started.version
    other = (
        f"; the run is of punchlist {version}, and this is {__version__}"
        if version != __version__
        else ""
    )
    return Compared(name, Likeness.DIFFERS, f"from byte {first + 1:,} on, of {len(kept):,}{other}")


def _rules(run: Run) -> Rules:
    """Those of the run's own plan, from the workflow that it has pinned."""
    started = run.started
    try:
        workflow = parse(started.workflow, started.workflow_name, started.workflow_name)
    except WorkflowError:  # of another version of the language
        return Rules()
    bodies = [step.steps if isinstance(step, Repeat) else (step,) for step in workflow.steps]
    chosen = (step.options for body in bodies for step in body if isinstance(step, Do))
    plan = next((options for options in chosen if isinstance(options, PlanOptions)), None)
    return Rules(attempts=plan.attempts, floor=plan.floor) if plan is not None else Rules()


def replay_run(session: Session, run_id: str, rules: Rules) -> Replayed:
    """Folds a recorded run again, offline, and says what other rules would have made of it."""
    found = session.find(run_id)
    written = [line.rstrip(b"\n") for line in session.store.export(found)]
    return replayed(
        found, list(session.store.read(found)), written, session.artifacts(found), rules
    )
