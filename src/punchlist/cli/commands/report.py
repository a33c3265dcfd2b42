"""punchlist report: a run as Markdown, JSON, SARIF, JUnit or HTML."""

from pathlib import Path

import click

from punchlist.app import Session
from punchlist.app.after.reports import render_run
from punchlist.app.report_formats import FORMATS
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import run_reader
from punchlist.cli.terminal import note, print_bytes
from punchlist.errors import UsageError


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
def command(run_id: str, form: str, target: Path | None) -> Exit:
    """A run as Markdown, JSON, SARIF, JUnit or HTML, on stdout or in a file."""

    def look(session: Session) -> Exit:
        content = render_run(session, run_id, form)
        if target is None:
            print_bytes([content])
        else:
            _write_report(target, content)
            note(f"wrote {target}")
        return Exit.FINE

    return run_reader(look)


def _write_report(target: Path, content: bytes) -> None:
    try:
        target.write_bytes(content)
    except OSError as error:
        raise UsageError(
            f"{target}: cannot be written: {error.strerror}", hint="give another file with -o"
        ) from error
