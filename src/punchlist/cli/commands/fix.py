"""punchlist fix: the loop, over findings that are already there."""

from typing import Any

import click
from msgspec.structs import replace

from punchlist.app import App, Request
from punchlist.cli import options
from punchlist.cli.drive import started
from punchlist.cli.exits import Exit
from punchlist.cli.session import session
from punchlist.errors import UsageError


@click.command()
@options.scope_options
@options.findings_option
@click.option(
    "--from", "earlier", metavar="RUN", default="", help="The items of an earlier run, for example of `punchlist review`."
)
@options.workflow_option
@options.checks_options
@options.run_options
def command(**chosen: Any) -> Exit:
    """The loop, over findings that are already there: files (--findings), or the items of an earlier run (--from).

    The same as `punchlist run --findings FILE`: the analyzers look as well, because what they see is what proves a fix.
    """
    output = options.output(chosen)
    request = options.request(chosen)
    if not request.findings and not chosen["earlier"]:
        raise UsageError(
            "nothing to fix was given", hint="punchlist fix --findings FILE, punchlist fix --from RUN, or punchlist run"
        )

    async def work(app: App) -> Exit:
        return await started(app, _with_items(app, request, chosen["earlier"]), output, dry=chosen["dry_run"])

    return session(work, options.flags(chosen))


def _with_items(app: App, request: Request, earlier: str) -> Request:
    """The earlier run's own SARIF report is read like any other file of findings."""
    if not earlier:
        return request
    run = app.load(earlier)
    report = next((path for path in run.artifacts if path.endswith(".sarif")), "")
    if not report:
        raise UsageError(f"run {run.id} has written no report yet", hint=f"punchlist resume {run.id}")
    return replace(request, findings=(*request.findings, report))
