"""punchlist ci: in a CI job, do what fits its event."""

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from msgspec import Struct
from msgspec.structs import replace

from punchlist.app.after.reports import render_format
from punchlist.app.ci.commits import choose_scope
from punchlist.app.ci.decide import CiMode, CiPlan
from punchlist.app.ci.event import CiPlace
from punchlist.app.ci.job import CiJob, open_job
from punchlist.app.ci.relay import relay_result
from punchlist.app.ci.reports import RESULT, write_outputs, write_reports, write_summary
from punchlist.app.pulls.answer import PullAnswer
from punchlist.app.pulls.land import AskedFixes
from punchlist.app.pulls.stack import NothingToAnswer
from punchlist.app.session import Session
from punchlist.app.start.request import Request
from punchlist.cli import options
from punchlist.cli.drawing import Part
from punchlist.cli.exit_codes import Exit
from punchlist.cli.pull_driver import answer_pull, render_result
from punchlist.cli.run_driver import start_and_show
from punchlist.cli.session import run_session
from punchlist.cli.show.json import exit_code
from punchlist.cli.show.review import render_review
from punchlist.cli.show.words import escape_text
from punchlist.cli.terminal import note, print_json
from punchlist.errors import RepositoryError, ToolError, UsageError
from punchlist.model.ledger.run import Run
from punchlist.ports.forge.forge import WriteRefused
from punchlist.views.pulls.conversation import FixOffer

_REPORTS = "punchlist-report"
_READ_ONLY = "the token may not write here, so the result is in annotations and files"


class CiDocument(Struct, frozen=True, kw_only=True):
    """What --json prints."""

    plan: CiPlan
    exit: int = 0
    run: str = ""
    files: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class _Work(Struct, frozen=True, kw_only=True):
    """What the user asked for."""

    job: CiJob
    request: Request
    output: options.OutputMode
    reports: Path
    push: bool = False
    report_only: bool = False


@click.command()
@options.flag("--push", help="Push proven fixes to the pull request's branch, never with force.")
@options.flag("--dry-run", help="Say what would be done, and why; do nothing.")
@options.flag("--report-only", help="Exit with 0 also while findings are left.")
@click.option(
    "--reports",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    default=_REPORTS,
    show_default=True,
    help="Where the reports are written.",
)
@click.option(
    "--relay",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="In a job after one without secrets: the result that this one left.",
)
@options.workflow_option
@options.checks_options
@options.agent_options
@options.selection_options
@options.pull_run_options
def command(*, dry_run: bool, relay: Path | None, **chosen: Any) -> Exit:
    """In a CI job: find out what it is about, and do what fits.

    A pull request whose job may write is answered as by `punchlist pr`. In a job without secrets
    (of a fork) the analyzers alone review, and the result is left as annotations, summary and
    files, which a second job shows with --relay. Pushes and merge groups are reviewed as a gate:
    the exit code says whether they pass. Known are GitHub, Gitea and Forgejo Actions, and GitLab.
    """
    output = options.parse_output(chosen)
    request = options.make_request(
        {
            **chosen,
            "base": "",
            "commit": "",
            "paths": (),
            "everything": False,
            "staged": False,
            "committed": True,
        }
    )

    async def work(session: Session) -> Exit:
        job = open_job(session)
        if dry_run:
            return _show_plan(job.plan, output)
        with _hold_commands(job) as resume:
            asked = _Work(
                job=job,
                request=request,
                output=output,
                reports=chosen["reports"],
                push=chosen["push"],
                report_only=chosen["report_only"],
            )
            document = await _work_on(session, asked, relay, resume)
            if output.json:
                print_json(document)
        return Exit(document.exit)

    return run_session(work, options.parse_flags(chosen))


async def _work_on(
    session: Session, asked: _Work, relay: Path | None, resume: "_Resume"
) -> CiDocument:
    plan = asked.job.plan
    note(*map(escape_text, _describe_plan(plan)))
    match plan.mode:
        case CiMode.NOTHING:
            document = await _close(session, asked)
        case CiMode.RELAY:
            document = await _relay(session, asked, relay)
        case CiMode.ANSWER:
            document = await _answer(session, asked, resume)
        case _:
            document = await _review(session, asked, resume)
    note(*(escape_text(f"note: {each}") for each in document.notes))
    outputs = {"mode": plan.mode, "run": document.run, "exit": str(document.exit)}
    outputs |= {
        name: next((each for each in document.files if each.endswith(end)), "")
        for name, end in (("sarif", ".sarif"), ("result", RESULT))
    }
    write_outputs(asked.job.env, outputs)
    return document


async def _relay(session: Session, asked: _Work, path: Path | None) -> CiDocument:
    if path is None:
        raise UsageError(
            "this job shows what another one left, and no file is named", hint="--relay FILE"
        )
    shown = await relay_result(session, asked.job.event, path)
    return CiDocument(plan=asked.job.plan, updates=shown.updates, notes=shown.notes)


