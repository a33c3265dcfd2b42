"""Our check of a commit: a commit status, since there are no check runs."""

from punchlist.adapters.forges.gitea.api import GiteaApi
from punchlist.adapters.rest.client import RequestRefused, ResponseLost
from punchlist.adapters.rest.retry import RetryBudget
from punchlist.views.pulls.board import CheckResult

CHECK = "punchlist"
_LOOKS = (1.0, 3.0)
"""Seconds before each look for what a lost request may have made."""
_DESCRIPTION = 255
_LACKING = (403, 404)
_STATES = {"success": "success", "failure": "failure", "neutral": "success"}


class GiteaCheckWriter:
    def __init__(self, api: GiteaApi, patience: RetryBudget) -> None:
        self._api = api
        self._patience = patience

    async def conclude(self, check: CheckResult) -> tuple[str, ...]:
        """Set the status, unless the newest one says the same; return notes."""
        for pause in (*_LOOKS, None):
            try:
                return await self._conclude_once(check)
            except ResponseLost as lost:
                if pause is None:
                    raise
                await self._patience.wait(pause, lost)
        raise AssertionError  # the last look returns or raises

    async def _conclude_once(self, check: CheckResult) -> tuple[str, ...]:
        words = check.title if check.conclusion != "neutral" else f"neutral: {check.title}"
        state, description = _STATES[check.conclusion], words[:_DESCRIPTION]
        try:
            ours = [
                each for each in await self._api.list_statuses(check.head) if each.context == CHECK
            ]
            last = max(ours, key=lambda each: each.id, default=None)
            if last is None or (last.state, last.description) != (state, description):
                content = {"state": state, "context": CHECK, "description": description}
                await self._api.create(f"statuses/{check.head}", content)
        except RequestRefused as refused:
            if refused.status not in _LACKING:
                raise
            return ("the token may not set commit statuses",)
        return ()
