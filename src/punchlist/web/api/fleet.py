"""What all processes of the store do: as JSON, and as metrics for Prometheus."""

from litestar import Response

from punchlist.views.tables.fleet import Fleet
from punchlist.web.api.routes import App, read_route

_TEXT = "text/plain; version=0.0.4; charset=utf-8"


@read_route("/fleet", "What all processes of the store do now, and what was spent today")
async def fleet(app: App) -> Fleet:
    """Runs of registered repositories that have not ended: running, waiting, stopped, or stuck,
    which is that no process drives them though nothing stopped them.
    """
    return await app.load_fleet()


@read_route("/metrics", "The same for Prometheus")
async def metrics(app: App) -> Response[bytes]:
    lines = make_metrics(await app.load_fleet(), app.readers, len(app.driving.list_driven()))
    return Response("".join(lines).encode(), media_type=_TEXT)


def make_metrics(fleet: Fleet, readers: int, driven: int) -> list[str]:
    """Return the lines of Prometheus' text format: names, labels and numbers of our own only."""
    states = {
        "running": len(fleet.running),
        "waiting": len(fleet.waiting),
        "stopped": len(fleet.stopped),
        "stuck": len(fleet.stuck),
    }
    plain = {
        "drivers": ("Processes that drive runs.", len(fleet.drivers)),
        "runs_begun_today": ("Runs that began today (UTC).", fleet.begun_today),
        "runs_ended_today": ("Runs that ended today (UTC).", fleet.ended_today),
        "dollars_today": ("Cost of all runs today (UTC).", fleet.dollars_today),
        "unpriced_calls_today": ("Agent calls of unknown cost today.", fleet.unpriced_today),
        "daily_limit_dollars": ("limits.daily; 0 for none.", fleet.daily_limit),
        "server_streams": ("Event streams open at this server.", readers),
        "server_runs": ("Runs that this server drives.", driven),
    }
    lines = ["# HELP punchlist_runs Runs that have not ended.\n", "# TYPE punchlist_runs gauge\n"]
    lines += [f'punchlist_runs{{state="{state}"}} {count}\n' for state, count in states.items()]
    for name, (about, value) in plain.items():
        lines += [f"# HELP punchlist_{name} {about}\n", f"# TYPE punchlist_{name} gauge\n"]
        lines.append(f"punchlist_{name} {value!r}\n")
    return lines


ROUTES = (fleet,)
