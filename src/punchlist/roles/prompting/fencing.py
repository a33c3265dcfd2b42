"""Text of others as it goes into a prompt: fenced as data, without secrets, and shortened with a
word on how much is missing.
"""

import re
from hashlib import sha256

from punchlist.views.safe_text import without_secrets

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\u202a-\u202e\u2060\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
"""Characters that a person does not see and an agent does read."""


def clean(text: str) -> str:
    """What may leave for an agent: no secrets, no colours, nothing that is not
    seen, valid Unicode.
    """
    plain = _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return without_secrets(_UNSEEN.sub("", plain).encode("utf-8", "replace").decode())


def fenced(what: str, text: str) -> str:
    """The text between tags that it cannot have in it: their name is its own hash."""
    shown = clean(text)
    tag = f"untrusted-{sha256(shown.encode()).hexdigest()[:12]}"
    return f'<{tag} what="{attribute(what)}">\n{shown}\n</{tag}>'


def attribute(text: str) -> str:
    """A name as it may stand in a tag, on one line."""
    return re.sub(r"[\"<>\s]+", " ", clean(text)).strip()[:200]


def shortened(text: str, limit: int) -> str:
    """The beginning and the end, where failures are told, and how much is missing between. Half a
    secret would be none that is known as one, so they go first.
    """
    if len(text) <= limit:
        return text
    whole = clean(text)
    head, tail = limit // 3, limit - limit // 3
    if len(whole) <= limit:
        return whole
    return (
        f"{whole[:head]}\n[... {len(whole) - head - tail} characters left out ...]\n{whole[-tail:]}"
    )
