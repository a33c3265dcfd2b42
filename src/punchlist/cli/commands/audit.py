"""punchlist audit: verify a run's ledger."""

from pathlib import Path

import click

from punchlist.app import Session
from punchlist.app.after.audit import audit_run
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import run_reader
from punchlist.cli.show.tables import audit_text
from punchlist.cli.terminal import note, print_bytes, print_json, say
from punchlist.errors import UsageError


@click.command()
@options.run_argument
@click.option(
    "--export",
    "target",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Write the ledger as JSON lines; - for stdout.",
)
@options.json_option
def command(run_id: str, target: str | None, json_: bool) -> Exit:
    """Verify a run's ledger from its first line.

    The hash chain holds, every reported finding is in exactly one item, every item has an end, and
    nothing is fixed without a proof.
    """

    def look(session: Session) -> Exit:
        if target == "-":
            print_bytes(session.export(run_id))
            return Exit.FINE
        if target is not None:
            _export_ledger(session, run_id, Path(target))
        audit = audit_run(session, run_id)
        if json_:
            print_json(audit)
        else:
            say(*audit_text(audit))
        return Exit.FINE if audit.ok else Exit.LEDGER

    return run_reader(look)


def _export_ledger(session: Session, run_id: str, target: Path) -> None:
    try:
        with target.open("wb") as file:
            file.writelines(session.export(run_id))
    except OSError as error:
        raise UsageError(
            f"{target}: cannot be written: {error.strerror}", hint="give another file"
        ) from error
    note(f"wrote {target}")
