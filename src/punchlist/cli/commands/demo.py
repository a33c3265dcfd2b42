"""punchlist demo: make a small repository with defects, and run the loop on it."""

import asyncio
import tempfile
import tomllib
from contextlib import ExitStack, chdir
from importlib.resources import files
from pathlib import Path
from typing import Any

import click

from punchlist.app.after.clean import drop_repository, forget_broken_fixes
from punchlist.app.start.demo import install_coverage, make_demo, temporary_folder
from punchlist.app.start.request import Request
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.run_driver import start_and_show
from punchlist.cli.session import current_folder, run_session
from punchlist.cli.show.summary import render_account
from punchlist.cli.show.words import one_line
from punchlist.cli.terminal import note
from punchlist.errors import UsageError
from punchlist.model.patch.change import ScopeKind

_PREFIX = "punchlist-demo-"


@click.command()
@options.flag("--keep", help="Leave the repository where it is.")
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
    if folder is not None:
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(f"{folder}: is not empty", hint="give a new folder")
        return _run_demo(folder.absolute(), output, kept=True)
    if keep:
        return _run_demo(Path(tempfile.mkdtemp(prefix=_PREFIX)), output, kept=True)
    with temporary_folder(_PREFIX) as temporary:
        return _run_demo(temporary, output, kept=False)


def _run_demo(folder: Path, output: options.OutputMode, *, kept: bool) -> Exit:
    folder.mkdir(parents=True, exist_ok=True)
    repository, findings = asyncio.run(make_demo(folder))
    texts = tomllib.loads((files("punchlist.cli.commands") / "demo_texts.toml").read_text("utf-8"))
    talks = not output.machine and not output.quiet
    if talks:
        note(texts["before"].format(repository=repository, findings=findings))
    current_folder()  # raises if the folder we come back to is gone
    with chdir(repository), ExitStack() as at_end:
        if not kept:
            at_end.callback(run_session, drop_repository)
        at_end.callback(run_session, forget_broken_fixes)  # the next demo tells the same
        if (lacks := run_session(install_coverage)) and talks:
            note(texts["uncovered"].format(why=one_line(lacks)), "")
        request = Request(kind=ScopeKind.ALL, findings=(str(findings),), allow_checks=True)
        code = run_session(
            lambda session: start_and_show(session, request, output, tell=render_account)
        )
    if code is not Exit.INTERRUPTED and talks:
        ending = texts["kept"].format(repository=repository) if kept else texts["gone"]
        note(texts["after"], ending)
    return code
