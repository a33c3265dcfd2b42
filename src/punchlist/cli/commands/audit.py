"""punchlist audit: verify a run's ledger."""

from pathlib import Path

import click

from punchlist.app.after.anchors import choose_run, find_anchors
from punchlist.app.after.audit import audit_run
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import with_session
from punchlist.cli.show.tables import audit_text
from punchlist.cli.terminal import print_bytes, print_result, write_file
from punchlist.errors import UsageError


@click.command()
@options.run_or_none_argument
@click.option(
    "--export",
    "target",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Write the ledger as JSON lines; - for stdout.",
)
@options.repeatable(
    "--against",
    "named",
    metavar="COMMIT|FILE",
    help="Compare with the hash of the ledger in a commit's trailer, in all commits of a range or"
    " branch, or in the text of an issue. Default RUN: the one it names.",
)
@options.json_option
@with_session(repository=None, readonly=True)
async def command(
    session: Session, run_id: str, target: str | None, named: tuple[str, ...], json_: bool
) -> Exit:
    """Verify a run's ledger from its first line.

    The hash chain holds, the tables say what its lines say, nothing was cut off at its end, every
    reported finding is in exactly one item, every item has an end, and nothing is fixed without a
    proof. Only with --against is a ledger found out that was wholly written anew.
    """
    anchors = await find_anchors(session, named)
    run_id = session.find(choose_run(anchors, run_id) if anchors else run_id or "last")
    known = [anchor for anchor in anchors if anchor.run == run_id]
    if anchors and not known:
        raise UsageError(f"--against: nothing there is of run {run_id}", hint="leave out RUN")
    if target == "-":
        print_bytes(session.export(run_id))
        return Exit.FINE
    if target is not None:
        write_file(Path(target), session.export(run_id), hint="give another file")
    audit = audit_run(session, run_id, known)
    print_result(audit, audit_text(audit), json=json_)
    return Exit.FINE if audit.ok else Exit.LEDGER
