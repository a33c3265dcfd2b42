"""Seeded bugs, one a text file: the code, its right and wrong fixes, tests that see it or not, and an oracle only the bench knows.

A file starts with `key: value` lines and the finding's description; then come sections after lines `--- NAME`:
`code` is the module with the bug; `fix`, `wrong` (two or more) and `special` (right for the visible test alone) are changes to
it, as lines taken out (-) and put in (+); `tests` are green with the bug, `covering` are red; `reproducer` is what
somebody else wrote from the finding alone; `other`, if there, is the right fix by another algorithm; `oracle` has lines `expression => expected`, `expression !! Error` and `> statement`.
"""

import ast
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

BUGS = Path(__file__).parent / "bugs"
PACKAGE = "toolbox"


@dataclass(frozen=True)
class Bug:
    name: str
    title: str
    category: str
    severity: str
    at: str
    description: str
    code: str
    fix: str
    wrong: tuple[str, ...]
    special: str
    tests: str
    covering: str
    reproducer: str
    oracle: str
    other: str = ""

    @property
    def path(self):
        return f"{PACKAGE}/{self.name}.py"

    @property
    def test_path(self):
        return f"tests/test_{self.name}.py"

    @cached_property
    def line(self):
        return next(
            number for number, line in enumerate(self.code.splitlines(), 1) if self.at in line
        )

    @cached_property
    def functions(self):
        """What the module defines for others, the first one first."""
        return tuple(
            node.name
            for node in ast.parse(self.code).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
        )

    def test_file(self, *, covered):
        return self.headed(self.tests + ("\n\n" + self.covering if covered else ""))

    def headed(self, tests):
        needed = "import pytest\n\n" if "pytest." in tests else ""
        return f"{needed}from {PACKAGE}.{self.name} import {', '.join(self.functions)}\n\n\n{tests}"

    def finding(self, line=-1):
        line = self.line if line == -1 else line
        return {
            "title": self.title,
            "description": self.description,
            "file": self.path,
            **({"line": line} if line else {}),
            "category": self.category,
            "severity": self.severity,
        }


def bugs(names=()):
    """All of them, or the named ones, in the order of their names."""
    found = [read(path) for path in sorted(BUGS.glob("*.txt"))]
    return [bug for bug in found if not names or bug.name in names]


def read(path):
    head, *rest = re.split(r"^--- (\w+)\n", path.read_text("utf-8"), flags=re.MULTILINE)
    fields, _, description = head.partition("\n\n")
    known = dict(line.split(": ", 1) for line in fields.splitlines())
    sections = {}
    for name, text in zip(rest[::2], rest[1::2], strict=True):
        sections.setdefault(name, []).append(text)
    code = sections["code"][0]
    changed = {
        name: tuple(patched(code, change, path.name) for change in sections[name])
        for name in ("fix", "wrong", "special", "other")
        if name in sections
    }
    return Bug(
        name=path.stem,
        **known,
        description=description.strip(),
        code=code,
        fix=changed["fix"][0],
        wrong=changed["wrong"],
        special=changed["special"][0],
        other=changed.get("other", ("",))[0],
        **{name: sections[name][0] for name in ("tests", "covering", "reproducer", "oracle")},
    )


def patched(code, change, where):
    """The code with each run of `-` lines, which must be there exactly once, replaced by the `+` lines after it."""
    for out, put in _hunks(change):
        if code.count(out) != 1:
            raise ValueError(f"{where}: there {code.count(out)} times, not once: {out!r}")
        code = code.replace(out, put)
    return code


def _hunks(change):
    out, put = "", ""
    for line in change.splitlines():
        if line.startswith("-"):
            if put:
                yield out, put
                out, put = "", ""
            out += line[1:] + "\n"
        else:
            put += line[1:] + "\n"
    yield out, put
