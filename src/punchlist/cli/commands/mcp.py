"""punchlist mcp: punchlist for other agents, over the Model Context Protocol."""

import asyncio
from pathlib import Path
from typing import Any

import click

from punchlist.app.access import Role
from punchlist.app.repositories import find_repositories
from punchlist.app.start.agents import check_client_name
from punchlist.cli import options
from punchlist.cli.session import current_folder
from punchlist.cli.terminal import note, print_bytes
from punchlist.errors import SettingsError
from punchlist.installed import extra_hint
from punchlist.settings import home_folder, load_settings, user_file

_CLIENTS = ("claude", "codex", "gemini", "opencode", "vscode", "other")


@click.command()
@options.repeatable(
    "--repository",
    "folders",
    metavar="PATH",
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    help="A repository to work on; may be given several times. Default: the one you are in.",
)
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    default=Role.RUN.value,
    show_default=True,
    help=(
        "read: only look. run: also start, work and answer. admin: also apply fixes and let found"
        " checks run."
    ),
)
@click.option(
    "--as",
    "name",
    metavar="NAME",
    default="outside",
    show_default=True,
    help="Which outside agent the client is.",
)
@click.option(
    "--print-config",
    "client",
    metavar="CLIENT",
    type=click.Choice(_CLIENTS),
    help="Print what a client needs, and end.",
)
@options.set_option
def command(**chosen: Any) -> None:
    """Punchlist for other agents: the Model Context Protocol, on standard input and output.

    A client starts this by itself. It can start runs, follow them, read items, submit findings, be
    the fixer of a run, and ask for proof; it names no path, and lets no check run that you did not
    allow. The server ends with its client; runs under way are stopped between two events, and can
    be resumed.
    """
    flags = options.parse_flags(chosen)
    load_settings(None, flags)
    folders = [Path(folder) for folder in chosen["folders"]] or [current_folder()]
    if chosen["client"]:
        _print_config(chosen, folders)
    else:
        _serve_client(chosen, folders, flags)


def _serve_client(chosen: dict[str, Any], folders: list[Path], flags: dict[str, str]) -> None:
    try:
        from punchlist.mcp.server import serve
        from punchlist.mcp.session import Options
    except ModuleNotFoundError as error:
        missing = str(error.name).partition("_")[0]  # the package comes in parts
        hint = extra_hint("mcp")
        raise SettingsError(f"{missing} is not installed", hint=hint) from error
    check_client_name(chosen["name"], flags)

    async def serve_stdio() -> None:
        own = Options(role=Role(chosen["role"]), name=chosen["name"], flags=flags)
        await serve(home_folder(), await find_repositories(folders), own)

    asyncio.run(serve_stdio())


def _print_config(chosen: dict[str, Any], folders: list[Path]) -> None:
    from punchlist.mcp.client_config import CLIENTS, Launcher

    home = home_folder()
    repositories = asyncio.run(find_repositories(folders))
    trees = tuple(str(home / "repos" / each.id / "trees") for each in repositories)
    words = [word for folder in folders for word in ("--repository", str(folder))]
    if chosen["role"] != Role.RUN.value:
        words += ["--role", chosen["role"]]
    if chosen["name"] != "outside":
        words += ["--as", chosen["name"]]
    words += [word for setting in chosen["settings"] for word in ("--set", setting)]
    # A client gives its servers little of its environment: name the folders that differ from their
    # defaults.
    env = {"PUNCHLIST_HOME": str(home)} if home != home_folder({}) else {}
    env |= {"PUNCHLIST_CONFIG": str(user_file())} if user_file() != user_file({}) else {}
    snippet = CLIENTS[chosen["client"]](Launcher(tuple(words), env, trees))
    note(snippet.note)
    print_bytes([snippet.text.encode() + b"\n"])
