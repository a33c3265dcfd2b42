"""Decide everything about a run before it begins; nothing is written."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from punchlist.adapters.analyzers.registry import add_selected, build_analyzers
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.folders.look import resolve_path
from punchlist.adapters.git.checkout_files import check_folder
from punchlist.adapters.git.hooks import Hooks
from punchlist.adapters.git.scope import join_few, resolve_change
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.app.agents.logins import add_logins
from punchlist.app.drive.budget import NO_AGENTS, find_spent
from punchlist.app.gate.shared_files import ReviewGate, load_gate
from punchlist.app.sandboxes import check_sandbox_settings
from punchlist.app.session import Session
from punchlist.app.start.agents import check_agents
from punchlist.app.start.allowance import Allowance, hash_checks, hash_settings, survey_code
from punchlist.app.start.chosen_workflow import ChosenWorkflow, choose_workflow
from punchlist.app.start.findings_files import move_issues
from punchlist.app.start.request import Prepared, Request
from punchlist.app.start.results import check_keep_settings
from punchlist.app.start.role_assignment import (
    check_agent_settings,
    find_outside,
    find_same_agents,
    runs_checks,
    uses_analyzers,
    writes_documents,
)
from punchlist.app.start.story import make_story
from punchlist.app.start.tracker import check_tracker_settings
from punchlist.app.stores import check_reading_settings, check_spread_settings
from punchlist.errors import BudgetSpent, SettingsError, UsageError
from punchlist.model.checks.check import Check, FoundChecks
from punchlist.model.checks.check_files import find_check_files
from punchlist.model.checks.protected import Protected, matches_any, protect_files
from punchlist.model.patch.change import Change
from punchlist.ports.roles import REVIEWERS
from punchlist.settings import REPOSITORY_FILE, LoadedSettings, load_settings
from punchlist.workflow.language import Workflow, list_steps

_NOT_ALLOWED = "it is not allowed yet (`punchlist allow`)"
_SETTINGS_CHECKS = (
    check_tracker_settings,
    check_keep_settings,
    check_agent_settings,
    check_sandbox_settings,
    check_reading_settings,
    check_spread_settings,
)


async def prepare_run(session: Session, request: Request) -> Prepared:
    workshop, allowance = await session.workshop(), session.allowance
    scope = await resolve_change(
        workshop,
        kind=request.kind,
        base=request.base,
        commit=request.commit,
        paths=request.paths,
        committed=request.committed,
    )
    text, loaded = await load_trusted(session, workshop, scope.base, allow=request.allow_checks)
    gate = await load_gate(workshop, scope, session.flags)
    loaded, odd = await _add_selected(loaded, gate)
    move = partial(move_issues, workshop, session.home, head=scope.head)
    files = [await move(each) for each in request.findings]
    settings = loaded.settings
    check_settings(loaded)
    how, spent = _choose_affordable(session, request, loaded)
    seeks = runs_checks(how.workflow) or bool(how.crew)
    told = replace(
        loaded, settings=replace(settings, detect_checks=settings.detect_checks and seeks)
    )
    found = await find_checks(workshop, scope.base, told, head=scope.head, given=request.checks)
    checks = await name_check_files(found.checks, workshop, scope.base)
    notes = [*scope.notes, *await _note_configuration(workshop, scope, settings.protected)]
    notes += found.left_out
    notes += [f"{REPOSITORY_FILE} was not used, except [review]: {_NOT_ALLOWED}"] if text else []
    notes += (*gate.notes, *odd, *([f"{NO_AGENTS}{spent}"] if spent else []))
    notes += await _note_hooks(how.workflow, workshop)
    notes += await _note_check_files(checks, workshop, scope, settings.protected)
    agents = dict.fromkeys(name for players in how.crew.values() for name in players)
    given, logins = add_logins(how.loaded, agents, session.home)
    notes += [f"agent {each.agent} was not given your login {each.shown}" for each in logins]
    kit = Kit(checkout=workshop.checkout.root, tracked=workshop.tracked_environments)
    tools = build_analyzers(settings.analyzers, kit) if uses_analyzers(how.workflow) else {}
    allows = _find_consent(request, allowance)
    code = await survey_code(workshop, scope.base, settings.analyzers, tools, allows)
    named = protect_files(Protected((), ()), (), (each for found in code for each in found.named))
    notes += await _note_configuration(workshop, scope, named)
    ready = Prepared(
        change=replace(scope, notes=tuple(notes)),
        workflow=how.workflow,
        loaded=given,
        logins=logins,
        reviewers=() if request.issue_ids else tuple(tools),
        judges=tuple(tools) if request.issue_ids else (),
        documents=_name_documents(tuple(files)),
        checks=checks,
        seeks_checks=seeks,
        checks_allowed=find_permission(request, checks, allowance, loaded),
        notes=tuple(notes),
        force=request.force,
        crew=how.crew,
        outside=find_outside(how.crew, settings),
        same_agents=find_same_agents(how.crew, settings),
        missing_agents=how.missing,
        specification=await _expand_paths(request.specification, workshop, scope.head),
        user_notes=request.notes,
        issue_ids=request.issue_ids,
        rounds=how.rounds,
        threshold=how.threshold,
        story=make_story(request.story, request.title),
        configurations=code,
        gate=gate,
        pull=request.pull,
        orders=request.orders,
    )
    ready = _add_demands(ready, workshop.checkout.root)
    check_agents(how.crew, settings, session.home)
    return _require_reviewer(ready)


def _choose_affordable(
    session: Session, request: Request, loaded: LoadedSettings
) -> tuple[ChosenWorkflow, str]:
    """Return the workflow, without agents if a budget is spent, and why. Raise BudgetSpent if
    agents alone could do it.
    """
    how = choose_workflow(request, loaded)
    spent = find_spent(session, request.pull) if how.crew else ""
    if not spent:
        return how, ""
    if request.issue_ids:
        raise BudgetSpent(spent, hint="raise the limit, or wait for the next month (UTC)")
    return choose_workflow(replace(request, ask_agents=False), loaded), spent


def check_settings(loaded: LoadedSettings) -> None:
    """Raise SettingsError if the repository's own file sets what only the user may set."""
    for check in _SETTINGS_CHECKS:
        check(loaded)


