"""From a request to an exit code: prepare, ask about the checks, drive, tell what came of it."""

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from punchlist.app import Prepared, Request, Session
from punchlist.app.drive.answers import answer_run
from punchlist.app.drive.drive import resume_run
from punchlist.app.drive.threaded import Beside
from punchlist.app.start.dry_run import rehearse_run
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.set_up import allow_found_checks
from punchlist.app.start.start import start_run
from punchlist.cli.exit_codes import Exit
from punchlist.cli.options import Output
from punchlist.cli.session import login, stoppable
from punchlist.cli.show.json import document, exit_of
from punchlist.cli.show.plan import files_in_scope, plan_document, plan_text
from punchlist.cli.show.progress import Silent, View, watching
from punchlist.cli.show.question import asked
from punchlist.cli.show.summary import stopped, summary
from punchlist.cli.show.words import one_line
from punchlist.cli.terminal import answer, interactive, note, say
from punchlist.cli.tui_launch import can_watch, seated
from punchlist.model.ledger.run import Run

if TYPE_CHECKING:
    from rich.console import RenderableType

Drive = Callable[[View], Awaitable[Run]]
Tell = Callable[[Run], "Iterator[RenderableType]"]


async def started(
    session: Session, request: Request, output: Output, *, dry: bool = False, tell: Tell = summary
) -> Exit:
    if output.watch and not dry:
        can_watch()
    ready = await prepare_run(session, request)
    if dry:
        files = await files_in_scope(session, ready.change)
        prompts = await rehearse_run(session, ready, Silent())
        answer(plan_document(ready, prompts)) if output.json else say(
            *plan_text(ready, files, prompts, verbose=output.verbose)
        )
        return Exit.FINE
    if ready.checks and ready.checks_allowed is None:
        ready = await _asked(session, request, ready, output)
    if output.watch:
        return await watched(session, lambda driving: driving.begin(session, ready), output, tell)
    return await driven(session, lambda view: start_run(session, ready, view), output, tell)


async def gone_on(session: Session, run: Run, output: Output) -> Exit:
    """Goes on with a run; in the terminal view one that waits can be answered as well."""
    if not output.watch:
        return await driven(session, lambda view: resume_run(session, run.id, view), output)
    can_watch()
    return await watched(session, lambda driving: driving.resume(session, run.id), output, run=run)


async def watched(
    session: Session,
    begin: Callable[[Beside], Awaitable[str]],
    output: Output,
    tell: Tell = summary,
    *,
    run: Run | None = None,
) -> Exit:
    """In the terminal view, until it is closed; then what came of it is told as it always is."""
    from punchlist.tui.app import watch

    station = seated(session)
    name = run.id if run is not None and run.waits else await station.drive(begin)
    *_, last = (run, *await watch(station, name))
    return told(last, output, tell) if last is not None else Exit.FINE


async def driven(session: Session, drive: Drive, output: Output, tell: Tell = summary) -> Exit:
    """A run that waits is answered on the spot where somebody sits at the terminal; elsewhere it is
    left waiting.
    """
    with watching(output) as view, stoppable(view.say):
        run = await drive(view)
    while run.waits and not run.ended and interactive() and not output.machine and not output.quiet:
        said = asked(run)
        if said is None:
            break
        run = await answer_run(session, run.id, said, login(), asked=len(run.asking.questions))
        if not run.waits:
            with watching(output) as view, stoppable(view.say):
                run = await resume_run(session, run.id, view)
    return told(run, output, tell)


def told(run: Run, output: Output, tell: Tell = summary) -> Exit:
    """Shows where the run stands, in the way that was asked for."""
    halfway = run.interrupted and not run.ended
    if output.json:
        answer(document(run))
    elif not output.events and not halfway:
        say(*tell(run))
    if halfway:
        note(*stopped(run))
    return exit_of(run)


async def _asked(session: Session, request: Request, ready: Prepared, output: Output) -> Prepared:
    """Detected commands run only on somebody's word; where nobody can be asked the run goes on
    unverified, and says so.
    """
    commands = [
        f"  {one_line(' '.join(check.command))}   ({one_line(check.origin)})"
        for check in ready.checks
    ]
    if not interactive() or output.machine:
        if not output.quiet:
            note(
                "These checks were found and may not run yet, so fixes stay unverified:",
                *commands,
                "  hint: --yes, or `punchlist allow`",
            )
        return ready
    note("Found here, to judge whether a fix is good:", *commands)
    choice = click.prompt(
        "Let them run? [y]es this time, [a]lways, [n]o",
        type=click.Choice(["y", "a", "n"]),
        show_choices=False,
        err=True,
    )
    if choice == "a":
        await allow_found_checks(session)
    return await prepare_run(session, replace(request, allow_checks=choice != "n"))
