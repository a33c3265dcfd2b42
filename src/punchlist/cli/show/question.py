"""Ask a run's questions on the terminal."""

from collections.abc import Sequence

import click

from punchlist.cli.show.words import one_line
from punchlist.cli.terminal import note
from punchlist.model.ledger.run import Run

_LATER = "later"


def ask_choice(text: str, choices: Sequence[str]) -> str:
    chosen = click.prompt(text, type=click.Choice(choices), show_choices=False, err=True)
    return str(chosen)


def ask_questions(run: Run) -> str | dict[str, str] | None:
    """Return the user's answer; None leaves the run waiting."""
    question = run.waiting_for
    if question is not None:
        note(
            *map(one_line, question.question.splitlines()),
            *(f"  {key}) {one_line(text)}" for key, text in question.choices.items()),
        )
        choice = ask_choice(f"Your choice, or {_LATER}", [*question.choices, _LATER])
        return None if choice == _LATER else choice
    answers: dict[str, str] = {}
    for doubt in run.unanswered:
        note(f"{doubt.id}: {one_line(doubt.question)}")
        if doubt.context:
            note(f"  {one_line(doubt.context)}")
        text = str(click.prompt(f"Your answer, or {_LATER}", err=True)).strip()
        if text == _LATER:
            return answers or None
        answers[doubt.id] = text
    return answers
