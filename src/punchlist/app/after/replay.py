"""Replay a recorded run offline: is it the same byte for byte, and what would
other rules change?
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
from punchlist.model.ledger.fold import begin, fold, fold_entries
from punchlist.model.ledger.hash_chain import verify_lines
from punchlist.model.ledger.outcome import run_outcome
from punchlist.model.ledger.run import Run
from punchlist.ports.artifacts import Artifacts
from punchlist.steps.plan import Options as PlanOptions
from punchlist.views.findings_document import FOLDER, findings_document
from punchlist.views.what_if import UNKNOWN, Difference, ReplayRules, hash_state, what_if
from punchlist.workflow import Do, Repeat
from punchlist.workflow.loader import parse_workflow

Render = Callable[[], bytes]


class FileMatch(StrEnum):
    SAME = "same"
    DIFFERS = "differs"
    GONE = "gone"


class FileComparison(Struct, frozen=True):
    """A file the run wrote, compared with what its ledger gives now."""

    name: str
    likeness: FileMatch
    why: str = ""


class ReplayResult(Struct, frozen=True, kw_only=True):
    """`state` is the hash of the folded run, the same on every machine."""

    run: str
    entries: int
    state: str
    same: bool
    """Nothing is wrong, and no file differs from what the ledger makes of it."""
    whole: bool
    """Everything that was written could be compared, and something was."""
    problems: tuple[str, ...] = ()
    files: tuple[FileComparison, ...] = ()
    rules: ReplayRules = ReplayRules()
    differences: tuple[Difference, ...] = ()
    unknown: tuple[str, ...] = ()
    """What cannot be told without asking agents again."""


def replay_entries(
    run_id: str,
    entries: Sequence[ev.Entry],
    written: Sequence[bytes],
    artifacts: Artifacts,
    rules: ReplayRules,
) -> ReplayResult:
    """Fold the entries again and compare. `written` are their bytes on disk."""
    run = fold_entries(run_id, entries)
    state = hash_state(run)
    tried_on = rules != ReplayRules()
    differences = what_if(run_id, entries, _load_rules(run), rules) if tried_on else ()
    fates = dict.fromkeys(difference.fate for difference in differences)
    problems = tuple(_find_problems(entries, written, state))
    files = tuple(
        _compare_file(name, render, artifacts, run)
        for name, render in _collect_renders(run_id, entries).items()
    )
    seen = {each.likeness for each in files}
    return ReplayResult(
        run=run_id,
        entries=len(entries),
        state=state,
        same=not problems and FileMatch.DIFFERS not in seen,
        whole=bool(files) and FileMatch.GONE not in seen,
        problems=problems,
        files=files,
        rules=rules,
        differences=differences,
        unknown=tuple(UNKNOWN[fate] for fate in fates if fate in UNKNOWN),
    )


def _find_problems(
    entries: Sequence[ev.Entry], written: Sequence[bytes], state: str
) -> Iterator[str]:
    """Yield what is wrong with the hash chain, the state folded from the bytes, or the outcome."""
    if broken := verify_lines(written):
        yield broken
        return
    run_id = entries[0].run if entries else ""
    try:
        again = hash_state(fold_entries(run_id, (wire.decode(line, ev.Entry) for line in written)))
    except MsgspecError as error:
        yield f"the exported ledger cannot be read again: {error}"
        return
    if entries and again != state:
        yield f"the exported ledger folds to another state: {again[:16]}, not {state[:16]}"
    lines = iter(entries)
    run = begin(run_id, lines)
    for entry in lines:
        if isinstance(entry.event, ev.Ended) and entry.event.outcome != run_outcome(run).value:
            yield (
                f'entry {entry.seq}: the run ended "{entry.event.outcome}", and folded again it'
                f' ends "{run_outcome(run).value}"'
            )
        run = fold(run, entry)


def _collect_renders(run_id: str, entries: Sequence[ev.Entry]) -> dict[str, Render]:
    """Return how each file was rendered, by name; the last writer counts."""
    files: dict[str, Render] = {}
    lines = iter(entries)
    run = begin(run_id, lines)
    for entry in lines:
        event = entry.event
        if isinstance(event, ev.Reported):
            files |= _report_renders(run, event)
        run = fold(run, entry)
        if isinstance(event, ev.Dismissed) and run.ended and run.filing.artifacts:
            files |= {name: _make_render(name, run) for name in WRITTEN if WRITTEN[name](run)}
    return files


def _report_renders(run: Run, event: ev.Reported) -> dict[str, Render]:
    filing = replace(run.filing, listed=event.listed)
    told = replace(run, filing=filing, ended=run_outcome(run).value)
    names = [path.partition(f"/{run.id}/")[2] for path in event.artifacts]
    reports = {name: _make_render(name, told) for name in names if name in WRITTEN}
    return reports | {
        name: _document_render(run) for name in names if name.startswith(f"{FOLDER}/")
    }


def _make_render(name: str, run: Run) -> Render:
    return lambda: WRITTEN[name](run)


def _document_render(run: Run) -> Render:
    return lambda: findings_document(run, run.position.round)[1]


def _compare_file(name: str, render: Render, artifacts: Artifacts, run: Run) -> FileComparison:
    kept = artifacts.read(name)
    if kept is None:
        return FileComparison(
            name, FileMatch.GONE, "it is not there any more, so there is nothing to compare"
        )
    made = render()
    if made == kept:
        return FileComparison(name, FileMatch.SAME)
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
    return FileComparison(
        name, FileMatch.DIFFERS, f"from byte {first + 1:,} on, of {len(kept):,}{other}"
    )


def _load_rules(run: Run) -> ReplayRules:
    """Return the rules of the run's plan step, from its pinned workflow."""
    started = run.started
    try:
        workflow = parse_workflow(started.workflow, started.workflow_name, started.workflow_name)
    except WorkflowError:  # of another version of the language
        return ReplayRules()
    bodies = [step.steps if isinstance(step, Repeat) else (step,) for step in workflow.steps]
    chosen = (step.options for body in bodies for step in body if isinstance(step, Do))
    plan = next((options for options in chosen if isinstance(options, PlanOptions)), None)
    return (
        ReplayRules(attempts=plan.attempts, floor=plan.floor) if plan is not None else ReplayRules()
    )


def replay_run(session: Session, run_id: str, rules: ReplayRules) -> ReplayResult:
    """Folds a recorded run again, offline, and says what other rules would have made of it."""
    found = session.find(run_id)
    written = [line.rstrip(b"\n") for line in session.store.export(found)]
    return replay_entries(
        found, list(session.store.read(found)), written, session.artifacts(found), rules
    )
