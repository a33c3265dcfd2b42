"""Prepare a run, ask about its checks, drive it, show the result."""

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from punchlist.app.after.reports import render_format
from punchlist.app.drive.answers import answer_run
from punchlist.app.drive.drive import resume_run
from punchlist.app.session import Session
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Prepared, Request
from punchlist.app.start.start import require_agents, start_run
from punchlist.cli.drawing import Part
from punchlist.cli.exit_codes import Exit
from punchlist.cli.options import OutputMode
from punchlist.cli.session import handle_signals, login_name
from punchlist.cli.show.json import exit_code, make_document
from punchlist.cli.show.logins import ask_logins
from punchlist.cli.show.plan import count_files, plan_document, plan_text
from punchlist.cli.show.progress import ProgressView, open_view
from punchlist.cli.show.question import ask_choice, ask_questions
from punchlist.cli.show.review import count_document, render_review
from punchlist.cli.show.summary import render_stop, render_summary
from punchlist.cli.show.words import format_check, format_code
from punchlist.cli.terminal import is_interactive, note, print_bytes, print_json, print_result, say
from punchlist.cli.tui_launch import check_terminal, open_backend
from punchlist.model.ledger.run import Run
from punchlist.views.run_state import is_review

if TYPE_CHECKING:
    from punchlist.app.drive.threaded import ThreadedDriver
    from punchlist.app.fleet.enqueue import QueueOptions

Drive = Callable[[ProgressView], Awaitable[Run]]
Tell = Callable[[Run], Iterator[Part]]


async def start_and_show(
    session: Session,
    request: Request,
    output: OutputMode,
    *,
    dry: bool = False,
    tell: Tell = render_summary,
) -> Exit:
    if output.follow and not dry:
        check_terminal()
    ready = await prepare_run(session, request)
    if dry:
        from punchlist.app.start.dry_run import rehearse_run

        files = await count_files(session, ready.change)
        prompts = await rehearse_run(session, ready, ProgressView())
        text = plan_text(ready, files, prompts, verbose=output.verbose)
        print_result(plan_document(ready, prompts), text, json=output.json)
        return Exit.FINE
    require_agents(ready)
    if ready.logins and ask_logins(session, ready.logins, ask=_can_ask(output)):
        ready = await prepare_run(session, request)
    asks = _can_ask(output) and request.allow_checks is not False
    lacking = ", ".join(name for check in ready.checks for name in check.lacks) if asks else ""
    if lacking and await _offer_environment(session, lacking):
        ready = await prepare_run(session, request)
    checks_unasked = ready.checks and ready.checks_allowed is None
    if checks_unasked or (ready.locked_code and request.allow_checks is None):
        ready = await _ask_checks(session, request, ready, output)
    if output.queue is not None:
        return await _queue_run(session, ready, output.queue, output)
    if output.follow:
        return await watch_run(
            session, lambda driver: driver.begin_run(session, ready), output, tell
        )
    begun: list[str] = []

    async def begin(view: ProgressView) -> Run:
        run = await start_run(session, ready, view)
        begun.append(run.id)
        return run

    code = await drive_run(session, begin, output, tell)
    lack = _find_lack(session.load(begun[0])) if asks and begun and not lacking else ""
    if lack and await _offer_environment(session, lack):
        return await start_and_show(session, request, output, tell=tell)
    return code


async def _queue_run(
    session: Session, ready: Prepared, queue: "QueueOptions", output: OutputMode
) -> Exit:
    from punchlist.app.fleet.enqueue import enqueue_run

    queued = await enqueue_run(session, ready, queue)
    run = queued.entry.run
    lines = [f"run {run} is queued (punchlist status {run})"]
    lines += [f"it supersedes run {each}, which was queued" for each in queued.superseded]
    print_result({"run": run, "superseded": queued.superseded}, lines, json=output.json)
    return Exit.FINE


async def resume_and_show(session: Session, run: Run, output: OutputMode) -> Exit:
    """Resume a run; in the terminal view its questions can be answered as well."""
    if not output.follow:
        return await drive_run(session, lambda view: resume_run(session, run.id, view), output)
    check_terminal()
    return await watch_run(
        session, lambda driver: driver.resume_run(session, run.id), output, run=run
    )


