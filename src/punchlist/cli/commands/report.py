"""punchlist report: a run as Markdown, JSON, SARIF, JUnit or HTML."""

import tempfile
from pathlib import Path

import click

from punchlist.app.after.reports import FORMATS, open_page, render_run
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.session import with_session
from punchlist.cli.terminal import note, print_bytes, write_file
from punchlist.errors import UsageError


@click.command()
@options.run_argument
@click.option("--format", "form", type=click.Choice(FORMATS), help="Default: md; html with --open.")
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to FILE.",
)
@options.flag(
    "--open", "opens", help="Open the HTML report in the browser; without one, say where it is."
)
@with_session(repository=None, readonly=True)
async def command(
    session: Session, run_id: str, form: str | None, target: Path | None, opens: bool
) -> None:
    """A run as Markdown, JSON, SARIF, JUnit, HTML or for a service, on stdout or in a file."""
    content = render_run(session, run_id, form or ("html" if opens else "md"))
    if opens:
        _open(session.find(run_id), content, form, target)
    elif target is None:
        print_bytes([content])
    else:
        write_file(target, [content], hint="give another file with -o")


def _open(run_id: str, content: bytes, form: str | None, target: Path | None) -> None:
    """Write the page, and show it in the browser or say where it is."""
    if form not in (None, "html"):
        raise UsageError(f"--open shows HTML, and --format is {form}", hint="leave out --format")
    page = target or Path(tempfile.mkdtemp(prefix="punchlist-")) / f"{run_id}.html"
    write_file(page, [content], hint="give another file with -o")
    if open_page(page.absolute().as_uri()):
        note("it is open in your browser")
    else:
        note("there is no browser here; open that file where there is one")
