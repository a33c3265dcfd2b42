"""Our check of a commit: a commit status, which always has its conclusion."""

from msgspec import Struct

from punchlist.adapters.forges.gitlab.api import MergeRequestsApi
from punchlist.adapters.rest.client import RequestRefused, ResponseLost
from punchlist.adapters.rest.retry import RetryBudget
from punchlist.errors import ToolError
from punchlist.views.pulls.board import CheckResult

STATUS = "punchlist"
_DESCRIPTION = 255
_LOOKS = (1.0, 3.0, 9.0)
"""Seconds before each look for what a lost request may have made."""
_LACKING = (400, 403, 404)
_BUSY = 409
_STATES = {"success": "success", "failure": "failed", "neutral": "success"}


class StatusPlace(Struct, frozen=True):
    """The branch or merge request that the commit is for, and its pipeline, if there is one."""

    ref: str
    pipeline: int | None = None


class StatusWriter:
    def __init__(self, api: MergeRequestsApi, patience: RetryBudget) -> None:
        self._api = api
        self._patience = patience

    async def conclude(self, check: CheckResult, place: StatusPlace) -> tuple[str, ...]:
        """Set the status unless it is set so; return notes. A finished one cannot be changed: a
        further one takes its place.
        """
        for pause in (*_LOOKS, 0.0):
            try:
                await self._set_once(check, place)
            except (ResponseLost, RequestRefused) as error:
                trouble: ToolError = error
                refused = isinstance(error, RequestRefused) and error.status != _BUSY
                if isinstance(error, RequestRefused) and error.status in _LACKING:
                    return (f"the commit status was not set: {error}",)
                if refused or not pause:
                    raise
                await self._patience.wait(pause, trouble)
            else:
                break
        return ()

    async def _set_once(self, check: CheckResult, place: StatusPlace) -> None:
        state = _STATES[check.conclusion]
        words = check.title if check.conclusion != "neutral" else f"neutral: {check.title}"
        description = words[:_DESCRIPTION]
        have = await self._api.list_statuses(check.head, STATUS)
        if any((each.status, each.description) == (state, description) for each in have):
            return
        content: dict[str, object] = {"state": state, "name": STATUS, "description": description}
        content |= {"ref": place.ref}
        if place.pipeline is not None:
            content |= {"pipeline_id": place.pipeline}
        await self._api.set_status(check.head, content)
