"""Commands in noxfile.py, and in scripts of pyproject.toml and hatch.toml."""

import ast
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from punchlist.adapters.checks.project_files.command_lines import UNKNOWN, Line, join_lines
from punchlist.adapters.checks.project_files.tox_files import as_list, find_table
from punchlist.model.finding.guarded_text import find_toml
from punchlist.model.finding.python_source import parse_python
from punchlist.ports.tree import Tree

_ARGUMENTS = re.compile(r"\{args(?::([^{}]*))?\}")
_TASKS = (("poe", "tasks"), ("pdm", "scripts"), ("rye", "scripts"), ("taskipy", "tasks"))
_DEEPEST, _WIDEST = 6, 20
Names = Mapping[str, ast.expr]


def read_nox(tree: Tree) -> Iterator[Line]:
    """Yield what the sessions run, as far as it stands in the file."""
    module = parse_python(tree.text("noxfile.py") or "")
    body = module.body if module else []
    outer = _find_names(body)
    for function in (each for each in body if isinstance(each, ast.FunctionDef)):
        names = {**outer, **_find_names(list(ast.walk(function)))}
        for call in _find_runs(function):
            words = [word for each in call.args for word in _read_words(each, names)]
            yield Line(shlex.join(words), f"noxfile.py: session {function.name}")


def _find_runs(function: ast.FunctionDef) -> Iterator[ast.Call]:
    """Yield the calls of `session.run` whose exit code counts."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="session"), attr="run")):
                if not any(each.arg == "success_codes" for each in node.keywords):
                    yield node


def _find_names(nodes: list[Any]) -> dict[str, ast.expr]:
    """Return the values of simple assignments."""
    return {
        target.id: node.value
        for node in nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _read_words(node: ast.expr, names: Names, depth: int = 0) -> list[str]:
    """Return the words that an argument comes to when the user gives none."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.Attribute(attr="posargs"):
            return []
        case ast.Starred(value=value) if depth < _DEEPEST:
            parts = [value]
        case ast.List(elts=parts) | ast.Tuple(elts=parts) if depth < _DEEPEST:
            pass
        case ast.Name(id=name) if name in names and depth < _DEEPEST:
            parts = [names[name]]
        case ast.BoolOp(op=ast.Or(), values=values) if depth < _DEEPEST:
            parts = values[-1:]
        case _:
            return [UNKNOWN]
    if len(parts) > _WIDEST:
        return [UNKNOWN]
    return [word for part in parts for word in _read_words(part, names, depth + 1)]


def read_scripts(tree: Tree) -> Iterator[Line]:
    """Yield the scripts of hatch and of other tools that keep them in pyproject.toml."""
    project = find_toml(tree.text("pyproject.toml"))
    tool = find_table(project, "tool")
    hatch = {
        "pyproject.toml [tool.hatch.envs.": find_table(tool, "hatch", "envs"),
        "hatch.toml [envs.": find_table(find_toml(tree.text("hatch.toml")), "envs"),
    }
    for place, envs in hatch.items():
        for env in envs:
            scripts = find_table(envs, env, "scripts")
            yield from _read_script_table(scripts, f"{place}{env}.scripts]", for_shell=False)
    for path in _TASKS:
        origin = f"pyproject.toml [tool.{'.'.join(path)}]"
        yield from _read_script_table(find_table(tool, *path), origin, for_shell=True)


def _read_script_table(scripts: dict[str, Any], origin: str, *, for_shell: bool) -> Iterator[Line]:
    for name, value in scripts.items():
        script = value.get("cmd") or value.get("shell") if isinstance(value, dict) else value
        texts = [script] if isinstance(script, str) else as_list(script)
        for text in texts:
            if isinstance(text, str):
                filled = _ARGUMENTS.sub(lambda match: match[1] or "", text).replace("{root}", ".")
                filled = re.sub(r"\{[^{}]*\}", UNKNOWN, filled)
                for line in join_lines(filled):
                    yield Line(line, f"{origin} {name}", for_shell)
