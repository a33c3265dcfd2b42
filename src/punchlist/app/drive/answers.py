"""Check and record a user's answer to a run that waits."""

import time
from collections.abc import Mapping

from punchlist.app.session import Session
from punchlist.errors import UsageError
from punchlist.model.ledger.events import Answered
from punchlist.model.ledger.fold import fold
from punchlist.model.ledger.run import Run


def waiting_error(run: Run) -> UsageError:
    if run.waiting_for is not None:
        question, answer = run.waiting_for.question, "|".join(run.waiting_for.choices)
    else:
        first, more = run.unanswered[0], len(run.unanswered) - 1
        question = f"{first.id}: {first.question}" + (f" (and {more} more)" if more else "")
        answer = f'{first.id}="..."'
    return UsageError(
        f"run {run.id} waits for an answer: {question}", hint=f"punchlist answer {run.id} {answer}"
    )


def has_ended(run: Run) -> bool:
    """Return whether the run has ended. Raise UsageError if it waits for an answer."""
    if run.waits and not run.ended:
        raise waiting_error(run)
    return bool(run.ended)


def make_answer(
    run: Run, said: str | Mapping[str, str], by: str, asked: int = 0
) -> tuple[str, str, Answered]:
    """Return place, key and event of an answer. `asked`: how many questions there were when the
    user looked; a choice for an older question is refused.
    """
    if isinstance(said, str):
        if asked and len(run.asking.questions) > asked:
            now = f"run {run.id} asks something else by now"
            raise UsageError(now, hint="read the question, and answer again")
        return _make_choice(run, said, by)
    unknown = [name for name in said if name not in run.asking.doubts]
    if unknown:
        known = ", ".join(doubt.id for doubt in run.unanswered) or "none"
        raise UsageError(
            f'run {run.id} has no question "{unknown[0]}"', hint=f"open questions: {known}"
        )
    if not run.unanswered:  # it was answered meanwhile, and the run went on with that
        raise _no_question(run)
    texts = {name: text.strip() for name, text in said.items()}
    empty = [name for name, text in texts.items() if not text]
    if empty or not texts:
        raise UsageError(
            f"{empty[0] if empty else 'an answer'} must not be empty",
            hint='say "as you think best" to leave it open',
        )
    return "people", f"answers {run.seq}", Answered(choice="", by=by, answers=texts)


def _make_choice(run: Run, choice: str, by: str) -> tuple[str, str, Answered]:
    question = run.waiting_for
    if question is None:
        raise waiting_error(run) if run.waits else _no_question(run)
    if choice not in question.choices:
        known = ", ".join(f"{key} ({text})" for key, text in question.choices.items())
        raise UsageError(
            f'"{choice}" is no answer to: {question.question}', hint=f"the answers are {known}"
        )
    asked = sum(each.place == question.place for each in run.asking.questions)
    key = "answer" if asked == 1 else f"answer {asked}"
    return question.place, key, Answered(choice=choice, by=by)


def _no_question(run: Run) -> UsageError:
    return UsageError(f"run {run.id} has no open question", hint=f"punchlist status {run.id}")


async def answer_run(
    session: Session, run_id: str, said: str | Mapping[str, str], by: str, *, asked: int = 0
) -> Run:
    """Record the choice that answers the run's question, or texts by the ids of the agents'
    questions. `asked`: see `make_answer`.
    """
    found = session.find(run_id)
    with session.state.leases.acquire(found):
        run = session.load(found)
        place, key, event = make_answer(run, said, by, asked)
        return fold(run, session.store.append(run.id, place, key, event, time.time()))
