"""The user's settings for package registries, for children that install packages."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from punchlist.adapters.folders.look import is_file, is_folder

_PASSED = re.compile(
    r"PIP_(?:(?:EXTRA_)?INDEX_URL|FIND_LINKS|NO_INDEX|TRUSTED_HOST|CERT|CLIENT_CERT|PROXY|CONFIG_FILE"
    r"|(?:DEFAULT_)?TIMEOUT|RETRIES|PRE|NO_BINARY|ONLY_BINARY|PREFER_BINARY|CONSTRAINT)"
    r"|UV_(?:DEFAULT_INDEX|INDEX|INDEX_\w+|EXTRA_INDEX_URL|FIND_LINKS|NO_INDEX|CONFIG_FILE|INSECURE_HOST"
    r"|NATIVE_TLS|SYSTEM_CERTS|HTTP_TIMEOUT|OFFLINE|PRERELEASE|CONSTRAINT)"
    r"|(?:https?|all|no)_proxy|(?:HTTPS?|ALL|NO)_PROXY|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE"
)
"""No setting that says where to install, and no token for publishing."""
_SYSTEM_FILES = ("/etc/pip.conf", "/etc/xdg/pip", "/etc/uv", "/etc/xdg/uv")
_MIRRORED = ("packages", "files")
"""Where a mirror in a folder has what the pages in its folder `simple` link to."""


def registry_environment() -> dict[str, str]:
    """Return the variables that pip and uv read about registries, and where their files are."""
    passed = {name: value for name, value in os.environ.items() if _PASSED.fullmatch(name)}
    settings = os.environ.get("XDG_CONFIG_HOME") or Path(os.environ.get("HOME", "/")) / ".config"
    return {**passed, "XDG_CONFIG_HOME": str(settings)}


def list_registry_files(environment: Mapping[str, str], sources: Sequence[str]) -> list[Path]:
    """Return the files and folders that the variables and the sources of packages name, and the
    settings of pip and uv.
    """
    texts = (re.split(r"[\s,]+", text) for text in (*environment.values(), *sources))
    words = (word.removeprefix("file://") for text in texts for word in text)
    folder = Path(environment["XDG_CONFIG_HOME"])
    own = (folder / "pip", folder / "uv", *map(Path, _SYSTEM_FILES))
    named = [Path(word) for word in words if word.startswith("/")]
    mirrors = (path.parent / name for path in named if path.name == "simple" for name in _MIRRORED)
    found = (path for path in (*named, *mirrors, *own) if path != folder)
    return [path for path in found if is_file(path) or is_folder(path)]
