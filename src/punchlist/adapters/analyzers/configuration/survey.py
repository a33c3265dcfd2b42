"""Find out what an analyzer's configuration in a commit names and loads, before it runs."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from posixpath import basename, dirname, join, normpath, splitext
from typing import Any

import msgspec
from msgspec import Struct

from punchlist.adapters.analyzers.configuration.imports import (
    ROOTS,
    find_module,
    list_python_imports,
    list_script_imports,
)
from punchlist.adapters.analyzers.configuration.parse import (
    UnusableConfigurationError,
    find_table,
    find_values,
    parse_configuration,
)
from punchlist.adapters.analyzers.tool import SCRIPTS, AnalyzerTool
from punchlist.model.checks.protected import matches_any
from punchlist.model.checks.tool_configuration import ToolConfiguration
from punchlist.model.finding.late_pattern import late_pattern

_LINK = "120000"
_STEPS = 1000
_TOLERATED = ("setup.cfg", "tox.ini")
"""Files of several tools, which those that share our parser ignore if they are broken."""
_FILE = late_pattern(r"[\w./@+-]+\.(?:\w{1,10})")
_EXPANDED = late_pattern(r"^[~\\]|[$\0]|^[A-Za-z]:|://")
_HERE = late_pattern(r"^\$\{?MYPY_CONFIG_FILE_DIR\}?/?")


class CommitFiles(Struct, frozen=True):
    """The files of a commit: their modes, and how texts (of links: the targets) are read."""

    modes: Mapping[str, str]
    read: Callable[[str], Awaitable[str]]

    async def resolve(self, path: str) -> str:
        """Return the path without links; raise UnusableConfigurationError if one leads out."""
        rest, done = normpath(path).split("/"), ""
        for _ in range(_STEPS):
            if not rest:
                return done
            part = rest.pop(0)
            done = normpath(join(done, part))
            if done.startswith("..") or done == ".git":
                raise UnusableConfigurationError(f"{path} leads out of the repository")
            if self.modes.get(done) == _LINK:
                target = await self.read(done)
                if target.startswith("/"):
                    raise UnusableConfigurationError(
                        f"{path} is a link that leads out of the repository"
                    )
                rest, done = [*target.split("/"), *rest], dirname(done)
            done = "" if done == "." else done
        raise UnusableConfigurationError(f"{path}: its links never end")


async def survey_configuration(tool: AnalyzerTool, files: CommitFiles) -> ToolConfiguration:
    """Return what the tool's configuration in this commit names and loads."""
    survey = Survey(tool, files)
    try:
        await survey.follow_files()
    except UnusableConfigurationError as error:
        return ToolConfiguration(analyzer=tool.name, refused=str(error))
    return await survey.conclude()


