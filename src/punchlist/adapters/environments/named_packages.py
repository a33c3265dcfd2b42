"""Read from a project's own files which Python packages its code and its tests need."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct

from punchlist.model.finding.guarded_text import find_ini, find_toml

GROUPS = ("dev", "develop", "development", "test", "tests", "testing")
"""Extras, dependency groups and requirement files of these names are what tests need."""
_LOCKS = re.compile(r"(?:uv|poetry|pdm)\.lock|pylock(?:\.[\w-]+)?\.toml")
_ROOT_FILES = frozenset({"pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "tox.toml"})
_LISTED = re.compile(r"(?:[\w.-]+/)?[\w.-]*(?:requirement|constraint)[\w.-]*\.(?:txt|in)|"
                     r"(?:requirements|reqs)/[\w.-]+\.(?:txt|in)", re.IGNORECASE)  # fmt: skip
_INCLUDED = re.compile(r"(?:^|=)[ \t]*(?:-r|-c|--requirement|--constraint)[ =]*(\S+)", re.MULTILINE)
_REQUIREMENT = re.compile(r"[A-Za-z0-9][^\n]*")
_PACKAGE = re.compile(r"[A-Za-z0-9][\w.-]*")
_ABOUT_VERSION = re.compile(r"^([\^~])\s*(\d+(?:\.\d+)*)")
_ELSEWHERE = frozenset(
    {"git", "url", "path", "directory", "editable", "virtual", "vcs", "archive", "file"}
)
Table = Mapping[str, Any]


class NamedPackages(Struct, frozen=True, kw_only=True):
    """What the files name. `project`: the extras to install the project itself with, or None if
    it is not built.
    """

    files: tuple[str, ...] = ()
    requirement_files: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    """Exact versions from lock files."""
    project: tuple[str, ...] | None = None
    python: str = ""
    """The versions of Python that the project supports."""


def decides(path: str) -> bool:
    """Return whether the file's name says that it lists packages."""
    return path in _ROOT_FILES or bool(_LOCKS.fullmatch(path) or _LISTED.fullmatch(path))


def find_included(path: str, text: str) -> list[str]:
    """Return the files that a requirement file includes, as paths from the root."""
    if not path.endswith((".txt", ".in")):
        return [name.removeprefix("{toxinidir}/") for name in _INCLUDED.findall(text)]
    folder = PurePosixPath(path).parent
    return [_normalize(folder / name) for name in _INCLUDED.findall(text)]


def read_packages(texts: Mapping[str, str]) -> NamedPackages:
    """Read the texts of the files that decide, by path."""
    project = find_toml(texts.get("pyproject.toml"))
    tox = _read_tox(texts, project)
    groups = (*GROUPS, *_split_words(tox.get("dependency_groups", "")))
    own = _split_lines(tox.get("deps", ""))
    names = [name for line in own for name in find_included("tox.ini", line)]
    listed = [path for path in texts if _is_for_tests(path)]
    builds = _is_built(texts, project)
    loose = [] if builds else _read_project_table(project, groups)
    requirements = [*loose, *_read_groups(project, groups), *own]
    return NamedPackages(
        files=tuple(sorted(texts)),
        requirement_files=tuple(
            dict.fromkeys([*listed, *(name for name in names if name in texts)])
        ),
        requirements=tuple(
            dict.fromkeys(each.strip() for each in requirements if _REQUIREMENT.fullmatch(each))
        ),
        pins=tuple(_read_pins(texts)),
        project=_find_extras(texts, project, tox) if builds else None,
        python=_read_text(project, "project", "requires-python")
        or _read_text(project, "tool", "poetry", "dependencies", "python"),
    )


def list_declared(texts: Mapping[str, str]) -> list[str]:
    """Return the names of packages that the code needs on every machine, as the files say it."""
    project = find_toml(texts.get("pyproject.toml"))
    lines = [
        *_strings(_table(project, "project").get("dependencies")),
        *_read_poetry(_table(project, "tool", "poetry", "dependencies")),
        *texts.get("requirements.txt", "").splitlines(),
    ]
    named = (_PACKAGE.match(line) for line in lines if not {";", "/"} & set(line))
    return list(dict.fromkeys(found[0].lower() for found in named if found))


def _is_for_tests(path: str) -> bool:
    """Return whether a requirement file is the project's main one or one for its tests."""
    if not path.endswith(".txt") or not _LISTED.fullmatch(path) or "constraint" in path.lower():
        return False
    words = set(re.split(r"[^a-z]+", path.lower()))
    return path == "requirements.txt" or not words.isdisjoint(GROUPS)


def _is_built(texts: Mapping[str, str], project: Table) -> bool:
    """Return whether the project can be installed itself."""
    tool = _table(project, "tool")
    if _table(tool, "poetry").get("package-mode") is False:
        return False
    if _table(tool, "uv").get("package") is False:
        return False
    return (
        "build-system" in project
        or "setup.py" in texts
        or find_ini(texts.get("setup.cfg")).has_section("metadata")
    )


def _find_extras(texts: Mapping[str, str], project: Table, tox: Table) -> tuple[str, ...]:
    """Return the extras for tests; all usual names where only running setup.py could tell."""
    if "extras_require" in texts.get("setup.py", ""):
        return ("dev", "test", "tests", "testing")
    setup, section = find_ini(texts.get("setup.cfg")), "options.extras_require"
    known = {
        *_table(project, "project", "optional-dependencies"),
        *_table(project, "tool", "poetry", "extras"),
        *(setup.options(section) if setup.has_section(section) else ()),
    }
    asked = (*GROUPS, *_split_words(tox.get("extras", "")))
    return tuple(sorted(name for name in known if name.lower() in asked))


