"""Tools that start runs: of a built-in workflow, or with the client's findings."""

import contextlib
from hashlib import sha256

import msgspec

from punchlist.app import Request
from punchlist.app.access import Role
from punchlist.app.drive.run_cache import read_start
from punchlist.app.repositories import RepositoryEntry
from punchlist.app.start.findings_files import keep_findings
from punchlist.errors import AlreadyRunning, UsageError
from punchlist.mcp import inputs as wishes
from punchlist.mcp.outputs import RunStatus, SubmitResult
from punchlist.mcp.session import Caller, McpSession
from punchlist.mcp.tool import McpTool
from punchlist.mcp.tools.read import load_status
from punchlist.mcp.views import summarize_item
from punchlist.model.ledger.run import Run
from punchlist.ports.agent import OUTSIDE
from punchlist.ports.roles import ROLES
from punchlist.settings import load_settings
from punchlist.workflow import builtin_names

_JUDGES = ("challenger", "reproducer")
_LARGEST = 4 << 20
_PATIENCE = {"timeout": 7200, "silence": 1800}
"""Seconds that a client may be at a task, and that a task may lie there with nobody at it."""


async def start_run(desk: McpSession, wish: wishes.StartRunInput, asker: Caller) -> RunStatus:
    _check_workflow(wish.workflow)
    _check_paths((*wish.paths, *wish.specification))
    if wish.allow_checks and not desk.options.role.includes(Role.ADMIN):
        raise UsageError(
            "to let found checks run takes the role admin",
            hint="a person types `punchlist allow` in the repository, once",
        )
    request = Request(
        kind=wish.kind,
        base=wish.base,
        commit=wish.commit,
        paths=wish.paths,
        workflow=wish.workflow,
        allow_checks=wish.allow_checks or None,
        force=wish.force,
        specification=wish.specification,
        notes=wish.notes,
    )
    limit = {"limits.time": f"{wish.max_seconds:g}"} if wish.max_seconds else {}
    flags = _agent_settings(desk, wish.agents) | _role_settings(desk, wish.play) | limit
    return load_status(
        desk, await desk.start_run(desk.find_repository(wish.repository), request, flags)
    )


async def submit_findings(
    desk: McpSession, wish: wishes.SubmitInput, asker: Caller
) -> SubmitResult:
    _check_workflow(wish.workflow)
    repository = desk.find_repository(wish.repository)
    content = msgspec.json.encode(wish.findings)
    if len(content) > _LARGEST:
        raise UsageError(
            f"the findings have {len(content) >> 20} MB, which is too much",
            hint="submit them in parts",
        )
    key = (wish.key or content.hex()).encode(errors="surrogatepass")
    name = f"submitted-{sha256(key).hexdigest()[:16]}.json"
    before = _find_submission(desk, repository, name, content) if wish.key else None
    run = before or await _begin_submission(desk, repository, wish, (name, content))
    run = await desk.wait_until(run, wish.wait_seconds, asker, _is_consolidated)
    source = f"file:{name}"
    items = [
        item
        for item in run.items.values()
        if any(finding.source == source for finding in item.findings)
    ]
    return SubmitResult(
        run=run.id,
        items=tuple(map(summarize_item, items)),
        refused=tuple(
            f"{each.raw[:200]}: {each.reason}"
            for each in run.reviewing.refused
            if each.source == source
        ),
        already=before is not None,
        next=(
            "next_task, if you play a role; else run_status"
            if _is_consolidated(run)
            else "run_status: they are not sorted yet"
        ),
    )


def _is_consolidated(run: Run) -> bool:
    return any(moment.verb == "consolidate" for moment in run.timeline)


async def _begin_submission(
    desk: McpSession,
    repository: RepositoryEntry,
    wish: wishes.SubmitInput,
    document: tuple[str, bytes],
) -> Run:
    name, content = document
    path = keep_findings(desk.home, name, content)
    request = Request(kind=wish.kind, findings=(path,), workflow=wish.workflow, force=not wish.key)
    try:
        return await desk.start_run(repository, request, _role_settings(desk, wish.play))
    except AlreadyRunning as error:
        with contextlib.suppress(UsageError):
            return desk.find_run(error.run)  # another client came first with the same key
        raise


