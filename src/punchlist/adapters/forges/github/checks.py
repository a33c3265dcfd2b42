"""Our check of a commit: a check run, or a status where the token may make no check runs."""

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from punchlist.adapters.forges.github.api import PullsApi
from punchlist.adapters.rest.client import RequestRefused, ResponseLost
from punchlist.adapters.rest.retry import RetryBudget
from punchlist.views.pulls.board import Annotation, CheckResult

_BATCH = 50
"""Annotations that GitHub takes in one request."""
_LOOKS = (1.0, 3.0)
"""Seconds before each look for what a lost request may have made."""
_DESCRIPTION = 140
_LACKING = (403, 404)
_STATES = {"success": "success", "failure": "failure", "neutral": "success"}


class CheckWriter:
    def __init__(self, api: PullsApi, patience: RetryBudget) -> None:
        self._api = api
        self._patience = patience

    async def conclude(self, check: CheckResult) -> tuple[str, ...]:
        """Show the check; there is one only once it has a conclusion, so none waits for ever. One
        that was made before is completed, not made again.
        """
        for pause in _LOOKS:
            try:
                return await self._conclude_once(check)
            except ResponseLost as lost:
                await self._patience.wait(pause, lost)
        return await self._conclude_once(check)

    async def _conclude_once(self, check: CheckResult) -> tuple[str, ...]:
        digest = sha256(msgspec.json.encode(check)).hexdigest()[:32]
        try:
            runs = await self._api.list_check_runs(check.head, check.name)
            found = [run for run in runs if run.external_id == digest]
            if found:
                await self._add_notes(found[0].id, check, found[0].output.annotations_count)
                return ()
            content = {
                "name": check.name,
                "head_sha": check.head,
                "status": "completed",
                "conclusion": check.conclusion,
                "external_id": digest,
                "output": _make_output(check, check.annotations[:_BATCH]),
            }
            await self._add_notes(await self._api.create("check-runs", content), check, _BATCH)
        except RequestRefused as refused:
            if refused.status not in _LACKING:
                raise
            return await self._set_status(check)
        return ()

    async def _add_notes(self, check_run: int, check: CheckResult, done: int) -> None:
        for start in range(done, len(check.annotations), _BATCH):
            batch = check.annotations[start : start + _BATCH]
            await self._api.update(
                f"check-runs/{check_run}", {"output": _make_output(check, batch)}
            )

    async def _set_status(self, check: CheckResult) -> tuple[str, ...]:
        state = _STATES[check.conclusion]
        words = check.title if check.conclusion != "neutral" else f"neutral: {check.title}"
        wanted = (check.name, state, words[:_DESCRIPTION])
        try:
            have = await self._api.list_statuses(check.head)
            if any((each.context, each.state, each.description) == wanted for each in have):
                return ()
            context, state, description = wanted
            content = {"state": state, "context": context, "description": description}
            await self._api.create(f"statuses/{check.head}", content)
        except RequestRefused as refused:
            if refused.status not in _LACKING:
                raise
            return ("the token may make neither check runs nor commit statuses",)
        return ()


def _make_output(check: CheckResult, annotations: Sequence[Annotation]) -> dict[str, object]:
    return {
        "title": check.title,
        "summary": check.summary,
        "annotations": [msgspec.to_builtins(each) for each in annotations],
    }
