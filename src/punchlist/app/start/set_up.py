"""What a user sets up in a repository: a settings file, and which checks may run."""

from importlib.resources import files
from pathlib import Path, PurePath

from msgspec import Struct

from punchlist.adapters.analyzers.registry import build_analyzers
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.folders.look import path_exists
from punchlist.adapters.git.scope import resolve_change
from punchlist.adapters.git.workshop import Workshop
from punchlist.app.session import Session
from punchlist.app.start.allowance import hash_checks, hash_settings, survey_code
from punchlist.app.start.prepare import find_checks, repository_settings
from punchlist.errors import PunchlistError, UsageError
from punchlist.model.checks.check import Check
from punchlist.model.checks.failure_cause import find_python
from punchlist.model.checks.tool_configuration import ToolConfiguration
from punchlist.settings import REPOSITORY_FILE, load_settings

_PORTABLE = """\
# `python` is the project's own: .venv and others, one that `punchlist setup` made, then PATH's.
"""


async def write_settings_file(session: Session) -> Path:
    """Write a commented settings file into the checkout; never over an existing one."""
    checkout = session.required_checkout
    path = checkout.root / REPOSITORY_FILE
    try:
        with path.open("x", encoding="utf-8") as file:
            workshop = await session.workshop()
            found = await find_checks(workshop, checkout.head, session.settings())
            file.write(_render_settings(found.checks, checkout.root))
    except FileExistsError:
        raise UsageError(f"{path} is there already", hint="edit it, or remove it first") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    return path


def suggest_naming_checks(root: Path) -> str:
    """Return how a user names a check where none was found."""
    if path_exists(root / REPOSITORY_FILE):
        return f"name one in {REPOSITORY_FILE}, under [[checks]]"
    return "punchlist init"


class FoundCode(Struct, frozen=True):
    """What may run in a repository once it is allowed."""

    checks: tuple[Check, ...] = ()
    configurations: tuple[ToolConfiguration, ...] = ()


async def allow_found_checks(session: Session, *, revoke: bool = False) -> FoundCode:
    """Remember that the checks found here, the code that the configuration of analyzers loads
    on the base, and the repository's own settings may be used.
    """
    workshop = await session.workshop()
    if revoke:
        session.allowance.revoke()
        return FoundCode()
    text = await repository_settings(workshop, workshop.checkout.head)
    loaded = load_settings(text, session.flags)
    checks = (await find_checks(workshop, workshop.checkout.head, loaded)).checks
    analyzers = loaded.settings.analyzers
    names = build_analyzers(
        analyzers, Kit(checkout=workshop.checkout.root, tracked=workshop.tracked_environments)
    )
    base = await _find_base(workshop)
    code = await survey_code(workshop, base, analyzers, names, lambda _: True)
    session.allowance.grant(
        hash_checks(checks),
        *([hash_settings(text)] if text is not None else []),
        *(each.fingerprint for each in code if each.allowed),
    )
    return FoundCode(checks, tuple(each for each in code if each.allowed))


async def _find_base(workshop: Workshop) -> str:
    """Return the commit whose configuration counts in a run that names no scope."""
    try:
        return (await resolve_change(workshop)).base
    except PunchlistError:
        return workshop.checkout.head


def _render_settings(checks: tuple[Check, ...], root: Path) -> str:
    """Return the settings file that `punchlist init` writes; it sets only the checks."""
    if not checks:
        return _read_template("template_settings.toml") + _read_template("template_checks.toml")
    return (
        _read_template("template_settings.toml")
        + "\n# The checks that must stay green, as they were found here.\n"
        + _PORTABLE
        + "\n".join(_render_check(check, root) for check in checks)
    )


def _read_template(name: str) -> str:
    return (files("punchlist.app.start") / name).read_text("utf-8")


def _render_check(check: Check, root: Path) -> str:
    command, repair = (
        ", ".join(map(_quote_text, _make_portable(words, root)))
        for words in (check.command, check.repair)
    )
    name, kind = _quote_text(check.name), _quote_text(check.kind)
    formats = f"repair = [{repair}]\n" if repair else ""
    return f"[[checks]]\nname = {name}\ncommand = [{command}]\nkind = {kind}\n{formats}"


def _make_portable(command: tuple[str, ...], root: Path) -> list[str]:
    """Return a command without paths of this machine: programs by name, files below the root."""
    if not command:
        return []
    program = "python" if find_python(command) else command[0]
    if program.startswith("/"):
        program = PurePath(program).name
    below = f"{root}/"
    return [program, *(word.replace(below, "") for word in command[1:])]


def _quote_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
