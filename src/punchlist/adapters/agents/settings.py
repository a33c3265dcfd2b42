"""Settings of agents: which there are, how each is started, and their roles."""

from typing import Annotated

from msgspec import Meta, Struct


class AgentSettings(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """One agent, under a name of the user's choosing; for known agents the name is enough."""

    kind: str = ""
    """What drives it: claude, codex, gemini, opencode, qwen, copilot, aider, acp, command, outside,
    scripted, dry. Default: its name.
    """
    command: tuple[str, ...] = ()
    """The program and what comes first on its command line. Default: the program's usual name."""
    model: str = ""
    effort: str = ""
    """How hard it shall think, in its own words (low, medium, high)."""
    env: dict[str, str] = {}
    """Variables set for it, such as a base URL. A run stores their names, and never their values.
    """
    keys: tuple[str, ...] = ()
    """Names of variables passed on to it from punchlist's own environment, besides those its
    adapter knows (its API key).
    """
    login: tuple[str, ...] = ()
    """Files below your home folder that it needs to be logged in; copied into the home it gets."""
    hosts: tuple[str, ...] = ()
    """Hosts that it may reach besides its model's: `HOST`, `HOST:PORT`, `*.HOST`, an address or a
    network; without a port it is 443. Behind walls it reaches no other.
    """
    keyless: bool = True
    """Whether its key stays outside its sandbox, where its program takes a base URL: punchlist's
    proxy adds the key to its requests. With false it is given the key.
    """
    timeout: float = 0
    """Seconds one call may take. Default: agents.timeout."""
    silence: float = 0
    """Seconds it may say nothing. Default: agents.silence."""
    input_price: float | None = None
    """Dollars a million tokens, for agents that do not tell the cost. Without it the cost of such
    an agent is unknown; 0 says that it costs nothing.
    """
    output_price: float | None = None
    """Dollars a million tokens that it writes."""
    script: str = ""
    """For kind `scripted`: the file with its lines."""
    answer: str = "stdout"
    """For kind `command`: where the answer is; `stdout`, or the name of a file it writes."""


class AgentsSettings(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Agents cost money and see your code, so none is asked unless it is named in `use`."""

    use: tuple[str, ...] = ()
    """Who is asked, the first one first; the others where it fails."""
    timeout: float = 900
    """Seconds one call may take."""
    silence: float = 300
    """Seconds an agent may say nothing before it counts as hanging."""
    retries: int = 4
    """How often a call is tried again where the agent says that it was asked too much."""
    sandbox: bool = True
    """Whether agents run behind walls where bubblewrap is there: they write only in their own work
    tree and home.
    """
    hosts: tuple[str, ...] = ()
    """Hosts that every agent may reach besides its model's, as in `agent.NAME.hosts`."""
    logins: bool | None = None
    """Whether agents without a key get a copy of the login that their program keeps in files of
    your home. Default: you are asked once on a terminal, and elsewhere they do not.
    """
    prompt_limit: int = 400_000
    """Characters of the longest prompt; what does not fit is cut by priority, and said."""


class RoleSettings(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Which agents play a role; default: all in `agents.use`."""

    agents: tuple[str, ...] = ()
    model: str = ""
    effort: str = ""
    prompt: str = ""
    """A file of your own in the place of the prompt that comes with punchlist."""
    timeout: Annotated[float, Meta(ge=0)] = 0
    """Seconds one call in this role may take. Default: agent.NAME.timeout or agents.timeout where
    you set one, else what the workflow says (in `challenged` 900 for the fixer and 120 for the
    challenger), else 900.
    """
