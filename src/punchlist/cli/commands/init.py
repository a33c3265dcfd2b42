"""punchlist init: write a commented .punchlist.toml, files for CI, or agents to begin with."""

from pathlib import Path

import click

from punchlist.app.agents.examples import write_examples
from punchlist.app.ci.init import WrittenFiles, write_ci_files
from punchlist.app.session import Session
from punchlist.app.start.set_up import write_settings_file
from punchlist.cli import options
from punchlist.cli.session import run_session
from punchlist.cli.show.words import escape_text
from punchlist.cli.terminal import print_result, show_done
from punchlist.errors import UsageError

_FOLDER = "punchlist-agents"


@click.command()
@click.option(
    "--agent",
    "folder",
    is_flag=False,
    flag_value=_FOLDER,
    metavar="[FOLDER]",
    help="Write an agent of ten lines for each role instead, and the settings that use them; into"
    f" {_FOLDER} if no folder is given.",
)
@options.flag("--github", help="Write workflows for GitHub Actions instead, in two stages.")
@options.flag("--gitlab", help="Write a job for GitLab instead.")
@options.flag("--gitea", help="Write a workflow for Gitea or Forgejo Actions instead.")
@options.flag("--pre-commit", help="Write a hook for pre-commit instead.")
@click.option(
    "--source",
    metavar="SOURCE",
    default="",
    help="With these: where CI installs punchlist from, pinned: git+URL@COMMIT, a wheel's address"
    " with its hash, or punchlist==VERSION. Default: where this one came from.",
)
@options.flag("--force", help="With these: overwrite files that differ.")
@options.json_option
def command(folder: str | None, json_: bool, *, source: str, force: bool, **services: bool) -> None:
    """Write a commented .punchlist.toml into this repository; an existing one is
    never overwritten.

    It names nothing of this machine, so that it can be committed. With the name of a service it
    writes the files that let it run `punchlist ci`, and says what that needs.
    """
    if names := [name.replace("_", "-") for name, wanted in services.items() if wanted]:
        _write_services(names, source=source, force=force, json=json_)
        return
    if force or source:
        name = "--force" if force else "--source"
        raise UsageError(f"{name} is for the files of services", hint="add --github, say")
    if folder is not None:
        _write_agents(Path(folder), json=json_)
        return

    async def write(session: Session) -> Path:
        return await write_settings_file(session)

    show_done(
        f"wrote {run_session(write)}",
        "Commit it, then `punchlist allow` lets it be used: settings count as they are on the"
        " base commit.",
        json=json_,
    )


def _write_services(names: list[str], *, source: str, force: bool, json: bool) -> None:
    async def write(session: Session) -> WrittenFiles:
        return await write_ci_files(session, names, source=source, force=force)

    done = run_session(write, readonly=True)
    lines = [f"wrote {path}" for path in done.written]
    lines += [f"{path} is as it should be" for path in done.unchanged]
    for path, text in done.add.items():
        lines += [f"{path} is yours; add this to it:", *(f"  {line}" for line in text.splitlines())]
    lines += [f"{name} needs {what}" for name, what in done.needs.items()]
    print_result(done, map(escape_text, lines), json=json)


def _write_agents(folder: Path, *, json: bool) -> None:
    written = write_examples(folder)
    show_done(
        *(f"wrote {path}" for path in written),
        f"Try them: PUNCHLIST_CONFIG={written[-1]} punchlist run --all",
        "Each reads its task on standard input and answers with JSON on standard output; put your"
        " model in its place.",
        json=json,
    )
