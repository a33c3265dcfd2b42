"""punchlist dismissals: what is dismissed in this repository, by whom and why."""

import click

from punchlist.app.gate.shared_dismissals import list_dismissals, share_own
from punchlist.app.gate.shared_files import DISMISSALS
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.session import with_session
from punchlist.cli.show.words import escape_text
from punchlist.cli.terminal import print_result, show_done
from punchlist.model.ledger.timeline import pluralize


@click.command()
@options.flag("--share", help="Write your own as files below .punchlist/dismissals, to commit.")
@options.json_option
@with_session(readonly=True)
async def command(session: Session, share: bool, json_: bool) -> None:
    """What is dismissed here: in files of the repository, which hold in every clone, and by you
    alone. `punchlist dismiss` adds to it.
    """
    if share:
        written = pluralize(share_own(session), "file")
        show_done(f"{written} written to {DISMISSALS}; commit that, to share it", json=json_)
        return
    known = list_dismissals(session)
    lines = [
        f"{'shared' if each.shared else 'yours':<6}  {each.place}: {each.title}"
        f" ({each.why}; {each.by})"
        for each in known
    ]
    print_result(known, map(escape_text, lines or ["Nothing is dismissed here."]), json=json_)
