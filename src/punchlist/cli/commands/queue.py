"""punchlist queue: runs that wait for a worker or are with one, and the workers."""

from collections.abc import Iterator, Sequence
from contextlib import closing

import click
from msgspec.structs import asdict

from punchlist.app.stores import open_fleet
from punchlist.cli import options
from punchlist.cli.drawing import Part
from punchlist.cli.show.layout import make_table
from punchlist.cli.show.words import one_line
from punchlist.cli.terminal import print_result
from punchlist.ports.fleet.queue import Job, JobState, WorkerInfo
from punchlist.settings import home_folder, load_settings
from punchlist.views.words import format_duration

_SHOWN = (JobState.STUCK, JobState.RUNNING, JobState.QUEUED, JobState.WAITING)


@click.command()
@options.json_option
def command(json_: bool) -> None:
    """List the workers of the fleet, and the runs that are stuck, running, queued or waiting.

    A run is stuck if five workers died of it, or could not begin it; `punchlist resume RUN --queue`
    lets them try again.
    """
    settings = load_settings(None, {}).settings
    with closing(open_fleet(settings, home_folder())) as state:
        workers = state.workers.list_all()
        found = state.queue.list_jobs(*_SHOWN)
    jobs = sorted(found, key=lambda job: _SHOWN.index(job.state))
    document = {
        "workers": [asdict(worker) for worker in workers],
        "runs": [{**asdict(job), "priority": job.priority.word} for job in jobs],
    }
    print_result(document, _render(workers, jobs), json=json_)


def _render(workers: Sequence[WorkerInfo], jobs: Sequence[Job]) -> Iterator[Part]:
    if workers:
        table = make_table("Worker", "State", "Runs", "Labels", "Version")
        for each in workers:
            runs = sum(job.state is JobState.RUNNING and job.worker == each.id for job in jobs)
            state = "draining" if each.draining else "working"
            told = state if each.alive else f"dead for {format_duration(each.idle_for)}"
            labels = one_line(", ".join(each.labels))
            table.add_row(each.id, told, f"{runs} of {each.width}", labels, each.version)
        yield table
    else:
        yield "No worker is at work. `punchlist worker` starts one."
    if jobs:
        yield ""
        table = make_table("Run", "State", "Waited", "Branch", "Repository", "Note")
        for job in jobs:
            note = job.note or (job.worker if job.state is JobState.RUNNING else "")
            waited = format_duration(job.waited)
            where = one_line(job.repository.removesuffix("/.git"))
            table.add_row(job.run, job.state, waited, one_line(job.branch), where, one_line(note))
        yield table
