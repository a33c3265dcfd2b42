"""The workflow of a run as request and settings want it, and the crew and time-outs it gives."""

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.agents.settings import AgentSettings, RoleSettings
from punchlist.app.start.request import Request
from punchlist.app.start.role_assignment import (
    assign_roles,
    find_missing_fallbacks,
    needs_agents,
    step_roles,
)
from punchlist.ports.roles import REVIEWERS
from punchlist.settings import LoadedSettings
from punchlist.workflow.adjust import adjust_workflow, drop_steps
from punchlist.workflow.language import Repeat, Workflow, list_steps
from punchlist.workflow.loader import load_workflow


class ChosenWorkflow(Struct, frozen=True, kw_only=True):
    """`rounds` and `threshold`: what the user asked for, in the request or in the settings.
    `loaded`: the settings, with the workflow's own time-outs of roles.
    """

    workflow: Workflow
    rounds: int | None
    threshold: int | None
    loaded: LoadedSettings
    crew: dict[str, tuple[str, ...]]
    missing: dict[str, str]


def choose_workflow(request: Request, loaded: LoadedSettings) -> ChosenWorkflow:
    """Return the workflow with the rounds and the threshold of the request, else of the settings;
    those of the settings count only where the workflow has such.
    """
    settings = loaded.settings
    workflow = load_workflow(request.workflow or settings.workflow)
    if not request.ask_agents and needs_agents(workflow):
        workflow = load_workflow("review")
    if not request.clarify:
        workflow = drop_steps(workflow, "clarify")
    rounds, threshold = request.rounds, request.threshold
    if rounds is None and any(isinstance(step, Repeat) for step in workflow.steps):
        rounds = settings.rounds
    scored = any(do.verb == "challenge" for do in list_steps(workflow))
    if threshold is None and scored and rounds != 0:
        threshold = settings.threshold
    workflow = adjust_workflow(workflow, rounds=rounds, threshold=threshold)
    named = assign_roles(workflow, settings) if request.ask_agents else {}
    missing = find_missing_fallbacks(named, settings)
    left_out = frozenset(REVIEWERS if request.issue_ids else ())
    left_out |= frozenset(() if request.planner else ("planner",))
    crew = {
        role: tuple(agent for agent in agents if agent not in missing)
        for role, agents in named.items()
        if role not in left_out
    }
    return ChosenWorkflow(
        workflow=workflow,
        rounds=rounds,
        threshold=threshold,
        loaded=_add_timeouts(loaded, workflow, crew),
        crew=crew,
        missing=missing,
    )


def _add_timeouts(
    loaded: LoadedSettings, workflow: Workflow, crew: dict[str, tuple[str, ...]]
) -> LoadedSettings:
    """Return the settings with the workflow's time-outs of roles; what the user set counts more."""
    settings, origins = loaded.settings, dict(loaded.origins)
    roles = dict(settings.role)
    for do in list_steps(workflow):
        seconds = getattr(do.options, "timeout", 0)
        for role, _ in step_roles(do):
            own = settings.role.get(role, RoleSettings())
            agents = (settings.agent.get(name, AgentSettings()) for name in crew.get(role, ()))
            set_by_user = own.timeout or "agents.timeout" in origins
            if seconds and not set_by_user and not any(agent.timeout for agent in agents):
                roles[role] = replace(own, timeout=seconds)
                origins[f"role.{role}.timeout"] = f"workflow {workflow.name}"
    return LoadedSettings(replace(settings, role=roles), origins)
