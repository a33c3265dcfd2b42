"""The user's settings for package registries, for children that install packages."""

import os
import re
from pathlib import Path

from punchlist.adapters.process.sandbox import PRIVATE

_PASSED = re.compile(
    r"PIP_(?:(?:EXTRA_)?INDEX_URL|FIND_LINKS|NO_INDEX|TRUSTED_HOST|CERT|CLIENT_CERT|PROXY|CONFIG_FILE"
    r"|(?:DEFAULT_)?TIMEOUT|RETRIES|PRE|NO_BINARY|ONLY_BINARY|PREFER_BINARY|CONSTRAINT)"
    r"|UV_(?:DEFAULT_INDEX|INDEX|INDEX_\w+|EXTRA_INDEX_URL|FIND_LINKS|NO_INDEX|CONFIG_FILE|INSECURE_HOST"
    r"|NATIVE_TLS|SYSTEM_CERTS|HTTP_TIMEOUT|OFFLINE|PRERELEASE|CONSTRAINT)"
    r"|(?:https?|all|no)_proxy|(?:HTTPS?|ALL|NO)_PROXY|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE"
)
"""No setting that says where to install, and no token for publishing."""


def registry_environment() -> dict[str, str]:
    """Return the variables that pip and uv read about registries, and where their files are."""
    passed = {name: value for name, value in os.environ.items() if _PASSED.fullmatch(name)}
    settings = os.environ.get("XDG_CONFIG_HOME") or Path(os.environ.get("HOME", "/")) / ".config"
    return {**passed, "XDG_CONFIG_HOME": str(settings)}


def list_covered_paths(environment: dict[str, str]) -> list[Path]:
    """Return the files and folders that the variables name in folders that a sandbox replaces."""
    words = (word.removeprefix("file://") for text in environment.values() for word in text.split())
    return [
        path
        for path in map(Path, words)
        if any(path.is_relative_to(folder) for folder in PRIVATE) and path.exists()
    ]
