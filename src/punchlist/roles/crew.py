"""The crew: who plays what, put together of agents and prompts."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from punchlist.ports.agent import Agent
from punchlist.ports.roles import ROLES, Crew
from punchlist.roles.answers.ask import Hear, Seat
from punchlist.roles.challenger import AgentChallenger
from punchlist.roles.clarifier import AgentClarifier
from punchlist.roles.fixer import AgentFixer
from punchlist.roles.planner import AgentPlanner
from punchlist.roles.prompting.template import checked, shipped
from punchlist.roles.reproducer import AgentReproducer
from punchlist.roles.reviewer import LENSES, AgentReviewer

P = TypeVar("P")


def _unheard(label: str, piece: str) -> None:
    """Nobody listens."""


def crew(
    agents: Mapping[str, Agent], prompts: Mapping[str, str], limit: int, hear: Hear = _unheard
) -> Crew:
    """By role: who plays it, and the text of a prompt of the user's own in the place of ours.
    Raises UsageError for a bad one.
    """
    seats = {
        role: Seat(
            role=role, agent=agents[role], prompt=_prompt(role, prompts), limit=limit, hear=hear
        )
        for role in ROLES
        if role in agents
    }
    return Crew(
        reviewers={
            role: AgentReviewer(seats[role], lens) for role, lens in LENSES.items() if role in seats
        },
        clarifier=_seated(AgentClarifier, seats.get("clarifier")),
        planner=_seated(AgentPlanner, seats.get("planner")),
        fixer=_seated(AgentFixer, seats.get("fixer")),
        challenger=_seated(AgentChallenger, seats.get("challenger")),
        reproducer=_seated(AgentReproducer, seats.get("reproducer")),
    )


def _prompt(role: str, prompts: Mapping[str, str]) -> str:
    return checked(role, prompts[role]) if prompts.get(role) else shipped(role)


def _seated(made: Callable[[Seat], P], seat: Seat | None) -> P | None:
    return made(seat) if seat is not None else None