async def _add_selected(
    loaded: LoadedSettings, gate: ReviewGate
) -> tuple[LoadedSettings, list[str]]:
    """Return the settings with what is selected anywhere added to ruff's rules, and notes."""
    scopes = gate.selections.values()
    patterns = dict.fromkeys(each for scope in scopes for each in scope.selection.select)
    analyzers, odd = await add_selected(loaded.settings.analyzers, tuple(patterns))
    notes = [f"select names {each}, and ruff has no such rule" for each in odd]
    return replace(loaded, settings=replace(loaded.settings, analyzers=analyzers)), notes


def _find_consent(request: Request, allowance: Allowance) -> Callable[[str], bool]:
    """Return what says whether code with a hash may be loaded: the request, or what is stored."""
    said = request.allow_checks
    return allowance.covers if said is None else lambda _: said


def _add_demands(ready: Prepared, root: Path) -> Prepared:
    """Add the demanded coverage and the folder of documents, and notes where the workflow has
    neither checks nor documents.
    """
    settings, workflow = ready.loaded.settings, ready.workflow
    notes = []
    if settings.coverage and not runs_checks(workflow):
        notes.append(f"test coverage is not measured: {workflow.name} runs no checks")
    if settings.documents and not writes_documents(workflow):
        notes.append(f"{settings.documents} gets no findings document: {workflow.name} writes none")
    return replace(
        ready,
        coverage=settings.coverage if runs_checks(workflow) else 0,
        documents_folder=check_folder(root, settings.documents),
        notes=(*ready.notes, *notes),
        change=replace(ready.change, notes=(*ready.change.notes, *notes)),
    )


def _require_reviewer(ready: Prepared) -> Prepared:
    """Return the run; raise an error if it would have no reviewer, or chosen issues no agent to fix
    them.
    """
    if ready.issue_ids and "fixer" not in ready.crew:
        raise UsageError(
            "issues that were chosen are fixed by an agent, and none is named",
            hint="--agent NAME, or `agents.use` in your settings",
        )
    if not ready.reviewers and not ready.documents and ready.crew.keys().isdisjoint(REVIEWERS):
        none = "no analyzer is enabled and no findings were given: there is no reviewer"
        raise SettingsError(none, hint="punchlist doctor")
    return ready


async def _expand_paths(named: tuple[str, ...], workshop: Workshop, head: str) -> tuple[str, ...]:
    """Return the named files and those in named folders. Raise UsageError if there is none."""
    listing = await workshop.list_tree(head)
    found: list[str] = []
    for name in named:
        path = name.strip("/")
        below = [known for known in listing if known == path or known.startswith(f"{path}/")]
        if not below:
            none = "the reviewed commit has no such file or folder"
            raise UsageError(f"--spec {name}: {none}", hint="give a path from the root")
        found += below
    return tuple(dict.fromkeys(found))


async def load_trusted(
    session: Session, workshop: Workshop, commit: str, *, allow: bool | None
) -> tuple[str, LoadedSettings]:
    """Return the settings, those of the repository among them if they are allowed; if they are not,
    their text.
    """
    text = await repository_settings(workshop, commit)
    trusted = text is not None and (allow is True or session.allowance.covers(hash_settings(text)))
    loaded = load_settings(text if trusted else None, session.flags)
    return "" if trusted or text is None else text, loaded


