"""Words and numbers for the terminal."""

from pathlib import Path

from punchlist.model.checks.check import Check
from punchlist.model.checks.tool_configuration import ToolConfiguration
from punchlist.model.finding.finding import Finding
from punchlist.views import words
from punchlist.views.escaping import JOINERS, EscapeTable, acts_on_text


def escape_text(text: str) -> str:
    """Escape what would move the cursor, hide text or turn it around: a title comes from the
    repository under review.
    """
    return text.translate(_ESCAPES)


def _escape_char(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


_ESCAPES = EscapeTable(lambda char: acts_on_text(char) and char not in JOINERS, _escape_char)


def one_line(text: str) -> str:
    return escape_text(" ".join(text.split()))


def shorten_path(path: str) -> str:
    """Return the path with ~ for the home folder."""
    try:
        return one_line(f"~/{Path(path).relative_to(Path.home())}")
    except (ValueError, RuntimeError):  # it is elsewhere, or the home folder is not known
        return one_line(path)


def format_place(finding: Finding) -> str:
    """Return path:line, which editors and terminals link."""
    return one_line(words.place(finding))


def format_headline(finding: Finding) -> str:
    return one_line(words.headline(finding))


def format_code(configuration: ToolConfiguration) -> str:
    code = "; ".join(each.removesuffix(" is a program, which") for each in configuration.code)
    return f"{configuration.analyzer} loads code   ({one_line(code)})"


def format_check(check: Check) -> str:
    more = f"; Python: {check.python_from}" if check.python_from else ""
    more += f"; to format: {' '.join(check.repair)}" if check.repair else ""
    return f"{one_line(' '.join(check.command))}   ({one_line(check.origin + more)})"
