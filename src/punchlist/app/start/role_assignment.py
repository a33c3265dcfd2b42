"""Assign the agents in the settings to the roles of a workflow."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from punchlist.adapters.agents.settings import AgentSettings, RoleSettings
from punchlist.errors import SettingsError, UsageError
from punchlist.ports.agent import OUTSIDE
from punchlist.ports.roles import REVIEWERS, ROLES
from punchlist.settings import REPOSITORY_FILE, LoadedSettings, Settings
from punchlist.workflow.language import Do, Workflow, list_steps

_SECOND_LOOKS = frozenset({"challenger", "reproducer"})
"""Roles that the fixer shall not play if another agent can."""


_BY_NAME = frozenset({OUTSIDE, "scripted", "dry"})
"""Kinds of agents whose settings do not say which model answers."""


_OWN_TABLES = frozenset({"agent", "sandbox", "setup"})
_OWN_SETTINGS = frozenset({"agents.sandbox", "agents.hosts", "agents.logins"})
"""Settings that a repository may not make."""


def assign_roles(workflow: Workflow, settings: Settings) -> dict[str, tuple[str, ...]]:
    """Return the agents of each role. Raise UsageError if a needed role has none."""
    _check_names(settings)
    wanted = dict(_find_roles(workflow))
    found = {role: _find_players(role, settings) for role in ROLES if role in wanted}
    lacking = [role for role, needed in wanted.items() if needed and not found.get(role)]
    if lacking:
        roles = ", ".join(lacking)
        use = "--agent NAME, or `agents.use` in your settings"
        raise UsageError(
            f'the workflow "{workflow.name}" needs an agent to play {roles}, and none is named',
            hint=f"{use}; `punchlist doctor` shows which are there",
        )
    return {role: players for role, players in found.items() if players}


def check_agent_settings(loaded: LoadedSettings) -> None:
    """Raise SettingsError if the repository's own file sets agents, prompts, their sandbox or what
    they may reach.
    """
    for name, origin in loaded.origins.items():
        table, _, field = name.partition(".")
        prompt = table == "role" and field.endswith(".prompt")
        own = prompt or table in _OWN_TABLES or name in _OWN_SETTINGS
        if origin == REPOSITORY_FILE and own:
            raise SettingsError(
                f"{REPOSITORY_FILE}: {name}: a repository does not choose what an agent is, is"
                " given or is told, nor what its sandbox keeps from it",
                hint="put it into your own settings file, or give it with --set",
            )


def _find_roles(workflow: Workflow) -> Iterator[tuple[str, bool]]:
    """Yield every role of the workflow, and whether any step needs it."""
    needed: dict[str, bool] = {}
    for do in list_steps(workflow):
        for role, must in step_roles(do):
            if role not in ROLES:
                raise UsageError(
                    f'{workflow.name}: review.by: no reviewer is called "{role}"',
                    hint=_guess_name(role, REVIEWERS).removeprefix("; ")
                    or f"reviewers are {', '.join(REVIEWERS)}",
                )
            needed[role] = needed.get(role, False) or must
    yield from needed.items()


def needs_agents(workflow: Workflow) -> bool:
    """Return whether the workflow cannot be run without agents."""
    return any(needed for _, needed in _find_roles(workflow))


def uses_analyzers(workflow: Workflow) -> bool:
    """Return whether any review step asks the analyzers."""
    return any(_options(do).analyzers for do in list_steps(workflow) if do.verb == "review")


def runs_checks(workflow: Workflow) -> bool:
    """Return whether any step runs the project's checks."""
    return any(do.verb in ("verify", "measure") for do in list_steps(workflow))


def writes_documents(workflow: Workflow) -> bool:
    """Return whether any step writes the findings of a round as a document."""
    return any(_options(do).document for do in list_steps(workflow) if do.verb == "consolidate")


def step_roles(do: Do) -> Iterator[tuple[str, bool]]:
    """Yield the roles of a step, and whether it needs each of them."""
    options = _options(do)
    match do.verb:
        case "review":
            yield from ((role, not options.optional) for role in options.by)
        case "clarify":
            yield "clarifier", True
        case "plan" if options.planner:
            yield "planner", True
        case "fix":
            yield "fixer", False
        case "challenge":
            yield "challenger", not options.optional
        case "reproduce":
            yield "reproducer", False
        case _:
            return


