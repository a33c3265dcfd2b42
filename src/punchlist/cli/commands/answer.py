"""punchlist answer: answer what a run waits for, and go on."""

from pathlib import Path
from typing import Any

import click
import msgspec

from punchlist.app.drive.answers import answer_run
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.run_driver import resume_and_show, show_result
from punchlist.cli.session import login_name, run_session
from punchlist.cli.terminal import print_result
from punchlist.errors import UsageError
from punchlist.model.finding.guarded_text import parse_json

_EXAMPLE = 'for example {"F003-q1": "return 404"}'


@click.command()
@options.required_run_argument
@click.argument("said", metavar="CHOICE|ID=TEXT...", nargs=-1)
@click.option(
    "--file",
    type=click.Path(exists=True, dir_okay=False),
    help="Answers from a JSON file: an object of ID and text.",
)
@click.option("--by", default="", help="Who answers. Default: your login name.")
@options.flag("--no-resume", help="Only record the answer.")
@options.check_option
@options.follow_option
@options.output_options
def command(run_id: str, said: tuple[str, ...], **chosen: Any) -> Exit:
    """Answer what a run waits for, and go on.

    `punchlist status` shows the questions. One with choices is answered by its letter; what agents
    want to know is answered by the question's id: punchlist answer last F003-q1="return 404".
    """
    output = options.parse_output(chosen)
    answer = _parse_answer(said, chosen["file"])

    async def work(session: Session) -> Exit:
        run = await answer_run(session, run_id, answer, chosen["by"] or login_name())
        if chosen["no_resume"] or run.waits:
            return show_result(run, output)
        if session.state.queue is not None:
            from punchlist.app.fleet.enqueue import hand_back

            if hand_back(session, run):
                print_result({"run": run.id}, [f"run {run.id} is queued"], json=output.json)
                return Exit.FINE
        return await resume_and_show(session, run, output)

    return run_session(work)


def _parse_answer(said: tuple[str, ...], file: str | None) -> str | dict[str, str]:
    if len(said) == 1 and "=" not in said[0] and not file:
        return said[0]
    pairs = dict(_read_answers(file)) if file else {}
    for each in said:
        name, found, text = each.partition("=")
        if not found:
            raise UsageError(f'"{each}" is no answer', hint='one letter for a choice, or ID="text"')
        pairs[name.strip()] = text
    if not pairs:
        hint = "`punchlist status` shows what the run waits for"
        raise UsageError("nothing was answered", hint=hint)
    return pairs


def _read_answers(file: str) -> dict[str, str]:
    """Read an object of texts, or a list of objects with question_id and answer."""
    try:
        data = parse_json(Path(file).read_bytes(), object)
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{file}: cannot be read: {error}", hint=_EXAMPLE) from error
    if isinstance(data, list):
        objects = [each for each in data if isinstance(each, dict)]
        data = {each.get("question_id", each.get("id")): each.get("answer") for each in objects}
    try:
        return msgspec.convert(data, dict[str, str])
    except msgspec.ValidationError:
        wrong = f"{file}: must be an object of question ids and texts"
        raise UsageError(wrong, hint=_EXAMPLE) from None
