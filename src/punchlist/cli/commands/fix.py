"""punchlist fix: the loop, over findings that are already there."""

from typing import Any

import click
from msgspec.structs import replace

from punchlist.app.session import Session
from punchlist.app.start.findings_files import SETTLED, choose_items, write_items
from punchlist.app.start.request import Request, copy_scope
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.run_driver import start_and_show
from punchlist.cli.session import run_session
from punchlist.errors import UsageError
from punchlist.model.ledger.run import Run
from punchlist.views.item_list import find_item


@click.command()
@options.scope_options
@options.findings_option
@click.option(
    "--from",
    "earlier",
    metavar="RUN",
    default="",
    help="The items of an earlier run, for example of `punchlist review`.",
)
@options.repeatable(
    "--item",
    "items",
    metavar="ITEM",
    help="Of --from only this item, and nothing is reviewed; may be given several times.",
)
@options.workflow_option
@options.checks_options
@options.agent_options
@options.selection_options
@options.commits_option
@options.format_option
@options.run_options
def command(**chosen: Any) -> Exit:
    """The loop, over findings that are already there: files (--findings), or the items of an
    earlier run (--from).

    The same as `punchlist run --findings FILE`: the analyzers look as well, because what they see
    is what proves a fix. With --item the named items alone are worked on: no reviewer is asked, and
    the analyzers look only at what the fixes change.
    """
    output = options.parse_output(chosen)
    request = options.make_request(chosen)
    if not request.findings and not chosen["earlier"]:
        raise UsageError(
            "nothing to fix was given",
            hint="`punchlist fix --findings FILE`, `punchlist fix --from RUN` or `punchlist run`",
        )

    if chosen["items"] and (not chosen["earlier"] or request.findings):
        raise UsageError(
            "--item chooses items of one earlier run",
            hint="`punchlist fix --from RUN --item ITEM`, without --findings",
        )

    scoped = any(chosen[name] for name in ("everything", "staged", "commit", "base", "paths"))

    async def work(session: Session) -> Exit:
        run = session.load(chosen["earlier"]) if chosen["earlier"] else None
        wanted = request if run is None or scoped else copy_scope(request, run)
        if run is not None and chosen["items"]:
            numbers = [find_item(run, each) for each in chosen["items"]]
            wanted = choose_items(session, wanted, run.id, numbers)
        elif run is not None:
            wanted = _add_items(session, wanted, run)
        return await start_and_show(session, wanted, output, dry=chosen["dry_run"])

    return run_session(work, options.parse_flags(chosen))


def _add_items(session: Session, request: Request, run: Run) -> Request:
    """Add the unresolved items of the earlier run as a SARIF file of findings."""
    wanted = (item for item in run.items.values() if not item.left_out)
    left = [item.number for item in wanted if item.status not in SETTLED]
    if not left:
        raise UsageError(f"run {run.id} has left nothing to fix", hint="punchlist run")
    return replace(request, findings=(*request.findings, write_items(session, run, left)))
