"""Leases in PostgreSQL: a row with an epoch and an end, which a heartbeat puts off.

Only the database's clock is compared. Taking a lease raises its epoch; every append of the ledger
names the epoch it was given, and is refused in a later one. So a process that was stopped past the
end of its lease cannot write any more, whatever it believes.
"""

import os
import socket
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, nullcontext, suppress
from functools import partial
from threading import Event, Lock, RLock, Thread
from typing import Self

from punchlist.adapters.postgres.connection import Connection, Database
from punchlist.adapters.postgres.ledger import decode, encode
from punchlist.errors import AlreadyRunning, RunTaken, StoreError
from punchlist.ports.state import LeaseHolder, StopRequest

_TAKE = """
  INSERT INTO fences AS known (name, epoch, run, machine, pid, until)
  VALUES (%(name)s, 1, %(run)s, %(machine)s, %(pid)s,
    clock_timestamp() + %(seconds)s * interval '1 s')
  ON CONFLICT (name) DO UPDATE SET epoch = known.epoch + 1, run = excluded.run,
    machine = excluded.machine, pid = excluded.pid, until = excluded.until
  WHERE known.until < clock_timestamp()
  RETURNING epoch
"""
_KEEP = """
  UPDATE fences SET until = clock_timestamp() + %(seconds)s * interval '1 s'
  FROM unnest(%(names)s::bytea[], %(epochs)s::bigint[]) AS held (name, epoch)
  WHERE fences.name = held.name AND fences.epoch = held.epoch
  RETURNING fences.name
"""
_HOLDERS = """
  SELECT name, pid, run, machine,
         extract(epoch FROM until - clock_timestamp())::double precision
  FROM fences WHERE name = ANY(%s) AND until >= clock_timestamp()
"""
_OURS = "SELECT 1 FROM fences WHERE name = %s AND epoch = %s"
_FREE = "UPDATE fences SET until = '-infinity' WHERE name = %s AND epoch = %s"
_FRESH = 0.5
"""Seconds for which a look at all requests to stop is used again."""


class PostgresLease:
    """A run, and perhaps its request, by name and epoch."""

    def __init__(self, leases: "PostgresLeases", held: dict[bytes, int]) -> None:
        self._leases = leases
        self._held = held

    @property
    def lost(self) -> bool:
        return self._leases.has_lost(self._held)

    def confirm(self) -> None:
        """Ask the database, and raise RunTaken if another process has taken the run over."""
        self._leases.confirm(self._held)

    def release(self) -> None:
        self._leases.give_back(self._held)
        self._held = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()


