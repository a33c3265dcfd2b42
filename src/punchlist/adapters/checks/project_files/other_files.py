"""Commands in Makefiles, CI files, the configuration of pre-commit, and package.json."""

import re
import shlex
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from itertools import islice
from typing import Any

import msgspec

from punchlist.adapters.checks.project_files.command_lines import UNKNOWN, Line, join_lines
from punchlist.adapters.checks.project_files.tox_files import as_list
from punchlist.model.checks.hook_files import ANY, TYPES, HookFiles
from punchlist.model.finding.guarded_text import Unparsable, parse_json
from punchlist.model.finding.guarded_yaml import parse_yaml
from punchlist.ports.tree import Tree

_LARGEST = 200_000
_MOST = 1000
"""Lines of one file; aliases can make a small file of YAML a large one."""
_FEW = 200
"""Jobs of one file, and steps of one job."""
_LONGEST = 2000
_NESTED = 4
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_VARIABLE = re.compile(r"^(\w+)\s*[:?]?=[ \t]*(.*)$", re.MULTILINE)
_USE = re.compile(r"\$[({](\w+)[)}]")
_TARGET = re.compile(r"^([\w./-]+)\s*:(?!=)")
_ACTIONS = {
    "psf/black": "black --check .",
    "astral-sh/ruff-action": "ruff check .",
    "chartboost/ruff-action": "ruff check .",
    "isort/isort-action": "isort --check-only .",
}
_HOOKS = {
    "ruff": "ruff check --force-exclude",
    "ruff-check": "ruff check --force-exclude",
    "ruff-format": "ruff format --force-exclude",
    "black-jupyter": "black",
    "isort": "isort --filter-files",
}
"""What hooks run that their own repositories define."""
_TYPES_OF = {
    **dict.fromkeys(
        """flake8 pycodestyle pyflakes pylint pydocstyle interrogate vulture bandit autopep8
        yapf docformatter autoflake""".split(),
        ("python",),
    ),
    **dict.fromkeys(("black", "mypy", "pyright", "basedpyright", "ruff"), ("python", "pyi")),
    "isort": ("python", "pyi", "cython"),
    "shellcheck": ("shell",),
    "yamllint": ("yaml",),
    "markdownlint": ("markdown",),
    "rstcheck": ("rst",),
    "doc8": ("rst",),
}
"""The types of files that the hooks of these tools name themselves."""
_FLAKE8 = "flake8 --extend-exclude=.venv,venv,node_modules ."
_CONFIGURED = {
    ".flake8": ("[flake8]", _FLAKE8),
    "setup.cfg": ("[flake8]", _FLAKE8),
    "tox.ini": ("[flake8]", _FLAKE8),
    ".isort.cfg": ("[settings]", "isort --check-only ."),
}
_TABLES = {
    "[tool.black]": "black --check .",
    "[tool.isort]": "isort --check-only .",
    "[tool.ruff.format]": "ruff format --check .",
}
_CONTINUES = "continue-on-error"


def read_makefile(tree: Tree) -> Iterator[Line]:
    name = next((each for each in _MAKEFILES if tree.text(each) is not None), "")
    text = tree.text(name) or "" if name else ""
    known = {name: value for name, value in _VARIABLE.findall(text) if len(value) < _LONGEST}
    values = {"PYTHON": "python", "PYTHON3": "python", **known}
    target = ""
    for line in re.sub(r"\\\r?\n\s*", " ", text).splitlines():
        if line.startswith("\t") and target:
            filled = line
            for _ in range(_NESTED if len(line) < _LONGEST else 0):
                if len(filled) > _LONGEST:
                    filled = UNKNOWN
                filled = _USE.sub(lambda match: values.get(match[1], UNKNOWN), filled)
            yield Line(filled.strip(), f"{name}: {target}", for_shell=True)
        elif found := _TARGET.match(line):
            target = found[1]


