"""Which store keeps the results of runs, by the settings."""

from pathlib import Path

from punchlist.adapters.results.folder import FolderResults
from punchlist.errors import SettingsError
from punchlist.installed import extra_hint
from punchlist.ports.results import ResultStore
from punchlist.settings import REPOSITORY_FILE, KeepSettings, LoadedSettings

_S3 = "s3://"
_FORMS = "s3://BUCKET/PREFIX, or a folder: /srv/results"


def check_keep_settings(loaded: LoadedSettings) -> None:
    """Raise SettingsError if the repository's own file says where results go, or if they cannot be
    kept there.
    """
    for name, origin in loaded.origins.items():
        if name.startswith("keep.") and origin == REPOSITORY_FILE:
            raise SettingsError(
                f"{REPOSITORY_FILE}: {name}: a repository does not choose where results are kept",
                hint="put it into your own settings file",
            )
    make_results(loaded.settings.keep)


def make_results(keep: KeepSettings) -> ResultStore | None:
    """Return the store, or None if the settings name none."""
    if not keep.to:
        return None
    if keep.to.startswith(_S3):
        return _open_bucket(keep)
    folder = Path(keep.to).expanduser()
    if "://" in keep.to or not folder.is_absolute():
        raise SettingsError(f"keep.to: {keep.to!r} is no place for results", hint=_FORMS)
    return FolderResults(folder)


def name_results(keep: KeepSettings) -> str:
    """Return where results are kept, as the run's ledger has it; '' for nowhere."""
    store = make_results(keep)
    return store.where if store else ""


def _open_bucket(keep: KeepSettings) -> ResultStore:
    if not keep.to.removeprefix(_S3).strip("/"):
        raise SettingsError(f"keep.to: {keep.to!r} names no bucket", hint=_FORMS)
    try:
        # An extra, and slow to load: only runs that need it import it.
        from punchlist.adapters.results.bucket import BucketResults
    except ImportError as error:
        raise SettingsError(
            f"keep.to: {keep.to}: the library for S3 is not installed ({error})",
            hint=extra_hint("s3"),
        ) from error
    return BucketResults(keep.to, keep.endpoint)
