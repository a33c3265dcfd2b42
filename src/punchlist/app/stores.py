"""Where the state is: below the home folder, or for a fleet in PostgreSQL and an object store."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast
from urllib.parse import quote, urlsplit

from punchlist.adapters.store.artifacts import FolderStore
from punchlist.adapters.store.embedded import EmbeddedState
from punchlist.errors import LedgerBroken, SettingsError, StoreError
from punchlist.installed import extra_hint
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.reading_limits import ReadingLimits
from punchlist.model.ledger.hash_chain import verify_lines
from punchlist.ports.artifacts import ArtifactStore
from punchlist.ports.state import SharedState
from punchlist.settings import REPOSITORY_FILE, LoadedSettings, Settings, user_file

if TYPE_CHECKING:
    from punchlist.adapters.postgres.state import PostgresState

_POSTGRES = ("postgresql://", "postgres://")
_SQLITE = "sqlite"
PATIENCE = 60.0
"""Seconds for which a run waits for a database that is away."""
_PASSWORD = late_pattern(r"(//[^/:@]*:)[^@/]*@")
_ENDPOINTS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ENDPOINT_URL_S3")
_OBJECTS = (
    "give s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, file:///FOLDER or a folder"
)
_KINDS = "give postgresql://USER@HOST/NAME, or nothing for SQLite in the state folder"


def open_state(
    url: str, home: Path, *, readonly: bool = False, lease: float | None = None
) -> SharedState:
    """Open the state that the setting `store` names. Raise SettingsError or StoreError."""
    if not url or url == _SQLITE:
        return EmbeddedState(home, readonly=readonly)
    if url.startswith(f"{_SQLITE}:"):
        folder = Path(url.removeprefix(f"{_SQLITE}:")).absolute()
        return EmbeddedState(folder, home, readonly=readonly)
    if not url.startswith(_POSTGRES):
        raise SettingsError(f"store: {url.partition(':')[0]} is no kind of store", hint=_KINDS)
    try:
        # An extra, and slow to load: only a fleet imports it.
        from punchlist.adapters.postgres.state import LEASE, PostgresState
    except ImportError as error:
        raise SettingsError(
            f"store: PostgreSQL needs the extra `cluster` ({error})", hint=extra_hint("cluster")
        ) from error
    return PostgresState(url, home, lease=lease or LEASE, patience=PATIENCE)


def open_fleet(settings: Settings, home: Path) -> "PostgresState":
    """Open the state of a fleet, for a worker. Raise SettingsError or StoreError."""
    url = settings.store
    if not url.startswith(_POSTGRES):
        raise SettingsError("a worker needs a store in PostgreSQL", hint=_KINDS)
    state = open_state(url, home, lease=settings.fleet.lease)
    return cast("PostgresState", state)


def open_artifacts(settings: Settings, home: Path) -> ArtifactStore:
    """Return the files of runs, where the setting `objects` says; nothing is connected to yet.
    Raise SettingsError.
    """
    if not settings.objects:
        return FolderStore(home / "runs")
    url = check_objects(settings.objects)
    try:
        # An extra, and slow to load: only a fleet imports it.
        from punchlist.adapters.objects.artifacts import ObjectStore
        from punchlist.adapters.objects.bucket import Bucket
        from punchlist.adapters.objects.cache import ObjectCache
    except ImportError as error:
        raise SettingsError(
            f"objects: an object store needs the extra `cluster` ({error})",
            hint=extra_hint("cluster"),
        ) from error
    plain = any(os.environ.get(name, "").startswith("http://") for name in _ENDPOINTS)
    bucket = Bucket(url, allow_http=plain)
    return ObjectStore(bucket, ObjectCache(home / "objects", settings.objects_cache << 20))


def check_reading_settings(loaded: LoadedSettings) -> None:
    """Raise SettingsError if the repository's own file says how much of it is read."""
    for field in ReadingLimits.__struct_fields__:
        name = f"limits.{field.replace('_', '-')}"
        if loaded.origins.get(name) == REPOSITORY_FILE:
            what = f"{REPOSITORY_FILE}: {name}: a repository does not choose how much of it is read"
            raise SettingsError(what, hint=f"take it out, and set it in {user_file()}")


