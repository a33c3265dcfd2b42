"""punchlist demo: make a small repository with defects, and run the loop on it."""

import asyncio
import tempfile
from contextlib import ExitStack, chdir
from pathlib import Path
from typing import Any

import click

from punchlist.app import Request
from punchlist.app.after.clean import drop_repository
from punchlist.app.start.demo import make_demo
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.run_driver import start_and_show
from punchlist.cli.session import current_folder, run_session
from punchlist.cli.show.summary import render_account
from punchlist.cli.terminal import note
from punchlist.errors import UsageError
from punchlist.model.patch.change import ScopeKind

_BEFORE = """\
A small repository with a dozen seeded defects is in
  {repository}
Some have a good fix, one has a fix that breaks a test, one test fails already, and one finding is
about a file that is gone.
What you see now is what `punchlist run --all --yes --findings {findings}` does there.
"""
_AFTER = """
How to read this
  Fixed      means proven: the analyzer that found it reports it no longer, and the project's
  tests are as green as before.
  Culprit    One fix was fine for its analyzer and broke a test. A few check runs found out which
  one; it was left out, and filed.
  Baseline   One test failed before any fix, so no fix is blamed for it.
  Blocked    A finding about a file that is gone cannot be fixed. It is filed all the same: no
  finding is ever lost.
  Filed      What is left is a Markdown file each, with the whole history, ready to be worked on.
"""
_KEPT = """\
Look around:
  cd {repository}
  punchlist show          every item
  punchlist show last 1   one with its history, its proof and its change
  punchlist audit         the ledger, verified from its first line
  punchlist apply         merge the fixes into the branch
"""
_GONE = (
    "The repository was removed again; `punchlist demo --keep` leaves it for you to look around in."
)


@click.command()
@click.option("--keep", is_flag=True, help="Leave the repository where it is.")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Make it in this new or empty folder, and keep it.",
)
@options.output_options
def command(keep: bool, folder: Path | None, **chosen: Any) -> Exit:
    """Make a small repository with defects, and run the loop on it; takes less than a minute.

    The exit code is that of the run: 1, because some of the defects cannot be fixed.
    """
    output = options.parse_output(chosen)
    with ExitStack() as stack:
        if folder is not None and folder.exists() and any(folder.iterdir()):
            raise UsageError(f"{folder}: is not empty", hint="give a new folder")
        kept = keep or folder is not None
        where = folder or Path(
            tempfile.mkdtemp(prefix="punchlist-demo-")
            if kept
            else stack.enter_context(_temporary_folder())
        )
        return _run_demo(where.absolute(), output, kept=kept)


def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="punchlist-demo-", ignore_cleanup_errors=True)


def _run_demo(folder: Path, output: options.OutputMode, *, kept: bool) -> Exit:
    folder.mkdir(parents=True, exist_ok=True)
    repository, findings = _make_repository(folder)
    if not output.machine and not output.quiet:
        note(_BEFORE.format(repository=repository, findings=findings))
    current_folder()  # says what is wrong if the folder we come back to is gone
    with chdir(repository), ExitStack() as last:
        if not kept:
            last.callback(run_session, drop_repository)
        request = Request(kind=ScopeKind.ALL, findings=(str(findings),), allow_checks=True)
        code = run_session(
            lambda session: start_and_show(session, request, output, tell=render_account)
        )
    if code is not Exit.INTERRUPTED and not output.machine and not output.quiet:
        note(_AFTER, _KEPT.format(repository=repository) if kept else _GONE)
    return code


def _make_repository(folder: Path) -> tuple[Path, Path]:
    return asyncio.run(make_demo(folder))
