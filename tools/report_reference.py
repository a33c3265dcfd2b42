"""Writes docs/reference/report-json.md from the structs of report.json; a test shows that the page
is up to date.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from enum import Enum
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Any, get_args, get_type_hints

import msgspec
from msgspec import Struct

from punchlist.views.report_document import SCHEMA, ReportDocument

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "report-json.md"
_HEAD = f"""# report.json

One JSON document per run, in UTF-8; `schema` is `{SCHEMA}`. Keys are only ever added within a schema. A key that is "left out
if empty" is not there when it has its default.
Text that is not Unicode (odd bytes of a file name or of code) travels as U+10F8FF and a private-use character after it.

`punchlist run --findings report.json` reads the findings of all items back.

"""


def page() -> str:
    return _HEAD + "\n".join(_section(each) for each in _structs(ReportDocument, {}))


def _structs(root: type[Struct], seen: dict[type[Struct], None]) -> list[type[Struct]]:
    """The struct and all that it holds, each once, in reading order."""
    if root not in seen:
        seen[root] = None
        for hint in get_type_hints(root).values():
            for part in _parts(hint):
                if isinstance(part, type) and issubclass(part, Struct):
                    _structs(part, seen)
    return list(seen)


def _parts(hint: Any) -> Iterator[Any]:
    yield hint
    for inner in get_args(hint):
        yield from _parts(inner)


def _section(struct: type[Struct]) -> str:
    hints, notes = get_type_hints(struct), _notes(struct)
    optional = struct.__struct_config__.omit_defaults
    lines = [f"## {struct.__name__}", "", *_about(struct), "| key | what | |", "|---|---|---|"]
    if struct.__struct_config__.tag is not None:
        lines.append(
            f'| `{struct.__struct_config__.tag_field}` | `"{struct.__struct_config__.tag}"` | |'
        )
    for field in msgspec.structs.fields(struct):
        note = notes.get(field.name, "")
        if optional and not field.required:
            note = f"{note} Left out if empty.".strip()
        lines.append(f"| `{field.encode_name}` | {_kind(hints[field.name])} | {note} |")
    return "\n".join((*lines, ""))


def _about(struct: type[Struct]) -> list[str]:
    about = struct.__dict__.get("__doc__")
    return [" ".join(about.split()), ""] if about else []


def _kind(hint: Any) -> str:
    inner = get_args(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return " ".join(f"`{member.value}`" for member in hint)
    if isinstance(hint, type) and issubclass(hint, Struct):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    if not inner:
        return {
            str: "text",
            int: "integer",
            float: "number",
            bool: "true or false",
            type(None): "null",
        }[hint]
    if type(None) in inner:
        return f"{_kind(inner[0])} or null"
    if len(inner) == 1 or inner[1] is ...:  # a set or a tuple
        return f"list of {_kind(inner[0])}"
    return f"object: {_kind(inner[0])} -> {_kind(inner[1])}"


def _notes(struct: type[Struct]) -> dict[str, str]:
    """The sentences under the fields of a struct and its bases."""
    notes: dict[str, str] = {}
    for each in reversed(
        [base for base in struct.__mro__ if base is not Struct and issubclass(base, Struct)]
    ):
        body = ast.parse(dedent(inspect.getsource(each))).body[0]
        parts = body.body if isinstance(body, ast.ClassDef) else []
        for above, below in pairwise(parts):
            match above, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(
                    value=ast.Constant(value=str(text))
                ):
                    notes[name] = " ".join(text.split())
    return notes


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), "utf-8")
    sys.stdout.write(f"wrote {PAGE}\n")
