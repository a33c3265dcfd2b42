"""The tools that start runs: of any built-in workflow, and with findings that the client brings."""

import contextlib
from hashlib import sha256

import msgspec

from punchlist.app import Request
from punchlist.app.access import Role
from punchlist.app.drive.run_cache import read_start
from punchlist.app.repositories import Registered
from punchlist.app.start.findings_files import keep_findings
from punchlist.errors import AlreadyRunning, UsageError
from punchlist.mcp import inputs as wishes
from punchlist.mcp.outputs import RunNow, Submitted
from punchlist.mcp.session import Asker, Desk
from punchlist.mcp.tool import Tool
from punchlist.mcp.tools.read import shown
from punchlist.mcp.views import item_line
from punchlist.model.ledger.run import Run
from punchlist.ports.agent import OUTSIDE
from punchlist.ports.roles import ROLES
from punchlist.settings import load
from punchlist.workflow import builtin_names

_JUDGES = ("challenger", "reproducer")
_LARGEST = 4 << 20
_PATIENCE = {"timeout": 7200, "silence": 1800}
"""Seconds that a client may be at a task, and that a task may lie there with nobody at it."""


async def start_run(desk: Desk, wish: wishes.Starting, asker: Asker) -> RunNow:
    _known(wish.workflow)
    _inside((*wish.paths, *wish.specification))
    if wish.allow_checks and not desk.options.role.may(Role.ADMIN):
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
    flags = _agents(desk, wish.agents) | _played(desk, wish.play) | limit
    return shown(desk, await desk.begin(desk.repository(wish.repository), request, flags))


async def submit_findings(desk: Desk, wish: wishes.Submitting, asker: Asker) -> Submitted:
    _known(wish.workflow)
    repository = desk.repository(wish.repository)
    content = msgspec.json.encode(wish.findings)
    if len(content) > _LARGEST:
        raise UsageError(
            f"the findings have {len(content) >> 20} MB, which is too much",
            hint="submit them in parts",
        )
    key = (wish.key or content.hex()).encode(errors="surrogatepass")
    name = f"submitted-{sha256(key).hexdigest()[:16]}.json"
    before = _submitted(desk, repository, name, content) if wish.key else None
    run = before or await _begun(desk, repository, wish, (name, content))
    run = await desk.waited(run, wish.wait_seconds, asker, _sorted)
    source = f"file:{name}"
    items = [
        item
        for item in run.items.values()
        if any(finding.source == source for finding in item.findings)
    ]
    return Submitted(
        run=run.id,
        items=tuple(map(item_line, items)),
        refused=tuple(
            f"{each.raw[:200]}: {each.reason}"
            for each in run.reviewing.refused
            if each.source == source
        ),
        already=before is not None,
        next=(
            "next_task, if you play a role; else run_status"
            if _sorted(run)
            else "run_status: they are not sorted yet"
        ),
    )


def _sorted(run: Run) -> bool:
    """Whether what was reported has become items."""
    return any(moment.verb == "consolidate" for moment in run.timeline)


async def _begun(
    desk: Desk, repository: Registered, wish: wishes.Submitting, document: tuple[str, bytes]
) -> Run:
    name, content = document
    path = keep_findings(desk.home, name, content)
    request = Request(kind=wish.kind, findings=(path,), workflow=wish.workflow, force=not wish.key)
    try:
        return await desk.begin(repository, request, _played(desk, wish.play))
    except AlreadyRunning as error:
        with contextlib.suppress(UsageError):
            return desk.run(error.run)  # another client came first with the same key
        raise


def _submitted(desk: Desk, repository: Registered, name: str, content: bytes) -> Run | None:
    """The run that these findings were submitted to under this key: the ledger is the memory of
    keys, too.
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


def _known(workflow: str) -> None:
    if workflow and workflow not in builtin_names():
        raise UsageError(
            f'no workflow is called "{workflow}"', hint=f"one of {', '.join(builtin_names())}"
        )


def _inside(paths: tuple[str, ...]) -> None:
    odd = next((path for path in paths if ".." in path.split("/")), None)
    if odd is not None:
        raise UsageError(
            f"{odd}: a path must stay inside of the repository",
            hint="name files and folders from its root",
        )


def _agents(desk: Desk, names: tuple[str, ...]) -> dict[str, str]:
    """The setting that asks these agents. Which ones may cost something is for the user to say, or
    for an admin.
    """
    known = load(None, desk.options.flags).settings.agents.use
    if not set(names) <= set(known) and not desk.options.role.may(Role.ADMIN):
        hint = (
            f"those in the settings: {', '.join(known) or 'none'}; to play a role yourself, use"
            " `play`"
        )
        raise UsageError("these agents are not in use here", hint=hint)
    return {"agents.use": ",".join(names)} if names else {}


def _played(desk: Desk, roles: tuple[str, ...]) -> dict[str, str]:
    """The settings by which the client plays these roles."""
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
        | (_patience(desk, name) if roles else {})
    )


def _patience(desk: Desk, name: str) -> dict[str, str]:
    """Whoever is asked by its own user meanwhile needs more time than a program, unless the
    settings say how much.
    """
    origins = load(None, desk.options.flags).origins
    return {
        f"agent.{name}.{what}": f"{seconds}"
        for what, seconds in _PATIENCE.items()
        if f"agent.{name}.{what}" not in origins and f"agents.{what}" not in origins
    }


TOOLS = (
    Tool(
        name="start_run",
        title="Start a run",
        about=(
            "Starts a run of a workflow in the background and says how it stands. `review` only"
            ' lists; `proven`, the default, also fixes what it can prove. With play: ["fixer"] you'
            " are the fixer: call next_task. The user's checkout is never touched: fixes land on a"
            " branch of their own."
        ),
        takes=wishes.Starting,
        gives=RunNow,
        do=start_run,
    ),
    Tool(
        name="submit_findings",
        title="Submit findings",
        about=(
            "Starts a run with findings of yours: they are merged with what others report, numbered"
            " and kept. Gives the items they came down to. An entry that is not understood costs"
            " only itself, and is reported."
        ),
        takes=wishes.Submitting,
        gives=Submitted,
        do=submit_findings,
        idempotent=True,
    ),
)
