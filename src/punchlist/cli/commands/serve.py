"""punchlist serve: the dashboard and the HTTP API."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from punchlist.app.after.reports import open_page
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.show.words import one_line
from punchlist.cli.terminal import is_terminal, note, say
from punchlist.errors import RepositoryError, SettingsError, UsageError
from punchlist.installed import extra_hint
from punchlist.model.ledger.timeline import pluralize
from punchlist.settings import home_folder, load_settings

if TYPE_CHECKING:
    from punchlist.app.drive.unfinished import UnfinishedRun
    from punchlist.ports.state import SharedState
    from punchlist.web.security.tokens import Tokens

_FEW = 10


@click.command()
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Where to listen; elsewhere than on this machine only with a token.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8470,
    show_default=True,
    help="0 for any that is free.",
)
@options.repeatable(
    "--allow-host", "names", metavar="NAME", help="Another name under which it may be called."
)
@click.option(
    "--new-token",
    metavar="ROLE",
    type=click.Choice(["read", "run", "admin"]),
    help="Make a token, print it once, and end.",
)
@click.option(
    "--name",
    default="",
    help="With --new-token: whose it is; answers are recorded under that name.",
)
@options.flag("--open", "browse", help="Open the dashboard in the browser, signed in.")
@click.option(
    "--here/--not-here",
    default=True,
    show_default=True,
    help="Register the repository that it is started in, if there is one.",
)
@options.flag("--tokens", help="List the tokens' ids, roles and names, and end.")
@click.option("--drop-token", metavar="ID", default="", help="Make a token worthless, and end.")
@options.flag(
    "--resume",
    help="Go on with the runs that were left in the middle, when a server was killed, say.",
)
@options.set_option
def command(**chosen: Any) -> Exit:
    """The dashboard and the HTTP API, on this machine's loopback.

    It shows the repositories that were registered: the one it is started in, and those added on its
    pages or over HTTP. Every request needs a token. Where none was made, one is made for this start
    and printed; it ends with the server. On a terminal a link is printed, too, which signs a
    browser in: once, within ten minutes. Ctrl-C stops the runs under way between two events, a
    second one at once. They can be resumed: a start says which they are.
    """
    flags = options.parse_flags(chosen)
    load_settings(None, flags)
    if chosen["new_token"] or chosen["tokens"] or chosen["drop_token"]:
        return _manage_tokens(chosen, flags)
    return _start_server(chosen, flags)


def _manage_tokens(chosen: dict[str, Any], flags: dict[str, str]) -> Exit:
    from punchlist.web.security.tokens import Tokens

    with closing(_open_state(flags)) as state:
        return _change_tokens(chosen, Tokens(state.access))


def _change_tokens(chosen: dict[str, Any], tokens: "Tokens") -> Exit:
    from punchlist.app.access import Role

    if chosen["new_token"]:
        say(tokens.create_token(Role(chosen["new_token"]), chosen["name"]))
        note("This is the only time it is shown.")
    elif chosen["drop_token"]:
        there = tokens.drop_token(chosen["drop_token"])
        say("dropped" if there else f"no token has the id {chosen['drop_token']}")
        return Exit.FINE if there else Exit.USAGE
    else:
        for visitor in tokens.list_all():
            say(f"{visitor.id}  {visitor.role:5}  {visitor.name}".rstrip())
    return Exit.FINE


def _open_state(flags: dict[str, str]) -> "SharedState":
    from punchlist.app.stores import open_state

    return open_state(load_settings(None, flags).settings.store, home_folder())


def _start_server(chosen: dict[str, Any], flags: dict[str, str]) -> Exit:
    try:
        from punchlist.web.server import ListenOptions, ServerInfo, serve
        from punchlist.web.state import Options
    except ModuleNotFoundError as error:
        hint = extra_hint("web")
        raise SettingsError(f"{error.name} is not installed", hint=hint) from error
    place = ListenOptions(host=chosen["host"], port=chosen["port"], names=chosen["names"])
    here = _register_here(flags) if chosen["here"] else ""

    def show_address(opened: ServerInfo) -> None:
        lines = [f"listening on {opened.address}"]
        if here:
            lines.append(f"with {one_line(here)}, where it was started")
        if opened.token:
            lines.append(f"token for this start (admin): {opened.token}")
        if is_terminal(sys.stderr):
            lines.append(f"the dashboard, signed in (works once): {opened.link}")
        lines += _list_unfinished(opened.left, resume=chosen["resume"])
        note(*lines, "Ctrl-C stops it")
        if chosen["browse"]:
            open_page(opened.link)

    serve(home_folder(), place, Options(flags=flags, resume=chosen["resume"]), show_address)
    return Exit.FINE


def _register_here(flags: dict[str, str]) -> str:
    """Register the repository around the current folder; return its name, or ''."""
    from punchlist.app.repositories import Repositories

    with suppress(UsageError, RepositoryError), closing(_open_state(flags)) as state:
        return asyncio.run(Repositories(state.repositories).register(Path.cwd())).name
    return ""


def _list_unfinished(runs: "Sequence[UnfinishedRun]", *, resume: bool) -> list[str]:
    if not runs:
        return []
    count = pluralize(len(runs), "run")
    lines = [f"going on with {count}:" if resume else f"{count} left in the middle:"]
    lines += [
        f"  {each.run}  {each.workflow:<12} {one_line(each.repository)}" for each in runs[:_FEW]
    ]
    if len(runs) > _FEW:
        lines.append(f"  and {len(runs) - _FEW} more: punchlist list")
    if not resume:
        one = "the dashboard, or POST /api/runs/RUN/resume, with one"
        lines.append(f"  --resume goes on with all of them; {one}")
    return lines