def check_spread_settings(loaded: LoadedSettings) -> None:
    """Raise SettingsError if actions shall go to other workers and the repository's own file says
    it, or there can be no other worker.
    """
    if loaded.origins.get("limits.spread") == REPOSITORY_FILE:
        raise SettingsError(
            f"{REPOSITORY_FILE}: limits.spread: a repository does not choose who works on it",
            hint="put it into your own settings file",
        )
    if loaded.settings.limits.spread and not loaded.settings.store.startswith(_POSTGRES):
        raise SettingsError(
            "limits.spread: there are no other workers: the ledger is in SQLite, on this machine",
            hint="leave it out, or name a PostgreSQL database: --store postgresql://USER@HOST/NAME",
        )


def check_objects(address: str) -> str:
    """Return the address of an object store as a URL. Raise SettingsError if it is none, or if it
    holds credentials, which are then not repeated.
    """
    parts = urlsplit(address)
    if not parts.scheme and Path(address).expanduser().is_absolute():
        return f"file://{quote(str(Path(address).expanduser()))}"
    if parts.scheme not in {"s3", "gs", "az", "file"}:
        raise SettingsError(
            f"objects: {parts.scheme or 'a relative path'} is no kind of object store",
            hint=_OBJECTS,
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise SettingsError(
            "objects: the address has more in it than a place: credentials belong into the"
            " environment of each machine",
            hint=_OBJECTS,
        )
    if (parts.scheme == "file") == bool(parts.netloc) or not (parts.netloc or parts.path):
        raise SettingsError(f"objects: {address!r} names no place", hint=_OBJECTS)
    return address


def name_store(url: str, home: Path) -> str:
    """Return the store's address for users, without a password."""
    if not url or url == _SQLITE:
        return f"SQLite in {home}"
    return _PASSWORD.sub(r"\1***@", url)


class UpgradedStore(NamedTuple):
    """The versions before and after; which role has which duty; and what an administrator must
    execute before the command is repeated.
    """

    before: int
    after: int
    roles: dict[str, str]
    todo: tuple[str, ...] = ()


def upgrade_store(url: str, *, queue: str = "", drive: str = "", serve: str = "") -> UpgradedStore:
    """Make the tables of the newest version, and the roles with their rights; a role that is not
    named is the one that was named before, or the usual one.
    """
    if not url.startswith(_POSTGRES):
        raise SettingsError("only a store in PostgreSQL is upgraded by hand", hint=_KINDS)
    from punchlist.adapters.postgres.connection import Database
    from punchlist.adapters.postgres.migrations import VERSION, migrate
    from punchlist.adapters.postgres.roles import RoleNames, write_grants
    from punchlist.adapters.postgres.workflows import migrate_workflows

    migrate_workflows(url)
    database = Database(url, patience=0)
    try:
        with database.connect() as connection:
            before = migrate(connection)
            granted = write_grants(connection, RoleNames(queue, drive, serve))
            return UpgradedStore(before, VERSION, *granted)
    finally:
        database.close()


class CopiedRun(NamedTuple):
    run: str
    entries: int
    """How many entries were new to the target."""


def copy_runs(source: SharedState, target: SharedState) -> Iterator[CopiedRun]:
    """Copy each run, line for line; yield it when it is there. What the target has already stays; a
    run that has gone on differently there is a StoreError, and a broken one a LedgerBroken.
    """
    for row in reversed(source.store.runs()):
        lines = [line.removesuffix(b"\n") for line in source.store.export(row.id)]
        if problem := verify_lines(lines):
            raise LedgerBroken(
                f"run {row.id} is not copied: {problem}", hint=f"punchlist audit {row.id}"
            )
        known = [line.removesuffix(b"\n") for line in target.store.export(row.id)]
        if known != lines[: len(known)]:
            raise StoreError(
                f"run {row.id} has gone on differently in the target",
                hint="copy into another database",
            )
        target.store.import_lines(row.id, lines[len(known) :])
        yield CopiedRun(row.id, len(lines) - len(known))
