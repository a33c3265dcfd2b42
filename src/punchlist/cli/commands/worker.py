"""punchlist worker: take queued runs of a fleet, and drive them."""

import asyncio
import os
import signal
from contextlib import closing
from typing import Any

import click

from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.show.words import one_line
from punchlist.cli.terminal import note
from punchlist.settings import home_folder, load_settings


@click.command()
@options.repeatable(
    "--label", "labels", metavar="NAME", help="Also take runs that were queued for this label."
)
@click.option(
    "--width",
    type=click.IntRange(1, 256),
    default=2,
    show_default=True,
    help="How many runs it drives at once.",
)
@click.option(
    "--drain",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=20,
    show_default=True,
    help="How long its runs may take to end when it is asked to stop; others then go on with them.",
)
@click.option(
    "--health-port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    help="Where it tells whether it is well: /live and /ready; 0 for any port that is free.",
)
@click.option(
    "--health-host",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="For probes from elsewhere, as Kubernetes makes them, another address than loopback.",
)
@options.set_option
def command(**chosen: Any) -> Exit:
    """Take runs that were queued with `punchlist run --queue`, and drive them here.

    Any number of workers, on any machines, share a PostgreSQL database (the setting `store`). Each
    has clones of its own, which it fetches by itself. SIGTERM or Ctrl-C lets its runs end or gives
    them back to the queue; a second one stops it at once. The runs of a worker that dies are taken
    by others after `fleet.lease` seconds.
    """
    flags = options.parse_flags(chosen)
    asyncio.run(_work(chosen, flags))
    return Exit.FINE


async def _work(chosen: dict[str, Any], flags: dict[str, str]) -> None:
    from punchlist.app.drive.tracing import require_telemetry
    from punchlist.app.fleet.health import HealthServer
    from punchlist.app.fleet.worker import Worker, WorkerOptions
    from punchlist.app.fleet.worker_session import own_home
    from punchlist.app.stores import open_artifacts, open_fleet

    settings = load_settings(None, flags).settings
    require_telemetry(settings.traces)
    how = WorkerOptions(
        labels=tuple(chosen["labels"]),
        width=chosen["width"],
        drain=chosen["drain"],
        flags=flags,
        fleet=settings.fleet,
    )
    home = home_folder()
    with closing(open_fleet(settings, home)) as state, own_home(home) as folder:
        worker = Worker(
            state, open_artifacts(settings, home), folder, how, lambda line: note(one_line(line))
        )
        health = HealthServer(lambda: worker.health)
        address = await health.open(chosen["health_host"], chosen["health_port"])
        _handle_signals(worker.drain)
        note(f"worker {worker.id} takes runs, {how.width} at once; health: {address}")
        try:
            await worker.work()
        finally:
            health.close()


def _handle_signals(drain: Any) -> None:
    """Drain at the first signal, exit at the second."""
    loop = asyncio.get_running_loop()
    received: list[int] = []

    def handle_signal(number: int) -> None:
        if received:
            os._exit(128 + number)  # leases and the worker's row end by themselves
        received.append(number)
        note("stopping; once more to stop at once")
        drain()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, handle_signal, number)
