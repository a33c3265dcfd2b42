"""Mypy: types of a Python project."""

import json
import re
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.analyzers.configuration.declared import ConfigurationKeys
from punchlist.adapters.analyzers.configuration.parse import (
    UnusableConfigurationError,
    find_table,
    find_values,
    parse_configuration,
)
from punchlist.adapters.analyzers.entries import collect_entries
from punchlist.adapters.analyzers.tool import CODE, Kit
from punchlist.adapters.analyzers.tools.typechecker import TypeChecker, rank_severity
from punchlist.adapters.process.run import ProcessResult
from punchlist.intake.raw_finding import RawFinding
from punchlist.intake.source_files import Sources
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

if TYPE_CHECKING:
    from punchlist.adapters.analyzers.configuration.survey import Survey

_SHARED = ("pyproject.toml", "setup.cfg")
_CONFIGURED = {
    **dict.fromkeys(("mypy.ini", ".mypy.ini"), "mypy"),
    "pyproject.toml": "tool.mypy",
    "setup.cfg": "mypy",
}
"""The configuration files in the order in which mypy looks for them, with its table in each."""
_DANGEROUS = frozenset(
    "python_executable junit_xml quickstart_file cache_dir timing_stats line_checking_stats"
    " mypyc_annotation_file num_workers shadow_file".split()
)


_LOG = late_pattern(r"^LOG: ", re.MULTILINE)
_SOURCE = late_pattern(
    r"^LOG: +Found source: +BuildSource\(path=(?P<file>.+), module=", re.MULTILINE
)
_NEVER_FOUND = frozenset(("site-packages", "node_modules", "__pycache__"))


def _split_arguments(args: Sequence[str]) -> tuple[str, list[str]]:
    """Return the configuration file that the arguments name, or '', and the other arguments."""
    from argparse import ArgumentParser

    options = ArgumentParser(add_help=False, allow_abbrev=True, exit_on_error=False)
    options.add_argument("--config-file", default="")
    known, rest = options.parse_known_args(list(args))
    return known.config_file, rest


class MypyEntry(Struct, frozen=True):
    file: str
    line: int
    message: str
    column: int = -1
    end_line: int | None = None
    end_column: int | None = None
    hint: str | None = None
    code: str | None = None
    severity: str = "error"


def parse(output: bytes, sources: Sources, tool: str = "mypy") -> Analysis:
    """Parse one JSON object per line; empty output is clean, since the exit code was checked."""
    lines = [msgspec.Raw(line) for line in output.splitlines() if line.strip()]
    return collect_entries(tool, lines, MypyEntry, _make_note, sources)


def _make_note(entry: MypyEntry, sources: Sources) -> RawFinding:
    positions = sources.reported_positions(entry.file)
    # On lines with other than ASCII characters versions differ in what they count.
    exact = positions is not None and positions.is_plain(entry.line) and entry.column >= 0
    end = -1 if entry.end_column is None else entry.end_column
    docs = "https://mypy.readthedocs.io/en/stable/_refs.html#code-"
    return RawFinding(
        path=entry.file,
        title=entry.message,
        detail=entry.hint or "",
        severity=rank_severity(entry.severity, entry.code or ""),
        severity_word=entry.severity,
        rule=entry.code or "",
        category="typing",
        url=f"{docs}{entry.code}" if entry.code else "",
        line=entry.line if entry.line > 0 else None,
        end_line=entry.end_line,
        column=entry.column + 1 if exact else None,
        end_column=end + 1 if exact and end >= 0 else None,
    )


def _clean_settings(
    settings: Mapping[str, Any], tree: Tree, plugins: Path | None
) -> dict[str, Any]:
    """Return mypy's own settings without what writes files or starts programs; plug-in files are
    those in the folder `plugins`, and without one there are no plug-ins.
    """
    kept = {key: value for key, value in settings.items() if not _is_dangerous(key)}
    names = list(find_values(kept, "plugins"))
    kept.pop("plugins", None)
    if names and plugins:
        places = [str(plugins / name) if _is_file(name) else name for name in names]
        kept["plugins"] = ",".join(places)
    return {key: _expand_folder(value, tree) for key, value in kept.items()}


def _parse(name: str, text: str) -> dict[str, Any]:
    """Parse a configuration file; mypy, too, ignores a broken setup.cfg."""
    try:
        return parse_configuration(name, text)
    except UnusableConfigurationError:
        if name == "setup.cfg":
            return {}
        raise


def _is_dangerous(key: str) -> bool:
    name = key.lower().replace("-", "_")
    return name in _DANGEROUS or name.endswith("_report")


def _is_hidden(part: str) -> bool:
    """Return whether mypy finds no file in a folder of this name, or a file with it."""
    return part.startswith(".") or part in _NEVER_FOUND


def _is_file(plugin: str) -> bool:
    return plugin.partition(":")[0].endswith(".py")


