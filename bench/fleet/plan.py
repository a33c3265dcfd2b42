"""Where a fleet of some size ends first: figures that were measured here, a simulation by events, and a calculation.

python bench/fleet/plan.py [--runs 1000] [--repositories 10000] [--workers 250] [--width 4] [--groups 1] [--mirrors 32] ...

The simulation (seeded; the same arguments print the same) queues all runs at once, lets workers poll, take under one lock, clone
what they have no mirror of and drive; the calculation adds up what that asks of each part. What was measured is in `Measured`, and
is replaced by options; what is assumed of repositories and runs is in `Assumed`.
"""

import argparse
import heapq
import math
import random
from collections import Counter, OrderedDict
from dataclasses import dataclass, field, fields


@dataclass(frozen=True)
class Measured:
    """By bench/fleet/measure.py, once, on two busy cores that were the database and its clients at once;
    `transactions` by counting the statements of four runs in the database's log.
    """

    take: float = 0.0048
    """Seconds for which the queue is locked by a worker that takes a run."""
    poll: float = 0.3
    begin: float = 1.0
    """Seconds between two looks of a worker for queued runs, and of DBOS for those it was given."""
    idle: float = 24.3
    """Transactions a second of a worker that waits."""
    connections: int = 9
    """Connections of a worker with four runs."""
    transactions: float = 160
    """Transactions of a run, besides those of its worker."""
    entries: float = 27
    objects: float = 11
    kilobytes: float = 49
    processor: float = 0.4
    """Processor seconds of punchlist itself for a run."""
    appends: float = 400
    statements: float = 11_000
    """The most appends, and small statements, a second that the database answered."""


@dataclass(frozen=True)
class Assumed:
    seconds: float = 300
    """Median of a run; most of it an agent thinks, or tests run."""
    spread: float = 0.8
    megabytes: float = 80
    """Median of a clone."""
    megabytes_spread: float = 1.2
    bandwidth: float = 50
    """Megabytes a second from the forge to a worker."""
    skew: float = 1.0
    """How much more often some repositories are worked on than others (Zipf)."""
    checks: float = 60
    """Processor seconds of a run's tests, analyzers and agents."""
    cores: int = 4
    """Of a worker's machine."""
    max_connections: int = 100
    """PostgreSQL's default."""
    puts: float = 3500
    """Requests a second that S3 promises for one prefix."""
    forge: float = 1000
    """Megabytes a second that the forge gives to all."""
    disk: float = 50_000
    """Megabytes of a worker's disk for mirrors."""


@dataclass
class Worker:
    group: int
    room: int
    mirrors: "OrderedDict[int, None]" = field(default_factory=OrderedDict)


@dataclass
class Outcome:
    waits: list[float] = field(default_factory=list)
    cloned: float = 0
    over: float = 0
    second: Counter[int] = field(default_factory=Counter)
    """Runs under way in each second."""
    cloning: list[float] = field(default_factory=list)
    """Seconds that each clone took."""


def simulate(asked: argparse.Namespace, known: Measured, guess: Assumed) -> Outcome:
    """Queue all runs at 0 and let the workers do them."""
    chance = random.Random(asked.seed)
    count = asked.repositories
    weights = [1 / (number + 1) ** guess.skew for number in range(count)]
    waiting = chance.choices(range(count), weights, k=asked.runs)
    sizes: dict[int, float] = {}
    workers = [Worker(number % asked.groups, asked.width) for number in range(asked.workers)]
    under_way: Counter[int] = Counter()
    came = Outcome()
    events = [(chance.uniform(0, known.poll), number, -1) for number in range(asked.workers)]
    heapq.heapify(events)
    free_at = pipe = 0.0
    while events:
        at, number, ended = heapq.heappop(events)
        worker = workers[number]
        if ended >= 0:
            under_way[ended] -= 1
            worker.room += 1
            came.over = max(came.over, at)
        while worker.room and waiting:
            free_at = at = max(at, free_at) + known.take
            found = _find_next(waiting, under_way, worker.group, asked)
            if found is None:
                break
            repository = waiting.pop(found)
            under_way[repository] += 1
            worker.room -= 1
            began = at + chance.uniform(0, known.begin)
            came.waits.append(began)
            if repository not in sizes:
                sizes[repository] = _draw(chance, guess.megabytes, guess.megabytes_spread)
            ready = began
            if not _find_mirror(worker, repository, asked.mirrors):
                size = sizes[repository]
                pipe = max(pipe, began) + size / guess.forge
                ready = max(pipe, began + size / guess.bandwidth)
                came.cloned += size
                came.cloning.append(ready - began)
            ends = ready + _draw(chance, guess.seconds, guess.spread)
            came.second.update(range(int(began), int(ends) + 1))
            heapq.heappush(events, (ends, number, repository))
        if worker.room and waiting:
            heapq.heappush(events, (at + known.poll, number, -1))
    return came