async def _close(session: Session, asked: _Work) -> CiDocument:
    """Do nothing but close the pull request with fixes of one that was closed."""
    document, number = CiDocument(plan=asked.job.plan), asked.job.event.number
    if not number or session.settings().settings.pr.fixes is not FixOffer.STACK:
        return document
    try:
        await PullAnswer.open(session, str(number))
    except NothingToAnswer:
        return document
    except (ToolError, RepositoryError) as error:
        return replace(document, notes=(str(error),))
    return document


async def _answer(session: Session, asked: _Work, resume: "_Resume") -> CiDocument:
    """Answer the pull request; where the token may not write, leave the result in the job."""
    try:
        number = str(asked.job.event.number)
        answer = await PullAnswer.open(session, number, AskedFixes(push=asked.push))
    except NothingToAnswer as nothing:
        return CiDocument(plan=asked.job.plan, notes=(str(nothing),))
    request = asked.request
    if answer.pull.fork:
        request = replace(request, workflow="review", allow_checks=False, ask_agents=False)
    silent = options.OutputMode(quiet=asked.output.quiet)
    try:
        run, result = await answer_pull(session, answer, request, silent)
    except WriteRefused:
        run = session.load(answer.last_run().id)
        return replace(_leave(asked, run, resume), notes=(_READ_ONLY,))
    note(*map(escape_text, render_result(result)))
    document = _leave(asked, session.load(run.id), None)
    return replace(document, updates=result.updates, notes=result.notes)


async def _review(session: Session, asked: _Work, resume: "_Resume") -> CiDocument:
    """Review what the event is about; in a job without secrets with the analyzers alone."""
    scope = await choose_scope(session, asked.job.event)
    restricted = asked.job.plan.restricted
    request = replace(asked.request, kind=scope.kind, base=scope.base, workflow=scope.workflow)
    request = replace(
        request,
        ask_agents=not restricted,
        allow_checks=False if restricted else request.allow_checks,
    )
    seen: list[Run] = []

    def keep_run(run: Run) -> Iterator[Part]:
        seen.append(run)
        yield from ()

    silent = options.OutputMode(quiet=asked.output.quiet)
    code = await start_and_show(session, request, silent, tell=keep_run)
    if not seen:
        return CiDocument(plan=asked.job.plan, exit=int(code))
    return _leave(asked, seen[-1], resume)


def _leave(asked: _Work, run: Run, resume: "_Resume | None") -> CiDocument:
    """Write reports and summary; with `resume` annotations as well."""
    job = asked.job
    files = write_reports(asked.reports, run, job.plan.place)
    write_summary(job.env, run)
    code = exit_code(run, check=True)
    if asked.report_only and code in (Exit.LEFT, Exit.UNAPPLIED):
        code = Exit.FINE
    if resume is not None and job.plan.place is not CiPlace.GITLAB:
        resume(render_format(run, "github"))
    note(*render_review(run))
    names = tuple(map(str, files))
    return CiDocument(plan=job.plan, run=run.id, exit=int(code), files=names)


class _Resume:
    """Prints commands for the service between lines that are none."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, commands: bytes) -> None:
        sys.stderr.write(f"::{self._token}::\n")
        sys.stderr.write(commands.decode("utf-8", "replace"))
        sys.stderr.write(f"::stop-commands::{self._token}\n")
        sys.stderr.flush()


@contextmanager
def _hold_commands(job: CiJob) -> Iterator[_Resume]:
    """Keep the service from taking lines of the log for commands: names of files, messages of
    analyzers and agents can look like one. All that can is on stderr, in order.
    """
    token = f"punchlist-{secrets.token_hex(16)}"
    if job.plan.place is CiPlace.GITLAB:
        yield _Resume(token)
        return
    print(f"::stop-commands::{token}", file=sys.stderr, flush=True)
    try:
        yield _Resume(token)
    finally:
        print(f"::{token}::", file=sys.stderr, flush=True)


def _show_plan(plan: CiPlan, output: options.OutputMode) -> Exit:
    if output.json:
        print_json(CiDocument(plan=plan))
    else:
        for line in _describe_plan(plan):
            click.echo(escape_text(line))
    return Exit.FINE


def _describe_plan(plan: CiPlan) -> list[str]:
    about = f" of {plan.pull}" if plan.pull else ""
    lines = [f"{plan.place}, event {plan.event}{about}: {plan.mode}, because {plan.why}"]
    if plan.mode is CiMode.ANSWER:
        lines.append(f"as: punchlist pr {plan.pull}")
    elif plan.mode in (CiMode.GATE, CiMode.REPORT):
        base = plan.base[:12] or "the default branch"
        lines.append(f"as: punchlist review --check, {plan.head[:12]} against {base}")
    if plan.restricted:
        lines.append("the code is a stranger's: neither agents nor checks run")
    return lines
