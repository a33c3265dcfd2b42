"""What a person does to a run from the screen: each asks what it must, calls the app, and says what
kept it from being done.
"""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from textual.screen import Screen

from punchlist.errors import PunchlistError
from punchlist.model.item.item import Item, Status
from punchlist.model.ledger.run import Run
from punchlist.tui.backend import Station
from punchlist.tui.dialogs import Choice, Sure, Words
from punchlist.tui.snapshot import Look
from punchlist.views.escaping import one_line

AnyScreen = Screen[Any]
OfItem = Callable[[AnyScreen, Station, Look, Item], Coroutine[Any, Any, None]]


def tell(screen: AnyScreen, text: str, *, bad: bool = False) -> None:
    screen.notify(
        one_line(text), severity="warning" if bad else "information", markup=False, timeout=8
    )


async def tried(screen: AnyScreen, work: Awaitable[object]) -> bool:
    """Whether it could be done; if not, the reason is shown."""
    try:
        await work
    except PunchlistError as error:
        tell(screen, f"{error}{f' ({error.hint})' if error.hint else ''}", bad=True)
        return False
    return True


async def answer(screen: AnyScreen, station: Station, look: Look) -> None:
    """Asks what the run asks, hands the answer in, and goes on with the run: if it was driven here,
    or if that is wanted.
    """
    run = look.run
    if run.ended or not run.waits:
        tell(screen, "the run asks nothing")
        return
    said = await _decided(screen, run) if run.waiting_for else await _told(screen, run)
    if not said or not await tried(screen, station.answer(run, said)):
        return
    if not station.load(run.id).waits:
        await _go_on(screen, station, run.id)


async def _decided(screen: AnyScreen, run: Run) -> str | None:
    question = run.waiting_for
    return (
        await screen.app.push_screen_wait(Choice(question.question, question.choices))
        if question
        else None
    )


async def _told(screen: AnyScreen, run: Run) -> dict[str, str]:
    """One after the other; whoever leaves in the middle has said what was said so far."""
    answers: dict[str, str] = {}
    asked = run.unanswered
    for number, doubt in enumerate(asked, 1):
        item = run.items.get(doubt.item)
        about = [doubt.context, f"Item {doubt.item}: {item.lead.title}" if item else ""]
        title = f"{doubt.id} ({number} of {len(asked)}): {doubt.question}"
        text = await screen.app.push_screen_wait(Words(title, [each for each in about if each]))
        if text is None:
            break
        answers[doubt.id] = text
    return answers


async def _go_on(screen: AnyScreen, station: Station, run: str) -> None:
    if station.driven(run):
        return
    if run in station.drove or await screen.app.push_screen_wait(
        Sure(
            "Go on with the run in this window?",
            f"No process drives it now. Later: punchlist resume {run}",
        )
    ):
        await tried(screen, station.resume(run))


async def resume(screen: AnyScreen, station: Station, look: Look) -> None:
    run = look.run
    if run.ended:
        tell(screen, "the run has ended: there is nothing to go on with")
    elif look.driver:
        tell(screen, f"{look.driver} drives it already")
    elif run.waits:
        await answer(screen, station, look)
    else:
        await tried(screen, station.resume(run.id))


async def stop(screen: AnyScreen, station: Station, look: Look) -> None:
    """Whoever drives it: another process is asked to, and obeys as it does Ctrl-C."""
    if not look.driver:
        tell(screen, "no process drives this run: there is nothing to stop")
        return
    where = "" if look.here else f"{look.driver.capitalize()} drives it, and is asked to.\n"
    if await screen.app.push_screen_wait(
        Sure("Stop the run?", f"{where}It stops between two events; r goes on with it.")
    ):
        await tried(screen, _stopped(screen, station, look.run.id))


async def _stopped(screen: AnyScreen, station: Station, run: str) -> None:
    if not await station.stop(run):
        tell(screen, "it was asked to stop, and has something to do whole first")


async def dismiss(screen: AnyScreen, station: Station, look: Look, item: Item) -> None:
    """An end on somebody's word, which later runs remember."""
    if item.status in {Status.FIXED, Status.CLAIMED}:
        tell(screen, f"item {item.number} is {item.status}: it cannot be dismissed")
        return
    about = [item.lead.title, "Later runs remember it, with the reason."]
    why = await screen.app.push_screen_wait(
        Words(
            f"Why does item {item.number} need no work?", about, "Enter: dismiss   Escape: leave it"
        )
    )
    if why and await tried(screen, station.dismiss_item(look.run.id, item.number, why)):
        tell(screen, f"item {item.number} is dismissed")


async def restore(screen: AnyScreen, station: Station, look: Look, item: Item) -> None:
    if await tried(screen, station.dismiss_item(look.run.id, item.number, "", undo=True)):
        tell(screen, f"item {item.number} is taken up again by later runs")
