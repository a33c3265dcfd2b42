"""Builds the crew: each role with its agent and prompt."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from punchlist.ports.agent import Agent
from punchlist.ports.roles import ROLES, Crew
from punchlist.roles.answers.ask import Hear, RoleSeat
from punchlist.roles.challenger import AgentChallenger
from punchlist.roles.clarifier import AgentClarifier
from punchlist.roles.fixer import AgentFixer
from punchlist.roles.planner import AgentPlanner
from punchlist.roles.prompting.template import check_prompt, load_prompt
from punchlist.roles.reproducer import AgentReproducer
from punchlist.roles.reviewer import LENSES, AgentReviewer

P = TypeVar("P")


def _ignore_output(label: str, piece: str) -> None:
    """Ignore agents' output."""


def build_crew(
    agents: Mapping[str, Agent], prompts: Mapping[str, str], limit: int, hear: Hear = _ignore_output
) -> Crew:
    """Build the roles that have an agent; `prompts` replace the shipped ones. Raises UsageError for
    a bad prompt.
    """
    seats = {
        role: RoleSeat(
            role=role,
            agent=agents[role],
            prompt=_choose_prompt(role, prompts),
            limit=limit,
            hear=hear,
        )
        for role in ROLES
        if role in agents
    }
    return Crew(
        reviewers={
            role: AgentReviewer(seats[role], lens) for role, lens in LENSES.items() if role in seats
        },
        clarifier=_fill_role(AgentClarifier, seats.get("clarifier")),
        planner=_fill_role(AgentPlanner, seats.get("planner")),
        fixer=_fill_role(AgentFixer, seats.get("fixer")),
        challenger=_fill_role(AgentChallenger, seats.get("challenger")),
        reproducer=_fill_role(AgentReproducer, seats.get("reproducer")),
    )


def _choose_prompt(role: str, prompts: Mapping[str, str]) -> str:
    return check_prompt(role, prompts[role]) if prompts.get(role) else load_prompt(role)


def _fill_role(made: Callable[[RoleSeat], P], seat: RoleSeat | None) -> P | None:
    return made(seat) if seat is not None else None
