"""The commands of punchlist's that a text tells its reader to type, in what is printed and in the source."""

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import click

import punchlist as punchlist_package
from punchlist.cli.root import _NAMES, root

SOURCE = Path(punchlist_package.__file__).parent
_NAMED = "|".join(sorted(_NAMES, key=len, reverse=True))
MENTION = re.compile(rf"(?<![\w/.@-])punchlist (?:{_NAMED})\b")
_TYPED = rf"(?:[A-Z_]+=\S+ )?punchlist (?:{_NAMED})\b"
_QUOTED = re.compile(rf"(?:`|<code>)({_TYPED}[^`<]*)(?:`|</code>)")
_BARE = re.compile(  # a line of its own, or the end of one; an explanation follows after two blanks
    rf"(?:^[ #]*|: |^Next: |\()({_TYPED}[^`\n;),]*?)(?=\s{{2,}}|[;),]|\.?$|, or )", re.MULTILINE
)


def find_hints(text: str) -> list[str]:
    """Return the commands that a text tells to type: in backticks, or in a line's beginning or end."""
    found = {each.start(1): each[1] for each in _BARE.finditer(text)}
    found |= {each.start(1): each[1] for each in _QUOTED.finditer(text)}
    return [found[at].strip() for at in sorted(found)]


def split(hint: str) -> tuple[dict[str, str], list[str]]:
    """Return the variables and the arguments of a command line."""
    words = shlex.split(hint)
    at = words.index("punchlist")
    return dict(word.split("=", 1) for word in words[:at]), words[at + 1 :]


def find_fault(hint: str) -> str:
    """Return why the command line does not fit the commands that there are, or ""."""
    _, arguments = split(hint)
    try:
        with root.make_context("punchlist", list(arguments)) as context:
            name, command, rest = root.resolve_command(context, arguments)
            command.make_context(name, rest, parent=context).close()
    except click.MissingParameter as error:
        return error.format_message()
    except click.BadParameter:  # the placeholder is no number, or no such file is there
        return ""
    except click.UsageError as error:
        return error.format_message()
    return ""


class HintText(NamedTuple):
    """A text in the source that names commands; `{}` stands for what is put in."""

    place: str
    text: str

    def matches(self, printed: str) -> bool:
        parts = map(re.escape, " ".join(self.text.split()).split("{}"))
        return re.search(".*?".join(parts), " ".join(printed.split())) is not None


@cache
def collect() -> tuple[HintText, ...]:
    """Return each text of the package that names a command, but for docstrings and comments."""
    return tuple(
        HintText(str(path.relative_to(SOURCE)), text)
        for path in sorted(SOURCE.rglob("*.py"))
        if b"punchlist " in path.read_bytes()
        for text in _read_strings(ast.parse(path.read_text("utf-8")))
        if MENTION.search(text)
    )


def collect_files() -> Iterator[HintText]:
    """Yield the lines of templates, prompts and tables of texts that name a command."""
    for path in sorted(SOURCE.rglob("*")):
        if path.suffix in (".toml", ".html", ".md", ".txt") and "ci/templates" not in str(path):
            for line in path.read_text("utf-8").splitlines():
                if MENTION.search(line) and not line.startswith("#"):
                    text = re.sub(r"\{\{?.*?\}\}?", "{}", re.sub(r'^\w+ = "|"$', "", line))
                    yield HintText(str(path.relative_to(SOURCE)), text)


def _read_strings(tree: ast.Module) -> Iterator[str]:
    left_out: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                left_out.add(id(statement.value))
        if isinstance(node, ast.JoinedStr):
            left_out |= {id(part) for part in node.values}
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in left_out
        ):
            yield node.value
