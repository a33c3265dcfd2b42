"""punchlist audit: verify a run's ledger."""

from pathlib import Path

import click

from punchlist.app.after.audit import audit_run
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import with_session
from punchlist.cli.show.tables import audit_text
from punchlist.cli.terminal import print_bytes, print_result, write_file


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
@with_session(readonly=True)
async def command(session: Session, run_id: str, target: str | None, json_: bool) -> Exit:
    """Verify a run's ledger from its first line.

    The hash chain holds, every reported finding is in exactly one item, every item has an end, and
    nothing is fixed without a proof.
    """
    if target == "-":
        print_bytes(session.export(run_id))
        return Exit.FINE
    if target is not None:
        write_file(Path(target), session.export(run_id), hint="give another file")
    audit = audit_run(session, run_id)
    print_result(audit, audit_text(audit), json=json_)
    return Exit.FINE if audit.ok else Exit.LEDGER