def read_workflows(tree: Tree) -> Iterator[Line]:
    """Yield the commands of GitHub's workflows and of .gitlab-ci.yml."""
    for path in tree.files():
        if fnmatch(path, ".github/workflows/*.y*ml"):
            yield from islice(_read_github(path, _parse_yaml(tree.text(path))), _MOST)
    jobs = _parse_yaml(tree.text(".gitlab-ci.yml"))
    lines = (
        Line(line, f".gitlab-ci.yml: {name}", for_shell=True)
        for name, job in islice(jobs.items(), _FEW)
        if isinstance(job, dict) and not job.get("allow_failure")
        for text in as_list(job.get("script"))[:_FEW]
        if isinstance(text, str)
        for line in join_lines(text)
    )
    yield from islice(lines, _MOST)


def _read_github(path: str, workflow: dict[str, Any]) -> Iterator[Line]:
    jobs = workflow.get("jobs")
    named = jobs.items() if isinstance(jobs, dict) else ()
    for name, job in islice(named, _FEW):
        steps = as_list(job.get("steps")) if isinstance(job, dict) else []
        for step in steps[:_FEW]:
            if not isinstance(step, dict) or step.get(_CONTINUES) or job.get(_CONTINUES):
                continue
            folder = step.get("working-directory", "")
            why = f"it is run in the folder {folder}" if folder else ""
            action = _ACTIONS.get(str(step.get("uses", "")).partition("@")[0], "")
            text = step.get("run", action)
            for line in join_lines(text if isinstance(text, str) else ""):
                yield Line(line, f"{path}: {name}", for_shell=True, why=why)


def read_pre_commit(tree: Tree) -> Iterator[Line]:
    """Yield what the hooks would run over all files."""
    path = ".pre-commit-config.yaml"
    config = _parse_yaml(tree.text(path))
    repos = as_list(config.get("repos"))
    hooks = (
        hook for repo in repos if isinstance(repo, dict) for hook in as_list(repo.get("hooks"))
    )
    for hook in islice(hooks, _MOST):
        if not isinstance(hook, dict) or not isinstance(hook.get("id"), str):
            continue
        name, entry = hook["id"], hook.get("entry")
        command = entry if isinstance(entry, str) else str(_HOOKS.get(name, name))
        arguments = [each for each in as_list(hook.get("args")) if isinstance(each, str)]
        text = " ".join((command, *map(shlex.quote, arguments)))
        given, why = None, ""
        if hook.get("pass_filenames") is not False:
            given = _read_hook_files(hook, config, command.split(" ")[0])
            why = "" if given else "which files it gets is not understood"
        yield Line(text, f"{path}: {name}", why=why, given=given)


def _read_hook_files(hook: dict[str, Any], config: dict[str, Any], tool: str) -> HookFiles | None:
    """Return the files that a hook gets; None if a pattern or type is not understood."""
    patterns = {
        name: tuple(each[name] for each in (config, hook) if isinstance(each.get(name), str))
        for name in ("files", "exclude")
    }
    named = [*as_list(hook.get("types")), *as_list(hook.get("types_or"))]
    types = [str(each) for each in named] or list(_TYPES_OF.get(tool, ANY))
    narrow = [each for each in types if each not in ANY]
    if any(each not in TYPES for each in narrow):
        return None
    suffixes = tuple(suffix for each in narrow for suffix in TYPES[each])
    given = HookFiles(patterns["files"], patterns["exclude"], suffixes)
    return None if given.unusable else given


def read_configured(tree: Tree) -> Iterator[Line]:
    """Yield how linters and formatters are usually run that the project only configures."""
    places = [(name, *each) for name, each in _CONFIGURED.items()]
    places += [("pyproject.toml", *each) for each in _TABLES.items()]
    for name, section, command in places:
        text = tree.text(name)
        if text is not None and section in map(str.strip, text.splitlines()):
            yield Line(command, f"configured in {name} {section}")


def read_package_scripts(tree: Tree) -> dict[str, str]:
    """Return the scripts of package.json by name."""
    try:
        manifest = parse_json(tree.text("package.json") or "{}", dict[str, object])
    except msgspec.DecodeError:
        return {}
    scripts = manifest.get("scripts")
    named: Iterable[tuple[object, object]] = scripts.items() if isinstance(scripts, dict) else ()
    return {str(name): text for name, text in named if isinstance(text, str)}


def _parse_yaml(text: str | None) -> dict[str, Any]:
    try:
        data = parse_yaml((text or "")[:_LARGEST])
    except Unparsable:
        return {}
    return data if isinstance(data, dict) else {}
