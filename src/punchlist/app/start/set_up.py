"""What a user sets up in a repository: a settings file, and which checks may run."""

from pathlib import Path

from punchlist.app.session import Session
from punchlist.app.start.allowance import hash_checks, hash_settings
from punchlist.app.start.prepare import find_checks, repository_settings
from punchlist.app.start.settings_template import render_template
from punchlist.errors import UsageError
from punchlist.model.checks.check import Check
from punchlist.settings import REPOSITORY_FILE, load_settings


async def write_settings_file(session: Session) -> Path:
    """Writes a commented settings file into the checkout; never over one that is there."""
    checkout = session.required_checkout
    path = checkout.root / REPOSITORY_FILE
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(
                render_template(
                    await find_checks(await session.workshop(), checkout.head, session.settings())
                )
            )
    except FileExistsError:
        raise UsageError(f"{path} is there already", hint="edit it, or remove it first") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    return path


async def allow_found_checks(session: Session, *, revoke: bool = False) -> tuple[Check, ...]:
    """Remembers that the checks found here, and the repository's own settings, may be used."""
    workshop = await session.workshop()
    if revoke:
        session.allowance.revoke()
        return ()
    text = await repository_settings(workshop, workshop.checkout.head)
    loaded = load_settings(text, session.flags)
    checks = await find_checks(workshop, workshop.checkout.head, loaded)
    session.allowance.grant(
        hash_checks(checks), *([hash_settings(text)] if text is not None else [])
    )
    return checks
