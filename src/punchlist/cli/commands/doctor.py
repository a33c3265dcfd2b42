"""punchlist doctor: what is installed here, and what is missing."""

from typing import Any

import click
import msgspec

from punchlist.app.doctor import examine_setup
from punchlist.app.probe import Probe
from punchlist.app.sandboxes import is_root, try_sandboxes
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import current_folder, run_session
from punchlist.cli.show.advice import render_advice
from punchlist.cli.show.tables import probes_table, sandboxes_table, settings_table
from punchlist.cli.terminal import error_text, note, print_result
from punchlist.errors import SettingsError
from punchlist.settings import LoadedSettings, list_names, merge_layers


@click.command()
@options.flag("--settings", "show", help="Every setting, its value, and where that comes from.")
@options.flag(
    "--ask", help="Ask each agent in agents.use for one word; that costs what they charge for it."
)
@options.flag(
    "--security", help="What each kind of child may read, write, reach and use up, and what lacks."
)
@options.set_option
@options.json_option
def command(show: bool, ask: bool, security: bool, json_: bool, settings: tuple[str, ...]) -> Exit:
    """What works here, what does not, and what to type. Exit code 6 if something needed is missing.

    It runs nothing of the project, and works outside a repository and in one without commits, too.
    """

    async def work(session: Session) -> Exit:
        if show:
            return _show_settings(session.settings(), json=json_)
        if security:
            return await _show_sandboxes(session.settings(), json=json_)
        return _show_probes(await examine_setup(session, current_folder(), ask=ask), json=json_)

    flags = options.parse_flags({"settings": settings})
    try:
        return run_session(work, flags, repository=None, readonly=True)
    except SettingsError as error:
        if not show:
            raise
        note(error_text(str(error), "these are the defaults; correct that, and they are yours"))
        _show_settings(merge_layers([]), json=json_)
        return Exit.SETUP


def _show_probes(probes: list[Probe], *, json: bool) -> Exit:
    print_result(probes, [probes_table(probes), *render_advice(probes)], json=json)
    return Exit.FINE if all(probe.found or not probe.needed for probe in probes) else Exit.SETUP


async def _show_sandboxes(loaded: LoadedSettings, *, json: bool) -> Exit:
    rows = await try_sandboxes()
    lacks = list(dict.fromkeys(lack for row in rows for lack in row.lacks))
    notes = [
        f"Missing here: {lack} ({', '.join(row.kind for row in rows if lack in row.lacks)})"
        for lack in lacks
    ]
    if is_root():
        notes.append("You are root: what leaves a sandbox by a hole in the kernel is root, too.")
    print_result(rows, [sandboxes_table(rows), *notes], json=json)
    complete = not lacks and all(row.works for row in rows)
    return Exit.SETUP if loaded.settings.sandbox.required and not complete else Exit.FINE


def _show_settings(loaded: LoadedSettings, *, json: bool) -> Exit:
    rows = [
        (name, _get_setting(loaded.settings, name), loaded.origins.get(name, "default"))
        for name in list_names()
    ]
    document = {name: {"value": value, "origin": origin} for name, value, origin in rows}
    print_result(document, [settings_table(rows)], json=json)
    return Exit.FINE


def _get_setting(settings: Any, name: str) -> object:
    for key in name.split("."):
        fields = msgspec.structs.fields(settings)
        settings = getattr(settings, next(each.name for each in fields if each.encode_name == key))
    return msgspec.to_builtins(settings)
