"""What every use case works with: the state folder, the repository, settings and the ledger."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.workshop import Workshop, repository_id
from punchlist.adapters.process.programs import find_work_tree, mark_foreign
from punchlist.adapters.process.run import named_environment
from punchlist.adapters.store.permissions import keep_private
from punchlist.app.start.allowance import Allowance
from punchlist.app.stores import open_artifacts, open_state
from punchlist.errors import RepositoryError
from punchlist.model.finding.reading_limits import use_reading_limits
from punchlist.model.ledger.events import Started
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.outcome import run_outcome
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.run_row import RepositoryKey, RunRow
from punchlist.ports.agent import Agent
from punchlist.ports.artifacts import Artifacts, ArtifactStore, Tell
from punchlist.ports.state import LeaseHolder, SharedState
from punchlist.ports.store import Ledgers
from punchlist.settings import LoadedSettings, home_folder, load_settings


def is_ci() -> bool:
    """Return whether this is a job of a CI service; its files are the service's and its caches'."""
    return named_environment(["CI"]).get("CI", "").lower() not in {"", "0", "false"}


class StartLimits(NamedTuple):
    """How this process drives a run: `started` with what counts here; `overrides`: what its user
    asked for and does not get; `refused`: why it is not driven here and what to do, or ''.
    """

    started: Started
    overrides: tuple[str, ...] = ()
    refused: str = ""


class Session:
    def __init__(
        self,
        home: Path,
        checkout: Checkout | None,
        flags: Mapping[str, str],
        *,
        readonly: bool = False,
    ) -> None:
        self.home = home
        mark_foreign(checkout.root if checkout else None, home / "repos")
        self._readonly = readonly
        self.checkout = checkout
        self.flags = dict(flags)
        self._workshop: Workshop | None = None
        self.own_agents: dict[str, Agent] = {}
        """Agents of the program that uses punchlist as a library, by name."""
        self.source = ""
        """Where workers fetch and push what they commit; '' where there is one machine."""
        self.worker = ""
        """The worker of a fleet that this process is, if it is one."""

    @classmethod
    async def open(
        cls,
        start: Path,
        flags: Mapping[str, str] | None = None,
        *,
        repository: bool | None = True,
        readonly: bool = False,
    ) -> "Session":
        """`readonly` works where nothing can be written, and in a repository without commits.
        `repository` None: if there is one.
        """
        mark_foreign(find_work_tree(start))
        checkout = await _find_checkout(start, repository, unborn=readonly)
        # Raises on a mistake before anything is touched.
        known = load_settings(None, flags or {}).settings
        use_reading_limits(known.limits.reading)
        return cls(home_folder(), checkout, flags or {}, readonly=readonly)

    @cached_property
    def state(self) -> SharedState:
        known = self.settings().settings
        lease = known.fleet.lease
        return open_state(known.store, self.home, readonly=self._readonly, lease=lease)

    @property
    def store(self) -> Ledgers:
        return self.state.store

    def close(self) -> None:
        if "state" in self.__dict__:
            self.state.close()

    def settings(self) -> LoadedSettings:
        return load_settings(None, self.flags)

    def find(self, run_id: str) -> str:
        """Return the whole id of a run of this repository, from a part of it or "last"."""
        return self.store.find_run(run_id, self.key.path, self.key.identity)

    def load(self, run_id: str) -> Run:
        found = self.find(run_id)
        return fold_entries(found, self.store.read(found))

    def export(self, run_id: str) -> Iterator[bytes]:
        return self.store.export(self.find(run_id))

    def runs(self) -> Sequence[RunRow]:
        return self.store.runs(self.key.path, self.key.identity)

    def outcome_of(self, row: RunRow) -> str:
        """Return the outcome of a run, with what users recorded after its end."""
        return run_outcome(self.load(row.id)).value if row.amended else row.outcome

    def driver_of(self, run_id: str) -> LeaseHolder | None:
        return self.state.leases.find_holder(run_id)

    def is_queued(self, run_id: str) -> bool:
        """Return whether the run waits for a worker of the fleet."""
        queue = self.state.queue
        job = queue.find(run_id) if queue is not None else None
        return job is not None and job.state == "queued"

    def artifacts(self, run_id: str, tell: Tell = lambda text: None) -> Artifacts:
        """Return the files of a run; `tell` is given a line when their store is waited for."""
        return self.artifact_store.open(run_id, tell)

    def recorded_artifacts(self, run: Run) -> Artifacts:
        """Return the files of a run; one that was changed since it was recorded is refused."""
        artifacts = self.artifacts(run.id)
        artifacts.pin(run.pins)
        return artifacts

    @cached_property
    def artifact_store(self) -> ArtifactStore:
        return open_artifacts(self.settings().settings, self.home)

    async def limit_start(self, started: Started) -> StartLimits:
        """Return how this process drives a run: as it was started. A worker has limits."""
        return StartLimits(started)

    async def who(self) -> str:
        """Return the user's name in git's configuration, or ''."""
        if self.checkout is None:
            return ""
        named = await self.checkout.user_git.run("config", "--get", "user.name")
        return named.stdout.decode(errors="replace").strip() if named.ok else ""

    @property
    def required_checkout(self) -> Checkout:
        """The checkout. Raises RepositoryError if there is none."""
        if self.checkout is None:
            raise RepositoryError("this needs a git repository", hint="go to one and try again")
        return self.checkout

    @property
    def repository(self) -> str:
        """The path of the repository in the ledger."""
        return str(self.required_checkout.git_dir)

    @property
    def key(self) -> RepositoryKey:
        """What tells the repository from others; an empty one outside of a repository."""
        found = self.checkout
        return RepositoryKey(str(found.git_dir), found.identity) if found else RepositoryKey()

    def owns(self, run: Run) -> bool:
        """Return whether the run is about this repository, in this clone or another."""
        return self.key.owns(run.started.repository, run.started.identity)

    @property
    def repository_folder(self) -> Path:
        """The repository's own part of the state folder."""
        return self.home / "repos" / repository_id(self.required_checkout)

    @property
    def allowance(self) -> Allowance:
        return Allowance(self.state.allowances, repository_id(self.required_checkout))

    async def workshop(self, *, fresh: bool = True) -> Workshop:
        """Open the workshop of the checkout; unless `fresh`, return the one that was opened last,
        with what it has read.
        """
        if self._workshop is not None and not fresh:
            return self._workshop
        checkout = self.required_checkout
        with suppress(OSError):  # the workshop or the ledger reports it
            keep_private(self.home)
        self._workshop = await Workshop.open(checkout, self.home)
        return self._workshop


async def _find_checkout(start: Path, needed: bool | None, *, unborn: bool) -> Checkout | None:  # noqa: FBT001 - None: if there is one
    if needed is False:
        return None
    try:
        return await Checkout.find(start, unborn=unborn)
    except RepositoryError:
        if needed:
            raise
        return None