def _find_submission(
    desk: McpSession, repository: RepositoryEntry, name: str, content: bytes
) -> Run | None:
    """Return the run that got these findings under this key, or None; raise UsageError if the key
    had other findings.
    """
    for row in desk.store.runs(repository.git_dir):
        started = read_start(desk.store, row.id)
        if started is not None and f"file:{name}" in started.documents:
            kept = started.document_files[started.documents.index(f"file:{name}")]
            if desk.session.artifacts(row.id).read(kept) == content:
                return desk.load(row.id)
            raise UsageError(
                f"this key was used for other findings, in run {row.id}", hint="use a new key"
            )
    return None


def _check_workflow(workflow: str) -> None:
    if workflow and workflow not in builtin_names():
        raise UsageError(
            f'no workflow is called "{workflow}"', hint=f"one of {', '.join(builtin_names())}"
        )


def _check_paths(paths: tuple[str, ...]) -> None:
    odd = next((path for path in paths if ".." in path.split("/")), None)
    if odd is not None:
        raise UsageError(
            f"{odd}: a path must stay inside of the repository",
            hint="name files and folders from its root",
        )


def _agent_settings(desk: McpSession, names: tuple[str, ...]) -> dict[str, str]:
    """Return the setting that uses these agents; only an admin may name agents that are not in the
    settings.
    """
    known = load_settings(None, desk.options.flags).settings.agents.use
    if not set(names) <= set(known) and not desk.options.role.includes(Role.ADMIN):
        hint = (
            f"those in the settings: {', '.join(known) or 'none'}; to play a role yourself, use"
            " `play`"
        )
        raise UsageError("these agents are not in use here", hint=hint)
    return {"agents.use": ",".join(names)} if names else {}


def _role_settings(desk: McpSession, roles: tuple[str, ...]) -> dict[str, str]:
    unknown = next((role for role in roles if role not in ROLES), None)
    if unknown is not None:
        raise UsageError(f'no role is called "{unknown}"', hint=f"roles are {', '.join(ROLES)}")
    judging = next((role for role in roles if role in _JUDGES), None)
    if judging and "fixer" in roles:
        raise UsageError(
            f"the fixer does not judge: fixer and {judging} cannot both be yours",
            hint=f"leave {judging} out",
        )
    name = desk.options.name
    kind = {f"agent.{name}.kind": OUTSIDE} if roles and name != OUTSIDE else {}
    return (
        kind
        | {f"role.{role}.agents": name for role in roles}
        | (_timeout_settings(desk, name) if roles else {})
    )


def _timeout_settings(desk: McpSession, name: str) -> dict[str, str]:
    """Return longer timeouts, as the client may wait for its user; existing settings win."""
    origins = load_settings(None, desk.options.flags).origins
    return {
        f"agent.{name}.{what}": f"{seconds}"
        for what, seconds in _PATIENCE.items()
        if f"agent.{name}.{what}" not in origins and f"agents.{what}" not in origins
    }


TOOLS = (
    McpTool(
        name="start_run",
        title="Start a run",
        about=(
            "Starts a run of a workflow in the background and says how it stands. `review` only"
            ' lists; `proven`, the default, also fixes what it can prove. With play: ["fixer"] you'
            " are the fixer: call next_task. The user's checkout is never touched: fixes land on a"
            " branch of their own."
        ),
        takes=wishes.StartRunInput,
        gives=RunStatus,
        do=start_run,
    ),
    McpTool(
        name="submit_findings",
        title="Submit findings",
        about=(
            "Starts a run with findings of yours: they are merged with what others report, numbered"
            " and kept. Gives the items they came down to. An entry that is not understood costs"
            " only itself, and is reported."
        ),
        takes=wishes.SubmitInput,
        gives=SubmitResult,
        do=submit_findings,
        idempotent=True,
    ),
)
