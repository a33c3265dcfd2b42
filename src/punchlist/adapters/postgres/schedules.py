"""Schedules of a fleet, kept and fired by DBOS."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import msgspec
from msgspec.structs import replace

from punchlist.errors import UsageError
from punchlist.ports.fleet.schedule import Schedule

if TYPE_CHECKING:
    from punchlist.adapters.postgres.workflows import Workflows

TICK = "schedule"
"""The name of the workflow that queues a schedule's run."""
_LATE = timedelta(seconds=60)
"""So long after its time a tick that no worker began was missed: DBOS waits up to 10 s itself."""
_MOMENT = timedelta(seconds=0.5)


class DbosSchedules:
    def __init__(self, workflows: "Workflows") -> None:
        self._workflows = workflows

    def add(self, schedule: Schedule) -> None:
        """Add a schedule. Raise UsageError if its name is taken, or its time cannot be read."""
        from dbos import error as trouble

        schedule = replace(schedule, since=datetime.now(UTC).timestamp())
        try:
            self._workflows.client.create_schedule(
                schedule_name=schedule.name,
                workflow_name=TICK,
                schedule=schedule.cron,
                context=msgspec.to_builtins(schedule),
                cron_timezone=schedule.timezone or None,
            )
        except trouble.DBOSException as error:
            hint = 'for example --cron "0 3 * * *" --timezone Europe/Vienna'
            raise UsageError(f"schedule {schedule.name}: {error}", hint=hint) from error

    def remove(self, name: str) -> bool:
        """Return whether there was one."""
        known = self._workflows.client.get_schedule(name) is not None
        if known:
            self._workflows.client.delete_schedule(name)
        return known

    def list_all(self) -> list[Schedule]:
        rows = self._workflows.client.list_schedules(workflow_name=TICK)
        return sorted((read_schedule(row["context"]) for row in rows), key=lambda each: each.name)

    def begin_missed(self, alive: Collection[str], now: datetime) -> list[str]:
        """Begin each tick again whose worker is not alive any more, and for each schedule the last
        one that no worker was there for; return their names. A tick that was begun is not begun
        twice, whichever worker finds that it is missing.
        """
        with self._workflows.convert_errors():
            return [*self._begin_lost(alive), *self._begin_late(now)]

    def _begin_lost(self, alive: Collection[str]) -> list[str]:
        client = self._workflows.client
        begun = client.list_workflows(
            name=TICK, status="PENDING", load_input=False, load_output=False
        )
        lost = [each.workflow_id for each in begun if each.executor_id not in alive]
        if lost:
            client.resume_workflows(lost)
        return lost

    def _begin_late(self, now: datetime) -> list[str]:
        missed = self._find_missed(now)
        for schedule, due in missed.values():
            self._workflows.client.backfill_schedule(schedule.name, due - _MOMENT, due + _MOMENT)
        return list(missed)

    def _find_missed(self, now: datetime) -> dict[str, tuple[Schedule, datetime]]:
        """Return the last tick of each schedule that has none in DBOS, by the tick's name."""
        client = self._workflows.client
        ticks = {}
        for row in client.list_schedules(workflow_name=TICK, status="ACTIVE"):
            schedule = read_schedule(row["context"])
            due = _find_last(row, now - _LATE)
            if schedule.since and due.timestamp() > schedule.since:
                ticks[f"sched-{schedule.name}-{due.isoformat()}"] = schedule, due
        known = (
            client.list_workflows(workflow_ids=list(ticks), load_input=False, load_output=False)
            if ticks
            else []
        )
        for each in known:
            del ticks[each.workflow_id]
        return ticks


def _find_last(row: Any, before: datetime) -> datetime:
    """Return the last time before that one at which a schedule was due, in its own zone."""
    from croniter import croniter  # type: ignore[import-untyped]  # DBOS reads times with it, too

    zone = ZoneInfo(row["cron_timezone"]) if row["cron_timezone"] else UTC
    times = croniter(row["schedule"], before.astimezone(zone), second_at_beginning=True)
    found: datetime = times.get_prev(datetime)
    return found


def read_schedule(context: object) -> Schedule:
    return msgspec.convert(context, Schedule)
