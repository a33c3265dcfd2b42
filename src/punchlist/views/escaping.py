"""Make foreign text safe to show: nothing in it acts on the screen or hides."""

import re
from urllib.parse import urlsplit

_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\ufffe\uffff]"
)


def escape_controls(text: str) -> str:
    """Remove colours; show other controls, direction marks and broken characters as code points."""
    if text.isascii() and text.isprintable():
        return text
    plain = _COLOURS.sub("", text.replace("\r\n", "\n"))
    return _ODD.sub(lambda match: f"\u2039U+{ord(match[0]):04X}\u203a", plain)


def one_line(text: str) -> str:
    return " ".join(escape_controls(text).split())


def web_address(url: str) -> str:
    """Return the address if a browser may follow it from a report, or ""."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    plain = escape_controls(url) == url and not re.search(r"\s", url)
    return url if plain and parts.netloc and parts.scheme in ("http", "https") else ""
