"""Write a small agent of the user's own for each role, with the settings that use them."""

from importlib.resources import files
from pathlib import Path

from punchlist.errors import UsageError
from punchlist.ports.roles import REVIEWERS, ROLES

SETTINGS = "settings.toml"
_HEAD = """\
# Agents of your own, one for each role. To try them, in a repository:
#   PUNCHLIST_CONFIG={settings} punchlist run --all
# To keep them, copy these tables into ~/.config/punchlist/settings.toml.
"""
_AGENT = """
[agent.{name}]
kind = "command"                # any program: prompt on its input, answer on its output
command = ["python3", "{program}"]
"""
_ROLE = """
[role.{role}]
agents = ["{name}"]
"""


def write_examples(folder: Path) -> list[Path]:
    """Write the agents and their settings into a new folder, and return the files. Raise UsageError
    if one of them is there already.
    """
    players = {role: "reviewer" if role in REVIEWERS else role for role in ROLES}
    programs = {name: folder.absolute() / f"{name}.py" for name in dict.fromkeys(players.values())}
    texts = {path: read_example(name) for name, path in programs.items()}
    texts[folder.absolute() / SETTINGS] = _render_settings(players, programs, folder)
    texts[folder.absolute() / ".gitignore"] = "*\n"  # its settings are for this machine
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except FileExistsError as error:
        there = f"{error.filename} is there already"
        raise UsageError(there, hint="punchlist init --agent=ANOTHER_FOLDER") from None
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from error
    return list(texts)[:-1]


def read_example(name: str) -> str:
    """Return the text of an example agent."""
    return (files("punchlist.app.agents") / "examples" / f"{name}.py.txt").read_text("utf-8")


def _render_settings(players: dict[str, str], programs: dict[str, Path], folder: Path) -> str:
    head = _HEAD.format(settings=folder.absolute() / SETTINGS)
    agents = (_AGENT.format(name=name, program=_quote(path)) for name, path in programs.items())
    roles = (_ROLE.format(role=role, name=name) for role, name in players.items())
    return "".join((head, *agents, *roles))


def _quote(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace('"', '\\"')
