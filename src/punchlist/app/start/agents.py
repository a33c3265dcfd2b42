"""Build the agents of a run from its pinned settings; calls are journaled, so none is paid for
twice.
"""

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec.structs import replace

from punchlist.adapters.agents.cli_agent import AgentSetup
from punchlist.adapters.agents.home import AgentPlace
from punchlist.adapters.agents.journal import Journal
from punchlist.adapters.agents.outside.mailbox import Mailbox
from punchlist.adapters.agents.registry import AGENTS, build_agent, merge_settings
from punchlist.adapters.agents.retry import AgentRetryPolicy, RetryingAgent
from punchlist.adapters.agents.settings import AgentSettings, RoleSettings
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.errors import SettingsError, UsageError
from punchlist.model.ledger.run import Run
from punchlist.ports.agent import OUTSIDE
from punchlist.ports.artifacts import Artifacts
from punchlist.ports.roles import Crew
from punchlist.roles.crew import build_crew
from punchlist.settings import Settings, load_settings

Hear = Callable[[str, str], None]
"""Is told the label of a call and what the agent says, in pieces."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TALKING = frozenset({"clarifier", "planner", "fixer"})
"""Who goes on with each other's conversations. All others have a home apart, even where the same
agent plays them: what a reviewer, a challenger or a reproducer said lies there, and private tests
are nothing for a fixer to find.
"""


def mail_folder(run_folder: Path) -> Path:
    """Return the folder of a run's tasks for outside agents."""
    return run_folder / "tasks"


class RunAgents:
    """All agents of one run."""

    def __init__(
        self,
        cast: Mapping[str, tuple[str, ...]],
        settings: Settings,
        folder: Path,
        artifacts: Artifacts,
    ) -> None:
        self._settings = settings
        self._mail = mail_folder(folder)
        self._place = AgentPlace(
            folder=folder / "agents",
            state=folder.parents[1],
            user=Path.home(),
            sandbox=settings.agents.sandbox,
            mail=self._mail,
        )
        self._artifacts = artifacts
        self._players = {role: self._make_player(role, names) for role, names in cast.items()}

    def make_crew(self, hear: Hear) -> Crew:
        return build_crew(
            self._players, load_prompts(self._settings), self._settings.agents.prompt_limit, hear
        )

    def has_answer(self, label: str) -> bool:
        """Return whether an answer with this label is stored, or an outside agent may be at work on
        it.
        """
        kept = any(player.find_reply(label) is not None for player in self._players.values())
        return kept or Mailbox(self._mail).has_label(label)

    def _make_player(self, role: str, names: tuple[str, ...]) -> Journal:
        chosen = self._settings.role.get(role, RoleSettings())
        place = (
            self._place
            if role in _TALKING
            else replace(self._place, folder=self._place.folder / role)
        )
        agents = [
            build_agent(
                AgentSetup(name, self._merge_settings(name, chosen), place, self._artifacts)
            )
            for name in names
        ]
        return Journal(
            RetryingAgent(agents, AgentRetryPolicy(retries=self._settings.agents.retries)),
            self._artifacts,
        )

    def _merge_settings(self, name: str, chosen: RoleSettings) -> AgentSettings:
        """Return an agent's settings with the role's model and effort."""
        own = merge_settings(name, self._settings.agent, self._settings.agents)
        return replace(own, model=chosen.model or own.model, effort=chosen.effort or own.effort)


def check_agents(cast: Mapping[str, tuple[str, ...]], settings: Settings, home: Path) -> None:
    """Raise SettingsError if an agent cannot be built or a prompt cannot be used."""
    folder = home / "runs" / "none"
    RunAgents(cast, settings, folder, FolderArtifacts(folder)).make_crew(lambda label, piece: None)


def check_client_name(name: str, flags: Mapping[str, str]) -> None:
    """Raise UsageError if the client's name is that of an agent punchlist starts."""
    own = load_settings(None, flags).settings.agent.get(name)
    kind = own.kind if own and own.kind else name
    if not _NAME.fullmatch(name) or (kind in AGENTS and kind != OUTSIDE):
        raise UsageError(
            f"--as {name}:"
            f" {'is no name' if not _NAME.fullmatch(name) else f'punchlist starts {kind} itself'}",
            hint=f'a name of letters and digits, or that of an agent with kind = "{OUTSIDE}"',
        )


def load_prompts(settings: Settings) -> dict[str, str]:
    """Return the user's own prompts by role."""
    return {
        role: _read_prompt(role, chosen.prompt)
        for role, chosen in settings.role.items()
        if chosen.prompt
    }


def _read_prompt(role: str, file: str) -> str:
    try:
        return Path(file).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        hint = "give the path of a prompt file, or leave the setting out"
        raise SettingsError(
            f"role.{role}.prompt: {file}: cannot be read: {error}", hint=hint
        ) from error


def remove_agent_homes(run: Run, folder: Path) -> Run:
    """Delete the agents' home folders (they hold copies of logins) once the run has ended."""
    if run.ended:
        shutil.rmtree(folder / "agents", ignore_errors=True)
    return run
