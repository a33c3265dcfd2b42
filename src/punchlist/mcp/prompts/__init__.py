"""Prompts that a client offers its user: files with placeholders."""

from importlib.resources import files

from msgspec import Struct

from punchlist.errors import UsageError


class PromptOffer(Struct, frozen=True):
    name: str
    about: str
    takes: dict[str, str] = {}


PROMPTS = (
    PromptOffer(
        "work-through",
        "Work through the punch list of a run, as its fixer.",
        {"run": 'The run; "last" if it is left out.'},
    ),
    PromptOffer("review-and-fix", "Review this branch, and fix what is found, with proofs."),
)


def render_prompt(name: str, values: dict[str, str]) -> str:
    offered = next((each for each in PROMPTS if each.name == name), None)
    if offered is None:
        raise UsageError(
            f'no prompt is called "{name[:80]}"',
            hint=f"there are {', '.join(each.name for each in PROMPTS)}",
        )
    content = (files(__package__) / f"{name}.md").read_text("utf-8")
    for key in offered.takes:
        content = content.replace(f"{{{{ {key} }}}}", values.get(key, "") or "last")
    return content
