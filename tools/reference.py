"""Writes the reference pages of docs/reference from the code; with --check it only says which of
them are stale.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from enum import Enum
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import msgspec
import settings_reference
import surfaces_reference

from punchlist.adapters.analyzers.tools.ruff_rules import SECURITY
from punchlist.app.sandboxes import list_sandboxes
from punchlist.cli.exit_codes import Exit
from punchlist.cli.root import SECTIONS, root
from punchlist.steps import VERBS
from punchlist.workflow.language import Until
from punchlist.workflow.loader import builtin_names, load_builtin

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
_MADE = "<!-- Made by tools/reference.py; do not edit. -->\n"
_WIDTH = 100

_COMMAND_LINE = """\
# The command line

Results are on stdout, progress and errors on stderr. `RUN` may be any part of an id that no other has, or `last`; where it may be left out,
the last run of the repository is meant.

With `--json` stdout holds exactly one JSON document. If the command fails, that document is
`{"error": ..., "hint": ..., "exit": ...}`, and the same words are on stderr. With `--events` stdout holds JSON lines, one per
entry of the ledger, and an error is the last of them. With either, progress is shown only if stderr is a terminal. `NO_COLOR` and
`TERM=dumb` are honoured. See also the [exit codes](exit-codes.md).
"""
_SANDBOX = """\
# The sandbox

What each kind of child process gets, where bubblewrap works; `punchlist doctor --security` prints it and tries each. The root is empty
but for what is listed: all children see `/usr`, some files of `/etc`, the tree and the installation of their own program, read-only,
and have a `/tmp` of their own. No child sees the rest of your home, `/run`, punchlist's state, other agents' homes, `.git/config`, hooks,
or `.env` and its like. There are no capabilities, and a filter refuses the system calls by which a sandbox is left.
Where bubblewrap does not work [Landlock](../decisions/landlock.md) holds a part of it, and what is missing is said.
`sandbox.read` shows more to all of them, `sandbox.required` refuses to run without: [settings](settings.md).

| child | runs | reads besides | writes | reaches | unix sockets | at most |
|---|---|---|---|---|---|---|
"""
_RULES = """\
# Security rules

Where a project has no settings for ruff, these rules of its group `S` run besides ruff's own defaults, outside of tests. Each has a twin in
bandit, with `B` in the place of `S`, of medium or high severity. Rules of the group that are not listed run only if they are asked for:
`--select 'S105'` for one review, `analyzers.extend_select` in the [settings](settings.md).

| rule | why |
|---|---|
"""
_WORKFLOWS = """\
# The workflow language

A workflow is a YAML file with `about` (one line) and `steps` (a list). A step is `verb: {options}`; there is one loop form and
one stop form, and there are no expressions and no variables. `punchlist workflows check FILE` names every mistake.

"""
_LOOP = """
## The loop

`repeat` goes round its `steps` at most `rounds` times (default 3), and holds exactly one `stop-when`; in the last round the body
ends there. `on_limit` is `go-on` (the default) or `ask`: then the run waits for a person, who may grant one more round at a time,
up to `hard_cap` (default 5).

`stop-when` is one of:

