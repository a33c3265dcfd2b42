"""Prompts: files with named values, rendered in a sandbox within a limit, with a word on what did
not fit.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from punchlist.errors import UsageError
from punchlist.roles.prompting.budget import Section, filled
from punchlist.roles.prompting.fencing import attribute, shortened

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import ImmutableSandboxedEnvironment

_FOLDER = Path(__file__).parents[1] / "prompts"
_NAMED = 12
_ROOM_TO_SAY = 2000
"""Characters kept for saying what was left out."""
VALUES = frozenset(
    "items diff conventions specification answers todos exhibits contested checks groups notes base"
    " branch paths folder codes cut rules".split()
)
"""What a prompt may ask for; what a role has nothing for is empty."""
_HINT = f"these are there: {', '.join(sorted(VALUES))}"


class Rendered(Struct, frozen=True):
    """A prompt; `left` has by section the names of what did not fit, and `cut` says so in words."""

    text: str
    left: dict[str, tuple[str, ...]]
    shown: dict[str, tuple[str, ...]]
    cut: tuple[str, ...]


@cache
def shipped(name: str) -> str:
    """A prompt that comes with punchlist."""
    return (_FOLDER / f"{name}.md").read_text("utf-8")


def names() -> tuple[str, ...]:
    """What prompts there are."""
    return tuple(
        sorted(path.stem for path in _FOLDER.glob("*.md") if not path.stem.startswith("_"))
    )


@cache
def _environment() -> "ImmutableSandboxedEnvironment":
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    # Prompts are Markdown for a model: escaping for HTML would change the code in them.
    return ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
    )


@cache
def _template(text: str) -> "Template":
    return _environment().from_string(text)


def checked(role: str, text: str) -> str:
    """The prompt, if it is a template that asks for nothing but what there is.
    Raises UsageError.
    """
    from jinja2 import TemplateError
    from jinja2.meta import find_undeclared_variables

    try:
        odd = find_undeclared_variables(_environment().parse(text)) - VALUES
        for value in ("", "x") if not odd else ():
            _render(text, dict.fromkeys(VALUES, value))
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise UsageError(f"the prompt of {role} cannot be rendered: {error}", hint=_HINT) from error
    if odd:
        raise UsageError(
            f"the prompt of {role} asks for {', '.join(sorted(odd))}, which there is not",
            hint=_HINT,
        )
    return text


def rendered(
    text: str, values: Mapping[str, str], sections: Sequence[Section], limit: int
) -> Rendered:
    """The prompt with its sections, each cut to what fits into the limit as a whole."""
    known = {**values, "rules": shipped("_data").strip()}
    every = {section.name: tuple(piece.name for piece in section.pieces) for section in sections}
    headings = {name: "-" for name, pieces in every.items() if pieces}
    frame = len(_render(text, {**known, **headings, **_codes(every), "cut": "-"}))
    found = filled(sections, limit - frame - _ROOM_TO_SAY)
    left = {name: each.left for name, each in found.items() if each.left}
    cut = tuple(_missing(name, names) for name, names in left.items())
    shown = {name: each.shown for name, each in found.items()}
    said = {name: each.text for name, each in found.items()}
    full = {
        **known,
        **said,
        **_codes(shown),
        "cut": shortened("\n".join(f"- {each}" for each in cut), _ROOM_TO_SAY - 100),
    }
    return Rendered(_render(text, full), left, shown, cut)


def _codes(shown: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The items that are asked about, by name."""
    return {"codes": ", ".join(shown.get("items", ()))}


def _render(text: str, values: Mapping[str, str]) -> str:
    return _template(text).render({**dict.fromkeys(VALUES, ""), **values}).strip() + "\n"


def _missing(section: str, names: Sequence[str]) -> str:
    each = tuple(dict.fromkeys(names))
    more = f" and {len(each) - _NAMED} more" if len(each) > _NAMED else ""
    return (
        f"{section}: {', '.join(attribute(name)[:80] for name in each[:_NAMED])}{more} did not fit"
    )
