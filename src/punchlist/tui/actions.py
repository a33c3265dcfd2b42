"""Actions of the user on a run: ask for input, call the app, show errors."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from textual.screen import Screen

from punchlist.errors import PunchlistError
from punchlist.model.item.item import Item, Status
from punchlist.model.ledger.run import Run
from punchlist.tui.backend import Backend
from punchlist.tui.dialogs import ChoiceDialog, ConfirmDialog, TextDialog
from punchlist.tui.snapshot import Snapshot
from punchlist.views.escaping import one_line

AnyScreen = Screen[Any]
OfItem = Callable[[AnyScreen, Backend, Snapshot, Item], Coroutine[Any, Any, None]]


def notify(screen: AnyScreen, text: str, *, bad: bool = False) -> None:
    screen.notify(
        one_line(text), severity="warning" if bad else "information", markup=False, timeout=8
    )


async def try_action(screen: AnyScreen, work: Awaitable[object]) -> bool:
    """Await `work`; on PunchlistError show the reason and return False."""
    try:
        await work
    except PunchlistError as error:
        notify(screen, f"{error}{f' ({error.hint})' if error.hint else ''}", bad=True)
        return False
    return True


async def answer_run(screen: AnyScreen, station: Backend, look: Snapshot) -> None:
    """Ask the user the run's open questions and record the answers. Then resume the run, if it was
    driven here or the user wants it.
    """
    run = look.run
    if run.ended or not run.waits:
        notify(screen, "the run asks nothing")
        return
    said = await _ask_choice(screen, run) if run.waiting_for else await _ask_texts(screen, run)
    if not said or not await try_action(screen, station.record_answer(run, said)):
        return
    if not station.load(run.id).waits:
        await _offer_resume(screen, station, run.id)


async def _ask_choice(screen: AnyScreen, run: Run) -> str | None:
    question = run.waiting_for
    return (
        await screen.app.push_screen_wait(ChoiceDialog(question.question, question.choices))
        if question
        else None
    )


async def _ask_texts(screen: AnyScreen, run: Run) -> dict[str, str]:
    """Ask one question after the other; on Escape return the answers so far."""
    answers: dict[str, str] = {}
    asked = run.unanswered
    for number, doubt in enumerate(asked, 1):
        item = run.items.get(doubt.item)
        about = [doubt.context, f"Item {doubt.item}: {item.lead.title}" if item else ""]
        title = f"{doubt.id} ({number} of {len(asked)}): {doubt.question}"
        text = await screen.app.push_screen_wait(
            TextDialog(title, [each for each in about if each])
        )
        if text is None:
            break
        answers[doubt.id] = text
    return answers


async def _offer_resume(screen: AnyScreen, station: Backend, run: str) -> None:
    if station.is_driven(run):
        return
    if run in station.drove or await screen.app.push_screen_wait(
        ConfirmDialog(
            "Go on with the run in this window?",
            f"No process drives it now. Later: punchlist resume {run}",
        )
    ):
        await try_action(screen, station.resume(run))


async def resume_run(screen: AnyScreen, station: Backend, look: Snapshot) -> None:
    run = look.run
    if run.ended:
        notify(screen, "the run has ended: there is nothing to go on with")
    elif look.driver:
        notify(screen, f"{look.driver} drives it already")
    elif run.waits:
        await answer_run(screen, station, look)
    else:
        await try_action(screen, station.resume(run.id))


async def stop_run(screen: AnyScreen, station: Backend, look: Snapshot) -> None:
    """Stop the run; if another process drives it, ask that process to stop."""
    if not look.driver:
        notify(screen, "no process drives this run: there is nothing to stop")
        return
    where = "" if look.here else f"{look.driver.capitalize()} drives it, and is asked to.\n"
    if await screen.app.push_screen_wait(
        ConfirmDialog("Stop the run?", f"{where}It stops between two events; r goes on with it.")
    ):
        await try_action(screen, _request_stop(screen, station, look.run.id))


async def _request_stop(screen: AnyScreen, station: Backend, run: str) -> None:
    if not await station.stop(run):
        notify(screen, "it was asked to stop, and has something to do whole first")


async def dismiss_item(screen: AnyScreen, station: Backend, look: Snapshot, item: Item) -> None:
    """Dismiss the item with the user's reason; later runs remember it."""
    if item.status in {Status.FIXED, Status.CLAIMED}:
        notify(screen, f"item {item.number} is {item.status}: it cannot be dismissed")
        return
    about = [item.lead.title, "Later runs remember it, with the reason."]
    why = await screen.app.push_screen_wait(
        TextDialog(
            f"Why does item {item.number} need no work?", about, "Enter: dismiss   Escape: leave it"
        )
    )
    if why and await try_action(screen, station.dismiss_item(look.run.id, item.number, why)):
        notify(screen, f"item {item.number} is dismissed")


async def restore_item(screen: AnyScreen, station: Backend, look: Snapshot, item: Item) -> None:
    if await try_action(screen, station.dismiss_item(look.run.id, item.number, "", undo=True)):
        notify(screen, f"item {item.number} is taken up again by later runs")
