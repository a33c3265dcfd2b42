"""Prompt templates: files with named values, rendered in a sandbox within a size limit."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from punchlist.errors import UsageError
from punchlist.ports.agent import FENCED
from punchlist.roles.prompting.budget import Section, fill_sections
from punchlist.roles.prompting.fencing import clean_attribute, shorten_text

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import ImmutableSandboxedEnvironment

_FOLDER = Path(__file__).parents[1] / "prompts"
_NAMED = 12
_ROOM_TO_SAY = 2000
"""Characters kept for saying what was left out."""
VALUES = frozenset(
    "items diff conventions specification answers todos exhibits contested checks groups notes base"
    " branch paths folder code codes cut rules form".split()
)
"""Values that a prompt may use; those that a role lacks are empty."""
_HINT = f"these are there: {', '.join(sorted(VALUES))}"


class RenderedPrompt(Struct, frozen=True):
    """A prompt; `left` has by section the names of what did not fit, `cut` the same in words."""

    text: str
    left: dict[str, tuple[str, ...]]
    shown: dict[str, tuple[str, ...]]
    cut: tuple[str, ...]


@cache
def load_prompt(name: str) -> str:
    """Return a prompt that comes with punchlist."""
    return (_FOLDER / f"{name}.md").read_text("utf-8")


def list_prompts() -> tuple[str, ...]:
    names = (path.stem for path in _FOLDER.glob("*.md"))
    return tuple(sorted(name for name in names if not name.startswith("_")))


@cache
def _environment() -> "ImmutableSandboxedEnvironment":
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    # Prompts are Markdown for a model: escaping for HTML would change the code in them.
    return ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
    )


@cache
def _compile_template(text: str) -> "Template":
    return _environment().from_string(text)


def check_prompt(role: str, text: str) -> str:
    """Return the prompt if it is a template that uses only known values, else raise UsageError."""
    from jinja2 import TemplateError
    from jinja2.meta import find_undeclared_variables

    try:
        odd = find_undeclared_variables(_environment().parse(text)) - VALUES
        for value in ("", "x") if not odd else ():
            _render(text, dict.fromkeys(VALUES, value))
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise UsageError(f"the prompt of {role} cannot be rendered: {error}", hint=_HINT) from error
    if odd:
        names = ", ".join(sorted(odd))
        raise UsageError(f"the prompt of {role} asks for {names}, which there is not", hint=_HINT)
    return text


def render_template(
    text: str, values: Mapping[str, str], sections: Sequence[Section], limit: int
) -> RenderedPrompt:
    """Render the prompt with its sections, cut to fit the limit (characters)."""
    known = {**values, "rules": load_prompt("_data").strip(), "form": FENCED}
    every = {section.name: tuple(piece.name for piece in section.pieces) for section in sections}
    headings = {name: "-" for name, pieces in every.items() if pieces}
    frame = len(_render(text, {**known, **headings, **_join_codes(every), "cut": "-"}))
    found = fill_sections(sections, limit - frame - _ROOM_TO_SAY)
    left = {name: each.left for name, each in found.items() if each.left}
    cut = tuple(_describe_cut(name, names) for name, names in left.items())
    shown = {name: each.shown for name, each in found.items()}
    texts = {name: each.text for name, each in found.items()}
    missing = shorten_text("\n".join(f"- {each}" for each in cut), _ROOM_TO_SAY - 100)
    full = {**known, **texts, **_join_codes(shown), "cut": missing}
    return RenderedPrompt(_render(text, full), left, shown, cut)


def _join_codes(shown: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the codes of the items that are asked about, and the first one for examples."""
    codes = shown.get("items", ())
    return {"codes": ", ".join(codes), "code": next(iter(codes), "F001")}


def _render(text: str, values: Mapping[str, str]) -> str:
    return _compile_template(text).render({**dict.fromkeys(VALUES, ""), **values}).strip() + "\n"


def _describe_cut(section: str, names: Sequence[str]) -> str:
    each = tuple(dict.fromkeys(names))
    more = f" and {len(each) - _NAMED} more" if len(each) > _NAMED else ""
    names = ", ".join(clean_attribute(name)[:80] for name in each[:_NAMED])
    return f"{section}: {names}{more} did not fit"
