"""punchlist doctor: what is installed here, and what is missing."""

from typing import Any

import click
import msgspec

from punchlist.app import Probe, Session
from punchlist.app.doctor import examine_setup
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import here, run_session
from punchlist.cli.show.tables import probes_table, settings_table
from punchlist.cli.terminal import answer, say
from punchlist.settings import Loaded, names


@click.command()
@click.option(
    "--settings", "show", is_flag=True, help="Every setting, its value, and where that comes from."
)
@click.option(
    "--ask",
    is_flag=True,
    help="Ask each agent in agents.use for one word; that costs what they charge for it.",
)
@options.set_option
@options.json_option
def command(show: bool, ask: bool, json_: bool, settings: tuple[str, ...]) -> Exit:
    """What is installed here, and what is missing. Exit code 6 if something needed is."""

    async def work(session: Session) -> Exit:
        if show:
            return _settings(session.settings(), json=json_)
        return _probes(await examine_setup(session, ask=ask), json=json_)

    return run_session(work, options.flags({"settings": settings}), repository=_in_repository())


def _in_repository() -> bool:
    """Everywhere else the doctor looks at the machine alone."""
    start = here()
    return any((folder / ".git").exists() for folder in (start, *start.parents))


def _probes(probes: list[Probe], *, json: bool) -> Exit:
    if json:
        answer(probes)
    else:
        say(probes_table(probes))
    return Exit.FINE if all(probe.found or not probe.needed for probe in probes) else Exit.SETUP


def _settings(loaded: Loaded, *, json: bool) -> Exit:
    rows = [
        (name, _at(loaded.settings, name), loaded.origins.get(name, "default")) for name in names()
    ]
    if json:
        answer({name: {"value": value, "origin": origin} for name, value, origin in rows})
    else:
        say(settings_table(rows))
    return Exit.FINE


def _at(settings: Any, name: str) -> object:
    for key in name.split("."):
        field = next(
            field for field in msgspec.structs.fields(settings) if field.encode_name == key
        )
        settings = getattr(settings, field.name)
    return msgspec.to_builtins(settings)
