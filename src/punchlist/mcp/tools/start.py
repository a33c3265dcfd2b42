"""Tools that start runs: of a built-in workflow, or with the client's findings."""

import contextlib
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from punchlist.app.access import Role
from punchlist.app.drive.run_cache import read_start
from punchlist.app.repositories import RepositoryEntry
from punchlist.app.start.findings_files import keep_findings
from punchlist.app.start.request import Request
from punchlist.errors import AlreadyRunning, UsageError
from punchlist.mcp import inputs
from punchlist.mcp.outputs import RunStatus, SubmitResult
from punchlist.mcp.session import Caller, McpSession
from punchlist.mcp.tool import McpTool
from punchlist.mcp.tools.read import load_status
from punchlist.mcp.views import summarize_item
from punchlist.model.ledger.run import Run
from punchlist.ports.agent import OUTSIDE
from punchlist.ports.roles import ROLES
from punchlist.settings import load_settings
from punchlist.workflow.loader import builtin_names

_JUDGES = ("challenger", "reproducer")
_LARGEST = 4 << 20
_PATIENCE = {"timeout": 7200, "silence": 1800}
"""Seconds that a client may work at a task, and that a task may wait for a client."""


async def start_run(app: McpSession, args: inputs.StartRunInput, caller: Caller) -> RunStatus:
    """Starts a run of a workflow in the background and says how it stands. `review` only lists;
    `proven`, the default, also fixes what it can prove. With play: ["fixer"] you are the fixer:
    call next_task. The user's checkout is never touched: fixes land on a branch of their own.
    """
    _check_workflow(args.workflow)
    _check_paths((*args.paths, *args.specification))
    if args.allow_checks and not app.options.role.includes(Role.ADMIN):
        raise UsageError(
            "to let found checks run takes the role admin",
            hint="a person types `punchlist allow` in the repository, once",
        )
    request = msgspec.convert(args, Request, from_attributes=True)
    request = replace(request, allow_checks=args.allow_checks or None)
    limit = {"limits.time": f"{args.max_seconds:g}"} if args.max_seconds else {}
    flags = _agent_settings(app, args.agents) | _role_settings(app, args.play) | limit
    repository = app.find_repository(args.repository)
    return load_status(app, await app.start_run(repository, request, flags))


async def submit_findings(
    app: McpSession, args: inputs.SubmitInput, caller: Caller
) -> SubmitResult:
    """Starts a run with findings of yours: they are merged with what others report, numbered and
    kept. Gives the items they came down to. An entry that is not understood costs only itself, and
    is reported.
    """
    _check_workflow(args.workflow)
    repository = app.find_repository(args.repository)
    content = msgspec.json.encode(args.findings)
    if len(content) > _LARGEST:
        raise UsageError(
            f"the findings have {len(content) >> 20} MB, which is too much",
            hint="submit them in parts",
        )
    key = (args.key or content.hex()).encode(errors="surrogatepass")
    name = f"submitted-{sha256(key).hexdigest()[:16]}.json"
    before = _find_submission(app, repository, name, content) if args.key else None
    run = before or await _begin_submission(
        app, repository, args, keep_findings(app.home, name, content)
    )
    run = await app.wait_until(run, args.wait_seconds, caller, _is_consolidated)
    source = f"file:{name}"
    items = (
        item for item in run.items.values() if any(each.source == source for each in item.findings)
    )
    refused = (each for each in run.reviewing.refused if each.source == source)
    return SubmitResult(
        run=run.id,
        items=tuple(map(summarize_item, items)),
        refused=tuple(f"{each.raw[:200]}: {each.reason}" for each in refused),
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
    app: McpSession, repository: RepositoryEntry, args: inputs.SubmitInput, path: str
) -> Run:
    request = Request(kind=args.kind, findings=(path,), workflow=args.workflow, force=not args.key)
    try:
        return await app.start_run(repository, request, _role_settings(app, args.play))
    except AlreadyRunning as error:
        with contextlib.suppress(UsageError):
            return app.find_run(error.run)  # another client came first with the same key
        raise


def _find_submission(
    app: McpSession, repository: RepositoryEntry, name: str, content: bytes
) -> Run | None:
    """Return the run of this key, or None; raise UsageError if the key had other findings."""
    source = f"file:{name}"
    for row in app.store.runs(repository.git_dir, repository.identity):
        started = read_start(app.store, row.id)
        if started is not None and source in started.documents:
            kept = started.document_files[started.documents.index(source)]
            if app.session.artifacts(row.id).read(kept) == content:
                return app.load(row.id)
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


def _agent_settings(app: McpSession, names: tuple[str, ...]) -> dict[str, str]:
    """Return the setting that uses these agents; others than in the settings need an admin."""
    known = load_settings(None, app.options.flags).settings.agents.use
    if not set(names) <= set(known) and not app.options.role.includes(Role.ADMIN):
        listed = ", ".join(known) or "none"
        hint = f"those in the settings: {listed}; to play a role yourself, use `play`"
        raise UsageError("these agents are not in use here", hint=hint)
    return {"agents.use": ",".join(names)} if names else {}


def _role_settings(app: McpSession, roles: tuple[str, ...]) -> dict[str, str]:
    if not roles:
        return {}
    unknown = next((role for role in roles if role not in ROLES), None)
    if unknown is not None:
        raise UsageError(f'no role is called "{unknown}"', hint=f"roles are {', '.join(ROLES)}")
    judging = next((role for role in roles if role in _JUDGES), None)
    if judging and "fixer" in roles:
        raise UsageError(
            f"the fixer does not judge: fixer and {judging} cannot both be yours",
            hint=f"leave {judging} out",
        )
    name = app.options.name
    kind = {f"agent.{name}.kind": OUTSIDE} if name != OUTSIDE else {}
    players = {f"role.{role}.agents": name for role in roles}
    return kind | players | _timeout_settings(app, name)


def _timeout_settings(app: McpSession, name: str) -> dict[str, str]:
    """Return longer timeouts, as the client may wait for its user; existing settings win."""
    origins = load_settings(None, app.options.flags).origins
    return {
        f"agent.{name}.{what}": f"{seconds}"
        for what, seconds in _PATIENCE.items()
        if f"agent.{name}.{what}" not in origins and f"agents.{what}" not in origins
    }


TOOLS = (
    McpTool(start_run, "Start a run"),
    McpTool(submit_findings, "Submit findings", idempotent=True),
)