def _find_next(
    waiting: list[int], under_way: Counter[int], group: int, asked: argparse.Namespace
) -> int | None:
    for place, repository in enumerate(waiting):
        room = not asked.per_repository or under_way[repository] < asked.per_repository
        if room and repository % asked.groups == group:
            return place
    return None


def _find_mirror(worker: Worker, repository: int, most: int) -> bool:
    """Return whether the worker had it; from now on it has, and the least recently used one goes."""
    known = repository in worker.mirrors
    worker.mirrors[repository] = None
    worker.mirrors.move_to_end(repository)
    if len(worker.mirrors) > most:
        worker.mirrors.popitem(last=False)
    return known


def _draw(chance: random.Random, median: float, spread: float) -> float:
    return median * math.exp(chance.gauss(0, spread))


def list_parts(asked, known, guess, came):
    """Return, for each part of a fleet, what is asked of it at the peak, and its limit."""
    peak = max(came.second.values())
    mean = sum(came.second.values()) / asked.runs
    rate = peak / mean  # runs that begin, and end, in each second of the peak
    appends = rate * known.entries
    statements = asked.workers * known.idle + rate * known.transactions
    size = guess.megabytes * math.exp(guess.megabytes_spread**2 / 2)
    return [
        ("connections to the database", asked.workers * known.connections, guess.max_connections),
        ("small statements/s", statements, known.statements),
        ("appends/s", appends, known.appends),
        ("takes/s", rate, 1 / known.take),
        ("object requests/s", rate * known.objects, guess.puts),
        ("clones, MB/s from the forge", rate * came.cloned / asked.runs, guess.forge),
        ("mirrors, MB on a worker", asked.mirrors * size, guess.disk),
        ("processors of all workers", rate * (guess.checks + known.processor), asked.workers * guess.cores),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    plain = {"runs": 1000, "repositories": 10_000, "workers": 250, "width": 4, "groups": 1, "mirrors": 32, "per_repository": 4, "seed": 1}  # fmt: skip
    for name, value in plain.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=value)
    for about in (Measured, Assumed):
        for each in fields(about):
            name = each.name.replace("_", "-")
            parser.add_argument(f"--{name}", type=type(each.default), default=each.default)
    asked = parser.parse_args()
    known, guess = (
        about(**{each.name: getattr(asked, each.name) for each in fields(about)})
        for about in (Measured, Assumed)
    )
    came = simulate(asked, known, guess)
    waits = sorted(came.waits)
    print(
        f"{asked.runs} runs of {asked.repositories} repositories at once, {asked.workers} workers of width"
        f" {asked.width}: at most {max(came.second.values())} under way, the last over after"
        f" {came.over / 60:.0f} min; begun after {waits[len(waits) // 2]:.1f} s (median),"
        f" {waits[-1]:.0f} s (last); {len(came.cloning)} clones with {came.cloned / 1024:.0f} GB, the slowest"
        f" {max(came.cloning, default=0):.0f} s"
    )
    parts = list_parts(asked, known, guess, came)
    for what, used, limit in sorted(parts, key=lambda part: -part[1] / part[2]):
        print(f"{what:<32} {used:>9.0f} of {limit:>7.0f}  {used / limit:6.2f}")


if __name__ == "__main__":
    main()