def _read_project_table(project: Table, groups: Iterable[str]) -> Iterator[str]:
    """Yield what a project that is not built needs, and its extras for tests."""
    yield from _strings(_table(project, "project").get("dependencies"))
    for name, listed in _table(project, "project", "optional-dependencies").items():
        if name.lower() in groups:
            yield from _strings(listed)
    yield from _read_poetry(_table(project, "tool", "poetry", "dependencies"))


def _read_groups(project: Table, groups: Iterable[str]) -> Iterator[str]:
    """Yield the packages for tests that pyproject.toml names, in the tables of any tool."""
    tool = _table(project, "tool")
    own = _table(project, "dependency-groups")
    for name in own:
        if name.lower() in groups:
            yield from _expand_group(own, name, frozenset())
    yield from _strings(_table(tool, "uv").get("dev-dependencies"))
    for name, listed in _table(tool, "pdm", "dev-dependencies").items():
        yield from _strings(listed) if name.lower() in groups else ()
    yield from _read_poetry(_table(tool, "poetry", "dev-dependencies"))
    for name in _table(tool, "poetry", "group"):
        if name.lower() in groups:
            yield from _read_poetry(_table(tool, "poetry", "group", name, "dependencies"))
    for name, listed in _table(tool, "hatch", "envs").items():
        if name.lower() in (*groups, "default", "hatch-test") and isinstance(listed, dict):
            yield from _strings(listed.get("dependencies"))
            yield from _strings(listed.get("extra-dependencies"))


def _expand_group(groups: Table, name: str, seen: frozenset[str]) -> Iterator[str]:
    for entry in groups.get(name, ()) if name not in seen else ():
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict):
            yield from _expand_group(groups, str(entry.get("include-group")), seen | {name})


def _read_poetry(listed: Table) -> Iterator[str]:
    """Yield poetry's requirements in the common form; versions that a lock file pins are exact."""
    for name, value in listed.items():
        entry = value if isinstance(value, dict) else {"version": value}
        if name == "python" or entry.get("optional") or not _ELSEWHERE.isdisjoint(entry):
            continue
        version = str(entry.get("version", "*"))
        extras = ",".join(_strings(entry.get("extras")))
        markers = f"; {entry['markers']}" if entry.get("markers") else ""
        bracket = f"[{extras}]" if extras else ""
        yield f"{name}{bracket}{_convert_version(version)}{markers}"


def _convert_version(version: str) -> str:
    """Return poetry's bounds in the common form; none for a choice between several."""
    parts = [
        part.strip() for part in version.split(",") if part.strip() != "*" and "|" not in version
    ]
    return ",".join(
        re.sub(r"^=?\s*(?=[\w*])", "==", _ABOUT_VERSION.sub(_convert_bound, part)) for part in parts
    )


def _convert_bound(bound: re.Match[str]) -> str:
    """Return `^1.2` as `>=1.2,<2`, and `~1.2` as `>=1.2,<1.3`."""
    sign, text = bound.groups()
    numbers = [int(number) for number in text.split(".")]
    nonzero = next((place for place, number in enumerate(numbers) if number), len(numbers) - 1)
    place = nonzero if sign == "^" else min(1, len(numbers) - 1)
    upper = [*numbers[:place], numbers[place] + 1]
    return f">={text},<{'.'.join(map(str, upper))}"


def _read_tox(texts: Mapping[str, str], project: Table) -> dict[str, str]:
    """Return `deps`, `extras` and `dependency_groups` of tox's base environment, a line each."""
    legacy = _read_text(project, "tool", "tox", "legacy_tox_ini")
    for text in (texts.get("tox.ini"), legacy, texts.get("setup.cfg")):
        parsed = find_ini(text)
        if parsed.has_section("testenv"):
            return dict(parsed.items("testenv"))
    base = _table(find_toml(texts.get("tox.toml")), "env_run_base")
    table = base or _table(project, "tool", "tox", "env_run_base")
    return {name: "\n".join(_strings(value)) for name, value in table.items()}


def _read_pins(texts: Mapping[str, str]) -> Iterator[str]:
    """Yield exact versions; a package with several, or from elsewhere than a registry, is free."""
    versions: dict[str, set[str]] = {}
    for path, text in texts.items():
        lock = find_toml(text) if _LOCKS.fullmatch(path) else {}
        for entry in lock.get("package", lock.get("packages", ())):
            source = entry.get("source", {}) if isinstance(entry, dict) else {}
            places = {*entry, *source, source.get("type")} if isinstance(source, dict) else set()
            if isinstance(entry, dict) and _ELSEWHERE.isdisjoint(places):
                versions.setdefault(str(entry.get("name")), set()).add(str(entry.get("version")))
    for name, found in sorted(versions.items()):
        if len(found) == 1 and found != {"None"} and _REQUIREMENT.fullmatch(name):
            yield f"{name}=={found.pop()}"


def _split_lines(text: str) -> list[str]:
    """Return lines without a substitution or a condition of tox, except its own folder."""
    lines = (line.strip() for line in text.replace("{toxinidir}/", "").splitlines())
    return [line for line in lines if "{" not in line and not re.match(r"[\w,!-]+:\s", line)]


def _split_words(text: str) -> list[str]:
    return [word.lower() for word in re.split(r"[\s,]+", text) if word]


def _normalize(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _table(value: Any, *keys: str) -> Table:
    """Return the table at these keys; an empty one if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _read_text(value: Table, *keys: str) -> str:
    found = _table(value, *keys[:-1]).get(keys[-1])
    return found if isinstance(found, str) else ""


def _strings(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
