"""Print results to stdout, all else to stderr; rich is imported late."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from punchlist.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

_PIPED_WIDTH = 160
"""Columns of a line in a pipe or a file, where no window cuts it."""


_AS_TERMINAL = frozenset({"FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"})
"""Variables by which rich takes what is no terminal for one."""


class UnreadInput(Exception):
    """The reader of our output went away, or there is no room for it; the message may be empty."""


@cache
def _get_console(stream: str) -> "Console":
    from rich.console import Console

    make = partial(Console, stderr=stream == "stderr", highlight=False, markup=False, emoji=False)
    console = make()
    if console.no_color:  # NO_COLOR: rich itself would still print bold and dim
        console = make(color_system=None)
    if not console.is_terminal:
        console.width = max(console.width, _PIPED_WIDTH)
    return console


def is_plain(stream: str) -> bool:
    """Return whether lines are written as they are: neither a terminal nor taken for one. Then
    rich need not be imported for them.
    """
    return not getattr(sys, stream).isatty() and _AS_TERMINAL.isdisjoint(os.environ)


def stdout_console() -> "Console":
    return _get_console("stdout")


def stderr_console() -> "Console":
    return _get_console("stderr")


def reset_consoles() -> None:
    """Drop the cached consoles after sys.stdout was replaced."""
    _get_console.cache_clear()


@contextmanager
def guard_stdout() -> Iterator[None]:
    """Raise UnreadInput if stdout cannot be written."""
    try:
        yield
    except BrokenPipeError as error:
        raise UnreadInput from error
    except OSError as error:
        raise UnreadInput(f"stdout cannot be written: {error.strerror}") from error


@guard_stdout()
def say(*parts: "RenderableType") -> None:
    """Print a result to stdout."""
    parts = tuple(parts)
    if is_plain("stdout") and all(map(_is_as_printed, parts)):
        sys.stdout.write("".join(f"{part}\n" for part in parts))
        sys.stdout.flush()
        return
    console = stdout_console()
    if console.is_terminal:
        for part in parts:
            console.print(part, soft_wrap=_is_line(part))
        return
    with console.capture() as captured:
        for part in parts:
            console.print(part, soft_wrap=isinstance(part, str) or _is_line(part))
    # Without the padding of columns, which is for the eye.
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
    sys.stdout.flush()


def _is_as_printed(part: "RenderableType") -> bool:
    """Return whether rich would print just this, and the end of a line, where nothing is cut."""
    return isinstance(part, str) and part.isprintable() and part == part.rstrip()


def _is_line(part: "RenderableType") -> bool:
    """Return whether a text is one line for programs, too, which only the terminal may wrap."""
    return bool(getattr(part, "no_wrap", None))


def note(*parts: "RenderableType") -> None:
    """Print progress, a warning or an error to stderr."""
    for part in parts:
        if is_plain("stderr") and _is_as_printed(part):
            print(part, file=sys.stderr, flush=True)
            continue
        stderr_console().print(part, soft_wrap=not stderr_console().is_terminal)


@guard_stdout()
def print_json(document: object) -> None:
    """Print one JSON document, whole or not at all."""
    from punchlist.model.ledger.codec import encode

    sys.stdout.write(encode(document).decode() + "\n")
    sys.stdout.flush()


@guard_stdout()
def print_bytes(chunks: Iterable[bytes]) -> None:
    """Write bytes to stdout unchanged."""
    sys.stdout.flush()
    for chunk in chunks:
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()


def write_file(target: Path, chunks: Iterable[bytes], hint: str) -> None:
    """Write a file that the user named. Raise UsageError with the hint if that fails."""
    try:
        with target.open("wb") as file:
            file.writelines(chunks)
    except OSError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror}", hint=hint) from error
    note(f"wrote {target}")


def print_result(document: object, parts: "Iterable[RenderableType]", *, json: bool) -> None:
    if json:
        print_json(document)
    else:
        say(*parts)


def show_done(*lines: str, json: bool) -> None:
    """Print what a short command did, in lines or as a document."""
    from punchlist.cli.show.words import escape_text

    print_result({"done": lines}, map(escape_text, lines), json=json)


def error_text(message: str, hint: str) -> "Text":
    from rich.text import Text

    from punchlist.cli.show.words import escape_text

    first, *rest = escape_text(message).splitlines() or ["unknown"]
    text = Text.assemble(
        ("error: ", "bold red"), (first, "bold"), *(f"\n       {line}" for line in rest)
    )
    if hint:
        text.append("\n  hint: ", "cyan").append(escape_text(hint))
    return text


def is_interactive() -> bool:
    """Return whether the user can be asked here."""
    return sys.stdin.isatty() and sys.stderr.isatty()
