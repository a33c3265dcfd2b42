"""Who plays what: the roles a workflow asks for, and the agents the settings name for them."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from punchlist.adapters.agents.registry import AGENTS
from punchlist.errors import SettingsError, UsageError
from punchlist.ports.agent import OUTSIDE
from punchlist.ports.roles import REVIEWERS, ROLES
from punchlist.settings import REPOSITORY_FILE, Loaded, Settings
from punchlist.steps import challenge, clarify, fix, plan, reproduce, review
from punchlist.workflow import Do, Repeat, Workflow

_SECOND_LOOKS = frozenset({"challenger", "reproducer"})
"""Roles that shall not be played by whoever fixes, if there is anybody else."""


def cast(workflow: Workflow, settings: Settings) -> dict[str, tuple[str, ...]]:
    """By role, who plays it; roles nobody plays are left out, unless the workflow cannot do
    without.
    """
    _known(settings)
    wanted = dict(_asked_for(workflow))
    found = {role: _players(role, settings) for role in ROLES if role in wanted}
    lacking = [role for role, needed in wanted.items() if needed and not found.get(role)]
    if lacking:
        raise UsageError(
            f'the workflow "{workflow.name}" needs an agent to play'
            f" {', '.join(dict.fromkeys(lacking))}, and none is named",
            hint=(
                "--agent NAME, or `agents.use` in your settings; `punchlist doctor` shows which are"
                " there"
            ),
        )
    return {role: players for role, players in found.items() if players}


def fit_to_ask(loaded: Loaded) -> None:
    """Refuses what a repository's own settings must not choose: an agent has the network and a key,
    so which program it is, what it is given, what it is told and what walls it has are the user's
    to say.
    """
    for name, origin in loaded.origins.items():
        table, _, field = name.partition(".")
        theirs = (
            table == "agent"
            or (table == "role" and field.endswith(".prompt"))
            or name == "agents.sandbox"
        )
        if origin == REPOSITORY_FILE and theirs:
            raise SettingsError(
                f"{REPOSITORY_FILE}: {name}: a repository does not choose what an agent is, is"
                " given, is told or is kept from",
                hint="put it into your own settings file, or give it with --set",
            )


def _asked_for(workflow: Workflow) -> Iterator[tuple[str, bool]]:
    """Every role of the workflow, and whether it is needed; a role needed anywhere is needed."""
    needed: dict[str, bool] = {}
    for do in _steps(workflow):
        for role, must in _roles(do):
            if role not in ROLES:
                near = get_close_matches(role, REVIEWERS, 1)
                raise UsageError(
                    f'{workflow.name}: review.by: no reviewer is called "{role}"',
                    hint=(
                        f'did you mean "{near[0]}"?'
                        if near
                        else f"reviewers are {', '.join(REVIEWERS)}"
                    ),
                )
            needed[role] = needed.get(role, False) or must
    yield from needed.items()


def analyzers_look(workflow: Workflow) -> bool:
    """Whether any of its reviews asks them; who is not asked has not kept silent."""
    return any(
        isinstance(do.options, review.Options) and do.options.analyzers for do in _steps(workflow)
    )


def _steps(workflow: Workflow) -> Iterator[Do]:
    for step in workflow.steps:
        body = step.steps if isinstance(step, Repeat) else (step,)
        yield from (each for each in body if isinstance(each, Do))


def _roles(do: Do) -> Iterator[tuple[str, bool]]:
    match do.options:
        case review.Options() as options:
            yield from ((role, not options.optional) for role in options.by)
        case clarify.Options():
            yield "clarifier", True
        case plan.Options() as options if options.planner:
            yield "planner", True
        case fix.Options():
            yield "fixer", False
        case challenge.Options() as options:
            yield "challenger", not options.optional
        case reproduce.Options():
            yield "reproducer", False
        case _:
            return


def _players(role: str, settings: Settings) -> tuple[str, ...]:
    """An agent outside is one conversation: what it fixed it does not judge, and a test that it
    wrote is not private to it.
    """
    named = _named(role, settings)
    if role not in _SECOND_LOOKS:
        return named
    fixers = {name for name in _named("fixer", settings) if _kind(name, settings) == OUTSIDE}
    return tuple(name for name in named if name not in fixers)


def outside(crew: Mapping[str, tuple[str, ...]], settings: Settings) -> tuple[str, ...]:
    """Those of a crew that come for their tasks by themselves."""
    return tuple(
        sorted(
            name for name in set[str]().union(*crew.values()) if _kind(name, settings) == OUTSIDE
        )
    )


def _kind(name: str, settings: Settings) -> str:
    own = settings.agent.get(name)
    return own.kind or name if own else name


def _named(role: str, settings: Settings) -> tuple[str, ...]:
    own = settings.role[role].agents if role in settings.role else ()
    if own:
        return own
    use = settings.agents.use
    return (*use[1:], *use[:1]) if role in _SECOND_LOOKS else use


def _known(settings: Settings) -> None:
    """A name is a kind of agent, or one that the settings describe."""
    named = [
        *settings.agents.use,
        *(name for role in settings.role.values() for name in role.agents),
    ]
    known = [*AGENTS, *settings.agent]
    for name in named:
        if name not in known:
            near = get_close_matches(name, known, 1)
            guess = f'; did you mean "{near[0]}"?' if near else ""
            raise SettingsError(
                f'no agent is called "{name}"{guess}', hint=f"there are {', '.join(known)}"
            )
    for role in settings.role:
        if role not in ROLES:
            near = get_close_matches(role, ROLES, 1)
            guess = f'; did you mean "{near[0]}"?' if near else ""
            raise SettingsError(
                f'role.{role}: no role is called "{role}"{guess}',
                hint=f"roles are {', '.join(ROLES)}",
            )
