"""Where text goes: results to stdout, everything else to stderr; colour and width are rich's
business, imported late.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from punchlist.cli.exit_codes import Exit

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

_PIPED_WIDTH = 160
"""Where nobody looks, lines are not cut to a window."""


class Unread(Exception):
    """The reader of our output went away, or there is no room for it; the message is empty where a
    person need not know.
    """


@cache
def _console(stream: str) -> "Console":
    from rich.console import Console

    console = Console(stderr=stream == "stderr", highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = max(console.width, _PIPED_WIDTH)
    return console


def out() -> "Console":
    return _console("stdout")


def err() -> "Console":
    return _console("stderr")


def forget() -> None:
    """For callers that have replaced sys.stdout since the last command."""
    _console.cache_clear()


@contextmanager
def writing() -> Iterator[None]:
    """Around everything that goes to stdout: what cannot be written there is nobody's fault, and no
    crash.
    """
    try:
        yield
    except BrokenPipeError as error:
        raise Unread from error
    except OSError as error:
        raise Unread(f"stdout cannot be written: {error.strerror}") from error


@writing()
def say(*parts: "RenderableType") -> None:
    """A result."""
    if out().is_terminal:
        for part in parts:
            out().print(part)
        return
    with out().capture() as captured:
        for part in parts:
            out().print(part, soft_wrap=isinstance(part, str))
    # Columns are padded for the eye; a file or a program has no use for that.
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
    sys.stdout.flush()


def note(*parts: "RenderableType") -> None:
    """Something beside the result: progress, a warning, an error."""
    for part in parts:
        err().print(part, soft_wrap=not err().is_terminal)


@writing()
def answer(document: object) -> None:
    """One JSON document on stdout, whole or not at all."""
    from punchlist.model.ledger.codec import encode

    sys.stdout.write(encode(document).decode() + "\n")
    sys.stdout.flush()


@writing()
def raw(chunks: Iterable[bytes]) -> None:
    """Bytes as they are."""
    sys.stdout.flush()
    for chunk in chunks:
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()


def done(*lines: str, json: bool) -> Exit:
    """Print what a short command did, in lines or as a document."""
    from punchlist.cli.show.words import safe

    if json:
        answer({"done": lines})
    else:
        say(*map(safe, lines))
    return Exit.FINE


def error_text(message: str, hint: str) -> "Text":
    from rich.text import Text

    from punchlist.cli.show.words import safe

    first, *rest = safe(message).splitlines() or ["unknown"]
    text = Text.assemble(
        ("error: ", "bold red"), (first, "bold"), *(f"\n       {line}" for line in rest)
    )
    if hint:
        text.append("\n  hint: ", "cyan").append(safe(hint))
    return text


def interactive() -> bool:
    """Whether a person can be asked something here."""
    return sys.stdin.isatty() and sys.stderr.isatty()
