"""punchlist status: how a run stands."""

import click

from punchlist.app.after.branch_state import standing_of
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.session import with_session
from punchlist.cli.show.json import make_document
from punchlist.cli.show.review import render_review
from punchlist.cli.show.summary import render_summary
from punchlist.cli.terminal import print_bytes, print_json, say
from punchlist.views.run_state import is_review


@click.command()
@options.run_argument
@options.json_option
@options.rows_option
@options.flag("-v", "--verbose", help="With all notes.")
@options.flag("--events", help="JSON lines on stdout: every entry of the ledger so far.")
@with_session(repository=None, readonly=True)
async def command(
    session: Session, run_id: str, *, json_: bool, events: bool, limit: int, verbose: bool
) -> None:
    """How a run stands: the summary, or the question it waits with. The exit code is 0 whatever the
    outcome is.
    """
    if events:
        print_bytes(session.export(run_id))
        return
    run = session.load(run_id)
    driven = session.driver_of(run.id) is not None
    queued = not run.ended and session.is_queued(run.id)
    standing = await standing_of(session, run)
    if json_:
        print_json(make_document(run, driven=driven, queued=queued, standing=standing))
    else:
        if run.ended and is_review(run):
            say(*render_review(run, most=limit, verbose=verbose))
        else:
            say(*render_summary(run, driven=driven, standing=standing, verbose=verbose))
        if queued:
            say("It waits in the queue for a worker (punchlist queue).")
