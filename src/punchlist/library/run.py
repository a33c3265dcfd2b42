"""Review, fix, prove and file with one call."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from punchlist.app.session import Session
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.app.start.start import start_run
from punchlist.errors import UsageError
from punchlist.model.item.item import Item, Status
from punchlist.model.ledger.events import Entry
from punchlist.model.ledger.outcome import RunOutcome
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import ScopeKind
from punchlist.steps import Action
from punchlist.workflow.loader import with_rounds

OnEvent = Callable[[Entry, Run], None]
"""Receives every entry of the ledger as it is written, and the run after it."""


class ReviewFixResult(Struct, frozen=True, kw_only=True):
    """The result of a run. `total_findings` is `fixed` + `blocked` + `dismissed`."""

    total_findings: int
    """Items in scope: what reports of the same thing come down to."""
    fixed: int
    """Fixed with a proof, and committed on the run's branch."""
    blocked: int
    """Not fixed: filed, blocked, deferred or still open."""
    dismissed: int
    issues_created: tuple[str, ...]
    """What was filed: addresses of issues, or paths of files."""
    run: str
    """The run's id; `punchlist show RUN` and all other commands know it."""
    branch: str
    """Where the fixes are. Nothing is pushed, and your checkout is as it was; `punchlist apply RUN`
    brings them home.
    """
    outcome: str
    """clean, nothing-found, fixed, dismissed, leftovers or incomplete; where anything failed, was
    left out or is not done, it is incomplete.
    """
    items: tuple[Item, ...]
    """All of them, with their histories, proofs and flags; also those outside the change."""
    waiting_for: str = ""
    """What the run wants to know from a person before it goes on; `punchlist answer`."""
    interrupted: bool = False
    """It was cancelled; what was done by then is kept, and `punchlist resume` goes on."""


class _EventForwarder:
    def __init__(self, on_event: OnEvent | None) -> None:
        self._on_event = on_event

    def handle_start(self, place: str, action: Action) -> None: ...

    def handle_event(self, entry: Entry, run: Run) -> None:
        if self._on_event is not None:
            self._on_event(entry, run)

    def handle_output(self, label: str, piece: str) -> None: ...

    def handle_delay(self, text: str) -> None: ...


async def review_and_fix(  # noqa: PLR0913 - one keyword per thing that may be said; all have a default
    feature_name: str,
    max_iterations: int = 5,
    *,
    repository: str | Path = ".",
    workflow: str = "unified",
    agents: Sequence[str] = (),
    findings: Sequence[str | Path] = (),
    base: str = "",
    everything: bool = False,
    paths: Sequence[str] = (),
    specification: Sequence[str] | None = None,
    notes: str = "",
    allow_checks: bool | None = None,
    settings: Mapping[str, str] | None = None,
    on_event: OnEvent | None = None,
) -> ReviewFixResult:
    """Review what a branch changed, fix what can be proven fixed, and file the rest.

    `feature_name`: what the change is about; reviewers get the files below
    `specs/<feature_name>/`, unless `specification` names others. `max_iterations`: rounds
    of fixing at most. `agents`: in the order they are asked. `allow_checks`: True lets the
    project's own checks judge the fixes. `settings`: by name, as with `--set`.

    Raise `punchlist.errors.PunchlistError` if the run cannot begin: no repository, a wrong
    setting, no agent for a role. Later errors are part of the result. Cancelling ends the run
    between two entries of its ledger and returns the result so far.
    """
    if max_iterations < 1:
        given = f"max_iterations is {max_iterations}"
        raise UsageError(f"{given}; without a round nothing can be fixed", hint="at least 1")
    flags = {**({"agents.use": ",".join(agents)} if agents else {}), **(settings or {})}
    feature = f"The feature under review is {feature_name}." if feature_name else ""
    with closing(await Session.open(Path(repository), flags)) as session:
        if specification is None:
            specification = _find_specification(session, feature_name)
        request = Request(
            kind=ScopeKind.ALL if everything else None,
            base=base,
            paths=tuple(paths),
            findings=tuple(map(str, findings)),
            workflow=workflow,
            allow_checks=allow_checks,
            specification=tuple(specification),
            notes="\n".join(filter(None, (feature, notes))),
        )
        ready = await prepare_run(session, request)
        ready = replace(ready, workflow=with_rounds(ready.workflow, max_iterations))
        return make_result(await start_run(session, ready, _EventForwarder(on_event)))


def _find_specification(session: Session, feature_name: str) -> tuple[str, ...]:
    """Return the feature's folder below `specs/`, if there is one."""
    folder = f"specs/{feature_name}"
    if session.checkout is None or not feature_name:
        return ()
    return (folder,) if (session.checkout.root / folder).is_dir() else ()


def make_result(run: Run) -> ReviewFixResult:
    """Return the result of a run so far."""
    inside = run.in_scope
    fixed = sum(item.status is Status.FIXED for item in inside)
    dismissed = sum(item.status is Status.DISMISSED for item in inside)
    question = run.waiting_for.question if run.waiting_for is not None else ""
    doubts = "\n".join(f"{doubt.id}: {doubt.question}" for doubt in run.unanswered)
    issues = (item.issue for item in inside if item.status is Status.FILED)
    return ReviewFixResult(
        total_findings=len(inside),
        fixed=fixed,
        blocked=len(inside) - fixed - dismissed,
        dismissed=dismissed,
        issues_created=tuple(dict.fromkeys(filter(None, issues))),
        run=run.id,
        branch=run.landing.branch,
        outcome=run.ended or RunOutcome.INCOMPLETE.value,
        items=tuple(run.items.values()),
        waiting_for=question or doubts,
        interrupted=run.interrupted,
    )
