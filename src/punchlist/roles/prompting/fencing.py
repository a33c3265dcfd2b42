"""Prepares untrusted text for a prompt: fenced as data, without secrets, shortened."""

import re
from hashlib import sha256

from punchlist.views.escaping import UNSEEN
from punchlist.views.safe_text import remove_secrets

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")


def clean_text(text: str) -> str:
    """Remove secrets, colours and invisible characters; return valid Unicode."""
    plain = _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return remove_secrets(plain.translate(UNSEEN).encode("utf-8", "replace").decode())


def fence_text(what: str, text: str) -> str:
    """Wrap the text in tags named by its hash, which it cannot contain."""
    shown = clean_text(text)
    tag = f"untrusted-{sha256(shown.encode()).hexdigest()[:12]}"
    return f'<{tag} what="{clean_attribute(what)}">\n{shown}\n</{tag}>'


def clean_attribute(text: str) -> str:
    """Return a name that may stand in a tag, on one line."""
    return re.sub(r"[\"<>\s]+", " ", clean_text(text)).strip()[:200]


def shorten_text(text: str, limit: int) -> str:
    """Return at most `limit` characters of beginning and end, and how many are left out. Secrets
    are removed first: half a secret would not be recognised.
    """
    if len(text) <= limit:
        return text
    whole = clean_text(text)
    head, tail = limit // 3, limit - limit // 3
    if len(whole) <= limit:
        return whole
    cut = f"[... {len(whole) - limit} characters left out ...]"
    return f"{whole[:head]}\n{cut}\n{whole[-tail:]}"
