"""punchlist workflows: list, show or check workflows."""

import click

from punchlist.cli import options
from punchlist.cli.terminal import print_result, say
from punchlist.errors import UsageError
from punchlist.workflow.loader import builtin_names, load_builtin, load_workflow


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
def command(context: click.Context) -> None:
    """List, show or check workflows."""
    if context.invoked_subcommand is None:
        context.invoke(list_workflows)


@command.command("list")
@options.json_option
def list_workflows(json_: bool = False) -> None:
    """The built-in workflows."""
    known = {name: load_builtin(name).about for name in builtin_names()}
    print_result(known, (f"{name:<12}  {known[name]}" for name in known), json=json_)


@command.command()
@click.argument("name")
def show(name: str) -> None:
    """The text of a workflow: a built-in one by NAME, or a file."""
    say(load_workflow(name).text.rstrip("\n"))


@command.command()
@click.argument("file", type=click.Path())
@options.json_option
def check(file: str, json_: bool) -> None:
    """Read FILE as a workflow, and name every mistake with its place and a remedy."""
    is_path = "/" in file or file.endswith((".yaml", ".yml"))
    steps = len(load_workflow(file if is_path else f"./{file}").steps)
    document = {"file": file, "ok": True, "steps": steps}
    print_result(document, [f"{file}: fine, {steps} steps"], json=json_)
