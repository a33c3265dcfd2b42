"""punchlist completion: print the completion script of a shell."""

import click
from click.shell_completion import get_completion_class

from punchlist.cli.root import root
from punchlist.cli.terminal import print_bytes


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash: punchlist completion bash > ~/.local/share/bash-completion/completions/punchlist
    zsh:  punchlist completion zsh > "${fpath[1]}/_punchlist"
    fish: punchlist completion fish > ~/.config/fish/completions/punchlist.fish
    """
    if kind := get_completion_class(shell):
        script = kind(root, {}, "punchlist", "_PUNCHLIST_COMPLETE").source()
        print_bytes([script.encode() + b"\n"])