async def repository_settings(workshop: Workshop, commit: str) -> str | None:
    raw = await workshop.read_file(commit, REPOSITORY_FILE)
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError as error:
        hint = f"save {REPOSITORY_FILE} as UTF-8 and commit it, or remove it"
        raise SettingsError(f"{REPOSITORY_FILE} at {commit[:10]}: not UTF-8", hint=hint) from error


async def find_checks(
    workshop: Workshop,
    commit: str,
    loaded: LoadedSettings,
    *,
    head: str = "",
    given: tuple[Check, ...] = (),
) -> FoundChecks:
    """Return the given or the configured checks, else those detected on the base commit; an
    environment that was made for `head` is preferred to one for the base.
    """
    settings = loaded.settings
    configured = given or settings.build_checks(loaded.origins.get("checks", ""))
    if given or not (configured or settings.detect_checks):
        return FoundChecks(configured)
    # Imported here, like all that is only for checks: reviews look for none.
    from punchlist.adapters.environments.resolve_programs import names_program, resolve_programs

    if configured and not any(map(names_program, configured)):
        return FoundChecks(configured)
    from punchlist.adapters.checks.project_files.find import find_project_checks
    from punchlist.app.start.environment import add_lacking, find_place

    place = await find_place(workshop, commit, head)
    async with WorkTrees(workshop).open_tree(commit, shared=True) as tree:
        if configured:
            found = FoundChecks(await resolve_programs(configured, tree, place))
        else:
            found = await find_project_checks(tree, place, gates=settings.detect_gates)
    return FoundChecks(await add_lacking(workshop, commit, found.checks), found.left_out)


async def name_check_files(
    checks: tuple[Check, ...], workshop: Workshop, commit: str
) -> tuple[Check, ...]:
    """Return the checks with the project's files that define them."""
    listing = await workshop.list_tree(commit) if checks else {}

    async def read(path: str) -> str:
        return (await workshop.read_file(commit, path) or b"").decode(errors="replace")

    named = [await find_check_files(check, listing.keys(), read) for check in checks]
    return tuple(replace(check, files=files) for check, files in zip(checks, named, strict=True))


async def _note_hooks(workflow: Workflow, workshop: Workshop) -> list[str]:
    """Return a note on the user's hooks, if the workflow commits and they are not run."""
    if not any(do.verb == "commit" for do in list_steps(workflow)):
        return []
    skipped = await Hooks(workshop, WorkTrees(workshop)).explain_skipped()
    return [skipped] if skipped else []


async def _note_check_files(
    checks: tuple[Check, ...], workshop: Workshop, scope: Change, protected: Protected
) -> list[str]:
    """Return a note on files that define checks, are not protected otherwise, and are changed."""
    own = {path for check in checks for path in check.files if not protected.holds(path)}
    return await _note_configuration(workshop, scope, protect_files(Protected((), ()), own))


def find_permission(
    request: Request, checks: tuple[Check, ...], allowance: Allowance, loaded: LoadedSettings
) -> bool | None:
    """Return whether checks may run, or None to ask the user. Those in the user's settings may."""
    if request.checks or request.allow_checks is not None:
        return bool(request.checks or request.allow_checks)
    own = loaded.origins.get("checks", REPOSITORY_FILE) != REPOSITORY_FILE
    if own or allowance.covers(hash_checks(checks)):
        return True
    return None if checks else False


async def _note_configuration(workshop: Workshop, scope: Change, protected: Protected) -> list[str]:
    """Return notes on tool and check configuration that the change edits."""
    before, after = await workshop.list_tree(scope.base), await workshop.list_tree(scope.head)
    paths = sorted(before.keys() | after.keys())
    differ = [path for path in paths if before.get(path) != after.get(path)]
    changed = [path for path in differ if matches_any(path, protected.configuration)]
    steering = [path for path in changed if matches_any(path, protected.steering)]
    others = [path for path in changed if path not in steering]
    notes = []
    if steering:
        as_on_base = "analyzers and checks are configured as on the base"
        notes.append(f"{as_on_base}; changed here and not used: {join_few(steering)}")
    if others:
        notes.append(
            f"checks run with what the base has of these, and no other: {join_few(others)}"
        )
    return notes


def _name_documents(files: tuple[str, ...]) -> dict[str, str]:
    named: dict[str, str] = {}
    for file in files:
        from punchlist.adapters.documents.document import FindingsDocument

        name, path = FindingsDocument.open(Path(file)).name, str(resolve_path(Path(file)))
        if path in named.values():
            raise UsageError(f"{file} was given twice", hint="give each file once")
        named[f"{name} ({len(named) + 1})" if name in named else name] = path
    return named
