"""Actions of the user on a run: ask for input, call the app, show errors."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from textual.screen import Screen

from punchlist.errors import PunchlistError
from punchlist.model.item.item import Item, Status
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.tui.backend import Backend, Snapshot
from punchlist.tui.dialogs import ChoiceDialog, ConfirmDialog, TextDialog
from punchlist.views.escaping import one_line
from punchlist.views.tables.item_table import can_dismiss

AnyScreen = Screen[Any]
OfRun = Callable[[AnyScreen, Backend, Snapshot], Coroutine[Any, Any, None]]
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


async def answer_run(screen: AnyScreen, backend: Backend, look: Snapshot) -> None:
    """Ask the run's open questions and record the answers; resume it if it was driven here."""
    run = look.run
    if run.ended or not run.waits:
        notify(screen, "the run asks nothing")
        return
    said = await _ask_choice(screen, run) if run.waiting_for else await _ask_texts(screen, run)
    if not said or not await try_action(screen, backend.record_answer(run, said)):
        return
    if not backend.load(run.id).waits:
        await _offer_resume(screen, backend, run.id)


async def _ask_choice(screen: AnyScreen, run: Run) -> str | None:
    if (asked := run.waiting_for) is None:
        return None
    return await screen.app.push_screen_wait(ChoiceDialog(asked.question, asked.choices))


async def _ask_texts(screen: AnyScreen, run: Run) -> dict[str, str]:
    """Ask one question after the other; on Escape return the answers so far."""
    answers: dict[str, str] = {}
    asked = run.unanswered
    for number, doubt in enumerate(asked, 1):
        about = [doubt.context] if doubt.context else []
        if item := run.items.get(doubt.item):
            about.append(f"Item {doubt.item}: {item.lead.title}")
        title = f"{doubt.id} ({number} of {len(asked)}): {doubt.question}"
        text = await screen.app.push_screen_wait(TextDialog(title, about))
        if text is None:
            break
        answers[doubt.id] = text
    return answers


async def _offer_resume(screen: AnyScreen, backend: Backend, run: str) -> None:
    if backend.is_driven(run):
        return
    why = f"No process drives it now. Later: punchlist resume {run}"
    dialog = ConfirmDialog("Go on with the run in this window?", why)
    if run in backend.drove or await screen.app.push_screen_wait(dialog):
        await try_action(screen, backend.resume(run))


async def resume_run(screen: AnyScreen, backend: Backend, look: Snapshot) -> None:
    run = look.run
    if run.ended:
        notify(screen, "the run has ended: there is nothing to go on with")
    elif look.driver:
        notify(screen, f"{look.driver} drives it already")
    elif run.waits:
        await answer_run(screen, backend, look)
    else:
        await try_action(screen, backend.resume(run.id))


async def stop_run(screen: AnyScreen, backend: Backend, look: Snapshot) -> None:
    """Stop the run; if another process drives it, ask that process to stop."""
    if not look.driver:
        notify(screen, "no process drives this run: there is nothing to stop")
        return
    where = "" if look.here else f"{look.driver.capitalize()} drives it, and is asked to.\n"
    why = f"{where}It stops between two events; r goes on with it."
    if await screen.app.push_screen_wait(ConfirmDialog("Stop the run?", why)):
        await try_action(screen, _request_stop(screen, backend, look.run.id))


async def _request_stop(screen: AnyScreen, backend: Backend, run: str) -> None:
    if not await backend.stop(run):
        notify(screen, "it was asked to stop, and has something to do whole first")


async def apply_run(screen: AnyScreen, backend: Backend, look: Snapshot) -> None:
    """Merge the fixes into the branch that is checked out, if the user confirms it."""
    if not look.run.landing.landed:
        notify(screen, "no fix has landed: there is nothing to apply", bad=True)
        return
    commits = pluralize(len(look.run.landing.commits), "commit")
    why = "This changes your checkout; all else in this window leaves it as it is."
    dialog = ConfirmDialog(f"Merge {commits} into the branch that is checked out?", why)
    if await screen.app.push_screen_wait(dialog):
        await _show_done(screen, backend.apply(look.run.id))


async def discard_run(screen: AnyScreen, backend: Backend, look: Snapshot) -> None:
    """Drop the run's branch and work trees, if the user confirms it."""
    why = "Its ledger and its reports stay."
    dialog = ConfirmDialog(f"Drop the branch {look.run.landing.branch} and its fixes?", why)
    if await screen.app.push_screen_wait(dialog):
        await _show_done(screen, backend.discard(look.run.id))


async def _show_done(screen: AnyScreen, work: Awaitable[str]) -> None:
    try:
        notify(screen, await work)
    except PunchlistError as error:
        notify(screen, f"{error}{f' ({error.hint})' if error.hint else ''}", bad=True)


async def dismiss_items(
    screen: AnyScreen, backend: Backend, look: Snapshot, items: Sequence[Item]
) -> None:
    """Dismiss all of these that can be, for one reason."""
    numbers = [item.number for item in items if can_dismiss(item)]
    if not numbers:
        notify(screen, "none of the items shown can be dismissed")
        return
    which = pluralize(len(numbers), "item")
    about = [", ".join(map(str, numbers)), "Later runs remember it, with the reason."]
    question = f"Why do all {which} shown need no work?"
    dialog = TextDialog(question, about, "Enter: dismiss all   Escape: leave them")
    why = await screen.app.push_screen_wait(dialog)
    if why and await try_action(screen, backend.dismiss_items(look.run.id, numbers, why)):
        notify(screen, f"{which} dismissed")


async def dismiss_item(screen: AnyScreen, backend: Backend, look: Snapshot, item: Item) -> None:
    if item.status in {Status.FIXED, Status.CLAIMED}:
        notify(screen, f"item {item.number} is {item.status}: it cannot be dismissed")
        return
    question = f"Why does item {item.number} need no work?"
    about = [item.lead.title, "Later runs remember it, with the reason."]
    dialog = TextDialog(question, about, "Enter: dismiss   Escape: leave it")
    why = await screen.app.push_screen_wait(dialog)
    if why and await try_action(screen, backend.dismiss_item(look.run.id, item.number, why)):
        notify(screen, f"item {item.number} is dismissed")


async def restore_item(screen: AnyScreen, backend: Backend, look: Snapshot, item: Item) -> None:
    if await try_action(screen, backend.dismiss_item(look.run.id, item.number, "", undo=True)):
        notify(screen, f"item {item.number} is taken up again by later runs")
