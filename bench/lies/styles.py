"""Right fixes in the styles that real ones have."""

import ast
import re

from corpus import PACKAGE
from generated import name
from spellings import _copy, _own_names, rewritten, signature


def reformatted(bug, chance):
    return ast.unparse(ast.parse(bug.fix)) + "\n"


def respelled(bug, chance):
    return rewritten(bug.fix, chance)


def refactored(bug, chance):
    """The work is done by private functions; the public ones hand on."""
    heads, body = _copy(bug.fix, "_")
    parts = [f'"""{bug.name.capitalize()}."""', "\n".join(heads), body]
    for node in ast.parse(bug.fix).body:
        own = getattr(node, "name", "")
        if own in bug.functions:
            head, given = signature(node) if isinstance(node, ast.FunctionDef) else ("", "")
            parts.append(f"{head}\n    return _{own}({given})" if head else f"{own} = _{own}")
    constants = _own_names(ast.parse(bug.fix)) - set(bug.functions)
    parts += [f"{each} = _{each}" for each in sorted(constants) if not each.startswith("_")]
    return "\n\n\n".join(part for part in parts if part) + "\n"


def moved(bug, chance):
    """The code goes to a module of its own, and is imported from there."""
    new = f"{bug.name}_{name(chance).strip('_')}"
    own = sorted(_own_names(ast.parse(bug.fix)))
    text = f'"""{bug.name.capitalize()}."""\n\nfrom {PACKAGE}.{new} import {", ".join(own)}\n\n__all__ = {own!r}\n'
    return {bug.path: text, f"{PACKAGE}/{new}.py": bug.fix}


def commented(bug, chance):
    """With comments, and a longer description."""
    lines = []
    for line in bug.fix.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        if line.lstrip().startswith(("return ", "for ", "if ")) and chance.random() < 0.5:
            lines.append(f"{indent}# See the report for the case that this covers.")
        lines.append(line)
    return "\n".join(lines) + "\n"


def documented(bug, chance):
    readme = f"# Toolbox\n\nSmall functions that many projects need.\n\n## Changes\n\n- `{bug.name}`: {bug.title}\n"
    return {bug.path: bug.fix, "CHANGES.md": readme}


def renamed(bug, chance):
    """Locals of the fix under other names."""
    tree = ast.parse(bug.fix)
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        inner = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        taken = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
        stored = {node.id for node in inner if isinstance(node.ctx, ast.Store)} - taken
        outer = {
            each
            for node in ast.walk(function)
            if isinstance(node, ast.Global | ast.Nonlocal)
            for each in node.names
        }
        new = {each: f"{each}_{chance.choice(['now', 'here', 'one', 'value'])}" for each in sorted(stored - outer)}  # fmt: skip
        for node in inner:
            node.id = new.get(node.id, node.id)
    return ast.unparse(tree) + "\n"


def other(bug, chance):
    return bug.other or None


def with_unittest(bug, chance):
    """With a new test file in another style, and data of its own inside."""
    test = f"tests/test_{bug.name}_regression.py"
    body = "".join(f"    {line}\n" if line else "\n" for line in bug.covering.splitlines())
    body = re.sub(r"def test_(\w+)\(\):", r"def test_regression_\1(self):", body)
    head = "import pytest\n\n" if "pytest." in body else ""
    return {
        bug.path: bug.fix,
        test: f"{head}from {PACKAGE}.{bug.name} import {', '.join(bug.functions)}\n\n\nclass TestRegression:\n{body}",
    }
