"""Decides everything about a run before it begins, and writes nothing."""

from pathlib import Path

from msgspec.structs import replace

from punchlist.adapters.checks import detect
from punchlist.adapters.documents.document import Document
from punchlist.adapters.git.hooks import Hooks
from punchlist.adapters.git.scope import change, few
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.app.session import Session
from punchlist.app.start import wiring
from punchlist.app.start.agents import fit_to_play
from punchlist.app.start.allowance import Allowance, of_checks, of_settings
from punchlist.app.start.request import Prepared, Request
from punchlist.app.start.role_assignment import analyzers_look, cast, fit_to_ask, outside
from punchlist.app.start.tracker import fit_to_track
from punchlist.errors import SettingsError, UsageError
from punchlist.model.checks.check import Check
from punchlist.model.checks.protected import Protected, matches
from punchlist.model.patch.change import Change
from punchlist.ports.roles import REVIEWERS
from punchlist.settings import REPOSITORY_FILE, Loaded, load
from punchlist.workflow import load as load_workflow


async def prepare_run(session: Session, request: Request) -> Prepared:
    """Decide everything about a run that a request asks for."""
    workshop, allowance = await session.workshop(), session.allowance
    scope = await change(
        workshop, kind=request.kind, base=request.base, commit=request.commit, paths=request.paths
    )
    text = await repository_settings(workshop, scope.base)
    trusted = text is not None and (
        request.allow_checks is True or allowance.covers(of_settings(text))
    )
    loaded = load(text if trusted else None, session.flags)
    fit_to_track(loaded)
    fit_to_ask(loaded)
    checks = await found_checks(workshop, scope.base, loaded)
    steered = await _steered(workshop, scope, loaded.settings.protected)
    notes = (*scope.notes, *steered, *_distrust(text, trusted=trusted), *await _hooks(workshop))
    workflow = load_workflow(request.workflow or loaded.settings.workflow)
    tools = (
        wiring.reviewers(loaded.settings, workshop.checkout.root)
        if analyzers_look(workflow)
        else {}
    )
    crew = cast(workflow, loaded.settings)
    ready = Prepared(
        change=replace(
            scope, notes=notes
        ),  # into the ledger, where every report finds what was left out
        workflow=workflow,
        loaded=loaded,
        reviewers=tuple(tools),
        documents=_documents(request.findings),
        checks=checks,
        checks_allowed=_allowed(request, checks, allowance, loaded),
        notes=notes,
        force=request.force,
        crew=crew,
        outside=outside(crew, loaded.settings),
        specification=await _specified(request.specification, workshop, scope.head),
        user_notes=request.notes,
    )
    fit_to_play(ready.crew, loaded.settings, workshop.folder.parents[1])
    if not ready.reviewers and not ready.documents and not ready.crew.keys() & set(REVIEWERS):
        raise SettingsError(
            "no analyzer is enabled and no findings were given: there is no reviewer",
            hint="punchlist doctor",
        )
    return ready


async def _specified(named: tuple[str, ...], workshop: Workshop, head: str) -> tuple[str, ...]:
    """The files themselves; a folder stands for what is in it."""
    listing = await workshop.listing(head)
    found: list[str] = []
    for name in named:
        path = name.strip("/")
        below = [known for known in listing if known == path or known.startswith(f"{path}/")]
        if not below:
            raise UsageError(
                f"--spec {name}: the reviewed commit has no such file or folder",
                hint="give a path from the root",
            )
        found += below
    return tuple(dict.fromkeys(found))


async def repository_settings(workshop: Workshop, commit: str) -> str | None:
    raw = await workshop.checkout.show(commit, REPOSITORY_FILE)
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError as error:
        hint = f"save {REPOSITORY_FILE} as UTF-8 and commit it, or remove it"
        raise SettingsError(f"{REPOSITORY_FILE} at {commit[:10]}: not UTF-8", hint=hint) from error


async def found_checks(workshop: Workshop, commit: str, loaded: Loaded) -> tuple[Check, ...]:
    """The configured ones; where there are none, what the base commit looks as if it were tested
    with.
    """
    configured = loaded.settings.configured_checks(loaded.origins.get("checks", ""))
    if configured or not loaded.settings.detect_checks:
        return configured
    async with WorkTrees(workshop).at(commit) as tree:
        return await detect(tree, workshop.checkout.root)


def _allowed(
    request: Request, checks: tuple[Check, ...], allowance: Allowance, loaded: Loaded
) -> bool | None:
    """Commands the user wrote into their own settings are theirs already; all others need a word,
    hooks as well.
    """
    if request.allow_checks is not None:
        return request.allow_checks
    own = loaded.origins.get("checks", REPOSITORY_FILE) != REPOSITORY_FILE
    if own or allowance.covers(of_checks(checks)):
        return True
    return None if checks else False


def _distrust(text: str | None, *, trusted: bool) -> tuple[str, ...]:
    if text is None or trusted:
        return ()
    return (f"{REPOSITORY_FILE} was not used: it is not allowed yet (`punchlist allow`)",)


async def _steered(workshop: Workshop, scope: Change, protected: Protected) -> tuple[str, ...]:
    """What the change itself says about how it wants to be judged."""
    before, after = await workshop.listing(scope.base), await workshop.listing(scope.head)
    differ = sorted(
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    )
    changed = [path for path in differ if matches(path, protected.configuration)]
    steering = [path for path in changed if matches(path, protected.steering)]
    others = [path for path in changed if path not in steering]
    analyzers = (
        "analyzers and checks are configured as on the base; changed here and not used:"
        f" {few(steering)}"
    )
    checks = f"checks run with what the base has of these, and no other: {few(others)}"
    return (*([analyzers] if steering else []), *([checks] if others else []))


async def _hooks(workshop: Workshop) -> tuple[str, ...]:
    note = await Hooks(workshop, WorkTrees(workshop)).note()
    return (note,) if note else ()


def _documents(files: tuple[str, ...]) -> dict[str, str]:
    named: dict[str, str] = {}
    for file in files:
        name = Document.open(Path(file)).name
        if name in named:
            name = f"{name} ({len(named) + 1})"
        if str(Path(file).resolve()) in named.values():
            raise UsageError(f"{file} was given twice", hint="give each file once")
        named[name] = str(Path(file).resolve())
    return named
