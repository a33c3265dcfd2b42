"""The agents of a run in their roles, made of the settings it is pinned to; each call is kept, so
that none is paid for twice.
"""

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec.structs import replace

from punchlist.adapters.agents import AgentSettings, RoleSettings
from punchlist.adapters.agents.cli_agent import Seat
from punchlist.adapters.agents.home import Place
from punchlist.adapters.agents.journal import Journal
from punchlist.adapters.agents.outside.mailbox import Mailbox
from punchlist.adapters.agents.registry import AGENTS, agent, settled
from punchlist.adapters.agents.retry import Patience, Patient
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.errors import SettingsError, UsageError
from punchlist.model.ledger.run import Run
from punchlist.ports.agent import OUTSIDE
from punchlist.ports.artifacts import Artifacts
from punchlist.ports.roles import Crew
from punchlist.roles.crew import crew
from punchlist.settings import Settings, load

Hear = Callable[[str, str], None]
"""Is told the label of a call and what the agent says, in pieces."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TALKING = frozenset({"clarifier", "planner", "fixer"})
"""Who goes on with each other's conversations. All others have a home apart, even where the same
agent plays them: what a reviewer, a challenger or a reproducer said lies there, and private tests
are nothing for a fixer to find.
"""


def mail_folder(run_folder: Path) -> Path:
    """Where a run's tasks for outside agents are."""
    return run_folder / "tasks"


class Stage:
    """Everybody who plays something in one run."""

    def __init__(
        self,
        cast: Mapping[str, tuple[str, ...]],
        settings: Settings,
        folder: Path,
        artifacts: Artifacts,
    ) -> None:
        self._settings = settings
        self._mail = mail_folder(folder)
        self._place = Place(
            folder=folder / "agents",
            state=folder.parents[1],
            user=Path.home(),
            sandbox=settings.agents.sandbox,
            mail=self._mail,
        )
        self._artifacts = artifacts
        self._players = {role: self._player(role, names) for role, names in cast.items()}

    def crew(self, hear: Hear) -> Crew:
        return crew(
            self._players, prompts(self._settings), self._settings.agents.prompt_limit, hear
        )

    def answered(self, label: str) -> bool:
        """Whether an answer under this label is kept, or somebody outside may be at work on it; all
        players share one journal.
        """
        kept = any(player.answered(label) is not None for player in self._players.values())
        return kept or Mailbox(self._mail).known(label)

    def _player(self, role: str, names: tuple[str, ...]) -> Journal:
        chosen = self._settings.role.get(role, RoleSettings())
        place = (
            self._place
            if role in _TALKING
            else replace(self._place, folder=self._place.folder / role)
        )
        agents = [
            agent(Seat(name, self._for(name, chosen), place, self._artifacts)) for name in names
        ]
        return Journal(
            Patient(agents, Patience(retries=self._settings.agents.retries)), self._artifacts
        )

    def _for(self, name: str, chosen: RoleSettings) -> AgentSettings:
        """An agent's settings, with what the role wants of it."""
        own = settled(name, self._settings.agent, self._settings.agents)
        return replace(own, model=chosen.model or own.model, effort=chosen.effort or own.effort)


def fit_to_play(cast: Mapping[str, tuple[str, ...]], settings: Settings, home: Path) -> None:
    """Refuses agents that cannot be made and prompts that cannot be used, before a run begins that
    could not go on.
    """
    folder = home / "runs" / "none"
    Stage(cast, settings, folder, FolderArtifacts(folder)).crew(lambda label, piece: None)


def fit_name(name: str, flags: Mapping[str, str]) -> None:
    """Refuses to call the client by the name of an agent that punchlist starts itself."""
    own = load(None, flags).settings.agent.get(name)
    kind = own.kind if own and own.kind else name
    if not _NAME.fullmatch(name) or (kind in AGENTS and kind != OUTSIDE):
        raise UsageError(
            f"--as {name}:"
            f" {'is no name' if not _NAME.fullmatch(name) else f'punchlist starts {kind} itself'}",
            hint=f'a name of letters and digits, or that of an agent with kind = "{OUTSIDE}"',
        )


def prompts(settings: Settings) -> dict[str, str]:
    """Those of the user's own, by role."""
    return {
        role: _text(role, chosen.prompt) for role, chosen in settings.role.items() if chosen.prompt
    }


def _text(role: str, file: str) -> str:
    try:
        return Path(file).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        hint = "give the path of a prompt file, or leave the setting out"
        raise SettingsError(
            f"role.{role}.prompt: {file}: cannot be read: {error}", hint=hint
        ) from error


def strike(run: Run, folder: Path) -> Run:
    """Nobody goes on with a conversation of a run that has ended: the agents' homes go, and with
    them the copies of logins.
    """
    if run.ended:
        shutil.rmtree(folder / "agents", ignore_errors=True)
    return run
