"""Build the agents of a run from its pinned settings; no call is paid for twice."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from msgspec.structs import replace

from punchlist.adapters.agents.home import AgentPlace
from punchlist.adapters.agents.outside.mailbox import Mailbox
from punchlist.adapters.agents.settings import RoleSettings
from punchlist.adapters.agents.spending import Spending
from punchlist.adapters.folders.remove import remove_folder
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.errors import SettingsError, UsageError
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.run import Run
from punchlist.ports.agent import OUTSIDE, Agent
from punchlist.ports.artifacts import Artifacts
from punchlist.ports.notices import Notices
from punchlist.ports.roles import Crew
from punchlist.settings import Settings, load_settings

if TYPE_CHECKING:
    from punchlist.adapters.agents.journal import Journal

Hear = Callable[[str, str], None]
"""Called with the label of a call and a piece of the agent's output."""

_NAME = late_pattern(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TALKING = frozenset({"clarifier", "planner", "fixer"})
"""Roles that continue each other's conversations. Every other role has a home of its own, even if
the same agent plays it: a fixer must not find the private tests of a reproducer there.
"""


def mail_folder(run_folder: Path) -> Path:
    """Return the folder of the run's tasks for outside agents."""
    return run_folder / "tasks"


class RunFiles(NamedTuple):
    """`folder`: what a run has on this machine; `artifacts`: what every machine must find."""

    folder: Path
    artifacts: Artifacts

    @classmethod
    def below(cls, folder: Path) -> Self:
        return cls(folder, FolderArtifacts(folder))


class RunAgents:
    def __init__(
        self,
        cast: Mapping[str, tuple[str, ...]],
        settings: Settings,
        files: RunFiles,
        spending: Spending | None = None,
        *,
        own: Mapping[str, Agent] | None = None,
    ) -> None:
        """`spending` counts what they spend, for a run with the limit of its settings; `own` are
        agents that need not be built.
        """
        folder, self._artifacts = files.folder, files.artifacts
        self._local = FolderArtifacts(folder)
        self._own = own or {}
        self._settings = settings
        self._mail = mail_folder(folder)
        self._place = AgentPlace(
            folder=folder / "agents",
            state=folder.parents[1],
            user=Path.home(),
            sandbox=settings.agents.sandbox,
            hosts=settings.agents.hosts,
            wishes=settings.sandbox.wishes,
            mail=self._mail,
        )
        self.notices = Notices()
        self.spending = spending or Spending()
        self._players = {role: self._make_player(role, names) for role, names in cast.items()}

    def make_crew(self, hear: Hear, prompts: Mapping[str, str] | None = None) -> Crew:
        """Return the roles; `prompts` are those that the run pinned, if it did."""
        prompts = prompts or load_prompts(self._settings)
        if not self._players:
            return Crew()
        from punchlist.roles.crew import build_crew

        return build_crew(self._players, prompts, self._settings.agents.prompt_limit, hear)

    def has_answer(self, label: str) -> bool:
        """Return whether this answer is stored, or an outside agent may be at work on it."""
        kept = any(player.find_reply(label) is not None for player in self._players.values())
        return kept or Mailbox(self._mail).has_label(label)

    def forget_answer(self, label: str) -> None:
        for player in self._players.values():
            player.forget_reply(label)

    def _make_player(self, role: str, names: tuple[str, ...]) -> "Journal":
        # Imported here: most runs ask no agent.
        from punchlist.adapters.agents.cli_agent import AgentSetup
        from punchlist.adapters.agents.journal import Journal
        from punchlist.adapters.agents.registry import build_agent, merge_settings
        from punchlist.adapters.agents.retry import AgentRetryPolicy, RetryingAgent

        settings, place = self._settings, self._place
        if role not in _TALKING:
            place = replace(place, folder=place.folder / role)
        chosen = settings.role.get(role, RoleSettings())
        agents = []
        for name in names:
            own = merge_settings(name, settings.agent, settings.agents)
            own = replace(
                own,
                model=chosen.model or own.model,
                effort=chosen.effort or own.effort,
                timeout=chosen.timeout or own.timeout,
            )
            setup = AgentSetup(name, own, place, self._artifacts, self.spending, self.notices.post)
            agents.append(self._own.get(name) or build_agent(setup))
        policy = AgentRetryPolicy(retries=settings.agents.retries)
        return Journal(RetryingAgent(agents, policy), self._artifacts, self._local)


def open_spending(folder: Path, limit: float, earlier: Usage) -> Spending:
    """Return what counts the money of a run whose own files are in the folder; `earlier` is what it
    had used before.
    """
    return Spending(folder / "spending", limit=limit, earlier=earlier)


def check_agents(cast: Mapping[str, tuple[str, ...]], settings: Settings, home: Path) -> None:
    """Raise SettingsError if an agent cannot be built or a prompt cannot be used."""
    files = RunFiles.below(home / "runs" / "none")
    RunAgents(cast, settings, files).make_crew(lambda label, piece: None)


def check_client_name(name: str, flags: Mapping[str, str]) -> None:
    """Raise UsageError if the client's name is that of an agent punchlist starts."""
    from punchlist.adapters.agents.registry import AGENTS

    own = load_settings(None, flags).settings.agent.get(name)
    kind = own.kind if own and own.kind else name
    fits = _NAME.fullmatch(name)
    if not fits or (kind in AGENTS and kind != OUTSIDE):
        wrong = f"punchlist starts {kind} itself" if fits else "is no name"
        raise UsageError(
            f"--as {name}: {wrong}",
            hint=f'a name of letters and digits, or that of an agent with kind = "{OUTSIDE}"',
        )


def load_prompts(settings: Settings) -> dict[str, str]:
    """Return the prompts that the user's settings name, by role."""
    files = {role: chosen.prompt for role, chosen in settings.role.items() if chosen.prompt}
    return {role: _read_prompt(role, file) for role, file in files.items()}


def choose_prompts(roles: Iterable[str], settings: Settings) -> dict[str, str]:
    """Return the prompts of these roles: those that the user's settings name, else the shipped."""
    wanted, chosen = tuple(roles), load_prompts(settings)
    if not wanted:
        return {}
    # Imported here: most runs ask no agent.
    from punchlist.roles.prompting.template import load_prompt

    return {role: chosen.get(role) or load_prompt(role) for role in wanted}


def _read_prompt(role: str, file: str) -> str:
    try:
        return Path(file).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"role.{role}.prompt: {file}: cannot be read: {error}",
            hint="give the path of a prompt file, or leave the setting out",
        ) from error


def remove_agent_homes(run: Run, folder: Path) -> Run:
    """Delete the agents' home folders (they hold copies of logins) once the run has ended."""
    if run.ended:
        remove_folder(folder / "agents")
    return run
