"""Forms that act on a run: answer, cancel, resume, apply, discard, dismiss, restore."""

from typing import Annotated, Any

from litestar import Response
from litestar.params import URLEncodedBody
from msgspec import Meta, Struct

from punchlist.app.access import Role
from punchlist.app.after.apply import apply_branch, discard_branch
from punchlist.app.after.dismissals import ItemSelection
from punchlist.model.ledger.earlier_runs import Dismissal
from punchlist.web.api.read import Number
from punchlist.web.api.routes import AnyRequest, App
from punchlist.web.api.runs import RunId
from punchlist.web.pages.rendering import redirect, render_page
from punchlist.web.pages.routes import form_page, get_visitor
from punchlist.web.pages.run.board import parse_filters
from punchlist.web.pages.run.questions import parse_answers
from punchlist.web.pages.run.table import parse_layout, select_ticked
from punchlist.web.pages.words import link, parse_page
from punchlist.web.problem import Refused
from punchlist.web.state import WebSession

_LONGEST = 4000


class ApplyForm(Struct, frozen=True, kw_only=True):
    """Browsers leave out a box that is not ticked."""

    squash: str = ""


class DismissForm(Struct, frozen=True, kw_only=True):
    why: Annotated[str, Meta(max_length=_LONGEST)] = ""


@form_page("/runs/{run_id:str}/answers")
async def answer(request: AnyRequest, app: App, run_id: RunId) -> Response[Any]:
    """Record a choice or texts; resume the run if no question is left."""
    run = app.find_run(run_id)
    form = {name: value for name, value in (await request.form()).items() if isinstance(value, str)}
    choice, texts = form.get("choice", "").strip(), parse_answers(form)
    if any(len(text) > _LONGEST for text in texts.values()):
        raise Refused(400, f"an answer has {_LONGEST} characters at most", "say it in fewer words")
    if not choice and not texts:
        raise Refused(
            400, "nothing was answered", "go back, and answer at least one of the questions"
        )
    seen = parse_page(form["asked"]) if "asked" in form else 0
    run = await app.answer_run(run, choice or texts, get_visitor(request).shown, seen)
    if not run.waits:
        await app.resume_run(run.id)
    return redirect(request, f"/runs/{run.id}")


@form_page("/runs/{run_id:str}/cancel")
async def cancel(request: AnyRequest, app: App, run_id: RunId) -> Response[Any]:
    run = app.find_run(run_id)
    if not app.is_driven(run.id):
        raise Refused(
            409, "no process drives this run", "go back: the page says its state", run=run.id
        )
    await app.stop(run, get_visitor(request).shown)
    return redirect(request, f"/runs/{run.id}")


@form_page("/runs/{run_id:str}/resume")
async def resume(request: AnyRequest, app: App, run_id: RunId) -> Response[Any]:
    run = app.find_run(run_id)
    if run.ended:
        raise Refused(409, "this run has ended", "start another")
    await app.resume_run(run.id)
    return redirect(request, f"/runs/{run.id}")


@form_page("/runs/{run_id:str}/apply", Role.ADMIN)
async def apply(
    request: AnyRequest, app: App, run_id: RunId, data: URLEncodedBody[ApplyForm]
) -> Response[Any]:
    """Merge the fixes into the user's branch, and show what was done."""
    run = app.find_run(run_id)
    repository = app.repository_of(run)
    async with app.session_of(run.id) as session:
        message = await apply_branch(session, run.id, squash=bool(data.squash))
    return render_page(request, "done.html", run=run, repository=repository, message=message)


@form_page("/runs/{run_id:str}/discard", Role.ADMIN)
async def discard(request: AnyRequest, app: App, run_id: RunId) -> Response[Any]:
    """Drop the run's branch and work trees, and show what was done."""
    run = app.find_run(run_id)
    repository = app.repository_of(run)
    async with app.session_of(run.id) as session:
        message = await discard_branch(session, run.id)
    return render_page(request, "done.html", run=run, repository=repository, message=message)


@form_page("/runs/{run_id:str}/items/{number:int}/dismiss")
async def dismiss(
    request: AnyRequest, app: App, run_id: RunId, number: Number, data: URLEncodedBody[DismissForm]
) -> Response[Any]:
    if not data.why.strip():
        raise Refused(
            400, "a dismissal needs a reason", "go back, and say why the item needs no work"
        )
    return await _dismiss(request, app, run_id, number, data.why.strip())


@form_page("/runs/{run_id:str}/items/{number:int}/restore")
async def restore(request: AnyRequest, app: App, run_id: RunId, number: Number) -> Response[Any]:
    return await _dismiss(request, app, run_id, number)


@form_page("/runs/{run_id:str}/dismiss")
async def dismiss_ticked(request: AnyRequest, app: App, run_id: RunId) -> Response[Any]:
    """Dismiss all ticked items for one reason; each of them records it with the user's name."""
    run, query = app.find_run(run_id), dict(request.query_params)
    form = await request.form()
    why = str(form.get("why") or "").strip()
    if not why or len(why) > _LONGEST:
        raise Refused(
            400,
            f"a dismissal needs a reason, of {_LONGEST} characters at most",
            "go back, and say why these items need no work",
        )
    layout = parse_layout(query, "", ended=True)
    numbers = select_ticked(run, form, parse_filters(query), layout.by)
    dismissal = Dismissal(get_visitor(request).shown, why, run.id)
    await app.dismiss(run.id, ItemSelection(numbers=numbers), dismissal)
    return redirect(request, link(f"/runs/{run.id}", **query) + "#board-title")


async def _dismiss(
    request: AnyRequest, app: WebSession, run_id: str, number: int, why: str = ""
) -> Response[Any]:
    """Dismiss an item for a reason; without one take its dismissal back."""
    run = app.find_run(run_id)
    chosen = ItemSelection(numbers=(number,))
    dismissal = Dismissal(get_visitor(request).shown, why, run.id)
    await app.dismiss(run.id, chosen, dismissal, undo=not why)
    return redirect(request, f"/runs/{run.id}/items/{number}")


ROUTES = (answer, cancel, resume, apply, discard, dismiss, restore, dismiss_ticked)