async def follow_run(session: Session, name: str) -> Exit:
    """Show a run in the terminal view, live; the list of runs if the name is ''."""
    check_terminal()
    from punchlist.tui.app import watch

    backend = open_backend(session)
    driven = await watch(backend, backend.find_run(name) if name else "")
    return show_result(driven[-1], OutputMode()) if driven else Exit.FINE


async def watch_run(
    session: Session,
    begin: "Callable[[ThreadedDriver], Awaitable[str]]",
    output: OutputMode,
    tell: Tell = render_summary,
    *,
    run: Run | None = None,
) -> Exit:
    """Drive a run in the terminal view until it is closed, then show the result."""
    from punchlist.tui.app import watch

    backend = open_backend(session)
    name = run.id if run is not None and run.waits else await backend.drive_run(begin)
    *_, last = (run, *await watch(backend, name))
    return show_result(last, output, tell) if last is not None else Exit.FINE


async def drive_run(
    session: Session, drive: Drive, output: OutputMode, tell: Tell = render_summary
) -> Exit:
    """Drive a run; ask its questions on an interactive terminal, else leave it waiting."""
    with open_view(output) as view, handle_signals(view.say):
        run = await drive(view)
    while _can_ask(output) and run.waits and not run.ended:
        answer = ask_questions(run)
        if answer is None:
            break
        seen = len(run.asking.questions)
        run = await answer_run(session, run.id, answer, login_name(), asked=seen)
        if not run.waits:
            with open_view(output) as view, handle_signals(view.say):
                run = await resume_run(session, run.id, view)
    return show_result(run, output, tell)


async def _offer_environment(session: Session, lacking: str) -> bool:
    from punchlist.cli.show.environment import offer_environment

    return await offer_environment(session, lacking)


def _find_lack(run: Run) -> str:
    from punchlist.cli.show.environment import find_lack

    return find_lack(run) if run.started.checks else ""


def _can_ask(output: OutputMode) -> bool:
    return is_interactive() and not output.machine and not output.quiet


def show_result(run: Run, output: OutputMode, tell: Tell = render_summary) -> Exit:
    """Show the run in the chosen output mode; return the exit code."""
    halfway = run.interrupted and not run.ended
    if output.json:
        print_json(
            count_document(run) if output.statistics else make_document(run, check=output.check)
        )
    elif output.form:
        print_bytes([render_format(run, output.form)])
    elif not output.events and not halfway:
        if tell is not render_summary:
            lines = tell(run)
        elif run.ended and is_review(run):
            lines = render_review(run, statistics=output.statistics, verbose=output.verbose)
        else:
            lines = render_summary(run, verbose=output.verbose)
        say(*lines)
    if halfway:
        note(*render_stop(run))
    return exit_code(run, check=output.check)


async def _ask_checks(
    session: Session, request: Request, ready: Prepared, output: OutputMode
) -> Prepared:
    """Ask whether detected checks, and code that analyzers load, may run; without a user to ask,
    fixes stay unverified and those analyzers do not look.
    """
    unasked = ready.checks if ready.checks_allowed is None else ()
    commands = [f"  {format_check(check)}" for check in unasked]
    code = [f"  {format_code(each)}" for each in ready.locked_code]
    if not is_interactive() or output.machine:
        if not output.quiet:
            checks = "These checks were found and may not run yet, so fixes stay unverified:"
            loading = "These analyzers load code and may not run yet, so they do not look:"
            found = [
                *([checks, *commands] if commands else []),
                *([loading, *code] if code else []),
            ]
            note(*found, "  hint: --yes, or `punchlist allow`")
        return ready
    note("Found here, to judge whether a fix is good:", *commands, *code)
    choice = ask_choice("Let them run? [y]es this time, [a]lways, [n]o", ["y", "a", "n"])
    if choice == "a":
        from punchlist.app.start.set_up import allow_found_checks

        await allow_found_checks(session)
        session.allowance.grant(*(each.fingerprint for each in ready.locked_code))
    return await prepare_run(session, replace(request, allow_checks=choice != "n"))
