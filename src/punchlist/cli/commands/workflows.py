"""punchlist workflows: list, show or check workflows."""

import click

from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.terminal import print_json, say
from punchlist.errors import UsageError
from punchlist.workflow import builtin_names, load_builtin, load_workflow


class WorkflowGroup(click.Group):
    """Suggests `show NAME` for an unknown verb."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            raise UsageError(
                f'"{args[0]}" is none of {", ".join(self.commands)}',
                hint=f"punchlist workflows show {args[0]}",
            )
        return super().resolve_command(ctx, args)


@click.group(cls=WorkflowGroup, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> Exit:
    """List, show or check workflows."""
    return context.invoke(list_workflows) if context.invoked_subcommand is None else Exit.FINE


@command.command("list")
@options.json_option
def list_workflows(json_: bool = False) -> Exit:
    """The built-in workflows."""
    known = {name: load_builtin(name).about for name in builtin_names()}
    if json_:
        print_json(known)
    else:
        say(*(f"{name:<12}  {about}" for name, about in known.items()))
    return Exit.FINE


@command.command()
@click.argument("name")
def show(name: str) -> Exit:
    """The text of a workflow: a built-in one by NAME, or a file."""
    say(load_workflow(name).text.rstrip("\n"))
    return Exit.FINE


@command.command()
@click.argument("file", type=click.Path())
@options.json_option
def check(file: str, json_: bool) -> Exit:
    """Read FILE as a workflow, and name every mistake with its place and a remedy."""
    workflow = load_workflow(
        file if "/" in file or file.endswith((".yaml", ".yml")) else f"./{file}"
    )
    if json_:
        print_json({"file": file, "ok": True, "steps": len(workflow.steps)})
    else:
        say(f"{file}: fine, {len(workflow.steps)} steps")
    return Exit.FINE
