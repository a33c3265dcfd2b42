"""Print results to stdout, all else to stderr."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TextIO

from punchlist.cli.board import Board
from punchlist.cli.drawing import ENDLESS, Part, Text, draw_lines
from punchlist.errors import UsageError

_PIPED_WIDTH = 160
"""Columns of a line in a pipe or a file, where no window cuts it."""
_WIDTH = 80
"""Where a terminal does not say its own."""


class UnreadInput(Exception):
    """The reader of our output went away, or there is no room for it; the message may be empty."""


def is_terminal(stream: TextIO) -> bool:
    """Return whether the stream is a terminal, or is taken for one by TTY_COMPATIBLE or
    FORCE_COLOR.
    """
    said = os.environ.get("TTY_COMPATIBLE", "")
    if said in ("0", "1"):
        return said == "1"
    forced = os.environ.get("FORCE_COLOR")
    return stream.isatty() if forced is None else forced != ""


def has_colours(stream: TextIO) -> bool:
    return is_terminal(stream) and not is_dumb() and not os.environ.get("NO_COLOR")


def is_dumb() -> bool:
    """Return whether the terminal can only print one line below the other."""
    return os.environ.get("TERM", "").lower() in ("dumb", "unknown")


def find_width() -> int:
    """Return the columns of the terminal."""
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        return int(said)
    for descriptor in (0, 1, 2):
        try:
            return os.get_terminal_size(descriptor).columns or _WIDTH
        except OSError:  # it is none
            continue
    return _WIDTH


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
def say(*parts: Part) -> None:
    """Print a result to stdout."""
    with _above_board():
        sys.stdout.writelines(f"{line}\n" for line in _draw_result(parts))
        sys.stdout.flush()


def _draw_result(parts: Iterable[Part]) -> Iterator[str]:
    on_terminal, colours = is_terminal(sys.stdout), has_colours(sys.stdout)
    width = find_width() if on_terminal else max(find_width(), _PIPED_WIDTH)
    for part in parts:
        if isinstance(part, str) and not on_terminal and part.isprintable():
            yield part.rstrip()
            continue
        whole = isinstance(part, str) and not on_terminal
        lines = draw_lines([part], ENDLESS if whole or _is_line(part) else width, colours=colours)
        # Without the padding of columns, which is for the eye.
        yield from lines if on_terminal else map(str.rstrip, lines)


def _is_line(part: Part) -> bool:
    """Return whether a text is one line for programs, too, which only the terminal may wrap."""
    return not isinstance(part, str) and part.no_wrap


def note(*parts: Part) -> None:
    """Print progress, a warning or an error to stderr."""
    on_terminal, colours = is_terminal(sys.stderr), has_colours(sys.stderr)
    with _above_board():
        for part in parts:
            endless = not on_terminal and isinstance(part, str | Text)
            for line in draw_lines([part], ENDLESS if endless else find_width(), colours=colours):
                print(line, file=sys.stderr, flush=True)


_BOARDS: list[Board] = []


@contextmanager
def show_board(render: Callable[[], Iterable[Text]]) -> Iterator[Board]:
    """Keep these lines below what is printed to the terminal, and draw them anew, until the end."""
    colours = has_colours(sys.stderr)
    with Board(sys.stderr, lambda: draw_lines(render(), find_width(), colours=colours)) as board:
        _BOARDS.append(board)
        try:
            yield board
        finally:
            _BOARDS.remove(board)


def _above_board() -> AbstractContextManager[None]:
    return _BOARDS[-1].make_room() if _BOARDS else nullcontext()


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


def print_result(document: object, parts: Iterable[Part], *, json: bool) -> None:
    if json:
        print_json(document)
    else:
        say(*parts)


def show_done(*lines: str, json: bool) -> None:
    """Print what a short command did, in lines or as a document."""
    from punchlist.cli.show.words import escape_text

    print_result({"done": lines}, map(escape_text, lines), json=json)


def error_text(message: str, hint: str) -> Text:
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