class Survey:
    """Follows a tool's configuration files and what they name."""

    def __init__(self, tool: AnalyzerTool, files: CommitFiles) -> None:
        self.tool = tool
        self.files = files
        self.code: list[str] = []
        self.named: list[str] = []
        self.modules: list[str] = []
        """Python files that are loaded as plug-ins."""
        self.scripts: list[str] = []
        """JavaScript files that are loaded."""
        self.texts: dict[str, Any] = {}
        """What is hashed, by file."""
        self._found = frozenset[str]()
        """The configuration files that are found by their names."""

    async def follow_files(self) -> None:
        """Read the configuration files, then those that they name, and so on."""
        keys, seen = self.tool.configuration, set[str]()
        queue = [path for path in self.files.modes if matches_any(path, self.tool.steered_by)]
        if not keys.anywhere:
            queue = [path for path in queue if "/" not in path]
        self._found = frozenset(queue)
        queue += await self.tool.follow_command(self)
        for path in queue:  # grows along
            place = await self.files.resolve(path)
            if place != path:
                self.named.append(f"/{place}")
            if place not in seen and self.files.modes.get(place, "").startswith("100"):
                seen.add(place)
                queue += await self.tool.follow_file(path, await self.files.read(place), self)

    async def follow_keys(self, path: str, text: str) -> list[str]:
        """Look at the keys that the tool declares; return the configuration files they name."""
        keys = self.tool.configuration
        script = keys.programs and path.endswith(SCRIPTS)
        if script or matches_any(path, keys.programs):
            self.add_code(f"{path} is a program, which", path, text)
            self.scripts.append(path)
            return []
        watched = keys.code or keys.named or keys.reads or keys.forbidden
        table = keys.files.get(basename(path), None if path in self._found else self._guess(path))
        if table is None or not watched:
            return []
        try:
            data = find_table(parse_configuration(path, text), table)
        except UnusableConfigurationError:
            if basename(path) in _TOLERATED:
                return []
            raise
        return await self._follow_table(path, data) if data else []

    def _guess(self, path: str) -> str:
        """Return the tool's table in a file of another name: as in one with the same suffix."""
        files = self.tool.configuration.files.items()
        suffix = splitext(path)[1]
        return next((table for name, table in files if splitext(name)[1] == suffix), "")

    def follow_arguments(self, arguments: Sequence[str]) -> list[str]:
        """Note the files of the repository that arguments name; return those that are there."""
        words = [part for word in arguments for part in (word, word.partition("=")[2]) if part]
        paths = [normpath(word) for word in words if not word.startswith(("-", "/", "~"))]
        known = [path for path in paths if path in self.files.modes or _FILE.fullmatch(path)]
        self.named += (f"/{path}" for path in known)
        folders = [path for path in paths if path not in known and path != "."]
        below = tuple(f"{path}/" for path in folders)
        inside = [path for path in self.files.modes if below and path.startswith(below)]
        if self.tool.configuration.programs and inside:  # such as ESLint's --rulesdir
            self.named += (f"/{path}/**" for path in folders)
            self.add_code(f"{inside[0]}, which its arguments name,", "", inside)
            self.scripts += inside
        return [path for path in known if path in self.files.modes]

    async def _follow_table(self, path: str, data: dict[str, Any]) -> list[str]:
        keys = self.tool.configuration
        for key in keys.forbidden:
            for value in find_values(data, key):
                what = f"{path}: {key} = {value} would write a file"
                raise UnusableConfigurationError(what)
        for key in keys.reads:
            for value in find_values(data, key):
                for each in value.split(":"):
                    await self.locate(path, key, _HERE.sub("", each) or ".")
        for key in keys.code:
            for value in self._list_values(data, key):
                self.add_code(f"{path}: {key} = {value}", path, data)
                await self._follow_code(path, key, value)
        named = [(key, value) for key in keys.named for value in self._list_values(data, key)]
        places = [await self.locate(path, key, value) for key, value in named]
        self.named += (f"/{place}{end}" for place in places for end in ("", ".*"))
        return [place for place in places if place in self.files.modes]

    def _list_values(self, data: dict[str, Any], key: str) -> list[str]:
        own = self.tool.configuration.harmless
        return [value for value in find_values(data, key) if not value.startswith(own)]

    async def locate(self, path: str, key: str, value: str) -> str:
        """Return the file that a value names, relative to the configuration file that has it."""
        if value.startswith("/") or _EXPANDED.search(value):
            raise UnusableConfigurationError(f"{path}: {key} = {value} leads out of the repository")
        try:
            return await self.files.resolve(join(dirname(path), value))
        except UnusableConfigurationError as error:
            raise UnusableConfigurationError(f"{path}: {key} = {value}: {error}") from error

    async def _follow_code(self, path: str, key: str, value: str) -> None:
        """Note the files of a plug-in that the repository has."""
        name = re.sub(r":\w+$", "", value)
        if name.endswith((".py", ".js", ".cjs", ".mjs", ".ts", ".json")) or name.startswith(
            (".", "/", "~")
        ):
            place = await self.locate(path, key, name)
            (self.modules if place.endswith(".py") else self.scripts).append(place)
        else:
            found = (each for root in ROOTS for each in find_module(root, name, self.files.modes))
            self.modules += found

    def add_code(self, what: str, path: str, text: Any) -> None:
        self.code.append(what)
        self.texts[path] = text

    async def conclude(self) -> ToolConfiguration:
        modes, read = self.files.modes, self.files.read
        try:
            modules = [each for each in self.modules if modes.get(each, "").startswith("100")]
            files = await list_python_imports(modules, modes, read)
            scripts = await list_script_imports(self.scripts, modes, read)
        except UnusableConfigurationError as error:
            return ToolConfiguration(analyzer=self.tool.name, refused=str(error))
        loaded = [
            *files,
            *(path for path in modes if scripts and matches_any(path, tuple(scripts))),
        ]
        for path in loaded if self.code else ():
            self.texts[path] = await read(path)
        beside = [] if self.tool.loads_apart else [f"/{path}" for path in files]
        return ToolConfiguration(
            analyzer=self.tool.name,
            named=tuple(dict.fromkeys((*self.named, *scripts, *beside))),
            code=tuple(dict.fromkeys(self.code)),
            files=tuple(files) if self.tool.loads_apart else (),
            fingerprint=_hash_texts(self.tool.name, self.texts) if self.code else "",
        )


def _hash_texts(name: str, texts: dict[str, Any]) -> str:
    parts = [name, *sorted(texts.items())]
    return sha256(msgspec.json.encode(parts, enc_hook=str)).hexdigest()
