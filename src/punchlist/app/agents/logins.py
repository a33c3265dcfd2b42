"""Logins of agents that lie in files of the user's home: found, asked about once, remembered."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.agents.settings import AgentSettings
from punchlist.app.state_folder import write_state
from punchlist.model.finding.guarded_text import parse_json
from punchlist.settings import LoadedSettings, Settings

FILE = "logins.json"


class FoundLogin(Struct, frozen=True):
    """An agent without a key whose program has logged in by these files below the home."""

    agent: str
    kind: str
    files: tuple[str, ...]

    @property
    def shown(self) -> str:
        return ", ".join(f"~/{name}" for name in self.files)


class LoginAnswers:
    """By kind of agent: whether the user lets it have a copy of its login."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def load(self) -> dict[str, bool]:
        try:
            return parse_json((self._home / FILE).read_bytes(), dict[str, bool])
        except (OSError, msgspec.MsgspecError):  # a damaged file allows nothing
            return {}

    def save(self, kind: str, *, allowed: bool) -> None:
        answers = self.load() | {kind: allowed}
        write_state(self._home, FILE, msgspec.json.encode(answers))


def list_logins(names: Iterable[str], settings: Settings) -> Iterator[FoundLogin]:
    """Yield the agents that have no key and no login in the settings, and a login in files."""
    from punchlist.adapters.agents.home import find_logins
    from punchlist.adapters.agents.registry import find_keys

    for name in names:
        own = settings.agent.get(name, AgentSettings())
        files = find_logins(own.kind or name, Path.home())
        if files and not own.login and not find_keys(name, own):
            yield FoundLogin(name, own.kind or name, files)


def is_allowed(login: FoundLogin, settings: Settings, answers: Mapping[str, bool]) -> bool | None:
    """Return whether the agent may have it; None if the user was not asked yet."""
    chosen = settings.agents.logins
    return answers.get(login.kind) if chosen is None else chosen


def add_logins(
    loaded: LoadedSettings, names: Iterable[str], home: Path
) -> tuple[LoadedSettings, tuple[FoundLogin, ...]]:
    """Return the settings with the logins that are allowed, and those that were not asked about."""
    names = tuple(names)
    if not names:
        return loaded, ()
    answers, settings = LoginAnswers(home).load(), loaded.settings
    agents, unasked = dict(settings.agent), []
    for login in list_logins(names, settings):
        allowed = is_allowed(login, settings, answers)
        if allowed:
            own = agents.get(login.agent, AgentSettings())
            agents[login.agent] = replace(own, login=login.files)
        elif allowed is None:
            unasked.append(login)
    return LoadedSettings(replace(settings, agent=agents), loaded.origins), tuple(unasked)
