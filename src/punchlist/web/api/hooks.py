"""Notices of forges about pull requests."""

from litestar import post
from msgspec import Struct

from punchlist.app.pulls.pull_queue import find_noticed
from punchlist.app.pulls.webhooks import HookRefused, claim_delivery, read_notice
from punchlist.settings import load_settings
from punchlist.web.api.routes import OPEN, AnyRequest, App
from punchlist.web.problem import Refused

_HINT = "the guide on CI says how webhooks are set up"


class HookAnswer(Struct, frozen=True, kw_only=True):
    """`queued`: the pull request is going to be answered; if not, `why`."""

    queued: bool
    why: str = ""


@post("/hooks/{forge:str}", status_code=202, opt={"role": OPEN}, include_in_schema=False)
async def hook(app: App, request: AnyRequest, forge: str) -> HookAnswer:
    """Take a notice that is signed with the forge's secret: answer at once, work later."""
    settings = load_settings(None, app.options.flags).settings.webhooks
    body = await request.body()
    try:
        delivery, notice = read_notice(forge, dict(request.headers), body, settings)
    except HookRefused as refused:
        raise Refused(refused.status, str(refused), _HINT) from refused
    if not notice.number:
        return HookAnswer(queued=False, why=notice.why)
    if not claim_delivery(app.session.state.keys, forge, delivery, body):
        return HookAnswer(queued=False, why="it was delivered before")
    repository = await find_noticed(app, notice)
    if repository is None:
        return HookAnswer(queued=False, why=f"{notice.repository} is not registered here")
    if not app.pulls.put(repository, notice):
        raise Refused(503, "too many pull requests wait", "deliver it again later")
    return HookAnswer(queued=True)
