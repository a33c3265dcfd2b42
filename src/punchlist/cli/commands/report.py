"""punchlist report: a run as Markdown, JSON, SARIF, JUnit or HTML."""

from pathlib import Path

import click

from punchlist.app.after.reports import FORMATS, render_run
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.session import with_session
from punchlist.cli.terminal import print_bytes, write_file


@click.command()
@options.run_argument
@click.option("--format", "form", type=click.Choice(FORMATS), default="md", show_default=True)
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to FILE.",
)
@with_session(repository=None, readonly=True)
async def command(session: Session, run_id: str, form: str, target: Path | None) -> None:
    """A run as Markdown, JSON, SARIF, JUnit or HTML, on stdout or in a file."""
    content = render_run(session, run_id, form)
    if target is None:
        print_bytes([content])
    else:
        write_file(target, [content], hint="give another file with -o")
