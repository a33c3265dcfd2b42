"""Notices of forges about pull requests."""

from litestar import post
from msgspec import Struct

from punchlist.app.pulls.notices import NothingAsked
from punchlist.app.pulls.webhooks import HookRefused, check_hook, list_keys, read_notice
from punchlist.ports.serving.pull_notices import Taken
from punchlist.settings import load_settings
from punchlist.web.api.routes import OPEN, AnyRequest, App
from punchlist.web.problem import Refused

_HINT = "the guide on pull requests says how webhooks are set up"
_LATER = {"retry-after": "60"}


class HookAnswer(Struct, frozen=True, kw_only=True):
    """`queued`: the pull request is going to be answered, whatever happens to this server; if not,
    `why`.
    """

    queued: bool
    why: str = ""


@post("/hooks/{forge:str}", status_code=202, opt={"role": OPEN}, include_in_schema=False)
async def hook(app: App, request: AnyRequest, forge: str) -> HookAnswer:
    """Take a notice that is signed with the forge's secret: keep it, answer, and work later."""
    settings = load_settings(None, app.options.flags).settings.webhooks
    try:
        check_hook(forge, request.headers.get("content-length", ""), settings)
        body = await request.body()
        delivery, notice = read_notice(forge, dict(request.headers), body, settings)
    except HookRefused as refused:
        raise Refused(refused.status, str(refused), _HINT) from refused
    if isinstance(notice, NothingAsked):
        return HookAnswer(queued=False, why=notice.why)
    repository = await app.pulls.find_repository(notice)
    if repository is None:
        return HookAnswer(queued=False, why=f"{notice.repository} is not registered here")
    taken = await app.pulls.put(repository.id, notice, list_keys(forge, delivery, body))
    if taken is Taken.FULL:
        raise Refused(503, "too many pull requests wait", "deliver it again later", headers=_LATER)
    why = "it was delivered before" if taken is Taken.KNOWN else ""
    return HookAnswer(queued=taken is Taken.KEPT, why=why)