def _options(do: Do) -> Any:
    """Return the options of a step. Their class is its verb's: importing the modules of all verbs
    to name it would take longer than a review.
    """
    return do.options


def _find_players(role: str, settings: Settings) -> tuple[str, ...]:
    """Return the agents of a role. An outside fixer neither challenges nor reproduces."""
    named = _named_agents(role, settings)
    if role not in _SECOND_LOOKS:
        return named
    fixers = _named_agents("fixer", settings)
    return tuple(
        name for name in named if name not in fixers or _agent_kind(name, settings) != OUTSIDE
    )


def find_missing_fallbacks(
    crew: Mapping[str, tuple[str, ...]], settings: Settings
) -> dict[str, str]:
    """Return the agents that are not installed and that no role names first, each with the line
    that installs it.
    """
    needed = {
        next((name for name in _ordered_agents(role, settings) if name in players), players[0])
        for role, players in crew.items()
    }
    others = {name for players in crew.values() for name in players} - needed
    if not others:
        return {}
    from punchlist.adapters.agents.detect import find_missing

    missing = find_missing(sorted(others), settings.agent)
    return {name: error.hint for name, error in missing.items()}


def find_outside(crew: Mapping[str, tuple[str, ...]], settings: Settings) -> tuple[str, ...]:
    """Return the agents of a crew that fetch their tasks themselves."""
    names = {name for agents in crew.values() for name in agents}
    return tuple(sorted(name for name in names if _agent_kind(name, settings) == OUTSIDE))


def find_same_agents(
    crew: Mapping[str, tuple[str, ...]], settings: Settings
) -> dict[str, tuple[str, ...]]:
    """Return by judging role and agent the fixers that are the same program and model, whatever
    they are called: what such an agent says of their fixes is self-review.
    """
    fixers = {name: _identify_agent("fixer", name, settings) for name in crew.get("fixer", ())}
    judges = [role for role in crew if role in (*REVIEWERS, "challenger")]
    return {
        f"{role} {name}": tuple(fixer for fixer, who in fixers.items() if who == own)
        for role in judges
        for name in crew[role]
        for own in (_identify_agent(role, name, settings),)
    }


def _identify_agent(role: str, name: str, settings: Settings) -> tuple[object, ...]:
    """Return what makes an agent another one: its program, where it connects to, and its model."""
    own = settings.agent.get(name, AgentSettings())
    kind = own.kind or name
    model = settings.role.get(role, RoleSettings()).model or own.model
    if kind in _BY_NAME:
        return kind, name, model
    return kind, own.command or (kind,), own.env, model


def _agent_kind(name: str, settings: Settings) -> str:
    own = settings.agent.get(name)
    return own.kind or name if own else name


def _named_agents(role: str, settings: Settings) -> tuple[str, ...]:
    named = _ordered_agents(role, settings)
    own = role in settings.role and settings.role[role].agents
    return (*named[1:], *named[:1]) if role in _SECOND_LOOKS and not own else named


def _ordered_agents(role: str, settings: Settings) -> tuple[str, ...]:
    """Return the agents of a role in the order in which the user named them."""
    own = settings.role[role].agents if role in settings.role else ()
    return own or settings.agents.use


def _check_names(settings: Settings) -> None:
    """Raise SettingsError for an unknown agent or role."""
    named = [*settings.agents.use]
    named += [name for role in settings.role.values() for name in role.agents]
    if named:
        _check_agent_names(named, settings)
    for role in settings.role:
        if role not in ROLES:
            raise SettingsError(
                f'role.{role}: no role is called "{role}"{_guess_name(role, ROLES)}',
                hint=f"roles are {', '.join(ROLES)}",
            )


def _check_agent_names(named: Sequence[str], settings: Settings) -> None:
    from punchlist.adapters.agents.registry import AGENTS

    known = [*AGENTS, *settings.agent]
    for name in named:
        if name not in known:
            raise SettingsError(
                f'no agent is called "{name}"{_guess_name(name, known)}',
                hint=f"there are {', '.join(known)}",
            )


def _guess_name(name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1)
    return f'; did you mean "{near[0]}"?' if near else ""