"""


def pages() -> dict[str, str]:
    made = {
        "cli.md": _commands(),
        "exit-codes.md": _exits(),
        "http-api.md": surfaces_reference.endpoints(),
        "mcp.md": surfaces_reference.tools(),
        "sandbox.md": _sandboxes(),
        "security-rules.md": _security_rules(),
        "settings.md": settings_reference.lines(),
        "workflow-language.md": _language(),
    }
    return {
        name: _MADE + "\n".join(line.rstrip() for line in lines) + "\n"
        for name, lines in made.items()
    }


def _commands() -> Iterator[str]:
    yield from _COMMAND_LINE.splitlines()
    context = click.Context(
        root, info_name="punchlist", terminal_width=_WIDTH, help_option_names=["-h", "--help"]
    )
    yield from _help(root, context, "## punchlist")
    for section, names in SECTIONS.items():
        yield f"\n## {section}"
        for name in names:
            yield from _command(name, context)


def _command(name: str, parent: click.Context) -> Iterator[str]:
    command = root.get_command(parent, name)
    if command is None:
        raise LookupError(f"{name} is in the table of commands, and there is none")
    context = click.Context(command, info_name=name, parent=parent, terminal_width=_WIDTH)
    yield from _help(command, context, f"### punchlist {name}")
    for inner, each in getattr(command, "commands", {}).items():
        below = click.Context(each, info_name=inner, parent=context, terminal_width=_WIDTH)
        yield from _help(each, below, f"#### punchlist {name} {inner}")


def _help(command: click.Command, context: click.Context, title: str) -> Iterator[str]:
    yield ""
    yield title
    yield ""
    yield "```text"
    yield from command.get_help(context).splitlines()
    yield "```"


def _exits() -> Iterator[str]:
    meanings = tomllib.loads((files("punchlist.cli") / "exit_codes.toml").read_text("utf-8"))
    yield "# Exit codes"
    yield ""
    yield "| code | name | meaning |"
    yield "|---:|---|---|"
    yield from (f"| {int(code)} | `{code.name}` | {meanings[code.name]} |" for code in Exit)
    yield ""
    yield (
        "A run that ended says how in one word: `clean`, `fixed` and `dismissed` exit 0,"
        " `leftovers` 1, `incomplete` 3. With `--check`, `fixed` exits 8 until the fixes are applied."
    )


def _sandboxes() -> Iterator[str]:
    yield from _SANDBOX.splitlines()
    for row in list_sandboxes():
        sockets = "yes" if row.unix_sockets else "no"
        cells = (row.runs, row.reads, row.writes, row.reaches, sockets, ", ".join(row.limits))
        yield f"| {row.kind} | {' | '.join(cells)} |"


def _security_rules() -> Iterator[str]:
    yield from _RULES.splitlines()
    yield from (f"| {rule} | {why} |" for rule, why in SECURITY.items())


def _language() -> Iterator[str]:
    yield from _WORKFLOWS.splitlines()
    yield "## Verbs"
    for name, verb in VERBS.items():
        yield ""
        yield f"### {name}"
        yield ""
        yield (
            f"{verb.about[0].upper()}{verb.about[1:]}.{' Runs even after a limit was reached.' if verb.last else ''}"
        )
        yield from _options(verb.options)
    yield from _forms()
    yield ""
    yield "## Built-in workflows"
    for name in builtin_names():
        workflow = load_builtin(name)
        yield from (
            "",
            f"### {name}",
            "",
            "```yaml",
            *workflow.text.rstrip("\n").splitlines(),
            "```",
        )


def _options(kind: type[msgspec.Struct]) -> Iterator[str]:
    fields = msgspec.structs.fields(kind)
    if not fields:
        return
    yield from ("", " ".join(kind.__doc__.split())) if kind.__doc__ else ()
    yield ""
    yield "| option | values | default |"
    yield "|---|---|---|"
    yield from (
        f"| `{field.encode_name}` | {_values(field.type)} | `{_spelled(field.default)}` |"
        for field in fields
    )


def _values(kind: Any) -> str:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(f"`{each.value}`" for each in kind)
    return {bool: "`true`, `false`", int: "a whole number", float: "a number"}.get(kind, "text")


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _forms() -> Iterator[str]:
    yield from _LOOP.splitlines()
    words = " ".join((Until.__doc__ or "").split())
    for until in Until:
        said = re.search(rf"{until.name}: (.*?)\.?(?: [A-Z_]{{4,}}:|$)", words)
        yield f"- `{until}`: {said[1] if said else ''}"


def main(arguments: list[str]) -> int:
    stale = []
    for name, text in pages().items():
        path = FOLDER / name
        if not path.exists() or path.read_text("utf-8") != text:
            stale.append(name)
            if "--check" not in arguments:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
    sys.stdout.write(
        "".join(
            f"{'stale' if '--check' in arguments else 'wrote'}: docs/reference/{name}\n"
            for name in stale
        )
    )
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
