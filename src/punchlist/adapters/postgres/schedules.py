"""Schedules of a fleet, kept and fired by DBOS."""

from typing import TYPE_CHECKING

import msgspec

from punchlist.errors import UsageError
from punchlist.ports.fleet.schedule import Schedule

if TYPE_CHECKING:
    from punchlist.adapters.postgres.workflows import Workflows

TICK = "schedule"
"""The name of the workflow that queues a schedule's run."""


class DbosSchedules:
    def __init__(self, workflows: "Workflows") -> None:
        self._workflows = workflows

    def add(self, schedule: Schedule) -> None:
        """Add a schedule. Raise UsageError if its name is taken, or its time cannot be read."""
        from dbos import error as trouble

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
        rows = self._workflows.client.list_schedules()
        found = [read_schedule(row["context"]) for row in rows if row["workflow_name"] == TICK]
        return sorted(found, key=lambda each: each.name)


def read_schedule(context: object) -> Schedule:
    return msgspec.convert(context, Schedule)
