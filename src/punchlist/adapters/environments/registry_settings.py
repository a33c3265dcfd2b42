"""The user's own settings of pip and uv for package registries, in the words of the installer."""

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from punchlist.model.finding.guarded_text import parse_ini, parse_toml

Named = tuple[str, str]
"""A setting as its variable is called, and its value; lists are separated by spaces."""
_PIP_SECTIONS = ("global", "install")
_PIP_WORDS = (
    *("INDEX_URL", "EXTRA_INDEX_URL", "FIND_LINKS", "NO_INDEX"),
    *("TRUSTED_HOST", "CERT", "CLIENT_CERT", "PROXY"),
)
_UV_OF_PIP = {
    "PIP_INDEX_URL": "UV_DEFAULT_INDEX",
    "PIP_EXTRA_INDEX_URL": "UV_INDEX",
    "PIP_FIND_LINKS": "UV_FIND_LINKS",
    "PIP_NO_INDEX": "UV_NO_INDEX",
    "PIP_TRUSTED_HOST": "UV_INSECURE_HOST",
    "PIP_CERT": "SSL_CERT_FILE",
}
_PIP_OF_UV = {
    "UV_INDEX_URL": "PIP_INDEX_URL",
    "UV_EXTRA_INDEX_URL": "PIP_EXTRA_INDEX_URL",
    **{uv: pip for pip, uv in _UV_OF_PIP.items() if uv.startswith("UV_")},
}
_NAME_A_SOURCE = {
    "pip": ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"),
    "uv": (
        *("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL"),
        *("UV_FIND_LINKS", "UV_NO_INDEX", "UV_OFFLINE"),
    ),
}
_SWITCHES = ("PIP_NO_INDEX", "UV_NO_INDEX", "UV_OFFLINE")
_READ_BY_COMMAS = ("UV_FIND_LINKS",)
_INDEX_NAME = re.compile(r"^[\w.-]+=")
"""uv's indexes may be written NAME=URL."""


def read_settings(environment: Mapping[str, str], installer: str) -> list[Named]:
    """Return what the files and variables of pip or uv set, the stronger word last."""
    read, prefix = (_read_pip_files, "PIP_") if installer == "pip" else (_read_uv_files, "UV_")
    variables = (each for each in environment.items() if each[0].startswith(prefix))
    return [each for each in (*read(environment), *variables) if not _is_off(*each)]


def _is_off(name: str, value: str) -> bool:
    return name in _SWITCHES and value.lower() in ("", "0", "f", "false", "n", "no", "off")


def list_sources(environment: Mapping[str, str], installer: str) -> list[str]:
    """Return what the settings name as sources of packages: addresses, files and folders."""
    names = (*_NAME_A_SOURCE[installer], "UV_EXPLICIT_INDEX")
    return [text for name, text in read_settings(environment, installer) if name in names]


def complete_environment(environment: Mapping[str, str], installer: str) -> dict[str, str]:
    """Return the variables of a child that installs packages, with what the user's files say.

    The child sees another home. Where only the other program's settings name a source of packages,
    these count: a user who configured pip does not expect that uv, where it is there, asks PyPI.
    """
    pip, uv = dict(read_settings(environment, "pip")), dict(read_settings(environment, "uv"))
    known = {name: value for name, value in pip.items() if name[4:] in _PIP_WORDS}
    named = {each: _names_source(each, pip if each == "pip" else uv) for each in ("pip", "uv")}
    if installer == "uv" and not named["uv"] and named["pip"]:
        known |= _translate(pip, _UV_OF_PIP)
        if "UV_NO_INDEX" in known and "://" not in known.get("UV_FIND_LINKS", ""):
            known["UV_OFFLINE"] = "1"  # uv reads no variable for --no-index
    if installer == "pip" and not named["pip"] and named["uv"]:
        known |= _translate(uv, _PIP_OF_UV)
    return {**known, **environment}


def _names_source(installer: str, settings: Mapping[str, str]) -> bool:
    return any(settings.get(name) for name in _NAME_A_SOURCE[installer])


def _translate(settings: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Return the settings under their names of the other program."""
    found = {}
    for theirs, ours in names.items():
        words = [
            _INDEX_NAME.sub("", word) for word in re.split(r"[\s,]+", settings.get(theirs, ""))
        ]
        if words := [word for word in words if word]:
            found[ours] = ("," if ours in _READ_BY_COMMAS else " ").join(words)
    return found


def _read_pip_files(environment: Mapping[str, str]) -> Iterator[Named]:
    """Yield the settings in pip's files."""
    home, own = Path(os.environ.get("HOME", "/")), Path(environment.get("XDG_CONFIG_HOME", "/"))
    named = environment.get("PIP_CONFIG_FILE")
    if named == os.devnull:  # so one tells pip to read no file
        return
    files = [Path("/etc/xdg/pip/pip.conf"), Path("/etc/pip.conf"), home / ".pip/pip.conf"]
    files += [home / "Library/Application Support/pip/pip.conf", own / "pip/pip.conf"]
    for file in (*files, *([Path(named)] if named else [])):
        try:
            parser = parse_ini(file.read_text())
        except (OSError, ValueError):
            continue
        for section in _PIP_SECTIONS:
            for name, value in parser.items(section) if parser.has_section(section) else ():
                words = (_expand_home(word, home) for word in value.split())
                yield f"PIP_{name.upper().replace('-', '_')}", " ".join(words)


def _expand_home(word: str, home: Path) -> str:
    return str(home / word[2:]) if word.startswith("~/") else word


def _read_uv_files(environment: Mapping[str, str]) -> Iterator[Named]:
    """Yield the settings in uv's files."""
    own = Path(environment.get("XDG_CONFIG_HOME", "/"))
    named = environment.get("UV_CONFIG_FILE")
    files = [Path("/etc/xdg/uv/uv.toml"), Path("/etc/uv/uv.toml"), own / "uv/uv.toml"]
    for file in [Path(named)] if named else files:
        try:
            settings = parse_toml(file.read_text())
        except (OSError, ValueError):
            continue
        tables = settings.pop("index", [])
        yield from _read_indexes([each for each in tables if isinstance(each, dict)])
        lower = settings.pop("pip", {})
        for table in (settings, lower if isinstance(lower, dict) else {}):
            for name, value in table.items():
                words = value if isinstance(value, list) else [value]
                if not any(isinstance(word, dict) for word in words):
                    yield f"UV_{name.upper().replace('-', '_')}", " ".join(map(str, words))


def _read_indexes(tables: Sequence[dict[str, Any]]) -> Iterator[Named]:
    """Yield the tables `[[index]]`; an explicit one is asked for single packages only."""
    urls: defaultdict[str, list[str]] = defaultdict(list)
    for table in tables:
        kind = "DEFAULT_" if table.get("default") is True else ""
        kind = "EXPLICIT_" if table.get("explicit") is True else kind
        urls[f"UV_{kind}INDEX"].append(str(table.get("url", "")))
    yield from ((name, " ".join(words)) for name, words in urls.items())
