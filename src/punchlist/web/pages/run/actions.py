"""What a person may do to a run from its pages: answer, cancel, resume, apply, dismiss. The use
cases are those of the API.
"""

from typing import Annotated, Any

from litestar import Response
from litestar.enums import RequestEncodingType
from litestar.params import Body
from msgspec import Meta, Struct

from punchlist.app.access import Role
from punchlist.app.after.apply import apply_branch
from punchlist.app.after.dismissals import Chosen
from punchlist.model.ledger.events import Dismissal
from punchlist.web.api.read import Number
from punchlist.web.api.routes import AtDesk
from punchlist.web.api.runs import RunId
from punchlist.web.pages.rendering import onward, shown
from punchlist.web.pages.routes import Asking, acting, visitor_of
from punchlist.web.pages.run.questions import answers
from punchlist.web.pages.words import number
from punchlist.web.problem import Refused

_LONGEST = 4000


class Applying(Struct, frozen=True, kw_only=True):
    """A box that is not ticked is not sent at all."""

    squash: str = ""


class Dismissing(Struct, frozen=True, kw_only=True):
    why: Annotated[str, Meta(max_length=_LONGEST)] = ""


@acting("/runs/{run_id:str}/answers")
async def answer(request: Asking, desk: AtDesk, run_id: RunId) -> Response[Any]:
    """A choice, or texts; then the run goes on, if nothing is left to be asked."""
    run = desk.run(run_id)
    form = {name: value for name, value in (await request.form()).items() if isinstance(value, str)}
    choice, texts = form.get("choice", "").strip(), answers(form)
    if any(len(text) > _LONGEST for text in texts.values()):
        raise Refused(
            400, f"an answer has {_LONGEST} characters at most", next_="say it in fewer words"
        )
    if not choice and not texts:
        raise Refused(
            400, "nothing was answered", next_="go back, and answer at least one of the questions"
        )
    seen = number(form["asked"]) if "asked" in form else 0
    run = await desk.answer(run, choice or texts, visitor_of(request).shown, seen)
    if not run.waits:
        await desk.resume_run(run.id)
    return onward(request, f"/runs/{run.id}")


@acting("/runs/{run_id:str}/cancel")
async def cancel(request: Asking, desk: AtDesk, run_id: RunId) -> Response[Any]:
    run = desk.run(run_id)
    if not desk.driven(run.id):
        raise Refused(
            409, "no process drives this run", next_="go back: the page says its state", run=run.id
        )
    await desk.stop(run, visitor_of(request).shown)
    return onward(request, f"/runs/{run.id}")


@acting("/runs/{run_id:str}/resume")
async def resume(request: Asking, desk: AtDesk, run_id: RunId) -> Response[Any]:
    run = desk.run(run_id)
    if run.ended:
        raise Refused(409, "this run has ended", next_="start another")
    await desk.resume_run(run.id)
    return onward(request, f"/runs/{run.id}")


@acting("/runs/{run_id:str}/apply", Role.ADMIN)
async def apply(
    request: Asking,
    desk: AtDesk,
    run_id: RunId,
    data: Annotated[Applying, Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Response[Any]:
    """The one that changes a checkout, and so the one that says what it did."""
    run = desk.run(run_id)
    repository = desk.home_of(run)
    async with desk.session_of(run.id) as session:
        message = await apply_branch(session, run.id, squash=bool(data.squash))
    return shown(request, "done.html", run=run, repository=repository, message=message)


@acting("/runs/{run_id:str}/items/{number:int}/dismiss")
async def dismiss(
    request: Asking,
    desk: AtDesk,
    run_id: RunId,
    number: Number,
    data: Annotated[Dismissing, Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Response[Any]:
    if not data.why.strip():
        raise Refused(
            400, "a dismissal needs a reason", next_="go back, and say why the item needs no work"
        )
    run = desk.run(run_id)
    await desk.dismiss(
        run.id,
        Chosen(numbers=(number,)),
        Dismissal(visitor_of(request).shown, data.why.strip(), run.id),
    )
    return onward(request, f"/runs/{run.id}/items/{number}")


@acting("/runs/{run_id:str}/items/{number:int}/restore")
async def restore(request: Asking, desk: AtDesk, run_id: RunId, number: Number) -> Response[Any]:
    """A dismissal is taken back."""
    run = desk.run(run_id)
    await desk.dismiss(
        run.id,
        Chosen(numbers=(number,)),
        Dismissal(visitor_of(request).shown, "", run.id),
        undo=True,
    )
    return onward(request, f"/runs/{run.id}/items/{number}")


ROUTES = (answer, cancel, resume, apply, dismiss, restore)
