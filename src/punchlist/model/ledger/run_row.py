"""A run as a list reads it from the ledger, without its fold."""

from collections.abc import Sequence

from msgspec import Struct


class RepositoryKey(Struct, frozen=True):
    """What tells a repository from others. `path` is that of git's folder; `identity` is the same
    in all clones on all machines, '' if there is none, None if it was not looked for.
    """

    path: str = ""
    identity: str | None = None

    def owns(self, path: str, identity: str) -> bool:
        """Return whether a run that recorded this is about the repository: one with the same
        identity, or, if it recorded none or none was looked for here, with the same path.
        """
        known = identity and self.identity is not None
        return identity == self.identity if known else path == self.path


class RunRow(Struct, frozen=True):
    """One run in a list. `last_at` and `last_kind` are of the engine's last event, not of what
    users added.
    """

    id: str
    repository: str
    started_at: float
    last_at: float
    last_kind: str
    entries: int
    active: float = 0
    """Seconds during which a process was driving it, as the fold counts them."""
    ended_at: float = 0
    outcome: str = ""
    """How it ended; empty if it did not."""
    amended: bool = False
    """People added something after its end: what it comes to now is in the fold."""
    waits: bool = False
    """It has not ended, and a person has to say something before it goes on."""
    paused: bool = False
    """It has not ended, and was stopped, or answered, and not resumed since."""
    identity: str = ""
    """What its repository is called on every machine, if it is known."""


def match_run(part: str, ids: Sequence[str]) -> list[str]:
    """Return the ids that have this part, in any case; only the one that is the same, if there is
    one. The name of a run's branch (punchlist/ID) means the run.
    """
    wanted = part.strip().removeprefix("punchlist/").lower()
    found = [each for each in ids if wanted and wanted in each.lower()]
    return [wanted] if wanted in found else found