def _expand_folder(value: Any, tree: Tree) -> Any:
    if isinstance(value, list):
        return [_expand_folder(each, tree) for each in value]
    if not isinstance(value, str):
        return value
    for name in ("${MYPY_CONFIG_FILE_DIR}", "$MYPY_CONFIG_FILE_DIR"):
        value = value.replace(name, str(tree.root))
    return value


def _write_ini(sections: Mapping[str, Mapping[str, str]]) -> str:
    from configparser import RawConfigParser

    parser, text = RawConfigParser(), StringIO()
    parser.read_dict(sections)
    parser.write(text)
    return text.getvalue()


def _write_toml(value: Any) -> str:
    """Return a value as inline TOML."""
    match value:
        case dict():
            return (
                f"{{{', '.join(f'{json.dumps(k)} = {_write_toml(v)}' for k, v in value.items())}}}"
            )
        case list():
            return f"[{', '.join(map(_write_toml, value))}]"
        case str() | bool() | int() | float():
            return json.dumps(value)
        case _:  # a date or a time
            return str(value.isoformat())


class Mypy(TypeChecker):
    name = "mypy"
    files = ("mypy.ini", ".mypy.ini")
    steered_by = (*files, "setup.cfg", "pyproject.toml")
    suppressed_by = (
        r"#\s*type:\s*ignore",
        r"#\s*mypy:\s*(?:ignore|disable|allow)",
        r"@(?:typing\.|t\.)?no_type_check",
    )
    # --verbose: it says which files it found.
    options = tuple(
        "--output=json --show-error-end --no-error-summary --no-incremental"
        " --cache-dir=/dev/null --verbose".split()
    )
    log = _LOG
    python_option = "--python-executable"
    loads_apart = True
    configuration = ConfigurationKeys(
        files=_CONFIGURED,
        code=("plugins",),
        reads=("mypy_path", "custom_typeshed_dir", "files", "package_root"),
        anywhere=False,
    )
    parser = staticmethod(parse)

    def __init__(self, args: Sequence[str] = (), *, asked: bool = False) -> None:
        """`--config-file` in the arguments is taken for ours."""
        self._named, rest = _split_arguments(args) if args else ("", [])
        super().__init__(rest, asked=asked)

    async def follow_command(self, survey: "Survey") -> list[str]:
        named = [self._named] if self._named else []
        return await super().follow_command(survey) + survey.follow_arguments(named)

    def is_configured(self, tree: Tree) -> bool:
        return super().is_configured(tree) or "[mypy]" in (tree.text("setup.cfg") or "")

    def write_configuration(self, tree: Tree, folder: Path, *, code: bool) -> tuple[str, ...]:
        """Write the configuration that mypy would read, without what it must not do."""
        for name, table in self._list_configurations():
            text = tree.text(name)
            data = _parse(name, text) if text is not None else {}
            settings = find_table(data, table)
            if settings is None and (text is None or name in _SHARED):
                continue
            kept = _clean_settings(settings or {}, tree, folder / CODE if code else None)
            if name.endswith(".toml"):
                file, text = folder / "mypy.toml", _write_toml({**data["tool"], "mypy": kept})
                file.write_text(f"tool = {text}\n", "utf-8")
            else:
                file = folder / "mypy.ini"
                own = {table: kept} if settings is not None else {}
                file.write_text(_write_ini({**data, **own}), "utf-8")
            return (f"--config-file={file}",)
        return ("--config-file=",)

    def _names_targets(self, tree: Tree) -> bool:
        """Return whether mypy's settings name files, packages or modules."""
        texts = ((name, table, tree.text(name)) for name, table in self._list_configurations())
        tables = (find_table(_parse(name, text), table) for name, table, text in texts if text)
        first: Mapping[str, Any] = next((each for each in tables if each is not None), {})
        return any(key in first for key in ("files", "packages", "modules"))

    def _list_configurations(self) -> list[tuple[str, str]]:
        """Return the files and tables to look for: the user's arguments may name another."""
        if not self._named:
            return list(_CONFIGURED.items())
        name = normpath(self._named)
        return [(name, "tool.mypy" if name.endswith(".toml") else "mypy")]

    def list_hidden(self, files: Sequence[str], tree: Tree) -> list[str]:
        return [path for path in files if any(map(_is_hidden, path.split("/")))]

    def name_files(self, head: Sequence[str]) -> Sequence[str]:
        return (*(head[:-1] if head[-1] == "." else head), "--")

    def parse_output(self, ran: ProcessResult, sources: Sources) -> Analysis:
        """Parse the report; the names of files are written as Python does, on a line each."""
        analysis = super().parse_output(ran, sources)
        found = _SOURCE.findall(ran.stderr.decode("utf-8", "replace"))
        looked = frozenset(filter(None, map(sources.quoted_path, found)))
        return replace(analysis, looked=looked if found else None)

    def build_command(self, program: Sequence[str], tree: Tree, kit: Kit) -> tuple[str, ...]:
        target = () if self._names_targets(tree) else (".",)
        return (*super().build_command(program, tree, kit), *target)