class PostgresLeases:
    """The leases of this process; a thread renews them three times in each lease's length."""

    def __init__(self, database: Database, seconds: float) -> None:
        self._database = database
        self._seconds = seconds
        self._turn = RLock()
        self._held: dict[bytes, int] = {}
        self._lost: set[tuple[bytes, int]] = set()
        self._heart: Thread | None = None
        self._over = Event()
        self.epochs: dict[str, int] = {}
        """The epoch in which this process has, or last had, a run."""

    def acquire(self, run: str, request: str = "", *, force: bool = False) -> PostgresLease:
        """Take the run and its request. Raise AlreadyRunning, with the run's id, if another process
        has one; with `force` only for the run.
        """
        held: dict[bytes, int] = {}
        with ExitStack() as undo:
            undo.callback(self.give_back, held)
            with suppress(AlreadyRunning) if force else nullcontext():
                if request:
                    name = encode(f"request {request}")
                    held[name] = self._take(name, run)
            name = encode(run)
            self.epochs[run] = held[name] = self._take(name, run)
            undo.pop_all()
        return PostgresLease(self, held)

    def find_holder(self, run: str) -> LeaseHolder | None:
        """Return the process that drives the run, or None."""
        return self.find_holders([run]).get(run)

    def find_holders(self, runs: Sequence[str]) -> dict[str, LeaseHolder]:
        """Return the processes that drive these runs, by run; others are left out."""
        names = {encode(run): run for run in runs}
        rows = self._database.fetch(_HOLDERS, (list(names),)) if names else ()
        return {names[name]: LeaseHolder(*rest) for name, *rest in rows}

    def has_lost(self, held: Iterable[bytes]) -> bool:
        with self._turn:
            return any((name, self._held.get(name, 0)) in self._lost for name in held)

    def confirm(self, held: dict[bytes, int]) -> None:
        """Raise RunTaken if one of these has a later epoch by now."""
        for name, epoch in held.items():
            if not self._database.fetch(_OURS, (name, epoch)):
                run = name.decode(errors="replace")
                raise RunTaken(
                    f"run {run} was taken over by another process", hint=f"punchlist status {run}"
                )

    def give_back(self, held: dict[bytes, int]) -> None:
        with self._turn:
            for name in held:
                self._held.pop(name, None)
        for each in held.items():
            self._database.run(partial(_free, each))

    def close(self) -> None:
        self._over.set()
        if self._heart is not None:
            self._heart.join(timeout=5)

    def _take(self, name: bytes, run: str) -> int:
        values = {
            "name": name,
            "run": run,
            "machine": socket.gethostname(),
            "pid": os.getpid(),
            "seconds": self._seconds,
        }
        rows = self._database.fetch(_TAKE, values)
        if not rows:
            raise self._running_error(name)
        with self._turn:
            self._held[name] = rows[0][0]
            if self._heart is None:
                self._heart = Thread(target=self._beat, name="punchlist-leases", daemon=True)
                self._heart.start()
        return int(rows[0][0])

    def _running_error(self, name: bytes) -> AlreadyRunning:
        rows = self._database.fetch(_HOLDERS, ([name],))
        _, pid, run, machine, _ = rows[0] if rows else (name, 0, "", "", 0)
        who = f"process {pid} on {machine}" if pid else "another process"
        return AlreadyRunning(
            f"run {run or '(starting)'} is already at work on this, in {who}",
            run=run,
            hint=f"punchlist status {run}".strip(),
        )

    def _beat(self) -> None:
        while not self._over.wait(self._seconds / 3):
            with self._turn:
                held = dict(self._held)
            if not held:
                continue
            values = {"names": list(held), "epochs": list(held.values()), "seconds": self._seconds}
            try:
                with self._database.connect() as base:
                    ours = {name for (name,) in base.execute(_KEEP, values).fetchall()}
            except StoreError:
                continue  # the database is away; the next beat tells what is still ours
            with self._turn:
                self._lost |= {each for each in held.items() if each[0] not in ours}


def _free(held: tuple[bytes, int], base: Connection) -> None:
    base.execute(_FREE, held)


class PostgresStops:
    """Drivers poll for each of their runs: all runs of a process share one look at the table."""

    def __init__(self, database: Database, fresh: float = _FRESH) -> None:
        self._database = database
        self._fresh = fresh
        self._turn = Lock()
        self._seen: dict[str, StopRequest] = {}
        self._until = 0.0

    def request(self, run: str, stop: StopRequest) -> None:
        sql = """INSERT INTO stops (run, by) VALUES (%s, %s)
                 ON CONFLICT (run) DO UPDATE SET by = excluded.by"""
        self._database.execute(sql, (run, encode(stop.by)))
        self._look_again()

    def read(self, run: str) -> StopRequest | None:
        """Return the request as it was half a second ago, or when the database was there."""
        with self._turn:
            if time.monotonic() >= self._until:
                with suppress(StoreError), self._database.connect() as base:
                    rows = base.execute("SELECT run, by FROM stops").fetchall()
                    self._seen = {name: StopRequest(decode(by)) for name, by in rows}
                self._until = time.monotonic() + self._fresh
            return self._seen.get(run)

    def clear(self, run: str) -> None:
        self._database.execute("DELETE FROM stops WHERE run = %s", (run,))
        self._look_again()

    def _look_again(self) -> None:
        """Forget what was seen; a look that began before has ended by then."""
        with self._turn:
            self._seen, self._until = {}, 0
