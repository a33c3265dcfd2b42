"""Where this punchlist came from and who installed it, by its package's metadata (PEP 610)."""

import json
import re
import shlex
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

from punchlist._version import __version__

_NAME = "punchlist"
_PINNED = re.compile(
    r"punchlist==\d[\w.!+]*"
    r"|git\+(?:https|ssh)://[^\s@#]+(?:@[^\s@#/]+)?[^\s@#]*@[0-9a-f]{40}(?:[0-9a-f]{24})?"
    r"|https://[^\s#]+\.(?:whl|tar\.gz)#sha256=[0-9a-f]{64}"
)


def find_source() -> str:
    """Return the requirement that installs this very punchlist anywhere; '' if it came from a
    folder of this machine, which no other machine has.
    """
    found = _find_distribution()
    if found is None:
        return ""
    told = _read_origin(found)
    url, commit = str(told.get("url", "")), _read_part(told, "vcs_info").get("commit_id")
    if not told:
        return f"{_NAME}=={__version__}"
    if commit:
        return pin_source(f"git+{url}@{commit}")
    hashes = _read_part(_read_part(told, "archive_info"), "hashes")
    if url.startswith("https://") and hashes.get("sha256"):
        return pin_source(f"{url}#sha256={hashes['sha256']}")
    return ""


def pin_source(text: str) -> str:
    """Return the requirement for a source that a user names; '' if it could become another
    program: no version, commit or hash pins it.
    """
    bare = text.strip().removeprefix(f"{_NAME} @ ").strip()
    if not _PINNED.fullmatch(bare):
        return ""
    return bare if bare.startswith(f"{_NAME}==") else f"{_NAME} @ {bare}"


def extra_hint(extra: str) -> str:
    """Return the command that adds an extra to this punchlist, by the program that installed it."""
    found = _find_distribution()
    told = _read_origin(found) if found else {}
    named = _name_with(extra, told)
    home = Path(sys.prefix)
    if (home / "pipx_metadata.json").is_file():
        return f"pipx install --force {named}"
    if (home / "uv-receipt.toml").is_file():
        return f"uv tool install --force {named}"
    editable = "-e " if _read_part(told, "dir_info").get("editable") else ""
    installer = (found.read_text("INSTALLER") or "").strip() if found else ""
    python = shlex.quote(sys.executable)
    if installer == "uv":
        return f"uv pip install --python {python} {editable}{named}"
    return f"{python} -m pip install {editable}{named}"


def _name_with(extra: str, told: dict[str, object]) -> str:
    """Return the quoted requirement with an extra: from the folder, or the source, or the index."""
    url = str(told.get("url", ""))
    if url.startswith("file://"):
        return shlex.quote(f"{unquote(urlsplit(url).path)}[{extra}]")
    source = find_source()
    if " @ " in source:
        return shlex.quote(source.replace(_NAME, f"{_NAME}[{extra}]", 1))
    return f'"{_NAME}[{extra}]=={__version__}"'


def _find_distribution() -> Distribution | None:
    try:
        return distribution(_NAME)
    except PackageNotFoundError:
        return None


def _read_origin(found: Distribution) -> dict[str, object]:
    """Return what PEP 610 says of an installation; {} if it came from an index."""
    try:
        told = json.loads(found.read_text("direct_url.json") or "{}")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _read_part(told: dict[str, object], name: str) -> dict[str, object]:
    part = told.get(name)
    return part if isinstance(part, dict) else {}
