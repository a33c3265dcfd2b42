"""A seat for an agent under test: a tree to work in, a home of its own, and a place for evidence."""

import asyncio
from pathlib import Path

from punchlist.adapters.agents.cli_agent import AgentSetup
from punchlist.adapters.agents.home import AgentPlace
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.ports.agent import Agent, Ask, Reply


def tree(folder: Path) -> Path:
    """A folder with a bug in it."""
    made = folder / "state" / "trees" / "one"
    made.mkdir(parents=True, exist_ok=True)
    (made / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    return made


def seat(folder: Path, name: str = "one", *, sandbox: bool = True, **settings) -> AgentSetup:
    user = folder / "user"
    user.mkdir(exist_ok=True)
    place = AgentPlace(
        folder=folder / "state" / "run" / "agents",
        state=folder / "state",
        user=user,
        sandbox=sandbox,
    )
    own = AgentSettings(**{"timeout": 30, "silence": 20, **settings})
    return AgentSetup(name, own, place, FolderArtifacts(folder / "state" / "run"))


def asked(
    agent: Agent, folder: Path, prompt: str = "Fix calc.py", heard: list[str] | None = None, **ask
) -> Reply:
    whole = Ask(
        **{
            "role": "fixer",
            "label": "fix/1",
            "prompt": prompt,
            "folder": folder,
            "writes": True,
            **ask,
        }
    )
    return asyncio.run(agent.ask(whole, ([] if heard is None else heard).append))
