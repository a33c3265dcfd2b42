"""Decide everything about a run before it begins; nothing is written."""

from pathlib import Path

from msgspec.structs import replace

from punchlist.adapters.checks import detect
from punchlist.adapters.documents.document import FindingsDocument
from punchlist.adapters.git.hooks import Hooks
from punchlist.adapters.git.scope import join_few, resolve_change
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.app.session import Session
from punchlist.app.start import wiring
from punchlist.app.start.agents import check_agents
from punchlist.app.start.allowance import Allowance, hash_checks, hash_settings
from punchlist.app.start.request import Prepared, Request
from punchlist.app.start.role_assignment import (
    assign_roles,
    check_agent_settings,
    find_outside,
    uses_analyzers,
)
from punchlist.app.start.tracker import check_tracker_settings
from punchlist.errors import SettingsError, UsageError
from punchlist.model.checks.check import Check
from punchlist.model.checks.protected import Protected, matches_any
from punchlist.model.patch.change import Change
from punchlist.ports.roles import REVIEWERS
from punchlist.settings import REPOSITORY_FILE, LoadedSettings, load_settings
from punchlist.workflow import load_workflow


async def prepare_run(session: Session, request: Request) -> Prepared:
    """Decide everything about a run that a request asks for."""
    workshop, allowance = await session.workshop(), session.allowance
    scope = await resolve_change(
        workshop, kind=request.kind, base=request.base, commit=request.commit, paths=request.paths
    )
    text = await repository_settings(workshop, scope.base)
    trusted = text is not None and (
        request.allow_checks is True or allowance.covers(hash_settings(text))
    )
    loaded = load_settings(text if trusted else None, session.flags)
    check_tracker_settings(loaded)
    check_agent_settings(loaded)
    checks = await find_checks(workshop, scope.base, loaded)
    steered = await _note_configuration(workshop, scope, loaded.settings.protected)
    notes = (
        *scope.notes,
        *steered,
        *_note_untrusted(text, trusted=trusted),
        *await _note_hooks(workshop),
    )
    workflow = load_workflow(request.workflow or loaded.settings.workflow)
    tools = (
        wiring.make_reviewers(loaded.settings, workshop.checkout.root)
        if uses_analyzers(workflow)
        else {}
    )
    crew = assign_roles(workflow, loaded.settings)
    ready = Prepared(
        change=replace(
            scope, notes=notes
        ),  # into the ledger, where every report finds what was left out
        workflow=workflow,
        loaded=loaded,
        reviewers=tuple(tools),
        documents=_name_documents(request.findings),
        checks=checks,
        checks_allowed=_find_permission(request, checks, allowance, loaded),
        notes=notes,
        force=request.force,
        crew=crew,
        outside=find_outside(crew, loaded.settings),
        specification=await _expand_paths(request.specification, workshop, scope.head),
        user_notes=request.notes,
    )
    check_agents(ready.crew, loaded.settings, workshop.folder.parents[1])
    if not ready.reviewers and not ready.documents and not ready.crew.keys() & set(REVIEWERS):
        raise SettingsError(
            "no analyzer is enabled and no findings were given: there is no reviewer",
            hint="punchlist doctor",
        )
    return ready


async def _expand_paths(named: tuple[str, ...], workshop: Workshop, head: str) -> tuple[str, ...]:
    """Return the named files and those in named folders. Raise UsageError if there is none."""
    listing = await workshop.list_tree(head)
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
    raw = await workshop.checkout.read_file(commit, REPOSITORY_FILE)
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError as error:
        hint = f"save {REPOSITORY_FILE} as UTF-8 and commit it, or remove it"
        raise SettingsError(f"{REPOSITORY_FILE} at {commit[:10]}: not UTF-8", hint=hint) from error


async def find_checks(workshop: Workshop, commit: str, loaded: LoadedSettings) -> tuple[Check, ...]:
    """Return the configured checks, else those detected on the base commit."""
    configured = loaded.settings.build_checks(loaded.origins.get("checks", ""))
    if configured or not loaded.settings.detect_checks:
        return configured
    async with WorkTrees(workshop).open_tree(commit) as tree:
        return await detect(tree, workshop.checkout.root)


def _find_permission(
    request: Request, checks: tuple[Check, ...], allowance: Allowance, loaded: LoadedSettings
) -> bool | None:
    """Return whether checks may run, or None if the user must be asked. Commands in the user's own
    settings may.
    """
    if request.allow_checks is not None:
        return request.allow_checks
    own = loaded.origins.get("checks", REPOSITORY_FILE) != REPOSITORY_FILE
    if own or allowance.covers(hash_checks(checks)):
        return True
    return None if checks else False


def _note_untrusted(text: str | None, *, trusted: bool) -> tuple[str, ...]:
    if text is None or trusted:
        return ()
    return (f"{REPOSITORY_FILE} was not used: it is not allowed yet (`punchlist allow`)",)


async def _note_configuration(
    workshop: Workshop, scope: Change, protected: Protected
) -> tuple[str, ...]:
    """Return notes on tool and check configuration that the change edits."""
    before, after = await workshop.list_tree(scope.base), await workshop.list_tree(scope.head)
    differ = sorted(
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    )
    changed = [path for path in differ if matches_any(path, protected.configuration)]
    steering = [path for path in changed if matches_any(path, protected.steering)]
    others = [path for path in changed if path not in steering]
    analyzers = (
        "analyzers and checks are configured as on the base; changed here and not used:"
        f" {join_few(steering)}"
    )
    checks = f"checks run with what the base has of these, and no other: {join_few(others)}"
    return (*([analyzers] if steering else []), *([checks] if others else []))


async def _note_hooks(workshop: Workshop) -> tuple[str, ...]:
    note = await Hooks(workshop, WorkTrees(workshop)).explain_skipped()
    return (note,) if note else ()


def _name_documents(files: tuple[str, ...]) -> dict[str, str]:
    named: dict[str, str] = {}
    for file in files:
        name = FindingsDocument.open(Path(file)).name
        if name in named:
            name = f"{name} ({len(named) + 1})"
        if str(Path(file).resolve()) in named.values():
            raise UsageError(f"{file} was given twice", hint="give each file once")
        named[name] = str(Path(file).resolve())
    return named
