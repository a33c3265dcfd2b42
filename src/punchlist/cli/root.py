"""The `punchlist` group: a table of commands, so that help and completion import none."""

import os
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from punchlist._version import __version__
from punchlist.cli.terminal import UnreadInput

SECTIONS: dict[str, dict[str, str]] = {
    "Work": {
        "run": "Review, fix, prove, file: the whole loop.",
        "review": "Review and list; fix nothing.",
        "fix": "The loop, over findings that are already there.",
        "pr": "Answer every finding on a pull request, there.",
        "ci": "In a CI job: do what fits its event.",
        "resume": "Go on with a run that was stopped or killed.",
        "stop": "Stop a run that is under way; it can be resumed.",
        "answer": "Answer the question a run waits with, and go on.",
        "dismiss": "Say that items need no work; later runs remember it.",
        "dismissals": "List what is dismissed here, or share it in the repository.",
        "baseline": "Accept what is reported today; later only what is new counts.",
        "apply": "Bring a run's fixes onto your branch.",
        "discard": "Drop a run's branch and work trees.",
    },
    "Look": {
        "watch": "A run in the terminal, live; answer and steer it.",
        "status": "How a run stands.",
        "show": "The items of a run, or one with its history, proof and diff.",
        "list": "The runs of this repository.",
        "queue": "The workers of a fleet, and its queued, running and stuck runs.",
        "trends": "The repository over time: items, cost, refuted claims.",
        "report": "A run as Markdown, JSON, SARIF, JUnit or HTML.",
        "audit": "Verify a run's ledger: the hash chain, and that no finding is lost.",
        "export": "The evidence of a run, as a file or as git notes.",
        "prove": "Execute again what commits claim, in any clone with the evidence.",
        "replay": "Fold a recorded run again, offline, and try other rules on it.",
    },
    "Connect": {
        "fleet": "What all processes of the store do now: runs, drivers, cost of the day.",
        "serve": "The dashboard in the browser, and the HTTP API.",
        "mcp": "Punchlist for other agents, over the Model Context Protocol.",
        "worker": "Take queued runs of a fleet, and drive them.",
        "schedule": "Queue runs by the clock, every night say.",
        "lsp": "Punchlist in editors, over the Language Server Protocol.",
    },
    "Set up": {
        "init": "Write a commented .punchlist.toml, or files for CI.",
        "allow": "Let the checks found here run.",
        "setup": "Make the Python environment that the checks need.",
        "workflows": "List, show or check workflows.",
        "doctor": "What is installed here, and what is missing.",
        "demo": "Make a small repository with defects, and run the loop on it.",
        "store": "Where the ledger is; move it to PostgreSQL and back.",
        "clean": "Remove what ended runs left in the state folder.",
        "completion": "Print the completion script of a shell.",
    },
}
_NAMES = {name: about for section in SECTIONS.values() for name, about in section.items()}


class RootGroup(click.Group):
    """Imports a command's module from `cli/commands/` when it is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_NAMES)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _NAMES:
            return None
        command: click.Command = import_module(f"punchlist.cli.commands.{name}").command
        command.short_help = _NAMES[name]
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name == "help":  # `punchlist help run` is `punchlist run --help`
            if args[1:]:
                return self.resolve_command(ctx, [*args[1:], "--help"])
            click.echo(ctx.get_help())
            ctx.exit()
        if name and not name.startswith("-") and name not in _NAMES:
            from difflib import get_close_matches

            close = get_close_matches(name, _NAMES, n=1)
            guess = f'; did you mean "{close[0]}"?' if close else ""
            raise click.UsageError(f'no command is called "{name}"{guess}', ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl(list(commands.items()), col_max=12)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        names = [name for name in _NAMES if name.startswith(incomplete)]
        return [CompletionItem(name, help=_NAMES[name]) for name in names]

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise UnreadInput from error


@click.command(
    cls=RootGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="punchlist", message="%(prog)s %(version)s")
@click.option(
    "-C",
    "folder",
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False),
    help="Work as if started in FOLDER.",
)
@click.option("--store", metavar="URL", help="Where the ledger is, as the setting `store` says.")
@click.pass_context
def root(context: click.Context, folder: str | None, store: str | None) -> None:
    """Sees every review finding through to an end: fixed with a proof, filed with its history, or
    dismissed.

    In a git repository, `punchlist run` reviews the branch against its base, fixes what can be
    fixed and proven on a branch of its own, and files the rest. Your checkout is never touched;
    `punchlist apply` merges the fixes into your branch.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    if folder:
        os.chdir(folder)
    if store is not None:
        os.environ["PUNCHLIST_STORE"] = store
