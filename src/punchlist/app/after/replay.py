"""Replay a recorded run offline: is it the same byte for byte, and what would other rules do?"""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import partial

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
from punchlist.workflow.language import list_steps
from punchlist.workflow.loader import parse_workflow

RenderFile = Callable[[], bytes]


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
    differences: tuple[Difference, ...] = ()
    if rules != ReplayRules():
        differences = what_if(run_id, entries, _load_rules(run), rules)
    fates = dict.fromkeys(difference.fate for difference in differences)
    problems = tuple(_find_problems(entries, written, state))
    renders = _collect_renders(run_id, entries)
    files = tuple(_compare_file(name, renders[name], artifacts, run) for name in renders)
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
    for run, entry, _ in _fold_steps(run_id, entries):
        if not isinstance(entry.event, ev.Ended):
            continue
        then, now = entry.event.outcome, run_outcome(run).value
        if then != now:
            yield f'entry {entry.seq}: the run ended "{then}", and folded again it ends "{now}"'


def _fold_steps(run_id: str, entries: Sequence[ev.Entry]) -> Iterator[tuple[Run, ev.Entry, Run]]:
    """Yield the run before each entry after the first, the entry, and the run after it."""
    lines = iter(entries)
    run = begin(run_id, lines)
    for entry in lines:
        after = fold(run, entry)
        yield run, entry, after
        run = after


def _collect_renders(run_id: str, entries: Sequence[ev.Entry]) -> dict[str, RenderFile]:
    """Return how each file was rendered, by name; the last writer counts."""
    files: dict[str, RenderFile] = {}
    for before, entry, after in _fold_steps(run_id, entries):
        if isinstance(entry.event, ev.Reported):
            files |= _report_renders(before, entry.event)
        elif isinstance(entry.event, ev.Dismissed) and after.ended and after.filing.artifacts:
            files |= {
                name: partial(WRITTEN[name], after) for name in WRITTEN if WRITTEN[name](after)
            }
    return files


def _report_renders(run: Run, event: ev.Reported) -> dict[str, RenderFile]:
    filing = replace(run.filing, listed=event.listed)
    ended = replace(run, filing=filing, ended=run_outcome(run).value)
    names = [path.partition(f"/{run.id}/")[2] for path in event.artifacts]
    reports: dict[str, RenderFile] = {
        name: partial(WRITTEN[name], ended) for name in names if name in WRITTEN
    }
    return reports | {
        name: lambda: findings_document(run, run.position.round)[1]
        for name in names
        if name.startswith(f"{FOLDER}/")
    }


def _compare_file(name: str, render: RenderFile, artifacts: Artifacts, run: Run) -> FileComparison:
    kept = artifacts.read(name)
    if kept is None:
        gone = "it is not there any more, so there is nothing to compare"
        return FileComparison(name, FileMatch.GONE, gone)
    made = render()
    if made == kept:
        return FileComparison(name, FileMatch.SAME)
    first = next(
        (at for at, (old, new) in enumerate(zip(kept, made, strict=False)) if old != new),
        min(len(kept), len(made)),
    )
    why = f"from byte {first + 1:,} on, of {len(kept):,}"
    if run.started.version != __version__:
        why += f"; the run is of punchlist {run.started.version}, and this is {__version__}"
    return FileComparison(name, FileMatch.DIFFERS, why)


def _load_rules(run: Run) -> ReplayRules:
    """Return the rules of the run's plan step, from its pinned workflow."""
    started = run.started
    try:
        workflow = parse_workflow(started.workflow, started.workflow_name, started.workflow_name)
    except WorkflowError:  # of another version of the language
        return ReplayRules()
    for step in list_steps(workflow):
        if isinstance(step.options, PlanOptions):
            return ReplayRules(attempts=step.options.attempts, floor=step.options.floor)
    return ReplayRules()


def replay_run(session: Session, run_id: str, rules: ReplayRules) -> ReplayResult:
    found = session.find(run_id)
    entries = list(session.store.read(found))
    written = [line.rstrip(b"\n") for line in session.store.export(found)]
    return replay_entries(found, entries, written, session.artifacts(found), rules)
