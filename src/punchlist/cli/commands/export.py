"""punchlist export: the evidence of a run, for `punchlist prove` elsewhere."""

from pathlib import Path

import click

from punchlist.app.after.prove.export import count_secrets, export_notes
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.session import with_session
from punchlist.cli.terminal import note, print_bytes, show_done, write_file
from punchlist.errors import UsageError


@click.command()
@options.run_argument
@click.option(
    "--to",
    "target",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Write the ledger as JSON lines; - for stdout.",
)
@options.flag("--note", "as_note", help="As a git note (refs/notes/punchlist) of each commit.")
@options.json_option
@with_session()
async def command(
    session: Session, run_id: str, target: str | None, as_note: bool, json_: bool
) -> None:
    """Export the evidence of a run: its ledger, which says how each of its commits was proven.

    In another clone, `punchlist prove` executes the proofs again with it.
    """
    if not target and not as_note:
        raise UsageError("where to?", hint="--to FILE, or --note")
    run_id = session.find(run_id)
    if found := count_secrets(session, run_id):
        note(f"{found} entries quote what looks like a secret; look at it before you publish it")
    if target == "-":
        print_bytes(session.export(run_id))
        return
    done = []
    if target:
        write_file(Path(target), session.export(run_id), hint="give another file")
        done.append(f"the evidence of run {run_id} is in {target}")
    if as_note:
        done.append(await export_notes(session, run_id))
    show_done(*done, json=json_)
