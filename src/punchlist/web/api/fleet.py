"""What all processes of the store do: as JSON, and as metrics for Prometheus."""

from litestar import Response

from punchlist.ports.fleet.queue import Priority
from punchlist.views.tables.fleet import Fleet
from punchlist.web.api.routes import App, read_route

_PRIORITIES = tuple(each.word for each in Priority)
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


@read_route("/fleet", "What all processes of the store do now, and what was spent today")
async def fleet(app: App) -> Fleet:
    """Runs of registered repositories that have not ended: running, waiting, stopped, or stuck,
    which is that no process drives them though nothing stopped them. Workers and queues are null
    where the store has none (SQLite).
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
        lines += _make_head(name, about)
        lines.append(f"punchlist_{name} {value!r}\n")
    return lines + _make_queue_metrics(fleet)


def _make_queue_metrics(fleet: Fleet) -> list[str]:
    """Return the lines about workers and queues; none where there are none."""
    if fleet.workers is None or fleet.queues is None:
        return []
    states = [each.state for each in fleet.workers]
    alive = [each for each in fleet.workers if each.alive]
    lines = _make_head("workers", "Workers by state.")
    for state in ("working", "draining", "dead"):
        lines.append(f'punchlist_workers{{state="{state}"}} {states.count(state)}\n')
    lines += _make_head("worker_places", "Runs that live workers drive at most.")
    lines.append(f"punchlist_worker_places {sum(each.width for each in alive)}\n")
    waiting, oldest = dict.fromkeys(_PRIORITIES, 0), dict.fromkeys(_PRIORITIES, 0.0)
    for each in fleet.queues:
        waiting[each.priority] += each.waiting
        oldest[each.priority] = max(oldest[each.priority], each.oldest)
    lines += _make_head("queue_waiting", "Runs that wait for a worker.")
    lines += [f'punchlist_queue_waiting{{priority="{k}"}} {v}\n' for k, v in waiting.items()]
    lines += _make_head("queue_oldest_seconds", "How long the oldest of them waits.")
    lines += [f'punchlist_queue_oldest_seconds{{priority="{k}"}} {v}\n' for k, v in oldest.items()]
    return lines


def _make_head(name: str, about: str) -> list[str]:
    return [f"# HELP punchlist_{name} {about}\n", f"# TYPE punchlist_{name} gauge\n"]


ROUTES = (fleet,)
